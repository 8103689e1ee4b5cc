// Package pinning decides which CPUs take interrupts and which run the engine. It is pure: the topology goes in, two sets
// of CPUs come out.
//
// The rule is that of Seastar's perftune since February 2023: a CPU that takes network interrupts serves requests late, and one
// core in sixteen is enough for the interrupts of a node.
package pinning

import (
	"errors"
	"fmt"
)

const (
	// DefaultRatio is how many cores one interrupt core serves.
	DefaultRatio = 16
	// leastRatio: with less, machines of up to 4 cores, which give a single thread, would give more than larger ones.
	leastRatio = 5
	// few CPUs or cores are too few to set a whole core aside.
	few = 4
)

// Mode is who chooses the CPUs for interrupts.
type Mode string

// The modes.
const (
	// Auto goes by the size of the machine.
	Auto Mode = "auto"
	// SingleQueue sets one hardware thread aside, for network cards with a single queue.
	SingleQueue Mode = "sq"
)

// Options are what the rule takes besides the topology. The zero value is the rule as it is.
type Options struct {
	// Allowed are the CPUs to choose from; nil means all.
	Allowed CPUSet
	// Ratio is at least 5; 0 means DefaultRatio.
	Ratio int
	Mode  Mode
}

// Choice is the outcome. The sets are equal on machines of at most 4 CPUs, else disjoint; together they are all that is allowed.
type Choice struct {
	IRQ, Shards CPUSet
}

// Choose applies the rule. It fails when the NUMA nodes differ, when nothing would be left for shards, and on odd options.
func Choose(topology Topology, options Options) (Choice, error) {
	ratio := options.Ratio
	if ratio == 0 {
		ratio = DefaultRatio
	}
	if ratio < leastRatio {
		return Choice{}, fmt.Errorf("the ratio of cores to an interrupt core is at least %d, not %d", leastRatio, ratio)
	}
	if options.Allowed != nil {
		if unknown := options.Allowed.Without(topology.CPUs()); len(unknown) > 0 {
			return Choice{}, fmt.Errorf("the machine has no CPUs %s", unknown)
		}
		topology = topology.Within(options.Allowed)
	}
	all := topology.CPUs()
	if len(all) == 0 {
		return Choice{}, errors.New("no CPU is allowed")
	}
	for _, node := range topology {
		if len(node) != len(topology[0]) || len(Topology{node}.CPUs()) != len(Topology{topology[0]}.CPUs()) {
			return Choice{}, errors.New("NUMA nodes differ: give an explicit mask of CPUs with as many cores and threads on each node")
		}
	}
	irq, err := interrupts(topology, all, ratio, options.Mode)
	if err != nil {
		return Choice{}, err
	}
	if len(irq) == len(all) && options.Mode != SingleQueue {
		return Choice{IRQ: irq, Shards: all}, nil
	}
	shards := all.Without(irq)
	if len(shards) == 0 {
		return Choice{}, errors.New("no CPU is left for shards")
	}
	return Choice{IRQ: irq, Shards: shards}, nil
}

func interrupts(topology Topology, all CPUSet, ratio int, mode Mode) (CPUSet, error) {
	firstCore := topology[0][0]
	switch mode {
	case SingleQueue:
		return firstCore[:1], nil
	case Auto, "":
	default:
		return nil, fmt.Errorf("the mode is %q or %q, not %q", Auto, SingleQueue, mode)
	}
	switch cores := topology.Cores(); {
	case len(all) <= few:
		return all, nil
	case cores <= few:
		return firstCore[:1], nil
	case cores <= ratio:
		return firstCore, nil
	}
	perNode := (len(topology[0]) + ratio - 1) / ratio
	var irq []int
	for _, node := range topology {
		for _, core := range node[:perNode] {
			irq = append(irq, core...)
		}
	}
	return Of(irq...), nil
}
