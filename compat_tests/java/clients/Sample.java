import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** The records of compat_tests/sample.py, and numbered ones; all for partition 0 unless told otherwise. */
final class Sample {
    static final long BASE_MS = Long.parseLong(System.getenv("BASE_TIMESTAMP"));
    private static final String[] NAMES = {"trace", "trace", "bin"};

    private Sample() {}

    /** Records of many shapes: null and empty keys and values, none to three headers, times back and forth. */
    static List<ProducerRecord<byte[], byte[]>> samples(String topic, int count) {
        return IntStream.range(0, count).mapToObj(i -> sample(topic, i)).toList();
    }

    /** With their numbers as values, a second apart. */
    static List<ProducerRecord<byte[], byte[]>> numbered(String topic, int partition, int first, int count) {
        return IntStream.range(first, first + count)
            .mapToObj(i -> new ProducerRecord<byte[], byte[]>(
                topic, partition, BASE_MS + 1000L * i, null, bytes(Integer.toString(i))))
            .toList();
    }

    /** Where a record that came differs from the one that was sent; null where it does not. */
    static String difference(ProducerRecord<byte[], byte[]> sent, int offset, ConsumerRecord<byte[], byte[]> got) {
        if (got.offset() == offset
                && got.timestamp() == sent.timestamp()
                && Arrays.equals(got.key(), sent.key())
                && Arrays.equals(got.value(), sent.value())
                && Arrays.equals(got.headers().toArray(), sent.headers().toArray())) {
            return null;
        }
        return "at " + offset + " sent " + sent + ", got " + got;
    }

    private static ProducerRecord<byte[], byte[]> sample(String topic, int i) {
        byte[] key = bytes("key-" + i % 101);
        byte[] value = value(i);
        if (i % 11 == 0) {
            key = null;
        } else if (i % 13 == 0) {
            value = null;
        } else if (i % 17 == 0) {
            key = new byte[0];
        } else if (i % 19 == 0) {
            value = new byte[0];
        } else if (i % 997 == 0) {
            value = bytes("large".repeat(400));
        }
        return new ProducerRecord<>(topic, 0, BASE_MS + i * 37 % 1000 - 500 + i, key, value, headers(i));
    }

    private static byte[] value(int i) {
        byte[] start = bytes("value " + i + " ");
        byte[] value = Arrays.copyOf(start, start.length + i * 7 % 211);
        Arrays.fill(value, start.length, value.length, (byte) i);
        return value;
    }

    private static List<Header> headers(int i) {
        byte[] counting = new byte[i % 32];
        for (int n = 0; n < counting.length; n++) {
            counting[n] = (byte) n;
        }
        byte[][] values = {bytes(Integer.toString(i)), new byte[0], counting};
        List<Header> headers = new ArrayList<>();
        for (int n = 0; n < i % 4; n++) {
            headers.add(new RecordHeader(NAMES[n], values[n]));
        }
        return headers;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
