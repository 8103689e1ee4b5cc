// Package machinemetrics tells how the machine is: its CPUs, disks, network and memory, and the engine's process, from procfs and sysfs.
package machinemetrics

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"golang.org/x/sys/unix"

	"ringmaster/agent"
	"ringmaster/agent/metrics"
	"ringmaster/agent/pinning"
)

// tuningAge is how old the tuning report may be: what it tells changes with a boot.
const tuningAge = 5 * time.Minute

// Source reads the machine. Its methods may be used from several goroutines.
type Source struct {
	// Root is where proc and sys are: "/" but in tests.
	Root string
	// Data is the folder of the engine's data. It may be missing.
	Data string
	// EnginePID is 0 while the engine does not run.
	EnginePID func(context.Context) int
	Tuning    func(context.Context) (agent.TuningReport, error)

	mu      sync.Mutex
	report  *agent.TuningReport
	reports time.Time
}

// Collect implements metrics.Source. What cannot be read is noted as lacking, and the rest is told.
func (s *Source) Collect(ctx context.Context, page *metrics.Page) error {
	proc, err := procfs.NewFS(filepath.Join(s.Root, "proc"))
	if err != nil {
		return err
	}
	report, err := s.tuning(ctx)
	if err != nil {
		page.Lacking("ringmaster_node_tuning_checks")
		report = &agent.TuningReport{}
	}
	tuning(page, report)
	for _, part := range []struct {
		first string
		read  func() error
	}{
		{"cpu_seconds_total", func() error { return cpus(page, proc, report) }},
		{"load1", func() error { return load(page, proc) }},
		{"memory_total_bytes", func() error { return memory(page, proc) }},
		{"engine_cpu_seconds_total", func() error { return engine(page, proc, s.EnginePID(ctx)) }},
		{"disk_reads_total", func() error { return s.disks(page) }},
		{"network_receive_bytes_total", func() error { return network(page, proc) }},
		{"tcp_retransmits_total", func() error { return tcp(page, proc) }},
		{"filesystem_size_bytes", func() error { return s.filesystem(page) }},
	} {
		if part.read() != nil {
			page.Lacking("ringmaster_node_" + part.first)
		}
	}
	return nil
}

func (s *Source) tuning(ctx context.Context) (*agent.TuningReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report == nil || time.Since(s.reports) > tuningAge {
		report, err := s.Tuning(ctx)
		if err != nil {
			return nil, err
		}
		s.report, s.reports = &report, time.Now()
	}
	return s.report, nil
}

func tuning(page *metrics.Page, report *agent.TuningReport) {
	results := map[agent.CheckStatus]int{}
	for _, check := range report.Checks {
		results[check.Status]++
	}
	for result, count := range results {
		page.Family("ringmaster_node_tuning_checks").Add(metrics.Labels("result", string(result)), float64(count))
	}
	if report.IO == nil {
		return
	}
	for direction, figures := range map[string][2]int64{
		"read": {report.IO.ReadIOPS, report.IO.ReadBandwidth}, "write": {report.IO.WriteIOPS, report.IO.WriteBandwidth},
	} {
		labels := metrics.Labels("direction", direction)
		page.Family("ringmaster_node_io_iops_limit").Add(labels, float64(figures[0]))
		page.Family("ringmaster_node_io_bandwidth_limit_bytes").Add(labels, float64(figures[1]))
	}
}

func cpus(page *metrics.Page, proc procfs.FS, report *agent.TuningReport) error {
	stat, err := proc.Stat()
	if err != nil {
		return err
	}
	interrupts := map[int]bool{}
	// Nothing is pinned on a machine that others share: there the plan says only what would be.
	if report.Pins != nil && report.Environment != agent.SharedMachine {
		// A list that cannot be read marks none.
		chosen, _ := pinning.ParseList(report.Pins.IRQ)
		for _, id := range chosen {
			interrupts[id] = true
		}
	}
	family := page.Family("ringmaster_node_cpu_seconds_total")
	for id, cpu := range stat.CPU {
		irq := strconv.FormatBool(interrupts[int(id)])
		for _, mode := range []struct {
			name    string
			seconds float64
		}{
			// The kernel counts guests among user and nice.
			{"user", cpu.User}, {"nice", cpu.Nice}, {"system", cpu.System}, {"idle", cpu.Idle}, {"iowait", cpu.Iowait},
			{"irq", cpu.IRQ}, {"softirq", cpu.SoftIRQ}, {"steal", cpu.Steal},
		} {
			family.Add(metrics.Labels("cpu", strconv.FormatInt(id, 10), "mode", mode.name, "irq", irq), mode.seconds)
		}
	}
	return nil
}

func load(page *metrics.Page, proc procfs.FS) error {
	average, err := proc.LoadAvg()
	if err != nil {
		return err
	}
	page.Family("ringmaster_node_load1").Add("", average.Load1)
	return nil
}

func memory(page *metrics.Page, proc procfs.FS) error {
	info, err := proc.Meminfo()
	if err != nil {
		return err
	}
	if info.MemTotalBytes == nil || info.MemAvailableBytes == nil {
		return errors.New("no memory is told")
	}
	page.Family("ringmaster_node_memory_total_bytes").Add("", float64(*info.MemTotalBytes))
	page.Family("ringmaster_node_memory_available_bytes").Add("", float64(*info.MemAvailableBytes))
	if info.SwapTotalBytes != nil && info.SwapFreeBytes != nil {
		page.Family("ringmaster_node_swap_used_bytes").Add("", float64(*info.SwapTotalBytes-*info.SwapFreeBytes))
	}
	return nil
}

// ticksPerSecond is the kernel's for user space, on every architecture that engines run on.
const ticksPerSecond = 100

