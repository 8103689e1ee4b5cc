package tuning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmaster/agent/disks"
	"ringmaster/agent/ioproperties"
)

const (
	sysctlFile  = "/etc/sysctl.d/99-ringmaster.conf"
	slice       = "ringmaster.slice"
	cpusetFile  = "/etc/scylla.d/cpuset.conf"
	perftune    = "/etc/scylla.d/perftune.yaml"
	openFiles   = 800000
	chronyFile  = "/etc/chrony/conf.d/ringmaster.conf"
	madeByAgent = "# Made by the agent; changes are lost.\n"
)

// sysctls are the kernel's settings by name.
func sysctls() map[string]string {
	return map[string]string{
		"vm.max_map_count": "1048575", // Cassandra maps every file; the kernel's 65530 is too few
		"vm.swappiness":    "1",
		"fs.aio-max-nr":    "30000000", // Scylla takes about 11,000 for each shard
		"fs.nr_open":       "1073741816",
	}
}

// agentUnit is the systemd unit of the agent, which starts the engine.
const agentUnit = "ringmaster-agent.service"

func (m *making) files(uuid string) {
	write := func(path, content string) { m.plan.Files = append(m.plan.Files, File{Path: path, Content: content}) }
	var sysctl strings.Builder
	sysctl.WriteString(madeByAgent)
	for _, name := range slices.Sorted(maps.Keys(sysctls())) {
		fmt.Fprintf(&sysctl, "%s = %s\n", name, sysctls()[name])
	}
	write(sysctlFile, sysctl.String())
	write("/etc/systemd/system/"+slice, m.sliceUnit())
	write("/etc/systemd/system/"+agentUnit+".d/ringmaster.conf", m.dropIn())
	for _, helper := range []string{"prometheus-node-exporter.service", "chrony.service"} {
		write("/etc/systemd/system/"+helper+".d/ringmaster.conf", madeByAgent+"[Service]\nSlice="+slice+"\n")
	}
	if uuid != "" {
		write("/etc/systemd/system/"+mountUnit(m.spec.Engine), m.mountUnitFile(uuid))
	} else {
		m.warn("no-file-system", "The data's file system is not known yet; its mount unit is written by the first boot.")
	}
	if clock := chrony(m.facts.Provider); clock != "" {
		write(chronyFile, clock)
	}
	switch m.spec.Engine {
	case Scylla:
		m.scyllaFiles(write)
	case Cassandra:
		if m.plan.IO.Figures != nil {
			write("/etc/ringmaster/cassandra-io.yaml", madeByAgent+m.plan.IO.Figures.Cassandra(len(m.all)).YAML())
		}
	}
}

func (m *making) scyllaFiles(write func(path, content string)) {
	// The space before the quotation mark: the engine's start script joins its options as they are.
	write(cpusetFile, fmt.Sprintf("%sCPUSET=\"--cpuset %s \"\n", madeByAgent, m.choice.Shards))
	var tune strings.Builder
	tune.WriteString(madeByAgent)
	fmt.Fprintf(&tune, "cpu_mask: '%s'\nirq_cpu_mask: '%s'\n", m.all.Mask(), m.choice.IRQ.Mask())
	ratio := m.spec.Ratio
	if ratio == 0 {
		ratio = 16
	}
	fmt.Fprintf(&tune, "irq_core_auto_detection_ratio: %d\ndir:\n- %s\n", ratio, Mountpoint(Scylla))
	if len(m.facts.Cards) > 0 {
		tune.WriteString("nic:\n")
		for _, card := range m.facts.Cards {
			fmt.Fprintf(&tune, "- %s\n", card.Name)
		}
	}
	tune.WriteString("tune:\n- net\n- disks\n- system\n")
	write(perftune, tune.String())
	if m.plan.IO.Figures != nil {
		write(ioproperties.ScyllaProperties, madeByAgent+m.plan.IO.Figures.ScyllaYAML(Mountpoint(Scylla)))
		write(ioproperties.ScyllaOptions, madeByAgent+ioproperties.ScyllaConf())
	}
}

// sliceUnit keeps everything but the engine on the interrupt CPUs. A thread-pool engine runs everywhere, so its helpers may too.
func (m *making) sliceUnit() string {
	text := madeByAgent + "[Unit]\nDescription=Agent, exporters and other helpers of the database\n\n[Slice]\n"
	if m.confined() {
		text += "AllowedCPUs=" + m.choice.IRQ.String() + "\n"
	}
	return text + "CPUWeight=20\n"
}

// dropIn makes the agent wait for the engine's data, and lifts the limits that the engine gets from it. Cassandra is the agent's child
// and would be confined with it; ScyllaDB is started in a scope beside it.
func (m *making) dropIn() string {
	var text strings.Builder
	text.WriteString(madeByAgent)
	fmt.Fprintf(&text, "[Unit]\nRequires=%[1]s\nAfter=%[1]s ringmaster-firstboot.service\n\n", mountUnit(m.spec.Engine))
	fmt.Fprintf(&text, "[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=%d\n", openFiles)
	if m.spec.Engine == Scylla {
		fmt.Fprintf(&text, "Slice=%s\n", slice)
	}
	return text.String()
}

// mountUnit is the name that systemd wants for the mountpoint.
func mountUnit(engine string) string {
	return strings.ReplaceAll(strings.TrimPrefix(Mountpoint(engine), "/"), "/", "-") + ".mount"
}

func (m *making) mountUnitFile(uuid string) string {
	return fmt.Sprintf("%s[Unit]\nDescription=Data of the database\n\n[Mount]\nWhat=UUID=%s\nWhere=%s\nType=xfs\nOptions=%s\n",
		madeByAgent, uuid, Mountpoint(m.spec.Engine), disks.MountOptions)
}

// chrony is the clock that the cloud offers on the machine's own link; empty where there is none.
func chrony(provider string) string {
	switch provider {
	case "aws":
		return madeByAgent + "server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4\n"
	case "gcp":
		return madeByAgent + "server metadata.google.internal prefer iburst\n"
	}
	return ""
}
