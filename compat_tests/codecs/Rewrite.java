import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Reads lines of "class version hex", decodes each with Kafka's own class, and prints what it encodes to. */
public class Rewrite {
    private static final String[] PLACES = {
        "org.apache.kafka.common.message.%sData",
        "org.apache.kafka.common.message.%s",
        "org.apache.kafka.common.metadata.%s",
        "org.apache.kafka.coordinator.group.generated.%s",
        "org.apache.kafka.coordinator.transaction.generated.%s",
        "org.apache.kafka.coordinator.share.generated.%s",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.%s",
    };
    private static final Map<String, Class<?>> FOUND = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        StringBuilder out = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split(" ", -1);
            out.append(rewrite(words[0], Short.parseShort(words[1]), HexFormat.of().parseHex(words[2]))).append('\n');
        }
        System.out.print(out);
    }

    private static String rewrite(String name, short version, byte[] data) {
        try {
            Message message = (Message) classOf(name)
                .getConstructor(org.apache.kafka.common.protocol.Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(ByteBuffer.wrap(data)), version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(buffer), cache, version);
            return HexFormat.of().formatHex(buffer.array(), 0, buffer.position());
        } catch (ReflectiveOperationException | RuntimeException error) {
            return error.getCause() == null ? error.toString() : error.getCause().toString();
        }
    }

    private static Class<?> classOf(String name) throws ClassNotFoundException {
        if (!FOUND.containsKey(name)) {
            for (String place : PLACES) {
                try {
                    FOUND.put(name, Class.forName(String.format(place, name)));
                    break;
                } catch (ClassNotFoundException error) {
                    continue;
                }
            }
        }
        if (!FOUND.containsKey(name)) {
            throw new ClassNotFoundException(name);
        }
        return FOUND.get(name);
    }
}
