import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The broker under test, through a client for each call, with the library's defaults where nothing is said. */
final class Broker {
    static final Duration A_MOMENT = Duration.ofMillis(100);
    private static final long PATIENCE_NS = Duration.ofSeconds(60).toNanos();

    private static final Map<String, String> LOGIN = login(System.getenv("SASL_MECHANISM"));

    private final String bootstrap;

    Broker(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    /** Makes a topic, and waits until the broker lists it. Did it at the first look? */
    boolean create(String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(properties(Map.of()))) {
            admin.createTopics(Set.of(new NewTopic(topic, partitions, (short) 1))).all().get();
            return await("the topic is there", () -> isListed(admin, topic)) == 1;
        }
    }

    /** Deletes a topic, and waits until the broker does not list it. Did it not at the first look? */
    boolean delete(String topic) throws Exception {
        try (Admin admin = Admin.create(properties(Map.of()))) {
            admin.deleteTopics(Set.of(topic)).all().get();
            return await("the topic is gone", () -> !isListed(admin, topic)) == 1;
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

    /** What stands in partition 0 from an offset on. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, long from, int count) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, from);
            List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
            await(count + " records have come", () -> {
                consumer.poll(A_MOMENT).forEach(got::add);
                return got.size() >= count;
            });
            return got;
        }
    }

    /** The offset of the first record at or after a time in partition 0; -1 where there is none. */
    long offsetForTime(String topic, long timeMs) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, timeMs)).get(partition);
            return found == null ? -1 : found.offset();
        }
    }

    Producer<byte[], byte[]> producer(Map<String, String> settings) {
        ByteArraySerializer serializer = new ByteArraySerializer();
        return new KafkaProducer<>(properties(settings), serializer, serializer);
    }

    Consumer<byte[], byte[]> consumer(Map<String, String> settings) {
        ByteArrayDeserializer deserializer = new ByteArrayDeserializer();
        return new KafkaConsumer<>(properties(settings), deserializer, deserializer);
    }

    /** How many looks it took; an exception when it has not come true in a minute. */
    static int await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + PATIENCE_NS;
        for (int looks = 1; ; looks++) {
            if (condition.call()) {
                return looks;
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException("not seen in time: " + what);
            }
        }
    }

    /** The settings that say who the client is; none where nobody asks. */
    private static Map<String, String> login(String mechanism) {
        if (mechanism == null) {
            return Map.of();
        }
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        return Map.of(
            "security.protocol", "SASL_PLAINTEXT",
            "sasl.mechanism", mechanism,
            "sasl.jaas.config", String.format(
                "org.apache.kafka.common.security.%s required username=\"%s\" password=\"%s\";",
                module, System.getenv("SASL_USERNAME"), System.getenv("SASL_PASSWORD")));
    }

    private static boolean isListed(Admin admin, String topic) throws Exception {
        return admin.listTopics().names().get().contains(topic);
    }

    private Properties properties(Map<String, String> settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.putAll(LOGIN);
        properties.putAll(settings);
        return properties;
    }
}
