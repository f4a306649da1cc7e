import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * Records of many shapes, by their number: null and empty keys and values, none to three headers (a name
 * twice, an empty and a null value, bytes that are no text), up to 2 KiB, times that go back and forth.
 */
final class Sample {
    static final long BASE_MS = 1_750_000_000_000L;

    private Sample() {}

    static ProducerRecord<byte[], byte[]> sent(String topic, int i) {
        return new ProducerRecord<>(topic, 0, time(i), key(i), value(i), headers(i));
    }

    /** Whether a record is what {@link #sent} made for its offset. */
    static boolean equal(ConsumerRecord<byte[], byte[]> record) {
        int i = (int) record.offset();
        return record.timestamp() == time(i)
            && Arrays.equals(record.key(), key(i))
            && Arrays.equals(record.value(), value(i))
            && Arrays.asList(record.headers().toArray()).equals(headers(i));
    }

    private static long time(int i) {
        return BASE_MS + i * 37 % 1000 - 500 + i;
    }

    private static byte[] key(int i) {
        if (i % 11 == 0) {
            return null;
        }
        return i % 17 == 0 ? new byte[0] : bytes("key-" + i % 101);
    }

    private static byte[] value(int i) {
        if (i % 13 == 0) {
            return null;
        }
        if (i % 19 == 0) {
            return new byte[0];
        }
        return i % 997 == 0 ? bytes("large".repeat(400)) : bytes("value " + i + " " + "v".repeat(i * 7 % 211));
    }

    private static List<Header> headers(int i) {
        List<Header> headers = new ArrayList<>();
        if (i % 4 > 0) {
            headers.add(new RecordHeader("trace", bytes(Integer.toString(i))));
        }
        if (i % 4 > 1) {
            headers.add(new RecordHeader("trace", i % 8 > 3 ? new byte[0] : null));
        }
        if (i % 4 > 2) {
            headers.add(new RecordHeader("\u00e9", new byte[] {0, (byte) 0xff, (byte) i}));
        }
        return headers;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
