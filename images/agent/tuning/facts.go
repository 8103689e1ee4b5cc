// Package tuning makes a machine right for an engine, in four parts: facts are collected from sysfs and procfs; a plan is made
// of facts and of what the control plane wants, purely; applying it can be repeated and records what was before, so that it can
// be reverted; the report holds the machine against the plan.
package tuning

import (
	"bufio"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent/pinning"
)

// Facts are what a machine is and how it is set now.
type Facts struct {
	Provider    string           `json:"provider"`
	MachineType string           `json:"machine_type"`
	Zone        string           `json:"zone"`
	Topology    pinning.Topology `json:"topology"`
	Disks       []BlockDevice    `json:"disks"`
	// DiskModels are patterns of models of local disks; none are those of AWS and GCP.
	DiskModels []string      `json:"disk_models,omitempty"`
	Cards      []NetworkCard `json:"network_cards"`
	// Values are the contents of the files that tuning looks at or changes, by path; a file that is not there is left out.
	Values map[string]string `json:"values"`
	Mounts []Mount           `json:"mounts"`
	Swaps  []string          `json:"swaps"`
	// Container is true when this is no machine of its own.
	Container bool `json:"container"`
	// HostNetwork: the network is the machine's own, also in a container.
	HostNetwork bool `json:"host_network"`
	// Seccomp is the mode of the agent's own process: 0 none, 1 strict, 2 filtered.
	Seccomp string `json:"seccomp"`
}

// BlockDevice is a disk or an array.
type BlockDevice struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	// Slaves are the disks an array is made of.
	Slaves     []string `json:"slaves,omitempty"`
	Rotational bool     `json:"rotational"`
	Interrupts []int    `json:"interrupts,omitempty"`
}

// NetworkCard is a card with a device behind it.
type NetworkCard struct {
	Name       string   `json:"name"`
	RxQueues   []string `json:"rx_queues"`
	TxQueues   []string `json:"tx_queues"`
	Interrupts []int    `json:"interrupts,omitempty"`
}

// Mount is one line of /proc/self/mounts.
type Mount struct {
	Device  string   `json:"device"`
	Target  string   `json:"target"`
	Type    string   `json:"type"`
	Options []string `json:"options"`
}

// The files of the kernel that tuning looks at.
const (
	clockSource     = "sys/devices/system/clocksource/clocksource0/current_clocksource"
	availableClocks = "sys/devices/system/clocksource/clocksource0/available_clocksource"
	hugePages       = "sys/kernel/mm/transparent_hugepage/enabled"
	governors       = "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
	flowEntries     = "proc/sys/net/core/rps_sock_flow_entries"
	selfStatus      = "proc/self/status"
	kernelCmd       = "proc/cmdline"
	kernelSwaps     = "proc/swaps"
	kernelMounts    = "proc/self/mounts"
)

// Collect reads the facts below root, "/" on a real machine. What the machine is called is not among them: a metadata service
// tells that.
func Collect(root string) (Facts, error) {
	facts := Facts{Values: map[string]string{}, Disks: []BlockDevice{}, Cards: []NetworkCard{}, Mounts: []Mount{}, Swaps: []string{}}
	var err error
	if facts.Topology, err = pinning.ReadTopology(root); err != nil {
		return Facts{}, err
	}
	r := reader{root: root, values: facts.Values}
	for _, path := range []string{clockSource, availableClocks, hugePages, kernelCmd, flowEntries} {
		r.keep(path)
	}
	for name := range sysctls() {
		r.keep(sysctlPath(name))
	}
	for _, path := range r.glob(governors) {
		r.keep(path)
	}
	facts.Disks = r.disks()
	facts.Cards = r.cards()
	facts.Mounts = r.mounts()
	for index, line := range r.lines(kernelSwaps) {
		if fields := strings.Fields(line); index > 0 && len(fields) > 0 {
			facts.Swaps = append(facts.Swaps, fields[0])
		}
	}
	facts.Container = r.container()
	facts.HostNetwork = len(facts.Cards) > 0
	for _, line := range r.lines(selfStatus) {
		if value, found := strings.CutPrefix(line, "Seccomp:"); found {
			facts.Seccomp = strings.TrimSpace(value)
		}
	}
	return facts, nil
}

