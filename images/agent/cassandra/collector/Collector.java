package ringmaster;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Field;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.management.ListenerNotFoundException;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

import com.codahale.metrics.Counting;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.Sampling;
import com.sun.management.GarbageCollectionNotificationInfo;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.ColumnFamilyStore;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.db.compaction.CompactionManager;
import org.apache.cassandra.db.memtable.Memtable;
import org.apache.cassandra.gms.FailureDetector;
import org.apache.cassandra.gms.FailureDetectorMBean;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.metrics.CassandraMetricsRegistry;
import org.apache.cassandra.metrics.ClientMessageSizeMetrics;
import org.apache.cassandra.metrics.LatencyMetrics;
import org.apache.cassandra.metrics.ThreadPoolMetrics;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.net.OutboundConnections;
import org.apache.cassandra.net.Verb;
import org.apache.cassandra.schema.SchemaConstants;
import org.apache.cassandra.utils.EstimatedHistogram;
import org.apache.cassandra.utils.FBUtilities;

/**
 * Tells the node's agent the engine's own numbers, from inside of its process. Compiled against the engine that runs, loaded
 * into it while it runs. It changes nothing: one thread of the lowest priority reads metrics, for one caller at a time, and
 * writes them through a buffer of fixed size. Whatever goes wrong ends the answer, and nothing else. When nobody has asked for
 * a while it ends.
 *
 * <p>The argument is {@code SOCKET}: a name in the folder that the engine runs in, which only its user may enter.
 *
 * <p>A question is lines of text, an empty one last: {@code within MILLISECONDS}, {@code table FIELD} (of TableMetrics),
 * {@code metric NAME} (of the registry), {@code only traffic}. The answer is lines of words:
 *
 * <pre>
 * missing WHAT WHY                 a field or a metric that this version of the engine has not
 * metric NAME VALUE
 * pool NAME ACTIVE PENDING BLOCKED COMPLETED
 * dropped VERB COUNT
 * gc NAME COUNT MILLISECONDS
 * pause NUMBER MILLISECONDS        how many collections took at most so long; a negative time: longer than any
 * paused MILLISECONDS              all of them together
 * value NAME VALUE                 heap and others
 * table KEYSPACE NAME STATE VALUE… in the order of the question; STATE: see {@link #sstables}
 * sent ADDRESS DC RACK MESSAGES STREAMS   bytes sent to a node since the start; these two only when asked for, and then nothing else
 * clients RECEIVED SENT                   bytes since the start
 * end                              without it the answer is not whole
 * </pre>
 *
 * A VALUE is a number, {@code -} where there is none, or a histogram: {@code COUNT;SUM;LENGTH;INDEX:COUNT,…}, where SUM may be
 * empty, LENGTH is the number of the engine's buckets, and only those that are not empty are told.
 */
