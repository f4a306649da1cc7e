import java.nio.file.Files;
import java.nio.file.Path;

/** Runs Kafka's dump-log once for each line of a file, whose words are its arguments: one JVM for all. */
public class DumpLogs {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            System.out.println("## " + line);
            org.apache.kafka.tools.DumpLogSegments.main(line.split(" "));
        }
    }
}
