package pinning

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is a case of images/machine/data/cpu-pinning-cases.json. Topologies are split unless they end in "adj".
type vector struct {
	Type      string `json:"type"`
	VCPU      int    `json:"vcpu"`
	Topology  string `json:"topo"`
	Ratio     int    `json:"ratio"`
	Allowed   string `json:"allowed"`
	Mode      Mode   `json:"mode"`
	IRQ       string `json:"irq"`
	Shards    string `json:"shards"`
	NShards   int    `json:"n_shards"`
	IRQMask   string `json:"irq_mask"`
	ShardMask string `json:"shard_mask"`
	Error     string `json:"error"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	content, err := os.ReadFile("../../machine/data/cpu-pinning-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases     []vector `json:"cases"`
		EdgeCases []vector `json:"edge_cases"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	return append(file.Cases, file.EdgeCases...)
}

func (v vector) choose(t *testing.T) (Topology, Choice, error) {
	t.Helper()
	shape, adjacent := strings.CutSuffix(v.Topology, " adj")
	siblings := Split
	if adjacent {
		siblings = Adjacent
	}
	topology, err := ParseTopology(shape, siblings)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Ratio: v.Ratio, Mode: v.Mode}
	if v.Allowed != "" {
		if options.Allowed, err = ParseList(v.Allowed); err != nil {
			t.Fatal(err)
		}
	}
	choice, err := Choose(topology, options)
	return topology, choice, err
}

func TestEveryVectorComesOut(t *testing.T) {
	all := vectors(t)
	if len(all) < 34 {
		t.Fatalf("only %d vectors", len(all))
	}
	for _, v := range all {
		t.Run(fmt.Sprintf("%s %s ratio %d allowed %s %s", v.Type, v.Topology, v.Ratio, v.Allowed, v.Mode), func(t *testing.T) {
			topology, choice, err := v.choose(t)
			if v.Error != "" {
				if err == nil || !strings.Contains(err.Error(), v.Error) {
					t.Fatalf("%v, wanted %q", err, v.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.VCPU != 0 && len(topology.CPUs()) != v.VCPU {
				t.Errorf("%d CPUs, not %d", len(topology.CPUs()), v.VCPU)
			}
			if choice.IRQ.String() != v.IRQ || choice.Shards.String() != v.Shards {
				t.Errorf("irq %s, shards %s; wanted %s and %s", choice.IRQ, choice.Shards, v.IRQ, v.Shards)
			}
			if v.NShards != 0 && len(choice.Shards) != v.NShards {
				t.Errorf("%d shards, wanted %d", len(choice.Shards), v.NShards)
			}
			if v.IRQMask != "" && (choice.IRQ.Mask() != v.IRQMask || choice.Shards.Mask() != v.ShardMask) {
				t.Errorf("masks %s and %s; wanted %s and %s", choice.IRQ.Mask(), choice.Shards.Mask(), v.IRQMask, v.ShardMask)
			}
		})
	}
}

func TestEveryShapeKeepsThePromises(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		nodes, perNode, threads := 1+random.IntN(8), 1+random.IntN(64), 1+random.IntN(4)
		ratio := leastRatio + random.IntN(40)
		siblings := []string{Split, Adjacent}[random.IntN(2)]
		name := fmt.Sprintf("%dx%dx%d %s ratio %d", nodes, perNode, threads, siblings, ratio)
		topology, err := ParseTopology(fmt.Sprintf("%dx%dx%d", nodes, perNode, threads), siblings)
		if err != nil {
			t.Fatal(name, err)
		}
		choice, err := Choose(topology, Options{Ratio: ratio})
		if err != nil {
			t.Fatal(name, err)
		}
		all := topology.CPUs()
		equal := choice.IRQ.String() == choice.Shards.String()
		disjoint := len(choice.Shards.Without(choice.IRQ)) == len(choice.Shards)
		if equal == disjoint || len(choice.Shards) == 0 || len(choice.IRQ) == 0 {
			t.Errorf("%s: irq %s, shards %s", name, choice.IRQ, choice.Shards)
		}
		if union := Of(append(append([]int{}, choice.IRQ...), choice.Shards...)...); union.String() != all.String() {
			t.Errorf("%s: together they are %s", name, union)
		}
		if topology.Cores() > max(ratio, few) && len(all) > few {
			for index, node := range topology {
				taken := Topology{node}.Within(choice.IRQ)
				if taken.Cores() != (perNode+ratio-1)/ratio || len(taken.CPUs()) != taken.Cores()*threads {
					t.Errorf("%s: node %d gives %s", name, index, taken.CPUs())
				}
			}
		}
	}
}

func TestListsAndMasksAreReadAsTheyAreWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var ids []int
		for range random.IntN(40) {
			ids = append(ids, random.IntN(300))
		}
		set := Of(ids...)
		if again, err := ParseList(set.String()); err != nil || again.String() != set.String() {
			t.Fatal(set, again, err)
		}
		for _, mask := range []string{set.Mask(), set.KernelMask(), strings.ReplaceAll(set.Mask(), ",0x00000000", ",")} {
			if again, err := ParseMask(mask); err != nil || again.String() != set.String() {
				t.Fatal(set, mask, again, err)
			}
		}
	}
}

func TestOddWordsAreRefused(t *testing.T) {
	for _, list := range []string{"a", "3-1", "1-", "-1", "0-99999999", "1;2"} {
		if set, err := ParseList(list); err == nil {
			t.Errorf("%q is %s", list, set)
		}
	}
	for _, mask := range []string{"", "0xg", "0x100000000"} {
		if set, err := ParseMask(mask); err == nil {
			t.Errorf("%q is %s", mask, set)
		}
	}
	for _, shape := range []string{"", "1x2", "0x1x1", "1x2x3x4", "1xax2", "9999x9999x2"} {
		if _, err := ParseTopology(shape, Split); err == nil {
			t.Errorf("%q is a topology", shape)
		}
	}
	if _, err := ParseTopology("1x2x2", "shuffled"); err == nil {
		t.Error("shuffled siblings")
	}
	topology, _ := ParseTopology("1x16x2", Split)
	for _, options := range []Options{
		{Ratio: 4}, {Ratio: -1}, {Allowed: CPUSet{}}, {Allowed: CPUSet{0, 99}}, {Mode: "other"}, {Mode: SingleQueue, Allowed: CPUSet{0}},
	} {
		if choice, err := Choose(topology, options); err == nil {
			t.Errorf("%+v gives %+v", options, choice)
		}
	}
}

func TestSysfsTellsTheSameTopology(t *testing.T) {
	for _, shape := range []struct{ text, siblings string }{{"1x16x2", Split}, {"2x18x2", Split}, {"1x8x1", Split}, {"1x8x2", Adjacent}} {
		wanted, err := ParseTopology(shape.text, shape.siblings)
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		write(t, root, "cpu/online", wanted.CPUs().String())
		for index, node := range wanted {
			write(t, root, fmt.Sprintf("node/node%d/cpulist", index), Topology{node}.CPUs().String())
			for _, core := range node {
				for _, id := range core {
					write(t, root, fmt.Sprintf("cpu/cpu%d/topology/thread_siblings_list", id), core.String())
				}
			}
		}
		found, err := ReadTopology(root)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(found) != fmt.Sprint(wanted) {
			t.Errorf("%s: %v, not %v", shape.text, found, wanted)
		}
	}
	if _, err := ReadTopology(t.TempDir()); err == nil {
		t.Error("an empty folder is a machine")
	}
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, "sys/devices/system", path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
