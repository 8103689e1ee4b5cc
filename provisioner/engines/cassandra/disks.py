"""What Cassandra is told because of what its disks do: the same formulas as images/agent/ioproperties/files.go.

Reads get the threads that keep the disks busy (Little's law: threads = reads per second x seconds per read), compaction
a quarter of the write bandwidth, so that commit log, flushes and streams have the rest.
"""

from provisioner.engines.base import DiskFigures

_MEBIBYTE = 2**20
# How long a read holds a thread while disks are busy: NVMe answers in about 100 us, as long again is spent queueing.
_READ_MICROSECONDS = 200
# About what one compactor writes on one core, in bytes per second.
_COMPACTOR_BANDWIDTH = 64 * _MEBIBYTE
_LEAST_THREADS = 32  # what cassandra.yaml comes with
_THREADS_PER_CPU = 8  # "8 * number_of_cores", from the comments of cassandra.yaml
_MOST_COMPACTORS = 8  # more only compete for the heap
_LEAST_THROUGHPUT = 16


def settings(figures: DiskFigures, cpus: int) -> dict[str, int | str]:
    """As they stand in cassandra.yaml. `cpus`: those of the machine."""
    reads = figures.read_iops * _READ_MICROSECONDS // 1_000_000
    for_compaction = figures.write_bandwidth // 4
    compactors = max(1, min(cpus // 2, for_compaction // _COMPACTOR_BANDWIDTH, _MOST_COMPACTORS))
    throughput = min(for_compaction // _MEBIBYTE, compactors * _COMPACTOR_BANDWIDTH // _MEBIBYTE)
    return {
        "concurrent_reads": max(_LEAST_THREADS, min(reads, 2 * _THREADS_PER_CPU * cpus)),
        "concurrent_writes": max(_LEAST_THREADS, _THREADS_PER_CPU * cpus),
        "concurrent_compactors": compactors,
        "compaction_throughput": f"{max(_LEAST_THROUGHPUT, throughput)}MiB/s",
    }