public final class Collector implements Runnable
{
    private static final long IDLE_MS = 15 * 60 * 1000L;
    private static final int BUFFER = 64 << 10;
    private static final int LONGEST_QUESTION = 64 << 10;
    private static final long[] PAUSES = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000 };

    private static Collector running;

    private final Path path;
    private final ServerSocketChannel server;
    private final ByteBuffer out = ByteBuffer.allocate(BUFFER);
    private SocketChannel caller;

    private final Map<String, Optional<Field>> fields = new HashMap<>();
    private Map<Object, TableState> tables = new HashMap<>();
    private final long[] paused = new long[PAUSES.length + 1];
    private long pausedMs;

    public static void agentmain(String socket) throws IOException
    {
        synchronized (Collector.class)
        {
            if (running != null)
                return;
            Collector collector = new Collector(Path.of(socket));
            Thread thread = new Thread(collector, "ringmaster-metrics");
            thread.setDaemon(true);
            thread.setPriority(Thread.MIN_PRIORITY);
            thread.start();
            running = collector;
        }
    }

    private Collector(Path path) throws IOException
    {
        this.path = path;
        Files.deleteIfExists(path);
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(path), 4);
    }

    @Override
    public void run()
    {
        NotificationListener listener = (notification, nothing) -> {
            if (GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION.equals(notification.getType()))
                note(GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData()).getGcInfo().getDuration());
        };
        try (Selector waiting = Selector.open())
        {
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
                if (bean instanceof NotificationEmitter emitter)
                    emitter.addNotificationListener(listener, null, null);
            server.configureBlocking(false);
            server.register(waiting, SelectionKey.OP_ACCEPT);
            for (long idleSince = System.nanoTime(); System.nanoTime() - idleSince < IDLE_MS * 1_000_000; )
            {
                waiting.select(IDLE_MS);
                waiting.selectedKeys().clear();
                SocketChannel accepted = server.accept();
                if (accepted == null)
                    continue;
                answer(accepted);
                idleSince = System.nanoTime();
            }
        }
        catch (Throwable error)
        {
            // Nobody is there to be told; the agent finds the socket closed and loads another.
        }
        finally
        {
            end(listener);
        }
    }

    private void end(NotificationListener listener)
    {
        synchronized (Collector.class)
        {
            running = null;
            try
            {
                server.close();
                Files.deleteIfExists(path);
                for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
                    if (bean instanceof NotificationEmitter emitter)
                        emitter.removeNotificationListener(listener);
            }
            catch (IOException | ListenerNotFoundException error)
            {
                // It was closed or never there.
            }
        }
    }

    private synchronized void note(long duration)
    {
        int index = 0;
        while (index < PAUSES.length && duration > PAUSES[index])
            index++;
        paused[index]++;
        pausedMs += duration;
    }

    private void answer(SocketChannel accepted)
    {
        try (SocketChannel closing = accepted)
        {
            caller = closing;
            out.clear();
            // The caller is this node's agent, which sends its question at once and hangs up when it has waited enough.
            caller.configureBlocking(true);
            tell(question());
            flush();
        }
        catch (Throwable error)
        {
            // The answer lacks its end, which tells the caller enough.
        }
        finally
        {
            caller = null;
        }
    }

    private List<String> question() throws IOException
    {
        ByteBuffer in = ByteBuffer.allocate(LONGEST_QUESTION);
        while (in.position() < 2 || in.get(in.position() - 1) != '\n' || in.get(in.position() - 2) != '\n')
            if (caller.read(in) <= 0)
                throw new IOException("the question is not whole");
        return new String(in.array(), 0, in.position(), StandardCharsets.UTF_8).lines().toList();
    }

    private void tell(List<String> question) throws IOException
    {
        long until = Long.MAX_VALUE;
        List<String> names = new ArrayList<>();
        Map<String, Metric> registry = CassandraMetricsRegistry.Metrics.getMetrics();
        for (String line : question)
        {
            int space = line.indexOf(' ');
            if (space < 0)
                continue;
            String rest = line.substring(space + 1);
            switch (line.substring(0, space))
            {
                case "within":
                    until = System.nanoTime() + Long.parseLong(rest) * 1_000_000;
                    break;
                case "table":
                    names.add(rest);
                    break;
                case "metric":
                    registered(rest, registry.get(rest));
                    break;
                case "only":
                    traffic(registry);
                    word("end").line();
                    return;
                default:
                    missing(line, "it is not known what is asked");
            }
        }
        node(registry);
        tables(names, until);
        word("end").line();
    }

    private void traffic(Map<String, Metric> registry) throws IOException
    {
        for (Map.Entry<InetAddressAndPort, OutboundConnections> one : MessagingService.instance().channelManagers.entrySet())
        {
            InetAddressAndPort peer = one.getKey();
            if (peer.equals(FBUtilities.getBroadcastAddressAndPort()))
                continue;
            OutboundConnections to = one.getValue();
            String address = peer.getAddress().getHostAddress();
            long streamed = 0;
            // The engine writes into the name how it first heard of the address: alone, or by its name, which is the address.
            for (String name : new String[]{ "/" + address, address + "/" + address })
                if (registry.get("org.apache.cassandra.metrics.Streaming.OutgoingBytes." + (name + ":" + peer.getPort()).replace(':', '.')) instanceof Counting counted)
                    streamed += counted.getCount();
            word("sent").word(address)
                        .word(DatabaseDescriptor.getEndpointSnitch().getDatacenter(peer).replace(' ', '_'))
                        .word(DatabaseDescriptor.getEndpointSnitch().getRack(peer).replace(' ', '_'))
                        .number(to.small.sentBytes() + to.large.sentBytes() + to.urgent.sentBytes()).number(streamed).line();
        }
        word("clients").number(ClientMessageSizeMetrics.bytesReceived.getCount()).number(ClientMessageSizeMetrics.bytesSent.getCount()).line();
    }

    private void registered(String name, Metric metric) throws IOException
    {
        if (metric == null)
            missing(name, "the engine has no such metric");
        else
            word("metric").word(name).value(metric).line();
    }

    private void node(Map<String, Metric> registry) throws IOException
    {
        for (ThreadPoolMetrics pool : CassandraMetricsRegistry.Metrics.allThreadPoolMetrics())
            word("pool").word(pool.poolName).value(pool.activeTasks).value(pool.pendingTasks).value(pool.currentBlocked).value(pool.completedTasks).line();
        for (Verb verb : Verb.values())
            if (registry.get("org.apache.cassandra.metrics.DroppedMessage.Dropped." + verb) instanceof Counting dropped)
                word("dropped").word(verb.toString()).number(dropped.getCount()).line();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
            word("gc").word(bean.getName().replace(' ', '_')).number(bean.getCollectionCount()).number(bean.getCollectionTime()).line();
        synchronized (this)
        {
            for (int index = 0; index <= PAUSES.length; index++)
                word("pause").number(paused[index]).number(index < PAUSES.length ? PAUSES[index] : -1).line();
            word("paused").number(pausedMs).line();
        }
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        word("value").word("heap_used").number(heap.getUsed()).line();
        word("value").word("heap_max").number(heap.getMax()).line();
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class))
            if (pool.getName().equals("direct"))
                word("value").word("direct_memory").number(pool.getMemoryUsed()).line();
        if (FailureDetector.instance instanceof FailureDetectorMBean detector)
        {
            word("value").word("peers_up").number(detector.getUpEndpointCount()).line();
            word("value").word("peers_down").number(detector.getDownEndpointCount()).line();
        }
        word("value").word("compactions_active").number(CompactionManager.instance.active.getCompactions().size()).line();
        if (DatabaseDescriptor.isCDCEnabled())
            word("value").word("cdc_limit").number(DatabaseDescriptor.getCDCTotalSpace()).line();
    }

    private void tables(List<String> names, long until) throws IOException
    {
        Map<Object, TableState> still = new HashMap<>();
        boolean[] told = new boolean[names.size()];
        for (Keyspace keyspace : Keyspace.all())
        {
            if (SchemaConstants.isLocalSystemKeyspace(keyspace.getName()))
                continue;
            for (ColumnFamilyStore table : keyspace.getColumnFamilyStores())
            {
                if (System.nanoTime() > until)
                    throw new IOException("it takes too long");
                TableState state = tables.getOrDefault(table.metadata.id, new TableState());
                still.put(table.metadata.id, state);
                word("table").word(keyspace.getName()).word(table.name);
                sstables(table, state);
                for (int index = 0; index < names.size(); index++)
                {
                    Object metric = field(table.metric, names.get(index));
                    if (metric != null)
                        value(metric);
                    else
                    {
                        word("-");
                        told[index] |= fields.get(names.get(index)).isEmpty();
                    }
                }
                line();
            }
        }
        tables = still;
        for (int index = 0; index < told.length; index++)
            if (told[index])
                missing(names.get(index), "TableMetrics has no such field");
    }

    /** What was last seen of one SSTable, and what of it does not change. */
    private record Seen(long falsePositives, long hits, long requests, long partitions, double bytes, long largest) {}

    /** What is counted for a table over the lives of its SSTables. */
    private static final class TableState
    {
        private long falsePositives;
        private long hits;
        private long requests;
        private Map<Object, Seen> sstables = Map.of();
    }

    /**
     * Tells {@code PARTITIONS,MEAN,LARGEST,REPAIRED,UNREPAIRED,PENDING,FALSE_POSITIVES,HITS,REQUESTS,CDC}. The engine counts the
     * last but one for each SSTable; what a compaction takes away must not be missing from a sum that only grows.
     */
    private void sstables(ColumnFamilyStore table, TableState state) throws IOException
    {
        long partitions = 0, largest = 0, repaired = 0, unrepaired = 0, pending = 0;
        double bytes = 0;
        Map<Object, Seen> now = new HashMap<>();
        for (SSTableReader sstable : table.getLiveSSTables())
        {
            Seen before = state.sstables.get(sstable.descriptor);
            Seen seen = look(sstable, before);
            now.put(sstable.descriptor, seen);
            state.falsePositives += grown(seen.falsePositives, before == null ? 0 : before.falsePositives);
            state.hits += grown(seen.hits, before == null ? 0 : before.hits);
            state.requests += grown(seen.requests, before == null ? 0 : before.requests);
            partitions += seen.partitions;
            bytes += seen.bytes;
            largest = Math.max(largest, seen.largest);
            if (sstable.isRepaired())
                repaired += sstable.uncompressedLength();
            else if (sstable.isPendingRepair())
                pending += sstable.uncompressedLength();
            else
                unrepaired += sstable.uncompressedLength();
        }
        state.sstables = now;
        long mean = partitions == 0 ? 0 : Math.round(bytes / partitions);
        for (Memtable memtable : table.getTracker().getView().getAllMemtables())
            partitions += memtable.partitionCount();
        number(partitions).comma(mean).comma(largest).comma(repaired).comma(unrepaired).comma(pending)
                          .comma(state.falsePositives).comma(state.hits).comma(state.requests).comma(table.metadata().params.cdc ? 1 : 0);
    }

    private static long grown(long now, long before)
    {
        return now >= before ? now - before : now;
    }

    private static Seen look(SSTableReader sstable, Seen before)
    {
        long falsePositives = 0, hits = 0, requests = 0;
        if (sstable instanceof org.apache.cassandra.io.sstable.format.SSTableReaderWithFilter filtered)
            falsePositives = filtered.getFilterTracker().getFalsePositiveCount();
        if (sstable instanceof org.apache.cassandra.io.sstable.keycache.KeyCacheSupport<?> cached)
        {
            hits = cached.getKeyCache().getHits();
            requests = cached.getKeyCache().getRequests();
        }
        if (before != null)
            return new Seen(falsePositives, hits, requests, before.partitions, before.bytes, before.largest);
        EstimatedHistogram sizes = sstable.getEstimatedPartitionSize();
        long count = sizes.count();
        // One with a partition too large for the histogram has no mean.
        boolean overflowed = sizes.isOverflowed();
        return new Seen(falsePositives, hits, requests, count, overflowed || count == 0 ? 0 : (double) sizes.mean() * count, sizes.max());
    }

    /** The metric that a public field holds; null: there is none. {@code a.B} is the gauge B in the maps of the field a. */
    private Object field(Object of, String name) throws IOException
    {
        int dot = name.indexOf('.');
        String own = dot < 0 ? name : name.substring(0, dot);
        Optional<Field> field = fields.get(name);
        if (field == null)
        {
            Optional<Field> found = Optional.empty();
            try
            {
                found = Optional.of(of.getClass().getField(own));
            }
            catch (NoSuchFieldException error)
            {
                // Told as missing.
            }
            field = found;
            fields.put(name, field);
        }
        if (field.isEmpty())
            return null;
        try
        {
            Object held = field.get().get(of);
            if (dot < 0)
                return held;
            double sum = 0;
            for (Object gauges : ((Map<?, ?>) held).values())
                if (((Map<?, ?>) gauges).get(name.substring(dot + 1)) instanceof Gauge<?> gauge && gauge.getValue() instanceof Number number)
                    sum += number.doubleValue();
            return sum;
        }
        catch (IllegalAccessException error)
        {
            throw new IOException(error);
        }
    }

    private Collector value(Object metric) throws IOException
    {
        Object held = metric;
        if (held instanceof LatencyMetrics latency)
            return histogram(latency.latency, latency.latency.getCount(), latency.totalLatency.getCount());
        if (!(held instanceof Metric) && !(held instanceof Number))
            // TableHistogram, TableTimer and TableMeter hold the table's own beside those of its keyspace and of all tables.
            held = inner(held);
        if (held instanceof Sampling sampling)
            return histogram(sampling, ((Counting) held).getCount(), -1);
        if (held instanceof Counting counting)
            return number(counting.getCount());
        if (held instanceof Gauge<?> gauge)
            held = gauge.getValue();
        if (held instanceof Double || held instanceof Float)
        {
            double number = ((Number) held).doubleValue();
            return Double.isFinite(number) ? word(Double.toString(number)) : word("-");
        }
        return held instanceof Number number ? number(number.longValue()) : word("-");
    }

    private static Object inner(Object held) throws IOException
    {
        for (String name : new String[]{ "cf", "table" })
        {
            try
            {
                return held.getClass().getField(name).get(held);
            }
            catch (NoSuchFieldException error)
            {
                // The other, then.
            }
            catch (IllegalAccessException error)
            {
                throw new IOException(error);
            }
        }
        return held;
    }

    private Collector histogram(Sampling sampling, long count, long sum) throws IOException
    {
        if (count == 0)
            return word("0");
        // The plain counts since the start; the engine's percentiles are of others, which fade.
        long[] buckets = sampling.getSnapshot().getValues();
        number(count).put(';');
        if (sum >= 0)
            digits(sum);
        put(';').digits(buckets.length).put(';');
        boolean first = true;
        for (int index = 0; index < buckets.length; index++)
        {
            if (buckets[index] == 0)
                continue;
            if (!first)
                put(',');
            digits(index).put(':').digits(buckets[index]);
            first = false;
        }
        return this;
    }

    private void missing(String what, String why) throws IOException
    {
        word("missing").word(what.replace(' ', '_')).word(why.replace(' ', '_')).line();
    }

    private boolean begun;

    private Collector word(String text) throws IOException
    {
        between();
        for (byte one : text.getBytes(StandardCharsets.UTF_8))
            put((char) (one & 0xff));
        return this;
    }

    private Collector number(long value) throws IOException
    {
        between();
        return digits(value);
    }

    private Collector comma(long value) throws IOException
    {
        return put(',').digits(value);
    }

    private void between() throws IOException
    {
        if (begun)
            put(' ');
        begun = true;
    }

    private void line() throws IOException
    {
        put('\n');
        begun = false;
    }

    private final byte[] reversed = new byte[20];

    private Collector digits(long value) throws IOException
    {
        if (value == Long.MIN_VALUE)
            return digits(value + 1);
        if (value < 0)
            put('-');
        int length = 0;
        for (long left = Math.abs(value); length == 0 || left > 0; left /= 10)
            reversed[length++] = (byte) ('0' + left % 10);
        while (length > 0)
            put((char) reversed[--length]);
        return this;
    }

    private Collector put(char one) throws IOException
    {
        if (!out.hasRemaining())
            flush();
        out.put((byte) one);
        return this;
    }

    private void flush() throws IOException
    {
        out.flip();
        while (out.hasRemaining())
            caller.write(out);
        out.clear();
    }
}