func engine(page *metrics.Page, proc procfs.FS, pid int) error {
	if pid == 0 {
		return nil
	}
	process, err := proc.Proc(pid)
	if err != nil {
		return err
	}
	stat, err := process.Stat()
	if err != nil {
		return err
	}
	seconds := page.Family("ringmaster_node_engine_cpu_seconds_total")
	seconds.Add(metrics.Labels("mode", "user"), float64(stat.UTime)/ticksPerSecond)
	seconds.Add(metrics.Labels("mode", "system"), float64(stat.STime)/ticksPerSecond)
	page.Family("ringmaster_node_engine_resident_bytes").Add("", float64(stat.ResidentMemory()))
	page.Family("ringmaster_node_engine_major_faults_total").Add("", float64(stat.MajFlt))
	if open, err := process.FileDescriptorsLen(); err == nil {
		page.Family("ringmaster_node_engine_open_files").Add("", float64(open))
	}
	return nil
}

// sectorBytes is the unit of /proc/diskstats, whatever the disk's own sectors are.
const sectorBytes = 512

func (s *Source) disks(page *metrics.Page) error {
	devices, err := blockdevice.NewFS(filepath.Join(s.Root, "proc"), filepath.Join(s.Root, "sys"))
	if err != nil {
		return err
	}
	stats, err := devices.ProcDiskstats()
	if err != nil {
		return err
	}
	data := s.dataDevices()
	for _, disk := range stats {
		// Partitions are counted with their disk; loops and memory are no disks.
		if strings.HasPrefix(disk.DeviceName, "loop") || strings.HasPrefix(disk.DeviceName, "ram") || strings.HasPrefix(disk.DeviceName, "zram") {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.Root, "sys", "block", disk.DeviceName)); err != nil {
			continue
		}
		labels := metrics.Labels("device", disk.DeviceName)
		for _, one := range []struct {
			name  string
			value float64
		}{
			{"disk_reads_total", float64(disk.ReadIOs)},
			{"disk_writes_total", float64(disk.WriteIOs)},
			{"disk_read_bytes_total", float64(disk.ReadSectors) * sectorBytes},
			{"disk_written_bytes_total", float64(disk.WriteSectors) * sectorBytes},
			{"disk_read_seconds_total", float64(disk.ReadTicks) / 1000},
			{"disk_write_seconds_total", float64(disk.WriteTicks) / 1000},
			{"disk_busy_seconds_total", float64(disk.IOsTotalTicks) / 1000},
		} {
			page.Family("ringmaster_node_"+one.name).Add(labels, one.value)
		}
		if data[disk.DeviceName] {
			page.Family("ringmaster_node_disk_data").Add(labels, 1)
		}
	}
	return nil
}

// dataDevices are the disk that the data are on, and those that it is made of.
func (s *Source) dataDevices() map[string]bool {
	found := map[string]bool{}
	var stat unix.Stat_t
	if unix.Stat(s.Data, &stat) != nil {
		return found
	}
	number := strconv.Itoa(int(unix.Major(stat.Dev))) + ":" + strconv.Itoa(int(unix.Minor(stat.Dev)))
	place, err := filepath.EvalSymlinks(filepath.Join(s.Root, "sys", "dev", "block", number))
	if err != nil {
		return found
	}
	if _, err := os.Stat(filepath.Join(place, "partition")); err == nil {
		place = filepath.Dir(place)
	}
	found[filepath.Base(place)] = true
	parts, _ := os.ReadDir(filepath.Join(place, "slaves"))
	for _, part := range parts {
		found[part.Name()] = true
	}
	return found
}

func network(page *metrics.Page, proc procfs.FS) error {
	devices, err := proc.NetDev()
	if err != nil {
		return err
	}
	for name, device := range devices {
		if name == "lo" {
			continue
		}
		labels := metrics.Labels("device", name)
		page.Family("ringmaster_node_network_receive_bytes_total").Add(labels, float64(device.RxBytes))
		page.Family("ringmaster_node_network_transmit_bytes_total").Add(labels, float64(device.TxBytes))
		for direction, counts := range map[string][2]uint64{"in": {device.RxDropped, device.RxErrors}, "out": {device.TxDropped, device.TxErrors}} {
			both := metrics.Labels("device", name, "direction", direction)
			page.Family("ringmaster_node_network_drops_total").Add(both, float64(counts[0]))
			page.Family("ringmaster_node_network_errors_total").Add(both, float64(counts[1]))
		}
	}
	return nil
}

func tcp(page *metrics.Page, proc procfs.FS) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	counts, err := self.Snmp()
	if err != nil {
		return err
	}
	if counts.Tcp.RetransSegs == nil {
		return errors.New("no count of segments sent again")
	}
	page.Family("ringmaster_node_tcp_retransmits_total").Add("", *counts.Tcp.RetransSegs)
	return nil
}

func (s *Source) filesystem(page *metrics.Page) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(s.Data, &stat); err != nil {
		return err
	}
	page.Family("ringmaster_node_filesystem_size_bytes").Add("", float64(stat.Blocks)*float64(stat.Bsize))
	page.Family("ringmaster_node_filesystem_free_bytes").Add("", float64(stat.Bavail)*float64(stat.Bsize))
	return nil
}

// Process adds what the agent itself takes.
func Process(page *metrics.Page) error {
	self, err := procfs.Self()
	if err != nil {
		return err
	}
	stat, err := self.Stat()
	if err != nil {
		return err
	}
	page.Family("ringmaster_agent_resident_bytes").Add("", float64(stat.ResidentMemory()))
	page.Family("ringmaster_agent_cpu_seconds_total").Add("", stat.CPUTime())
	return nil
}
