import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.cassandra.config.Config;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.partitions.UnfilteredPartitionIterator;
import org.apache.cassandra.db.partitions.UnfilteredPartitionIterators;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.RangeTombstoneMarker;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.io.sstable.Descriptor;
import org.apache.cassandra.io.sstable.ISSTableScanner;
import org.apache.cassandra.io.sstable.KeyReader;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.sstable.metadata.StatsMetadata;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.TableMetadataRef;

/**
 * Tells what is in the SSTables of a table: its largest partitions, those with the most tombstones, histograms, and each
 * file by itself. Run as a source file on the class path of the engine whose files they are:
 * {@code java -cp lib/* Analysis.java ORDER}. The engine itself is neither needed nor touched, and nothing is written.
 *
 * <p>ORDER is a JSON file: {@code keyspace}, {@code table}, {@code statements} (CQL that makes the keyspace's types and
 * tables with their ids), {@code folder} (whose SSTables), {@code top} (how many partitions of each kind are told),
 * {@code bytes_per_second} (at most so many are read, as they are unpacked), {@code seconds} (after so many it ends with
 * what it has).
 *
 * <p>The versions of a partition in several SSTables are merged as a read would, without dropping anything. Lines of JSON
 * go to standard output: {@code {"read", "of"}} each second, in bytes, and last the result, with {@code "done": true}.
 * When nobody reads them any more, it ends.
 */
public final class Analysis
{
    private static final int LONGEST_KEY = 200;
    /** So many rows between two looks at the clock. */
    private static final int STRIDE = 256;
    private static final long SECOND = 1_000_000_000L;

    /** One partition, as all SSTables together hold it. */
    private static final class Partition
    {
        String key;
        /** In the data files, before they are compressed. */
        long bytes;
        long rows;
        long tombstones;
        long droppable;
        int sstables;
    }

    /** The largest by some measure; those with nothing of it are left out. */
    private static final class Leaders
    {
        private final ToLongFunction<Partition> measure;
        private final int most;
        private final PriorityQueue<Partition> kept;

        Leaders(ToLongFunction<Partition> measure, int most)
        {
            this.measure = measure;
            this.most = most;
            kept = new PriorityQueue<>(Comparator.comparingLong(measure));
        }

        boolean wants(Partition partition)
        {
            long value = measure.applyAsLong(partition);
            return value > 0 && (kept.size() < most || value > measure.applyAsLong(kept.peek()));
        }

        void add(Partition partition)
        {
            kept.add(partition);
            if (kept.size() > most)
                kept.poll();
        }

        void tell(ArrayNode into)
        {
            kept.stream().sorted(Comparator.comparingLong(measure).reversed()).forEach(one -> into.addObject()
                    .put("key", one.key).put("bytes", one.bytes).put("rows", one.rows).put("tombstones", one.tombstones)
                    .put("droppable", one.droppable).put("sstables", one.sstables));
        }
    }

    /** Bucket 0 is for 0, bucket n for what is above 2^(n-2) and at most 2^(n-1). */
    private static final class Histogram
    {
        private final long[] counts = new long[65];

        void add(long value)
        {
            counts[value <= 0 ? 0 : 65 - Long.numberOfLeadingZeros(value - 1)]++;
        }

        void tell(ArrayNode into)
        {
            for (int bucket = 0; bucket < counts.length; bucket++)
                if (counts[bucket] > 0)
                    into.addObject().put("up_to", bucket == 0 ? 0 : 1L << Math.min(bucket - 1, 62)).put("partitions", counts[bucket]);
        }
    }

    private final TableMetadata table;
    private final long bytesPerSecond;
    private final long began = System.nanoTime();
    private final long until;
    private final long now = System.currentTimeMillis() / 1000;
    private final long droppableBefore;
    private final List<SSTableReader> sstables = new ArrayList<>();
    private final List<ISSTableScanner> scanners = new ArrayList<>();
    /** How large a partition is in one SSTable, until it is merged with the others. */
    private final Map<UnfilteredRowIterator, Long> sizes = new IdentityHashMap<>();
    private final Leaders largest;
    private final Leaders longest;
    private final Leaders deadest;
    private final Histogram byBytes = new Histogram();
    private final Histogram byRows = new Histogram();
    private long total;
    private long partitions;
    private long rows;
    private long cells;
    private long expiring;
    private long tombstones;
    private long droppable;
    private long said;
    private int looked;
    private boolean partial;

