import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeMap;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import java.security.URIParameter;

/**
 * What Kafka makes of values of sasl.jaas.config, and Java of files of JAAS. Reads lines of JSON, {"value": TEXT} or
 * {"file": TEXT}, and writes them with "entries" (of a value) or "sections" (of a file; those that are asked for), or
 * "error".
 */
public class Jaas {
    static final String[] NAMES = {"KafkaServer", "x.KafkaServer", "a-b_$.KafkaServer", "*", "KafkaClient", "Client"};
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        System.setProperty("a.property", "of Java");
        System.setProperty("an.empty.property", "");
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            ObjectNode told = (ObjectNode) JSON.readTree(line);
            try {
                if (told.has("value")) {
                    told.set("entries", entries(ofValue(told.get("value").asText()).getAppConfigurationEntry("KafkaServer")));
                } else {
                    told.set("sections", sections(ofFile(told.get("file").asText())));
                }
            } catch (Exception e) {
                Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
                told.put("error", String.valueOf(cause.getMessage()));
            }
            System.out.println(JSON.writeValueAsString(told));
        }
    }

    static Configuration ofValue(String text) throws Exception {
        Constructor<?> made = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getConstructor(String.class, String.class);
        made.setAccessible(true);
        return (Configuration) made.newInstance("KafkaServer", text);
    }

    static Configuration ofFile(String text) throws Exception {
        Path file = Files.createTempFile("jaas", ".conf");
        Files.write(file, text.getBytes(StandardCharsets.UTF_8));
        try {
            URI where = file.toUri();
            return Configuration.getInstance("JavaLoginConfig", new URIParameter(where));
        } finally {
            Files.delete(file);
        }
    }

    static ObjectNode sections(Configuration read) {
        ObjectNode told = JSON.createObjectNode();
        for (String name : NAMES) {
            AppConfigurationEntry[] found = read.getAppConfigurationEntry(name);
            if (found != null) {
                told.set(name, entries(found));
            }
        }
        return told;
    }

    static ArrayNode entries(AppConfigurationEntry[] found) {
        ArrayNode told = JSON.createArrayNode();
        for (AppConfigurationEntry entry : found) {
            String flag = entry.getControlFlag().toString().replace("LoginModuleControlFlag: ", "");
            ArrayNode one = told.addArray().add(entry.getLoginModuleName()).add(flag);
            ObjectNode options = one.addObject();
            new TreeMap<String, Object>((java.util.Map) entry.getOptions()).forEach((k, v) -> options.put(k, (String) v));
        }
        return told;
    }
}
