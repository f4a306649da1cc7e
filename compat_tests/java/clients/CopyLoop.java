import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Copies what stands in a topic to TOPIC-copy, into the same partitions, a few records with their offsets in a
 * transaction, until it has come to the end; whoever kills it before may start it again. The topics must exist.
 */
final class CopyLoop {
    private static final int PARTITIONS = 2;
    private static final int PER_TRANSACTION = 4;

    private final Broker broker;
    private final String source;

    CopyLoop(Broker broker, String source) {
        this.broker = broker;
        this.source = source;
    }

    Map<String, Object> run() {
        List<TopicPartition> partitions =
            IntStream.range(0, PARTITIONS).mapToObj(i -> new TopicPartition(source, i)).collect(Collectors.toList());
        Map<String, String> settings = Map.of(
            "group.id", source,
            "enable.auto.commit", "false",
            "auto.offset.reset", "earliest",
            "isolation.level", "read_committed",
            "max.poll.records", Integer.toString(PER_TRANSACTION));
        int copied = 0;
        try (Producer<byte[], byte[]> producer = broker.producer(Map.of("transactional.id", source));
                Consumer<byte[], byte[]> consumer = broker.consumer(settings)) {
            // This ends what a life before has left open, so that the offsets are stable.
            producer.initTransactions();
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                copied += copy(producer, consumer, consumer.poll(Broker.A_MOMENT));
            }
        }
        return Map.of("copied", copied);
    }

    private int copy(
            Producer<byte[], byte[]> producer, Consumer<byte[], byte[]> consumer, ConsumerRecords<byte[], byte[]> read) {
        if (read.isEmpty()) {
            return 0;
        }
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : read) {
            producer.send(new ProducerRecord<>(source + "-copy", record.partition(), null, record.value()));
            offsets.put(
                new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        producer.commitTransaction();
        return read.count();
    }
}
