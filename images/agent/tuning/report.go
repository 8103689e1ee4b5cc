package tuning

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/disks"
)

// Live is what the report needs besides facts: the engine's process and the machine's clock.
type Live struct {
	// EngineCPUs are the CPUs that the engine's process may run on, as a list; empty when it does not run.
	EngineCPUs string
	// MemoryLocked and OpenFiles are the limits of the engine's process; empty when it does not run.
	MemoryLocked, OpenFiles string
	// ClockSynced is nil when the kernel does not tell.
	ClockSynced *bool
	// Versions is what runs, VersionsWanted what the image was made with; the latter is empty where there is no image.
	Versions, VersionsWanted string
	Now                      time.Time
}

const (
	notOurs  = "The computer is not the node's alone, so the agent leaves it as it is."
	untuned  = "The machine was not set up by a first boot."
	noEngine = "The engine does not run."
)

// Checks hold a machine against the plan that was applied. shared says that the agent must not change the machine; engineCPUs is
// where it has put the engine's process all the same, empty for nowhere.
func Checks(facts Facts, applied *Applied, live Live, shared bool, engineCPUs string) []agent.TuningCheck {
	c := checking{facts: facts, applied: applied, live: live, shared: shared}
	c.value("clock-source", clockSource, wantedClock(facts), "Reading the clock becomes a call into the hypervisor: microseconds of every request.")
	c.governor()
	c.interrupts()
	c.cpuset(engineCPUs)
	c.io()
	c.storage()
	c.queues("read-ahead", "read_ahead_kb", "4", "Small random reads fetch up to 128 KiB each and use up the disks' bandwidth.")
	c.queues("scheduler", "scheduler", "none", "The kernel sorts requests that NVMe sorts better; it costs CPU and latency.")
	c.judge("swap", strings.Join(facts.Swaps, ", "), "", len(facts.Swaps) == 0, "A database that is swapped out answers in seconds instead of milliseconds.")
	c.value("huge-pages", hugePages, "madvise", "With always, the kernel stops the engine to join pages; with never, the heap has more of them.")
	c.limits()
	c.clockSync()
	c.versions()
	c.inContainer()
	c.drift()
	return c.checks
}

type checking struct {
	facts   Facts
	applied *Applied
	live    Live
	shared  bool
	checks  []agent.TuningCheck
}

func (c *checking) add(check agent.TuningCheck) { c.checks = append(c.checks, check) }

func (c *checking) skip(name, found, wanted, cost, reason string) {
	c.add(agent.TuningCheck{Name: name, Status: agent.NotApplicable, Found: found, Wanted: wanted, Cost: cost, Reason: reason})
}

// judge is pass or fail on a machine that is the node's alone.
func (c *checking) judge(name, found, wanted string, good bool, cost string) {
	if c.shared {
		c.skip(name, found, wanted, cost, notOurs)
		return
	}
	c.certain(name, found, wanted, good, cost)
}

// certain is judge for what is the node's own wherever it runs.
func (c *checking) certain(name, found, wanted string, good bool, cost string) {
	status := agent.Fail
	if good {
		status = agent.Pass
	}
	c.add(agent.TuningCheck{Name: name, Status: status, Found: found, Wanted: wanted, Cost: cost})
}

func (c *checking) value(name, path, wanted, cost string) {
	found, there := c.facts.Values[path]
	if !there || wanted == "" {
		c.skip(name, chosen(found), wanted, cost, "This kernel does not offer it.")
		return
	}
	c.judge(name, chosen(found), wanted, chosen(found) == wanted, cost)
}

func (c *checking) governor() {
	const cost = "Cores that clock down answer the first requests of a burst late."
	var found []string
	for path, value := range c.facts.Values {
		if strings.HasSuffix(path, "/scaling_governor") && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		c.skip("governor", "", "performance", cost, "The hypervisor decides how fast the cores run.")
		return
	}
	c.judge("governor", strings.Join(found, ", "), "performance", slices.Equal(found, []string{"performance"}), cost)
}

// published are figures of ScyllaDB's containers against the same engine on the machine itself, write throughput: default
// settings -69 %, with cpuset and IRQ tuning -11 %, with the host's network too -3 %.
const pinningCost = "Interrupts take turns with the engine on the same CPUs; published tests lost up to 69 % of write throughput without pinning and IRQ tuning, 11 % with them."

