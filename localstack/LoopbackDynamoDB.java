import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;

/** Starts DynamoDB Local on loopback only. It has no option for an address, so its connectors are changed before the start. */
public class LoopbackDynamoDB {
    /** Runs as a Java agent: ends this process with the one that started it, which is LocalStack. */
    public static void premain(String arguments) {
        ProcessHandle.current().parent().ifPresent(
                parent -> parent.onExit().thenRun(() -> Runtime.getRuntime().halt(0)));
    }

    public static void main(String[] arguments) throws Exception {
        var local = ServerRunner.createServerFromCommandLineArgs(arguments);
        var field = local.getClass().getDeclaredField("server");
        field.setAccessible(true);
        for (var connector : ((Server) field.get(local)).getConnectors()) {
            ((ServerConnector) connector).setHost("127.0.0.1");
        }
        local.start();
        local.join();
    }
}
