// What the real broker makes of settings. One JSON line in, one out (but `keys` reads nothing):
//   keys        every broker key: name, type, default, what is allowed (its validator's text)
//   judge       {"settings": {...}} -> the same with "message": null, or why no broker can have them
//   properties  {"text": base64 of a file} -> the same with "values", or with "error"
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;

public class BrokerConfigs {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        if (args[0].equals("keys")) {
            for (ConfigDef.ConfigKey key : new TreeMap<>(KafkaConfig.configDef().configKeys()).values()) {
                ObjectNode row = JSON.createObjectNode();
                row.put("name", key.name).put("type", key.type.toString());
                row.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
                row.put("has_default", key.hasDefault()).put("internal", key.internalConfig);
                row.put("allowed", key.validator == null ? null : key.validator.toString());
                row.put("validator", key.validator == null ? null : key.validator.getClass().getName());
                out.println(JSON.writeValueAsString(row));
            }
        } else {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null; ) {
                ObjectNode row = (ObjectNode) JSON.readTree(line);
                if (args[0].equals("judge")) judge(row); else load(row);
                out.println(JSON.writeValueAsString(row));
            }
        }
        out.flush();
    }

    static void judge(ObjectNode row) {
        Properties properties = new Properties();
        row.get("settings").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().asText()));
        try {
            KafkaConfig.fromProps(properties, false);
            row.putNull("message");
        } catch (Throwable problem) {
            row.put("message", problem.getMessage());
            row.put("error", problem.getClass().getName());
        }
    }

    static void load(ObjectNode row) throws Exception {
        Properties properties = new Properties();
        try {
            properties.load(new ByteArrayInputStream(row.get("text").binaryValue()));
            ObjectNode values = row.putObject("values");
            for (Map.Entry<Object, Object> each : new TreeMap<>(properties).entrySet())
                values.put((String) each.getKey(), (String) each.getValue());
        } catch (IllegalArgumentException problem) {
            row.put("error", problem.getMessage());
        }
    }
}
