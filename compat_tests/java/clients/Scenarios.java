import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * What a Java client does with a broker, as facts: one line of JSON for each scenario. Judges nothing.
 * Arguments: HOST:PORT, and a prefix for the names of topics and groups.
 */
public final class Scenarios {
    private static final int MANY = 10_000;
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    private final Broker broker;
    private final String prefix;

    private Scenarios(Broker broker, String prefix) {
        this.broker = broker;
        this.prefix = prefix;
    }

    /** Something to do, and what came of it. */
    interface Scenario {
        Map<String, Object> play(Broker broker, String name) throws Exception;
    }

    public static void main(String[] arguments) {
        Scenarios scenarios = new Scenarios(new Broker(arguments[0]), arguments[1]);
        for (String codec : CODECS) {
            scenarios.tell(codec, (broker, name) -> writeAndRead(broker, name, Map.of("compression.type", codec)));
        }
        scenarios.tell("defaults", (broker, name) -> writeAndRead(broker, name, Map.of()));
        scenarios.tell("idempotent", (broker, name) -> writeAndRead(
            broker, name, Map.of("enable.idempotence", "true", "acks", "all", "batch.size", "1000")));
        scenarios.tell("times", Scenarios::seekByTime);
        scenarios.tell("topics", Scenarios::createAndDelete);
        scenarios.tell("group", Groups::shareAndLeave);
        scenarios.tell("resume", Groups::commitAndResume);
    }

    private void tell(String scenario, Scenario what) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("scenario", scenario);
        try {
            facts.putAll(what.play(broker, prefix + scenario));
        } catch (Exception error) {
            error.printStackTrace();
            facts.put("failed", error.toString());
        }
        System.out.println(Json.of(facts));
    }

    private static Map<String, Object> writeAndRead(Broker broker, String topic, Map<String, String> settings)
            throws Exception {
        broker.create(topic, 1);
        List<ProducerRecord<byte[], byte[]>> records =
            IntStream.range(0, MANY).mapToObj(i -> Sample.sent(topic, i)).collect(Collectors.toList());
        List<Long> offsets = broker.produce(records, settings);
        List<Long> inOrder = IntStream.range(0, MANY).mapToObj(i -> (long) i).collect(Collectors.toList());
        List<ConsumerRecord<byte[], byte[]>> read = broker.read(topic, MANY);
        return Map.of(
            "acknowledged", offsets.size(),
            "acknowledged_in_order", offsets.equals(inOrder),
            "read", read.size(),
            "read_in_order", read.stream().map(ConsumerRecord::offset).collect(Collectors.toList()).equals(inOrder),
            "differing", read.stream().filter(record -> !Sample.equal(record)).count());
    }

    /** A hundred records, a second apart. */
    private static Map<String, Object> seekByTime(Broker broker, String topic) throws Exception {
        broker.create(topic, 1);
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            records.add(new ProducerRecord<>(topic, 0, Sample.BASE_MS + 1000L * i, null, Sample.bytes("v" + i)));
        }
        broker.produce(records, Map.of());
        Map<String, Object> facts = new LinkedHashMap<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = broker.consumer(Map.of())) {
            consumer.assign(List.of(partition));
            facts.put("beginning", consumer.beginningOffsets(List.of(partition)).get(partition));
            facts.put("end", consumer.endOffsets(List.of(partition)).get(partition));
            for (long after : new long[] {-1, 40_000, 40_001, 99_000, 99_001}) {
                OffsetAndTimestamp found =
                    consumer.offsetsForTimes(Map.of(partition, Sample.BASE_MS + after)).get(partition);
                facts.put("at " + after, found == null ? null : found.offset());
            }
            long time = Sample.BASE_MS + 69_001;
            consumer.seek(partition, consumer.offsetsForTimes(Map.of(partition, time)).get(partition).offset());
            facts.put("read", new String(Broker.poll(consumer, 1).get(0).value()));
        }
        return facts;
    }

    private static Map<String, Object> createAndDelete(Broker broker, String topic) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        broker.create(topic, 3);
        facts.put("created_again", refusal(() -> broker.create(topic, 3)));
        try (Consumer<byte[], byte[]> consumer = broker.consumer(Map.of())) {
            facts.put("partitions", consumer.partitionsFor(topic).size());
        }
        broker.produce(List.of(new ProducerRecord<>(topic, Sample.bytes("gone"))), Map.of());
        broker.delete(topic);
        facts.put("deleted_again", refusal(() -> broker.delete(topic)));
        broker.create(topic, 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = broker.consumer(Map.of())) {
            facts.put("end_of_the_next", consumer.endOffsets(List.of(partition)).get(partition));
        }
        broker.delete(topic);
        return facts;
    }

    private interface Step {
        void run() throws Exception;
    }

    /** The simple name of the error that the broker answers with. */
    private static String refusal(Step step) throws Exception {
        try {
            step.run();
            return null;
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        }
    }
}
