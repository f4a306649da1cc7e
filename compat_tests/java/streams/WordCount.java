import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts words exactly once: java WordCount BOOTSTRAP NAME STATE_DIR. Lines come from the topic NAME-lines; each word
 * goes to NAME-counts as often as it was seen, with its count by then. It runs until it is killed.
 *
 * <p>Nothing is kept on disk: a new life has its counts from the changelog, of what was committed there. Nor is
 * anything held back in a cache, so every count there was must come out.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] arguments) {
        String name = arguments[1];
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 300);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        // Who comes after a kill is the same member; but what the dead left open, only its timeout ends.
        settings.put(StreamsConfig.consumerPrefix("group.instance.id"), "counter");
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 3_000);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        KafkaStreams streams = new KafkaStreams(counting(name).build(), settings);
        streams.setStateListener((now, before) -> System.out.println(now));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        streams.start();
    }

    private static StreamsBuilder counting(String name) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> lines = builder.stream(name + "-lines");
        lines.flatMapValues(line -> words(line))
            .groupBy((key, word) -> word, Grouped.as("words"))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(name + "-counts", Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }

    private static List<String> words(String line) {
        return Arrays.asList(line.split(" "));
    }
}
