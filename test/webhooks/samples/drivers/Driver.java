// Judges deliveries by the sample of docs/webhooks.md; see driver.mjs.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

final class Driver {
  public static void main(String[] words) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] fields = line.split("\t", -1);
      List<String> secrets = List.of(text(fields[0]).split(","));
      byte[] body = Base64.getDecoder().decode(fields[4]);
      System.out.println(Webhook.isGenuine(secrets, text(fields[1]), text(fields[2]), text(fields[3]), body));
    }
  }

  private static String text(String field) {
    return new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8);
  }
}
