import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** The scenarios of compat_tests/language_cases.py, and five that are Java's own; each returns what it tells. */
final class Scenarios {
    private static final int MANY = 10_000;
    private static final int PARTITIONS = 4;
    private static final int MOST_DIFFERENCES = 5;

    private final Broker broker;
    private final String topic;

    Scenarios(Broker broker, String topic) {
        this.broker = broker;
        this.topic = topic;
    }

    Map<String, Object> play(String scenario, String codec) throws Exception {
        return switch (scenario) {
            case "round-trip" -> roundTrip(codec);
            case "group" -> groupOfTwo();
            case "members" -> new Members(broker, topic).comeAndGo();
            case "pattern" -> new Members(broker, topic).byPattern(false);
            case "broker-pattern" -> new Members(broker, topic).byPattern(true);
            case "static" -> new Members(broker, topic).startAnew();
            case "held-up" -> new Members(broker, topic).heldUp();
            case "resume" -> resume();
            case "seek" -> seek();
            case "delete" -> delete();
            case "idempotence" -> idempotence();
            case "copy-loop" -> new CopyLoop(broker, topic).run();
            case "failover" -> new Failover(broker, topic).ride();
            case "transactions" -> new Transactions(broker, topic).copy();
            default -> throw new IllegalArgumentException("no scenario " + scenario);
        };
    }

    private Map<String, Object> roundTrip(String codec) throws Exception {
        boolean listedAtOnce = broker.create(topic, 1);
        List<ProducerRecord<byte[], byte[]>> sent = Sample.samples(topic, MANY);
        List<Long> offsets = broker.produce(sent, Map.of("compression.type", codec));
        List<ConsumerRecord<byte[], byte[]>> got = broker.read(topic, 0, MANY);
        Stream<String> misplaced = IntStream.range(0, MANY)
            .filter(i -> offsets.get(i) != i).mapToObj(i -> i + " was acknowledged as " + offsets.get(i));
        Stream<String> different = IntStream.range(0, MANY)
            .mapToObj(i -> Sample.difference(sent.get(i), i, got.get(i))).filter(Objects::nonNull);
        return Map.of(
            "listed_at_once", listedAtOnce,
            "received", got.size(),
            "differences", Stream.concat(misplaced, different).limit(MOST_DIFFERENCES).toList());
    }

    private Map<String, Object> groupOfTwo() throws Exception {
        broker.create(topic, PARTITIONS);
        fill(PARTITIONS, 0, 50);
        try (Member first = new Member(broker, topic)) {
            Member.pollUntil("the first has read all", () -> first.received.size() >= 200, first);
            List<Integer> alone = first.partitions();
            for (int partition = 0; partition < PARTITIONS; partition++) {
                first.commit(Map.of(new TopicPartition(topic, partition), new OffsetAndMetadata(50)));
            }
            first.received.clear();
            Map<String, Object> facts = share(first);
            facts.put("alone", alone);
            Member.pollUntil("the first has all again", () -> first.partitions().size() == PARTITIONS, first);
            return facts;
        }
    }

    /** Another member comes, reads its part, and leaves. */
    private Map<String, Object> share(Member first) throws Exception {
        try (Member second = new Member(broker, topic)) {
            Member.pollUntil(
                "both have half", () -> first.partitions().size() == 2 && second.partitions().size() == 2,
                first, second);
            List<List<Integer>> shared = List.of(first.partitions(), second.partitions());
            fill(PARTITIONS, 50, 10);
            Member.pollUntil(
                "both have read", () -> first.received.size() + second.received.size() >= 40, first, second);
            List<List<Long>> received = Stream.concat(first.received.stream(), second.received.stream())
                .map(record -> List.of((long) record.partition(), record.offset()))
                .sorted(Comparator.comparing((List<Long> place) -> place.get(0)).thenComparing(place -> place.get(1)))
                .toList();
            return new HashMap<>(Map.of("shared", shared, "received", received));
        }
    }

    private Map<String, Object> resume() throws Exception {
        broker.create(topic, 1);
        fill(1, 0, 30);
        List<List<Long>> received = new ArrayList<>();
        for (int count : new int[] {30, 10, 10}) {
            try (Member member = new Member(broker, topic)) {
                Member.pollUntil("all is read", () -> member.received.size() >= count, member);
                if (received.isEmpty()) {
                    member.commit(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(20)));
                }
                received.add(offsets(member.received));
            }
        }
        return Map.of("received", received);
    }

    private Map<String, Object> seek() throws Exception {
        broker.create(topic, 1);
        fill(1, 0, 40);
        List<Long> found = Stream.of(-1, 10_000, 10_001, 39_001)
            .map(after -> broker.offsetForTime(topic, Sample.BASE_MS + after)).toList();
        long from = broker.offsetForTime(topic, Sample.BASE_MS + 9_500);
        return Map.of("found", found, "received", offsets(broker.read(topic, from, 30)));
    }

    private Map<String, Object> delete() throws Exception {
        broker.create(topic, 1);
        fill(1, 0, 20);
        boolean goneAtOnce = broker.delete(topic);
        broker.create(topic, 1);
        fill(1, 20, 5);
        return Map.of("gone_at_once", goneAtOnce, "received", offsets(broker.read(topic, 0, 5)));
    }

    /** A thousand records of a producer that is not told whether to be idempotent, and of one that is. */
    private Map<String, Object> idempotence() throws Exception {
        broker.create(topic, 1);
        broker.produce(Sample.samples(topic, 1_000), Map.of());
        Map<String, String> told = Map.of("enable.idempotence", "true", "batch.size", "1000");
        List<Long> offsets = broker.produce(Sample.samples(topic, 1_000), told);
        return Map.of("acknowledged", List.of(offsets.get(0), offsets.get(999)));
    }

    private void fill(int partitions, int first, int count) throws Exception {
        for (int partition = 0; partition < partitions; partition++) {
            broker.produce(Sample.numbered(topic, partition, first, count), Map.of());
        }
    }

    private static List<Long> offsets(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(ConsumerRecord::offset).toList();
    }
}
