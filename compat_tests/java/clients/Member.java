import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A consumer in a group, named as its topic. It begins where the group has committed, else at the beginning. */
final class Member implements AutoCloseable {
    private static final String PROTOCOL = System.getProperty("group.protocol");
    private static final String SESSION_MS = System.getProperty("session.timeout.ms");
    private static final String STRATEGY = System.getProperty("partition.assignment.strategy");

    final List<ConsumerRecord<byte[], byte[]>> received = new ArrayList<>();
    private final Consumer<byte[], byte[]> consumer;

    Member(Broker broker, String topic) {
        this(broker, topic, null);
    }

    /**
     * Whether a poll of a member whose session is over may throw: the client of the new protocol has a thread of its own
     * that learns of it, and takes the partitions away amid a poll. It throws so beside the real Kafka, too, at times.
     */
    static boolean isThrownByClient() {
        return "consumer".equals(PROTOCOL);
    }

    /** A static member, unless {@code instance} is null. */
    Member(Broker broker, String topic, String instance) {
        this(broker, topic, instance, null);
    }

    /** Of all topics that match, unless {@code pattern} is null. */
    Member(Broker broker, String topic, String instance, Pattern pattern) {
        this(broker, topic, instance, pattern, false);
    }

    /** Who finds out what matches: the broker, if {@code resolvedThere}, else the client. */
    Member(Broker broker, String topic, String instance, Pattern pattern, boolean resolvedThere) {
        Map<String, String> settings = new HashMap<>(Map.of(
            "group.id", topic, "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        if (PROTOCOL == null) {
            settings.put("heartbeat.interval.ms", "200");
        } else { // Of the new protocol, where the broker says how often.
            settings.put("group.protocol", PROTOCOL);
        }
        if (SESSION_MS != null) {
            settings.put("session.timeout.ms", SESSION_MS);
        }
        if (STRATEGY != null) {
            settings.put("partition.assignment.strategy", STRATEGY);
        }
        if (instance != null) {
            settings.put("group.instance.id", instance);
        }
        if (pattern != null) {
            settings.put("metadata.max.age.ms", "500");
        }
        consumer = broker.consumer(settings);
        if (pattern == null) {
            consumer.subscribe(List.of(topic));
        } else if (resolvedThere) {
            subscribeThere(pattern);
        } else {
            consumer.subscribe(pattern);
        }
    }

    /** By the method that clients have since 4.0. */
    private void subscribeThere(Pattern pattern) {
        try {
            Class<?> kind = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
            Object wanted = kind.getConstructor(String.class).newInstance(pattern.pattern());
            Consumer.class.getMethod("subscribe", kind).invoke(consumer, wanted);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    void commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        consumer.commitSync(offsets);
    }

    List<Integer> partitions() {
        return consumer.assignment().stream().map(TopicPartition::partition).sorted().toList();
    }

    void pollOnce() {
        consumer.poll(Broker.A_MOMENT).forEach(received::add);
    }

    /** Leaves the group. */
    @Override
    public void close() {
        consumer.close();
    }

    /** Lets members poll in turn until something is so. */
    static void pollUntil(String what, Callable<Boolean> condition, Member... members) throws Exception {
        Broker.await(what, () -> {
            for (Member member : members) {
                member.consumer.poll(Broker.A_MOMENT).forEach(member.received::add);
            }
            return condition.call();
        });
    }
}
