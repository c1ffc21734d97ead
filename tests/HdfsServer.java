import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS on loopback: a namenode and a datanode in one process, with WebHDFS. Ends when its input does. */
public class HdfsServer {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        configuration.setBoolean("dfs.permissions.enabled", true);
        configuration.setInt("dfs.ls.limit", 10);  // a page of a listing
        configuration.setInt("dfs.namenode.fs-limits.min-block-size", 0);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        cluster.waitActive();
        cluster.getFileSystem().setPermission(
            new org.apache.hadoop.fs.Path("/"), new org.apache.hadoop.fs.permission.FsPermission((short) 0777));
        System.out.println("READY " + cluster.getHttpUri(0) + " " + cluster.getURI(0));
        System.out.flush();
        while (System.in.read() >= 0) { }
        cluster.shutdown();
        System.exit(0);
    }
}