    public static void main(String[] arguments) throws Exception
    {
        JsonNode order = Offline.begin(arguments, Config::new);
        Analysis analysis = new Analysis(order);
        analysis.open(Path.of(order.get("folder").asText()));
        analysis.read();
        Offline.OUT.println(analysis.result());
        System.exit(0);
    }

    private Analysis(JsonNode order)
    {
        String keyspace = order.get("keyspace").asText();
        Offline.define(keyspace, order.get("statements"));
        table = Offline.table(keyspace, order.get("table").asText());
        int most = order.get("top").asInt();
        largest = new Leaders(one -> one.bytes, most);
        longest = new Leaders(one -> one.rows, most);
        deadest = new Leaders(one -> one.tombstones, most);
        bytesPerSecond = order.get("bytes_per_second").asLong();
        until = began + order.get("seconds").asLong() * SECOND;
        droppableBefore = now - table.params.gcGraceSeconds;
    }

    private void open(Path folder) throws IOException
    {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.list(folder))
        {
            all.filter(path -> path.getFileName().toString().endsWith("-Data.db")).sorted().forEach(files::add);
        }
        for (Path path : files)
        {
            SSTableReader sstable = SSTableReader.openNoValidation(null, Descriptor.fromFile(new File(path)), TableMetadataRef.forOfflineTools(table));
            sstables.add(sstable);
            total += sstable.uncompressedLength();
        }
    }

    private void read() throws IOException
    {
        List<UnfilteredPartitionIterator> sources = new ArrayList<>();
        for (SSTableReader sstable : sstables)
        {
            ISSTableScanner scanner = sstable.getScanner();
            scanners.add(scanner);
            sources.add(new Sized(scanner, sstable));
        }
        if (sources.isEmpty())
            return;
        Partition[] current = new Partition[1];
        UnfilteredPartitionIterators.MergeListener versions = (key, found) -> {
            current[0] = new Partition();
            for (UnfilteredRowIterator version : found)
            {
                Long size = version == null ? null : sizes.remove(version);
                if (size != null)
                {
                    current[0].bytes += size;
                    current[0].sstables++;
                }
            }
            return null;
        };
        try (UnfilteredPartitionIterator merged = UnfilteredPartitionIterators.merge(sources, versions))
        {
            while (!partial && merged.hasNext())
                try (UnfilteredRowIterator partition = merged.next())
                {
                    read(partition, current[0]);
                }
        }
    }

    private void read(UnfilteredRowIterator from, Partition partition)
    {
        long rowsBefore = rows;
        long tombstonesBefore = tombstones;
        long droppableBefore = droppable;
        deleted(from.partitionLevelDeletion());
        read(from.staticRow());
        while (!partial && from.hasNext())
        {
            Unfiltered one = from.next();
            if (one instanceof Row row)
            {
                read(row);
                if (row.hasLiveData(now, false))
                    rows++;
            }
            else if (((RangeTombstoneMarker) one).isOpen(false))
                deleted(((RangeTombstoneMarker) one).openDeletionTime(false));
            look();
        }
        look();
        partitions++;
        partition.rows = rows - rowsBefore;
        partition.tombstones = tombstones - tombstonesBefore;
        partition.droppable = droppable - droppableBefore;
        byBytes.add(partition.bytes);
        byRows.add(partition.rows);
        for (Leaders leaders : List.of(largest, longest, deadest))
            if (leaders.wants(partition))
            {
                if (partition.key == null)
                    partition.key = shortened(table.partitionKeyType.getString(from.partitionKey().getKey()));
                leaders.add(partition);
            }
    }

    private static String shortened(String key)
    {
        return key.length() > LONGEST_KEY ? key.substring(0, LONGEST_KEY) + "…" : key;
    }

    private void read(Row row)
    {
        deleted(row.deletion().time());
        for (ColumnData data : row)
            if (data instanceof ComplexColumnData complex)
            {
                deleted(complex.complexDeletion());
                for (Cell<?> cell : complex)
                    read(cell);
            }
            else
                read((Cell<?>) data);
    }

    private void read(Cell<?> cell)
    {
        if (cell.isLive(now))
        {
            cells++;
            if (cell.isExpiring())
                expiring++;
        }
        else
            dead(cell.localDeletionTime());
    }

    private void deleted(DeletionTime deletion)
    {
        if (!deletion.isLive())
            dead(deletion.localDeletionTime());
    }

    private void dead(long since)
    {
        tombstones++;
        if (since < droppableBefore)
            droppable++;
    }

    /** Says how far it is, keeps to its rate, and sees that its time is over. */
    private void look()
    {
        if (++looked % STRIDE != 0)
            return;
        long at = System.nanoTime();
        long soFar = soFar();
        while (at < until && soFar > bytesPerSecond * ((at - began) / 1e9))
        {
            say(at, soFar);
            try
            {
                Thread.sleep(20);
            }
            catch (InterruptedException stopped)
            {
                partial = true;
                return;
            }
            at = System.nanoTime();
        }
        say(at, soFar);
        partial = at >= until;
    }

    private void say(long at, long soFar)
    {
        if (at - said < SECOND)
            return;
        said = at;
        Offline.OUT.println("{\"read\": " + soFar + ", \"of\": " + total + "}");
        if (Offline.OUT.checkError())
            System.exit(1);
    }

    private long soFar()
    {
        long sum = 0;
        for (ISSTableScanner scanner : scanners)
            sum += scanner.getCurrentPosition();
        return sum;
    }

    /** A scanner that notes how large each partition is: from where it begins to where the next one does. */
    private final class Sized implements UnfilteredPartitionIterator
    {
        private final ISSTableScanner scanner;
        private final KeyReader keys;
        private final long end;

        Sized(ISSTableScanner scanner, SSTableReader sstable) throws IOException
        {
            this.scanner = scanner;
            keys = sstable.keyReader();
            end = sstable.uncompressedLength();
        }

        @Override
        public TableMetadata metadata()
        {
            return table;
        }

        @Override
        public boolean hasNext()
        {
            return scanner.hasNext();
        }

        @Override
        public UnfilteredRowIterator next()
        {
            UnfilteredRowIterator partition = scanner.next();
            long from = keys.dataPosition();
            try
            {
                sizes.put(partition, (keys.advance() ? keys.dataPosition() : end) - from);
            }
            catch (IOException failed)
            {
                throw new java.io.UncheckedIOException(failed);
            }
            return partition;
        }

        @Override
        public void close()
        {
            keys.close();
            scanner.close();
        }
    }

    private ObjectNode result()
    {
        ObjectNode told = Offline.JSON.createObjectNode();
        told.put("done", true).put("partial", partial).put("read", partial ? soFar() : total).put("of", total)
            .put("partitions", partitions).put("rows", rows).put("cells", cells).put("expiring", expiring)
            .put("tombstones", tombstones).put("droppable", droppable).put("gc_grace_seconds", table.params.gcGraceSeconds);
        largest.tell(told.putArray("largest"));
        longest.tell(told.putArray("longest"));
        deadest.tell(told.putArray("deadest"));
        byBytes.tell(told.putArray("by_bytes"));
        byRows.tell(told.putArray("by_rows"));
        ArrayNode files = told.putArray("sstables");
        for (SSTableReader sstable : sstables)
        {
            StatsMetadata stats = sstable.getSSTableMetadata();
            files.addObject().put("name", sstable.descriptor.id.toString()).put("format", sstable.descriptor.version.toFormatAndVersionString())
                 .put("level", sstable.getSSTableLevel()).put("bytes", sstable.bytesOnDisk()).put("unpacked", sstable.uncompressedLength())
                 .put("partitions", stats.estimatedPartitionSize.count()).put("rows", stats.totalRows)
                 .put("min_timestamp", stats.minTimestamp).put("max_timestamp", stats.maxTimestamp)
                 .put("min_ttl", stats.minTTL).put("max_ttl", stats.maxTTL).put("repaired_at", stats.repairedAt)
                 .put("pending_repair", stats.pendingRepair != null)
                 .put("droppable", sstable.getEstimatedDroppableTombstoneRatio(droppableBefore));
        }
        return told;
    }
}
