package pinning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Core is the hardware threads of one core, ascending.
type Core = CPUSet

// Node is one NUMA node: its cores, in the order of their first threads.
type Node []Core

// Topology is the NUMA nodes of a machine.
type Topology []Node

// CPUs are all hardware threads.
func (t Topology) CPUs() CPUSet {
	var all []int
	for _, node := range t {
		for _, core := range node {
			all = append(all, core...)
		}
	}
	return Of(all...)
}

// Cores is the number of cores of all nodes.
func (t Topology) Cores() int {
	count := 0
	for _, node := range t {
		count += len(node)
	}
	return count
}

// Within is the part of the topology that is allowed; cores and nodes of which nothing is left are left out.
func (t Topology) Within(allowed CPUSet) Topology {
	var part Topology
	for _, node := range t {
		var cores Node
		for _, core := range node {
			if left := core.Without(core.Without(allowed)); len(left) > 0 {
				cores = append(cores, left)
			}
		}
		if len(cores) > 0 {
			part = append(part, cores)
		}
	}
	return part
}

// How CPU ids are given to the threads of a core.
const (
	// Split: the siblings of CPU n are n+cores, n+2*cores and so on, as on AWS and GCP.
	Split = "split"
	// Adjacent: the siblings of a core follow each other, as in QEMU and on Azure.
	Adjacent = "adjacent"
)

// ParseTopology reads "NUMA nodes x cores per node x threads per core", for example "2x18x2".
func ParseTopology(text, siblings string) (Topology, error) {
	var numbers []int
	for _, word := range strings.Split(text, "x") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1 || number > maxCPU {
			return nil, fmt.Errorf("%q is no topology: write NUMA nodes x cores per node x threads per core, for example 2x18x2", text)
		}
		numbers = append(numbers, number)
	}
	if len(numbers) != 3 || numbers[0]*numbers[1] > maxCPU || numbers[0]*numbers[1]*numbers[2] > maxCPU+1 {
		return nil, fmt.Errorf("%q is no topology: write NUMA nodes x cores per node x threads per core, for example 2x18x2", text)
	}
	nodes, perNode, threads := numbers[0], numbers[1], numbers[2]
	topology := make(Topology, nodes)
	for node := range nodes {
		for index := range perNode {
			core := node*perNode + index
			ids := make([]int, threads)
			for thread := range threads {
				switch siblings {
				case Split:
					ids[thread] = core + thread*nodes*perNode
				case Adjacent:
					ids[thread] = core*threads + thread
				default:
					return nil, fmt.Errorf("siblings are %q or %q, not %q", Split, Adjacent, siblings)
				}
			}
			topology[node] = append(topology[node], Of(ids...))
		}
	}
	return topology, nil
}

// ReadTopology reads the online CPUs from sysfs below root ("/" on a real machine).
func ReadTopology(root string) (Topology, error) {
	devices := filepath.Join(root, "sys/devices/system")
	online, err := readList(filepath.Join(devices, "cpu/online"))
	if err != nil {
		return nil, err
	}
	nodes, err := readNodes(devices, online)
	if err != nil {
		return nil, err
	}
	var topology Topology
	for _, inNode := range nodes {
		var cores Node
		seen := map[int]bool{}
		for _, id := range inNode {
			if seen[id] {
				continue
			}
			core, err := readList(filepath.Join(devices, "cpu", fmt.Sprintf("cpu%d", id), "topology/thread_siblings_list"))
			if errors.Is(err, fs.ErrNotExist) {
				core = CPUSet{id}
			} else if err != nil {
				return nil, err
			}
			core = core.Without(core.Without(inNode))
			for _, thread := range core {
				seen[thread] = true
			}
			cores = append(cores, core)
		}
		if len(cores) > 0 {
			topology = append(topology, cores)
		}
	}
	if len(topology) == 0 {
		return nil, fmt.Errorf("%s tells of no CPU", devices)
	}
	return topology, nil
}

// readNodes are the online CPUs of each NUMA node; a kernel without NUMA has one.
func readNodes(devices string, online CPUSet) ([]CPUSet, error) {
	found, err := filepath.Glob(filepath.Join(devices, "node/node[0-9]*"))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return []CPUSet{online}, nil
	}
	slices.SortFunc(found, func(a, b string) int { return nodeNumber(a) - nodeNumber(b) })
	var nodes []CPUSet
	for _, folder := range found {
		set, err := readList(filepath.Join(folder, "cpulist"))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, set.Without(set.Without(online)))
	}
	return nodes, nil
}

func nodeNumber(folder string) int {
	number, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "node"))
	return number
}

func readList(path string) (CPUSet, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set, err := ParseList(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return set, nil
}
