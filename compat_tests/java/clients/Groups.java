import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Scenarios of consumers in a group. */
final class Groups {
    private static final int PARTITIONS = 4;

    private Groups() {}

    /** Two members share a topic; one leaves, and the other takes over where it had committed. */
    static Map<String, Object> shareAndLeave(Broker broker, String topic) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        broker.create(topic, PARTITIONS);
        try (Consumer<byte[], byte[]> first = broker.member(topic, "first")) {
            Consumer<byte[], byte[]> second = broker.member(topic, "second");
            first.subscribe(List.of(topic));
            second.subscribe(List.of(topic));
            Broker.await("both have partitions", () -> {
                first.poll(Broker.A_MOMENT);
                second.poll(Broker.A_MOMENT);
                return first.assignment().size() + second.assignment().size() == PARTITIONS
                    && !first.assignment().isEmpty() && !second.assignment().isEmpty();
            });
            facts.put("first", numbers(first.assignment()));
            facts.put("second", numbers(second.assignment()));
            send(broker, topic, "a", 25);
            facts.put("first_read", kinds(Broker.poll(first, 50)));
            facts.put("second_read", kinds(Broker.poll(second, 50)));
            first.commitSync();
            second.commitSync();
            second.close();
            Broker.await("the first has all", () -> {
                first.poll(Broker.A_MOMENT);
                return first.assignment().size() == PARTITIONS;
            });
            send(broker, topic, "b", 10);
            facts.put("read_after_the_leave", kinds(Broker.poll(first, 40)));
        }
        return facts;
    }

    /** A consumer commits in the middle, and the next of its group goes on there. */
    static Map<String, Object> commitAndResume(Broker broker, String topic) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        broker.create(topic, 1);
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            records.add(new ProducerRecord<>(topic, Sample.bytes("v" + i)));
        }
        broker.produce(records, Map.of());
        try (Consumer<byte[], byte[]> consumer = broker.member(topic, "early")) {
            consumer.subscribe(List.of(topic));
            Broker.poll(consumer, 100);
            facts.put("committed_before", consumer.committed(Set.of(partition)).get(partition));
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(60, "so far")));
        }
        try (Consumer<byte[], byte[]> consumer = broker.member(topic, "late")) {
            OffsetAndMetadata committed = consumer.committed(Set.of(partition)).get(partition);
            facts.put("committed", committed.offset());
            facts.put("metadata", committed.metadata());
            consumer.subscribe(List.of(topic));
            List<ConsumerRecord<byte[], byte[]>> rest = Broker.poll(consumer, 40);
            facts.put("read", rest.size());
            facts.put("first_read", new String(rest.get(0).value()));
        }
        return facts;
    }

    private static void send(Broker broker, String topic, String what, int each) throws Exception {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int i = 0; i < each * PARTITIONS; i++) {
            records.add(new ProducerRecord<>(topic, i % PARTITIONS, null, Sample.bytes(what + i)));
        }
        broker.produce(records, Map.of());
    }

    private static List<Integer> numbers(Set<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::partition).sorted().collect(Collectors.toList());
    }

    /** How many records there are of each of what `send` sent: one that comes twice is counted twice. */
    private static Map<String, Long> kinds(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().collect(
            Collectors.groupingBy(record -> new String(record.value()).substring(0, 1), Collectors.counting()));
    }
}