// reader reads below a root; what cannot be read is empty.
type reader struct {
	root   string
	values map[string]string
}

func (r reader) read(path string) (string, bool) {
	content, err := os.ReadFile(filepath.Join(r.root, path))
	return strings.TrimSpace(string(content)), err == nil
}

func (r reader) keep(path string) {
	if value, there := r.read(path); there {
		r.values[path] = value
	}
}

func (r reader) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(r.root, pattern))
	paths := make([]string, len(found))
	for index, full := range found {
		paths[index], _ = filepath.Rel(r.root, full)
	}
	return paths
}

func (r reader) lines(path string) []string {
	content, _ := r.read(path)
	var found []string
	scanner := bufio.NewScanner(strings.NewReader(content))
	for scanner.Scan() {
		found = append(found, scanner.Text())
	}
	return found
}

// numbers are the names of a folder's entries that are numbers, ascending.
func (r reader) numbers(pattern string) []int {
	var found []int
	for _, path := range r.glob(pattern) {
		if number, err := strconv.Atoi(filepath.Base(path)); err == nil {
			found = append(found, number)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (r reader) disks() []BlockDevice {
	found := []BlockDevice{}
	for _, folder := range r.glob("sys/block/*") {
		name := filepath.Base(folder)
		if strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "zram") || strings.HasPrefix(name, "ram") {
			continue
		}
		disk := BlockDevice{Name: name}
		disk.Model, _ = r.read(folder + "/device/model")
		turning, _ := r.read(folder + "/queue/rotational")
		disk.Rotational = turning == "1"
		// An NVMe disk's own device is the controller's child.
		disk.Interrupts = r.numbers(folder + "/device/device/msi_irqs/*")
		for _, slave := range r.glob(folder + "/slaves/*") {
			disk.Slaves = append(disk.Slaves, filepath.Base(slave))
		}
		for _, setting := range []string{"scheduler", "nomerges", "read_ahead_kb", "rq_affinity"} {
			r.keep(folder + "/queue/" + setting)
		}
		for _, irq := range disk.Interrupts {
			r.keep(affinityPath(irq))
		}
		found = append(found, disk)
	}
	return found
}

func (r reader) cards() []NetworkCard {
	found := []NetworkCard{}
	for _, folder := range r.glob("sys/class/net/*") {
		if _, err := os.Stat(filepath.Join(r.root, folder, "device")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		card := NetworkCard{Name: filepath.Base(folder), RxQueues: r.queues(folder, "rx"), TxQueues: r.queues(folder, "tx")}
		card.Interrupts = r.numbers(folder + "/device/msi_irqs/*")
		for _, queue := range card.RxQueues {
			r.keep(folder + "/queues/" + queue + "/rps_cpus")
			r.keep(folder + "/queues/" + queue + "/rps_flow_cnt")
		}
		for _, queue := range card.TxQueues {
			r.keep(folder + "/queues/" + queue + "/xps_cpus")
		}
		for _, irq := range card.Interrupts {
			r.keep(affinityPath(irq))
		}
		found = append(found, card)
	}
	return found
}

func (r reader) queues(folder, kind string) []string {
	names := []string{}
	for _, path := range r.glob(folder + "/queues/" + kind + "-*") {
		names = append(names, filepath.Base(path))
	}
	number := func(name string) int { n, _ := strconv.Atoi(strings.TrimPrefix(name, kind+"-")); return n }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return names
}

func (r reader) mounts() []Mount {
	found := []Mount{}
	for _, line := range r.lines(kernelMounts) {
		if fields := strings.Fields(line); len(fields) >= 4 && strings.HasPrefix(fields[0], "/dev/") {
			found = append(found, Mount{Device: fields[0], Target: fields[1], Type: fields[2], Options: strings.Split(fields[3], ",")})
		}
	}
	return found
}

func (r reader) container() bool {
	for _, path := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := os.Stat(filepath.Join(r.root, path)); err == nil {
			return true
		}
	}
	return false
}

func affinityPath(irq int) string { return "proc/irq/" + strconv.Itoa(irq) + "/smp_affinity" }

func sysctlPath(name string) string { return "proc/sys/" + strings.ReplaceAll(name, ".", "/") }
