import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** Serves MongoDB's protocol from the file it is given, says its port, and ends with its input; given a port,
 * too, it listens there until it is told to end. */
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
        if (arguments.length > 1) {
            server.bind("127.0.0.1", Integer.parseInt(arguments[1]));
            Thread.currentThread().join();
        }
        System.out.println(server.bind().getPort());
        while (System.in.read() >= 0) {}
        server.shutdownNow();
    }
}
