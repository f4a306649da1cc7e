import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Puts Kafka's Java client through one of the scenarios of compat_tests/language_cases.py:
 * BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS java Main LIBRARY SCENARIO TOPIC [CODEC]. LIBRARY is for who reads a list of
 * processes: what runs is what the class path has.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Map<String, Object> facts = new TreeMap<>();
        facts.put("scenario", arguments[1]);
        facts.put("ok", true);
        Scenarios scenarios = new Scenarios(new Broker(System.getenv("BOOTSTRAP")), arguments[2]);
        try {
            facts.putAll(scenarios.play(arguments[1], arguments.length > 3 ? arguments[3] : "none"));
        } catch (Exception error) {
            error.printStackTrace();
            facts.put("ok", false);
            facts.put("error", error.toString());
        }
        System.out.println(json(facts));
        System.exit((boolean) facts.get("ok") ? 0 : 1);
    }

    /** As much of JSON as facts need. */
    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                .map(entry -> json(entry.getKey()) + ": " + json(entry.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Main::json).collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof String text) {
            return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + '"';
        }
        return String.valueOf(value);
    }
}