func (c *checking) interrupts() {
	if c.applied == nil {
		reason := untuned
		if c.shared {
			reason = notOurs
		}
		c.skip("irq-cpus", "", "", pinningCost, reason)
		return
	}
	wrong, moved := []string{}, 0
	for _, setting := range c.applied.Plan.Settings {
		if !strings.HasSuffix(setting.Path, "/smp_affinity") || c.applied.Refused[setting.Path] != "" {
			continue
		}
		if moved++; !Same(setting.Path, c.facts.Values[setting.Path], setting.Value) {
			wrong = append(wrong, strings.Split(setting.Path, "/")[2])
		}
	}
	if moved == 0 {
		c.skip("irq-cpus", "", c.applied.Plan.Pins.IRQ, pinningCost, "No interrupt of this machine can be moved.")
		return
	}
	found := fmt.Sprintf("%d interrupts as planned", moved)
	if len(wrong) > 0 {
		found = "elsewhere: " + strings.Join(wrong, ", ")
	}
	c.judge("irq-cpus", found, c.applied.Plan.Pins.IRQ, len(wrong) == 0, pinningCost)
}

func (c *checking) cpuset(engineCPUs string) {
	wanted := engineCPUs
	if c.applied != nil && c.applied.Plan.Pins.Engine != "" {
		wanted = c.applied.Plan.Pins.Engine
	}
	switch all := c.facts.Topology.CPUs(); {
	case len(all) <= 4:
		c.skip("cpuset", c.live.EngineCPUs, all.String(), pinningCost, "With at most 4 CPUs the engine uses all of them.")
	case wanted == "":
		c.skip("cpuset", c.live.EngineCPUs, "", pinningCost, "A thread-pool engine runs on all CPUs unless the pinned profile is asked for.")
	case c.live.EngineCPUs == "":
		c.skip("cpuset", "", wanted, pinningCost, noEngine)
	default:
		c.certain("cpuset", c.live.EngineCPUs, wanted, c.live.EngineCPUs == wanted, pinningCost)
	}
}

func (c *checking) io() {
	const name, wanted = "io-properties", "a preset of the machine type or the cluster's measured value"
	const cost = "Without them the engine's scheduler sends the disks too much, and reads wait behind compactions, or too little."
	switch {
	case c.shared:
		c.skip(name, "", wanted, cost, "All nodes here share one disk and its queue.")
	case c.applied == nil:
		c.skip(name, "", wanted, cost, untuned)
	case c.applied.Plan.IO.Figures == nil:
		c.certain(name, "unknown", wanted, false, cost)
	default:
		age := c.live.Now.Sub(c.applied.At).Round(time.Hour)
		c.certain(name, fmt.Sprintf("%s, written %d days ago", c.applied.Plan.IO.Source, int(age.Hours()/24)), wanted, true, cost)
	}
}

// storage looks at the array, the file system and how it is mounted.
func (c *checking) storage() {
	const arrayCost = "One disk's throughput instead of that of all of them."
	const systemCost = "XFS is what the engines are tested on: others serialise direct writes that append."
	const optionsCost = "Without noatime every read writes; without discard the disks slow down as they fill."
	if c.shared || c.applied == nil {
		reason := untuned
		if c.shared {
			reason = "The data is in a folder of a file system that others use too."
		}
		c.skip("array", "", "RAID0 over all local disks", arrayCost, reason)
		c.skip("file-system", "", "xfs", systemCost, reason)
		c.skip("mount-options", "", disks.MountOptions, optionsCost, reason)
		return
	}
	target := Mountpoint(c.applied.Plan.Engine)
	index := slices.IndexFunc(c.facts.Mounts, func(mount Mount) bool { return mount.Target == target })
	if index < 0 {
		c.certain("array", "", "RAID0 over all local disks", false, arrayCost)
		c.certain("file-system", "nothing is mounted at "+target, "xfs", false, systemCost)
		c.certain("mount-options", "", disks.MountOptions, false, optionsCost)
		return
	}
	mount := c.facts.Mounts[index]
	name := mount.Device[strings.LastIndex(mount.Device, "/")+1:]
	device := slices.IndexFunc(c.facts.Disks, func(disk BlockDevice) bool { return disk.Name == name })
	local := slices.DeleteFunc(slices.Clone(c.facts.Disks), func(disk BlockDevice) bool { return !c.facts.local(disk.Model) })
	found, good := mount.Device, device >= 0
	if device >= 0 {
		members := max(1, len(c.facts.Disks[device].Slaves))
		found, good = fmt.Sprintf("%s of %d disks", mount.Device, members), members == max(1, len(local))
	}
	c.certain("array", found, fmt.Sprintf("all %d local disks", max(1, len(local))), good, arrayCost)
	c.certain("file-system", mount.Type, "xfs", mount.Type == "xfs", systemCost)
	var missing []string
	for option := range strings.SplitSeq(disks.MountOptions, ",") {
		if !slices.Contains(mount.Options, option) {
			missing = append(missing, option)
		}
	}
	c.certain("mount-options", strings.Join(mount.Options, ","), disks.MountOptions, len(missing) == 0, optionsCost)
}

