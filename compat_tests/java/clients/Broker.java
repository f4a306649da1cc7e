import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The broker under test: clients of it with the library's defaults, and what every scenario does with them. */
final class Broker {
    static final Duration A_MOMENT = Duration.ofMillis(100);
    private static final long PATIENCE_NS = Duration.ofSeconds(60).toNanos();

    private final String bootstrap;

    Broker(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    Admin admin() {
        return Admin.create(properties(Map.of()));
    }

    Producer<byte[], byte[]> producer(Map<String, String> settings) {
        return new KafkaProducer<>(properties(settings), new ByteArraySerializer(), new ByteArraySerializer());
    }

    Consumer<byte[], byte[]> consumer(Map<String, String> settings) {
        return new KafkaConsumer<>(properties(settings), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** A consumer in a group, which begins at the beginning and commits when it is told to. */
    Consumer<byte[], byte[]> member(String group, String name) {
        return consumer(Map.of(
            "group.id", group, "client.id", name, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "heartbeat.interval.ms", "200"));
    }

    /** Returns when the topic is there; the real Kafka's broker learns of it after its controller has answered. */
    void create(String topic, int partitions) throws Exception {
        try (Admin admin = admin()) {
            admin.createTopics(Set.of(new NewTopic(topic, partitions, (short) 1))).all().get();
            await("the topic is there", () -> exists(admin, topic));
        }
    }

    /** Returns when the topic is gone. */
    void delete(String topic) throws Exception {
        try (Admin admin = admin()) {
            admin.deleteTopics(Set.of(topic)).all().get();
            await("the topic is gone", () -> !exists(admin, topic));
        }
    }

    static boolean exists(Admin admin, String topic) {
        try {
            return admin.listTopics().names().get().contains(topic);
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Sends all, and returns their offsets as they were acknowledged. */
    List<Long> produce(List<ProducerRecord<byte[], byte[]>> records, Map<String, String> settings) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (Producer<byte[], byte[]> producer = producer(settings)) {
            for (ProducerRecord<byte[], byte[]> record : records) {
                sent.add(producer.send(record));
            }
        }
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            offsets.add(one.get().offset());
        }
        return offsets;
    }

    /** What stands in partition 0, from the beginning. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, int count) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            return poll(consumer, count);
        }
    }

    /** The next records, this many at least. */
    static List<ConsumerRecord<byte[], byte[]>> poll(Consumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        await(count + " records have come", () -> {
            consumer.poll(A_MOMENT).forEach(got::add);
            return got.size() >= count;
        });
        return got;
    }

    static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + PATIENCE_NS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("not seen in time: " + what);
            }
        }
    }

    private Properties properties(Map<String, String> settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.putAll(settings);
        return properties;
    }
}
