import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;

/**
 * Copies a topic to another in transactions of three records, each with the offset that was read; every other one is
 * aborted and tried again. In the end another producer of the id fences this one.
 */
final class Transactions {
    private static final int RECORDS = 6;
    private static final int PER_TRANSACTION = 3;

    private final Broker broker;
    private final String source;
    private final String sink;

    Transactions(Broker broker, String source) {
        this.broker = broker;
        this.source = source;
        this.sink = source + "-copy";
    }

    Map<String, Object> copy() throws Exception {
        broker.create(source, 1);
        broker.create(sink, 1);
        broker.produce(Sample.numbered(source, 0, 0, RECORDS), Map.of());
        try (Producer<byte[], byte[]> producer = broker.producer(Map.of("transactional.id", sink))) {
            producer.initTransactions();
            for (boolean commits : new boolean[] {false, true, false, true}) {
                copySome(producer, commits);
            }
            return Map.of(
                "committed", values("read_committed", RECORDS),
                "all", values("read_uncommitted", 2 * RECORDS),
                "offset", committedOffset(),
                "fenced", fencing(producer));
        }
    }

    private void copySome(Producer<byte[], byte[]> producer, boolean commits) throws Exception {
        TopicPartition partition = new TopicPartition(source, 0);
        Map<String, String> settings =
            Map.of("group.id", source, "enable.auto.commit", "false", "auto.offset.reset", "earliest");
        try (Consumer<byte[], byte[]> consumer = broker.consumer(settings)) {
            consumer.assign(List.of(partition));
            List<ConsumerRecord<byte[], byte[]>> read = new ArrayList<>();
            Broker.await("there is enough to copy", () -> {
                consumer.poll(Broker.A_MOMENT).forEach(read::add);
                return read.size() >= PER_TRANSACTION;
            });
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : read.subList(0, PER_TRANSACTION)) {
                producer.send(new ProducerRecord<>(sink, 0, null, record.value()));
            }
            long next = read.get(PER_TRANSACTION - 1).offset() + 1;
            producer.sendOffsetsToTransaction(
                Map.of(partition, new OffsetAndMetadata(next)), consumer.groupMetadata());
            if (commits) {
                producer.commitTransaction();
            } else {
                producer.flush();
                producer.abortTransaction();
            }
        }
    }

    private List<String> values(String level, int count) throws Exception {
        TopicPartition partition = new TopicPartition(sink, 0);
        List<String> values = new ArrayList<>();
        try (Consumer<byte[], byte[]> consumer = broker.consumer(Map.of("isolation.level", level))) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            Broker.await("all has come", () -> {
                consumer.poll(Broker.A_MOMENT).forEach(record -> values.add(new String(record.value())));
                return values.size() >= count && consumer.position(partition) >= end;
            });
        }
        return values;
    }

    private long committedOffset() {
        TopicPartition partition = new TopicPartition(source, 0);
        try (Consumer<byte[], byte[]> consumer = broker.consumer(Map.of("group.id", source))) {
            return consumer.committed(Set.of(partition)).get(partition).offset();
        }
    }

    /** What the first is told when a second has come. */
    private String fencing(Producer<byte[], byte[]> first) throws Exception {
        try (Producer<byte[], byte[]> second = broker.producer(Map.of("transactional.id", sink))) {
            second.initTransactions();
            first.beginTransaction();
            first.send(new ProducerRecord<>(sink, 0, null, new byte[] {'z'}));
            first.commitTransaction();
            return "";
        } catch (ApiException fenced) {
            return fenced.getClass().getSimpleName();
        }
    }
}