// queues looks at a setting of all solid disks.
func (c *checking) queues(name, file, wanted, cost string) {
	var found []string
	good, any := true, false
	for _, disk := range c.facts.Disks {
		value, there := c.facts.Values["sys/block/"+disk.Name+"/queue/"+file]
		if !there || disk.Rotational {
			continue
		}
		any = true
		if value = chosen(value); value != wanted {
			good = false
		}
		found = append(found, disk.Name+" "+value)
	}
	if !any {
		c.skip(name, "", wanted, cost, "The machine shows no solid-state disk.")
		return
	}
	c.judge(name, strings.Join(found, ", "), wanted, good, cost)
}

func (c *checking) limits() {
	const cost = "The engine cannot lock its memory, or runs out of open files when it has many tables."
	wanted := fmt.Sprintf("memlock unlimited, nofile %d or more", openFiles)
	if c.live.OpenFiles == "" {
		c.skip("limits", "", wanted, cost, noEngine)
		return
	}
	var files int
	_, _ = fmt.Sscan(c.live.OpenFiles, &files)
	good := c.live.MemoryLocked == "unlimited" && (files >= openFiles || c.live.OpenFiles == "unlimited")
	c.judge("limits", fmt.Sprintf("memlock %s, nofile %s", c.live.MemoryLocked, c.live.OpenFiles), wanted, good, cost)
}

func (c *checking) clockSync() {
	const cost = "Which write is the last one is decided by clocks: writes of nodes whose clocks differ can be lost."
	if c.live.ClockSynced == nil {
		c.skip("clock-sync", "", "synchronised", cost, "The kernel does not tell.")
		return
	}
	found := "not synchronised"
	if *c.live.ClockSynced {
		found = "synchronised"
	}
	c.judge("clock-sync", found, "synchronised", *c.live.ClockSynced, cost)
}

func (c *checking) versions() {
	const cost = "What runs is not what the image was tested with."
	if c.live.VersionsWanted == "" {
		c.skip("versions", c.live.Versions, "", cost, "The machine was not made from an image.")
		return
	}
	c.certain("versions", c.live.Versions, c.live.VersionsWanted, c.live.Versions == c.live.VersionsWanted, cost)
}

func (c *checking) inContainer() {
	const network = "Packets go through a bridge and its address translation; published tests lost 11 % of write throughput, and 3 % with the host's network."
	const seccomp = "Every system call passes a filter."
	if !c.facts.Container {
		c.skip("host-network", "", "the host's network", network, "This is no container.")
		c.skip("seccomp", "", "unconfined", seccomp, "This is no container.")
		return
	}
	found := "a network of its own"
	if c.facts.HostNetwork {
		found = "the host's network"
	}
	c.certain("host-network", found, "the host's network", c.facts.HostNetwork, network)
	filter := map[string]string{"0": "unconfined", "1": "strict", "2": "filtered"}[c.facts.Seccomp]
	c.certain("seccomp", filter, "unconfined", c.facts.Seccomp == "0", seccomp)
}

// drift: something was changed since the plan was applied.
func (c *checking) drift() {
	const cost = "Somebody or something changed the machine after it was tuned; figures measured before do not hold."
	if c.applied == nil {
		reason := untuned
		if c.shared {
			reason = notOurs
		}
		c.skip("drift", "", "none", cost, reason)
		return
	}
	var changed []string
	for _, setting := range c.applied.Plan.Settings {
		if c.applied.Refused[setting.Path] == "" && !Same(setting.Path, c.facts.Values[setting.Path], setting.Value) {
			changed = append(changed, "/"+setting.Path)
		}
	}
	found := "none"
	if len(changed) > 0 {
		found = strings.Join(changed[:min(len(changed), 5)], ", ")
		if more := len(changed) - 5; more > 0 {
			found += fmt.Sprintf(" and %d more", more)
		}
	}
	c.certain("drift", found, "none", len(changed) == 0, cost)
}
