import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import static java.nio.charset.StandardCharsets.UTF_8;

/** The names of X500Principal, in base64, for distinguished names in DER, in hexadecimal, one a line. */
public class CertificateNames {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String name = new X500Principal(HexFormat.of().parseHex(line)).getName();
            System.out.println(Base64.getEncoder().encodeToString(name.getBytes(UTF_8)));
        }
    }
}
