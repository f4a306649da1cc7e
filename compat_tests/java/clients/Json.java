import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** As much of JSON as facts need. */
final class Json {
    private Json() {}

    static String of(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                .map(entry -> of(entry.getKey().toString()) + ": " + of(entry.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::of).collect(Collectors.joining(", ", "[", "]"));
        }
        if (value instanceof String text) {
            return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\t", "\\t") + '"';
        }
        return String.valueOf(value);
    }
}
