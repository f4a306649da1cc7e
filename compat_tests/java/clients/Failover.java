import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends 0, 1, 2... to partition 0, each when the one before is acknowledged; says so on its standard output after a
 * hundred; goes on until its standard input ends, and a hundred more; and reads all back. The topic must exist. Whoever
 * called kills brokers meanwhile.
 */
final class Failover {
    private static final int SOME = 100;
    /** What newer clients do unasked. By default 2.8 loses what a leader alone has, and may send twice. */
    private static final Map<String, String> SAFE = Map.of("acks", "all", "enable.idempotence", "true");

    private final Broker broker;
    private final String topic;

    Failover(Broker broker, String topic) {
        this.broker = broker;
        this.topic = topic;
    }

    Map<String, Object> ride() throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        Thread waiting = new Thread(() -> {
            try {
                System.in.readAllBytes();
            } catch (java.io.IOException ended) {
                // As when it ends.
            }
            isOver.set(true);
        });
        waiting.setDaemon(true);
        waiting.start();
        int sent = 0;
        try (Producer<byte[], byte[]> producer = broker.producer(SAFE)) {
            for (int left = SOME; left > 0; left -= isOver.get() ? 1 : 0) {
                producer.send(new ProducerRecord<>(topic, 0, null, Integer.toString(sent++).getBytes())).get();
                if (sent == SOME) {
                    System.out.println("sent");
                }
            }
        }
        List<Integer> values = broker.read(topic, 0, sent).stream()
            .map(record -> Integer.valueOf(new String(record.value()))).collect(Collectors.toList());
        return Map.of("sent", sent, "values", values);
    }
}
