import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DataStorageSpec;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.DecoratedKey;
import org.apache.cassandra.db.DeletionInfo;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.LivenessInfo;
import org.apache.cassandra.db.Mutation;
import org.apache.cassandra.db.RangeTombstone;
import org.apache.cassandra.db.RegularAndStaticColumns;
import org.apache.cassandra.db.SerializationHeader;
import org.apache.cassandra.db.commitlog.CommitLogDescriptor;
import org.apache.cassandra.db.commitlog.CommitLogReadHandler;
import org.apache.cassandra.db.commitlog.CommitLogReader;
import org.apache.cassandra.db.marshal.UUIDType;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.EncodingStats;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.SSTableTxnWriter;
import org.apache.cassandra.io.sstable.SequenceBasedSSTableId;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableId;
import org.apache.cassandra.schema.TableMetadata;

/**
 * Makes SSTables of what commit logs hold of some tables, up to a moment. Run as a source file on the class path of the
 * engine whose logs they are: {@code java -cp lib/* Replay.java ORDER}. The engine itself is neither needed nor touched.
 *
 * <p>ORDER is a JSON file: {@code keyspaces} (name, statements: CQL that makes types and tables with their ids),
 * {@code tables} (keyspace, table), {@code logs} (a folder of folders, each with one file that the engine would take for
 * a segment), {@code out} (a folder), {@code until} (microseconds since 1970: nothing with a later time of writing is
 * kept), {@code since} (milliseconds since 1970: since when an emptied table counts), {@code buffer_bytes}.
 *
 * <p>What is found is in {@code out/KEYSPACE.TABLE/NUMBER/}, one SSTable each. Lines of JSON go to standard output:
 * {@code {"done": files}} now and then, and last {@code {"mutations", "kept", "later", "sstables", "truncated",
 * "unreadable"}}. The order of the logs does not matter: the time of writing decides, as everywhere in the engine.
 */
public final class Replay implements CommitLogReadHandler
{
    /** The one that the engine reads whatever it is set to: by default it takes nothing newer. */
    private static final String FORMAT = "nb";
    private final long until;
    private final long since;
    private final long most;
    private final Path out;
    private final Map<TableId, TableMetadata> wanted = new LinkedHashMap<>();
    private final Map<TableId, TreeMap<DecoratedKey, List<PartitionUpdate>>> buffered = new HashMap<>();
    private final Map<TableId, Long> truncated = new HashMap<>();
    private final List<String> unreadable = new ArrayList<>();
    private long bufferedBytes;
    private long mutations;
    private long kept;
    private long later;
    private int sstables;

    public static void main(String[] arguments) throws Exception
    {
        JsonNode order = Offline.begin(arguments, Replay::config);
        Replay replay = new Replay(order);
        replay.read(Path.of(order.get("logs").asText()));
        replay.flush();
        Offline.OUT.println(replay.result());
        System.exit(0);
    }

    /** The engine's defaults, and what its daemon would work out from them. */
    private static Config config()
    {
        Config config = new Config();
        config.max_mutation_size = new DataStorageSpec.IntKibibytesBound("512MiB");
        return config;
    }

    private Replay(JsonNode order)
    {
        until = order.get("until").asLong();
        since = order.get("since").asLong();
        most = order.get("buffer_bytes").asLong();
        out = Path.of(order.get("out").asText());
        for (JsonNode keyspace : order.get("keyspaces"))
            Offline.define(keyspace.get("name").asText(), keyspace.get("statements"));
        for (JsonNode one : order.get("tables"))
        {
            TableMetadata table = Offline.table(one.get("keyspace").asText(), one.get("table").asText());
            wanted.put(table.id, table);
        }
    }

    private void read(Path logs) throws IOException
    {
        List<Path> found = new ArrayList<>();
        try (Stream<Path> all = Files.walk(logs))
        {
            all.filter(Files::isRegularFile).sorted().forEach(found::add);
        }
        int done = 0;
        for (Path path : found)
        {
            CommitLogReader reader = new CommitLogReader();
            reader.readCommitLogSegment(this, new File(path), CommitLogReader.ALL_MUTATIONS, false);
            if (++done % 50 == 0)
                Offline.OUT.println("{\"done\": " + done + "}");
        }
    }

    @Override
    public void handleMutation(Mutation mutation, int size, int position, CommitLogDescriptor descriptor)
    {
        mutations++;
        for (PartitionUpdate update : mutation.getPartitionUpdates())
        {
            if (update.metadata().keyspace.equals("system") && update.metadata().name.equals("local"))
                noteTruncations(update);
            TableMetadata table = wanted.get(update.metadata().id);
            if (table == null)
                continue;
            PartitionUpdate part = update.maxTimestamp() <= until ? update : before(update);
            if (part != update)
                later++;
            if (part == null)
                continue;
            kept++;
            bufferedBytes += size + 200L;
            buffered.computeIfAbsent(table.id, id -> new TreeMap<>())
                    .computeIfAbsent(part.partitionKey(), key -> new ArrayList<>(1))
                    .add(part);
        }
        if (bufferedBytes > most)
            flush();
    }

