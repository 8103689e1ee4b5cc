package ioproperties

import (
	"fmt"
	"strings"
)

// Where ScyllaDB looks for its files.
const (
	ScyllaProperties = "/etc/scylla.d/io_properties.yaml"
	ScyllaOptions    = "/etc/scylla.d/io.conf"
)

// ScyllaYAML is io_properties.yaml for the array at mountpoint.
func (f Figures) ScyllaYAML(mountpoint string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "disks:\n- mountpoint: %s\n", mountpoint)
	fmt.Fprintf(&text, "  read_iops: %d\n  read_bandwidth: %d\n", f.ReadIOPS, f.ReadBandwidth)
	fmt.Fprintf(&text, "  write_iops: %d\n  write_bandwidth: %d\n", f.WriteIOPS, f.WriteBandwidth)
	return text.String()
}

// ScyllaConf is io.conf: it makes the engine read io_properties.yaml.
func ScyllaConf() string {
	return fmt.Sprintf("SEASTAR_IO=\"--io-properties-file=%s\"\n", ScyllaProperties)
}

// CassandraSettings are settings of cassandra.yaml.
type CassandraSettings struct {
	ConcurrentReads      int
	ConcurrentWrites     int
	ConcurrentCompactors int
	// CompactionThroughput is in MiB/s, for all compactors together.
	CompactionThroughput int
}

const (
	mebibyte = 1 << 20
	// readMicroseconds is how long a read holds a thread while the disks are busy. With Little's law, threads = reads per second x
	// seconds per read, enough threads keep the disks busy. Our own choice: NVMe answers in about 100 µs, and as long again is spent queueing.
	readMicroseconds = 200
	// compactorBandwidth is about what one compactor writes on one core, in bytes per second; our own choice.
	compactorBandwidth = 64 * mebibyte
	leastThreads       = 32 // what cassandra.yaml comes with
	threadsPerCPU      = 8  // "8 * number_of_cores", from the comments of cassandra.yaml
	mostCompactors     = 8  // more only compete for the heap
)

// Cassandra derives the settings for a machine with this many CPUs. Reads get the threads that keep the disks busy, at most
// 16 a CPU; compaction gets a quarter of the write bandwidth, so that commit log, flushes and streams have the rest.
func (f Figures) Cassandra(cpus int) CassandraSettings {
	reads := int(f.ReadIOPS * readMicroseconds / 1_000_000)
	compactors := min(cpus/2, int(f.WriteBandwidth/4/compactorBandwidth), mostCompactors)
	compactors = max(compactors, 1)
	return CassandraSettings{
		ConcurrentReads:      max(leastThreads, min(reads, 2*threadsPerCPU*cpus)),
		ConcurrentWrites:     max(leastThreads, threadsPerCPU*cpus),
		ConcurrentCompactors: compactors,
		CompactionThroughput: max(16, min(int(f.WriteBandwidth/4/mebibyte), compactors*compactorBandwidth/mebibyte)),
	}
}

// YAML is the settings as they stand in cassandra.yaml.
func (s CassandraSettings) YAML() string {
	return fmt.Sprintf("concurrent_reads: %d\nconcurrent_writes: %d\nconcurrent_compactors: %d\ncompaction_throughput: %dMiB/s\n",
		s.ConcurrentReads, s.ConcurrentWrites, s.ConcurrentCompactors, s.CompactionThroughput)
}
