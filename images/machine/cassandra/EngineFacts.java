import java.io.FileInputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;

/**
 * What the bake must ask Java for. Run as a source file: {@code java -cp lib/* EngineFacts.java COMMAND ...}.
 *
 * <p>{@code row-overhead} prints the bytes a memtable row costs on this JVM, as the engine measures it at every start
 * that is not told; {@code pem STORE OUT} writes key and certificate of a PKCS#12 store (password "throwaway") as PEM.
 */
public final class EngineFacts
{
    private static final char[] PASSWORD = "throwaway".toCharArray();

    public static void main(String[] arguments) throws Exception
    {
        switch (arguments[0])
        {
            case "row-overhead" -> printRowOverhead();
            case "pem" -> writePem(Path.of(arguments[1]), Path.of(arguments[2]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.exit(0);
    }

    private static void printRowOverhead() throws Exception
    {
        // The engine logs to standard output while it initialises; the figure must stand alone there.
        PrintStream out = System.out;
        System.setOut(System.err);
        Class.forName("org.apache.cassandra.config.DatabaseDescriptor").getMethod("daemonInitialization").invoke(null);
        Class<?> memtable = Class.forName("org.apache.cassandra.db.memtable.SkipListMemtable");
        Field field = memtable.getDeclaredField("ROW_OVERHEAD_HEAP_SIZE");
        field.setAccessible(true);
        out.println(field.getInt(null));
        out.flush();
    }

    private static void writePem(Path store, Path target) throws Exception
    {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = new FileInputStream(store.toFile()))
        {
            keys.load(in, PASSWORD);
        }
        String alias = keys.aliases().nextElement();
        String key = block("PRIVATE KEY", keys.getKey(alias, PASSWORD).getEncoded());
        String certificate = block("CERTIFICATE", keys.getCertificate(alias).getEncoded());
        Files.writeString(target, key + certificate);
    }

    private static String block(String label, byte[] der)
    {
        String text = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(der);
        return "-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n";
    }
}