    /** What of an update is not later; null: nothing. */
    private PartitionUpdate before(PartitionUpdate update)
    {
        TableMetadata table = update.metadata();
        PartitionUpdate.Builder kept = new PartitionUpdate.Builder(table, update.partitionKey(), update.columns(), update.operationCount());
        boolean any = false;
        DeletionInfo deleted = update.deletionInfo();
        if (!deleted.getPartitionDeletion().isLive() && deleted.getPartitionDeletion().markedForDeleteAt() <= until)
        {
            kept.addPartitionDeletion(deleted.getPartitionDeletion());
            any = true;
        }
        Iterator<RangeTombstone> ranges = deleted.rangeIterator(false);
        while (ranges.hasNext())
        {
            RangeTombstone range = ranges.next();
            if (range.deletionTime().markedForDeleteAt() <= until)
            {
                kept.add(range);
                any = true;
            }
        }
        List<Row> rows = new ArrayList<>();
        for (Row row : update)
            rows.add(row);
        if (!update.staticRow().isEmpty())
            rows.add(update.staticRow());
        for (Row row : rows)
        {
            Row part = before(row);
            if (part != null && !part.isEmpty())
            {
                kept.add(part);
                any = true;
            }
        }
        return any ? kept.build() : null;
    }

    private Row before(Row row)
    {
        LivenessInfo info = row.primaryKeyLivenessInfo();
        LivenessInfo alive = info.isEmpty() || info.timestamp() <= until ? info : LivenessInfo.EMPTY;
        Row.Deletion deletion = row.deletion().isLive() || row.deletion().time().markedForDeleteAt() <= until ? row.deletion() : Row.Deletion.LIVE;
        return row.transformAndFilter(alive, deletion, this::before);
    }

    private ColumnData before(ColumnData data)
    {
        if (data instanceof ComplexColumnData complex)
        {
            DeletionTime deletion = complex.complexDeletion();
            if (!deletion.isLive() && deletion.markedForDeleteAt() > until)
                deletion = DeletionTime.LIVE;
            return complex.transformAndFilter(deletion, cell -> cell.timestamp() <= until ? cell : null);
        }
        return ((Cell<?>) data).timestamp() <= until ? data : null;
    }

    /** The engine notes in a table of its own that it emptied another: a position, and when, in milliseconds. */
    private void noteTruncations(PartitionUpdate update)
    {
        for (Row row : update)
            for (ColumnData data : row)
                if (data instanceof ComplexColumnData complex && complex.column().name.toString().equals("truncated_at"))
                    for (Cell<?> cell : complex)
                    {
                        TableId table = TableId.fromUUID(UUIDType.instance.compose(cell.path().get(0)));
                        if (cell.isTombstone() || !wanted.containsKey(table))
                            continue;
                        ByteBuffer content = cell.buffer().duplicate();
                        long at = content.getLong(content.limit() - Long.BYTES);
                        if (at >= since && at * 1000 <= until)
                            truncated.merge(table, at, Math::max);
                    }
    }

    private void flush()
    {
        for (Map.Entry<TableId, TreeMap<DecoratedKey, List<PartitionUpdate>>> of : buffered.entrySet())
            write(wanted.get(of.getKey()), of.getValue());
        buffered.clear();
        bufferedBytes = 0;
    }

    private void write(TableMetadata table, TreeMap<DecoratedKey, List<PartitionUpdate>> partitions)
    {
        Set<ColumnMetadata> columns = new HashSet<>();
        EncodingStats stats = null;
        for (List<PartitionUpdate> updates : partitions.values())
            for (PartitionUpdate update : updates)
            {
                update.columns().forEach(columns::add);
                stats = stats == null ? update.stats() : stats.mergeWith(update.stats());
            }
        RegularAndStaticColumns all = RegularAndStaticColumns.builder().addAll(columns).build();
        File folder = new File(out.resolve(table.keyspace + "." + table.name).resolve(String.valueOf(sstables++)));
        folder.createDirectoriesIfNotExists();
        Descriptor descriptor = new Descriptor(FORMAT, folder, table.keyspace, table.name, new SequenceBasedSSTableId(1), DatabaseDescriptor.getSelectedSSTableFormat());
        SerializationHeader header = new SerializationHeader(true, table, all, stats);
        try (SSTableTxnWriter writer = SSTableTxnWriter.create(
                Schema.instance.getTableMetadataRef(table.id), descriptor, partitions.size(), 0, null, false, header, Collections.emptyList(), null))
        {
            for (List<PartitionUpdate> updates : partitions.values())
            {
                PartitionUpdate merged = updates.size() == 1 ? updates.get(0) : PartitionUpdate.merge(updates);
                writer.append(merged.unfilteredIterator());
            }
            writer.finish(false);
        }
    }

    private ObjectNode result()
    {
        ObjectNode said = Offline.JSON.createObjectNode();
        said.put("mutations", mutations).put("kept", kept).put("later", later).put("sstables", sstables);
        ArrayNode emptied = said.putArray("truncated");
        truncated.forEach((id, at) -> emptied.addObject()
                .put("keyspace", wanted.get(id).keyspace).put("table", wanted.get(id).name).put("at", at));
        unreadable.forEach(said.putArray("unreadable")::add);
        return said;
    }

    @Override
    public boolean shouldSkipSegmentOnError(CommitLogReadException error)
    {
        note(error);
        return true;
    }

    @Override
    public void handleUnrecoverableError(CommitLogReadException error)
    {
        note(error);
    }

    private void note(CommitLogReadException error)
    {
        final int enough = 5;
        if (unreadable.size() < enough)
            unreadable.add(error.reason + ": " + error.getMessage());
    }
}
