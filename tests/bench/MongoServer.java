import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** Serves MongoDB's protocol from the file it is given, says its port, and ends with its input. */
class Main {
    /** A driver of today talks to nothing older than this wire version; its messages are the same. */
    static final MongoVersion VERSION = new MongoVersion() {
        @Override
        public List<Integer> getVersionArray() {
            return ServerVersion.MONGO_5_0.getVersionArray();
        }

        @Override
        public int getWireVersion() {
            return 9;
        }
    };

    public static void main(String[] arguments) throws Exception {
        MongoServer server = new MongoServer(new H2Backend(arguments[0]).version(VERSION));
        System.out.println(server.bind().getPort());
        while (System.in.read() >= 0) {}
        server.shutdownNow();
    }
}
