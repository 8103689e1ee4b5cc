import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.cassandra.config.CassandraRelevantProperties;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.ColumnIdentifier;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.statements.schema.AlterSchemaStatement;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.KeyspaceParams;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.SchemaTransformations;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.service.ClientState;

/** The engine's classes without the engine: how a program begins, says something, and has a schema of its own. */
final class Offline
{
    /** What the caller reads; the engine's libraries, which print what they like, get standard error instead. */
    static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    static final ObjectMapper JSON = new ObjectMapper();

    private static final String NAME = "(\"(?:[^\"]|\"\")+\"|\\w+)";
    /** As the engine writes it when it describes a table. */
    private static final Pattern DROP = Pattern.compile(
            "\\s*ALTER\\s+TABLE\\s+(?:" + NAME.replace("(\"", "(?:\"") + "\\s*\\.\\s*)?" + NAME + "\\s+DROP\\s+" + NAME
            + "\\s+USING\\s+TIMESTAMP\\s+(\\d+)\\s*;?\\s*", Pattern.CASE_INSENSITIVE);

    private Offline() {}

    /** The order, from the file that is the program's only argument. */
    static JsonNode begin(String[] arguments, Supplier<Config> config) throws IOException
    {
        System.setOut(System.err);
        CassandraRelevantProperties.FORCE_LOAD_LOCAL_KEYSPACES.setBoolean(true);
        DatabaseDescriptor.clientInitialization(false, config);
        if (DatabaseDescriptor.getPartitioner() == null)
            DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        return JSON.readTree(Path.of(arguments[0]).toFile());
    }

    /** The engine's own statements, on a schema that is in this process only. */
    static void define(String keyspace, JsonNode statements)
    {
        Schema.instance.transform(SchemaTransformations.addKeyspace(KeyspaceMetadata.create(keyspace, KeyspaceParams.simple(1)), true));
        for (JsonNode statement : statements)
        {
            Matcher drop = DROP.matcher(statement.asText());
            if (drop.matches())
                drop(keyspace, name(drop.group(1)), name(drop.group(2)), Long.parseLong(drop.group(3)));
            else
                Schema.instance.transform((AlterSchemaStatement) QueryProcessor.parseStatement(statement.asText())
                                                                               .prepare(ClientState.forInternalCalls(keyspace)));
        }
    }

    /** The table that the statements made. */
    static TableMetadata table(String keyspace, String name)
    {
        TableMetadata made = Schema.instance.getTableMetadata(keyspace, name);
        if (made == null)
            throw new IllegalArgumentException("the statements do not make " + keyspace + '.' + name);
        return made;
    }

    /** What the engine's own statement does, which would look for the table's files. */
    private static void drop(String keyspace, String name, String column, long at)
    {
        TableMetadata table = Schema.instance.getTableMetadata(keyspace, name);
        ColumnMetadata dropped = table.getColumn(ColumnIdentifier.getInterned(column, true));
        TableMetadata without = table.unbuild().recordColumnDrop(dropped, at).removeRegularOrStaticColumn(dropped.name).build();
        Schema.instance.transform(keyspaces -> {
            KeyspaceMetadata of = keyspaces.getNullable(keyspace);
            return keyspaces.withAddedOrUpdated(of.withSwapped(of.tables.withSwapped(without)));
        });
    }

    private static String name(String written)
    {
        return written.startsWith("\"") ? written.substring(1, written.length() - 1).replace("\"\"", "\"") : written.toLowerCase(Locale.ROOT);
    }
}
