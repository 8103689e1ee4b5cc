package ioproperties

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func loaded(t *testing.T) Presets {
	t.Helper()
	content, err := os.ReadFile("../../machine/data/io-params.json")
	if err != nil {
		t.Fatal(err)
	}
	presets, err := Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return presets
}

func TestNoPresetIsAboveTheVendorsCeiling(t *testing.T) {
	presets := loaded(t)
	held := 0
	for _, known := range presets.Presets {
		found, err := presets.Lookup(known.Provider, known.Type, known.Disks)
		if err != nil || !found.Valid() {
			t.Errorf("%s: %+v %v", known.Type, found, err)
		}
		reads, writes := presets.CeilingOf(known.Type)
		if reads > 0 {
			held++
		}
		if (reads > 0 && found.ReadIOPS > reads) || (writes > 0 && found.WriteIOPS > writes) {
			t.Errorf("%s: %+v is above %d and %d", known.Type, found, reads, writes)
		}
	}
	if held < len(presets.Ceiling.Values) {
		t.Errorf("only %d of %d ceilings were looked at", held, len(presets.Ceiling.Values))
	}
}

func TestTotalsAreNotMultipliedAgain(t *testing.T) {
	presets := loaded(t)
	for _, known := range presets.Presets {
		found, err := presets.Lookup(known.Provider, known.Type, known.Disks)
		if err != nil {
			t.Fatal(err)
		}
		if known.Warning != "" && strings.Contains(known.Warning, "suspect") {
			continue
		}
		if found.ReadBandwidth != known.Total.ReadBandwidth || found.WriteBandwidth != known.Total.WriteBandwidth ||
			found.ReadIOPS > known.Total.ReadIOPS || found.WriteIOPS > known.Total.WriteIOPS {
			t.Errorf("%s: %+v of %+v", known.Type, found, known.Total)
		}
	}
}

// Measurements of neighbouring sizes differ by a few parts in ten thousand where the disks are the same.
const noise = 0.001

func TestLargerMachinesAreNotSlower(t *testing.T) {
	presets := loaded(t)
	capacity := capacities(t)
	families := map[string][]preset{}
	for _, known := range presets.Presets {
		family, _, _ := strings.Cut(known.Type, ".")
		if known.Provider == "gcp" {
			family = known.Type[strings.LastIndex(known.Type, "-"):]
		}
		families[family] = append(families[family], known)
	}
	for family, members := range families {
		slices.SortStableFunc(members, func(a, b preset) int { return cmp.Compare(capacity[a.Type], capacity[b.Type]) })
		for index := 1; index < len(members); index++ {
			small, large := members[index-1], members[index]
			if capacity[small.Type] == 0 || capacity[small.Type] == capacity[large.Type] {
				continue
			}
			less, _ := presets.Lookup(small.Provider, small.Type, small.Disks)
			more, _ := presets.Lookup(large.Provider, large.Type, large.Disks)
			for _, pair := range [][2]int64{
				{less.ReadIOPS, more.ReadIOPS}, {less.ReadBandwidth, more.ReadBandwidth},
				{less.WriteIOPS, more.WriteIOPS}, {less.WriteBandwidth, more.WriteBandwidth},
			} {
				if float64(pair[1]) < float64(pair[0])*(1-noise) {
					t.Errorf("%s: %s does %d, %s only %d", family, small.Type, pair[0], large.Type, pair[1])
				}
			}
		}
	}
	var last Figures
	for _, step := range presets.Ladder {
		if step.Total.ReadIOPS < last.ReadIOPS || step.Total.WriteBandwidth < last.WriteBandwidth {
			t.Errorf("%d local SSDs do less than fewer", step.Disks)
		}
		last = step.Total
	}
}

// capacities are the bytes of local disk by machine type, in GB.
func capacities(t *testing.T) map[string]float64 {
	t.Helper()
	content, err := os.ReadFile("../../machine/data/instances.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Instances []struct {
			Type  string  `json:"type"`
			Count float64 `json:"local_nvme_count"`
			GB    float64 `json:"local_nvme_size_gb"`
			GiB   float64 `json:"local_nvme_size_gib"`
		} `json:"instances"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, machine := range file.Instances {
		found[machine.Type] = machine.Count * (machine.GB + machine.GiB)
	}
	return found
}

func TestDisksAreLookedUpByTypeAndCount(t *testing.T) {
	presets := loaded(t)
	for _, asked := range []struct {
		provider, machineType string
		disks                 int
		reads                 int64
	}{
		{"aws", "i3.8xlarge", 4, 1644800},
		{"aws", "i3.large", 1, 100125},
		{"aws", "i7ie.24xlarge", 8, 1770378},
		{"aws", "i4i.12xlarge", 3, 3 * 374273},
		{"gcp", "n2-highmem-8", 4, 680000},
		{"gcp", "n2-highmem-16", 8, 680000},
		{"gcp", "z3-highmem-22-highlssd", 3, 2250000},
	} {
		if found, err := presets.Lookup(asked.provider, asked.machineType, asked.disks); err != nil || found.ReadIOPS != asked.reads {
			t.Errorf("%+v: %+v %v", asked, found, err)
		}
	}
	for _, asked := range []struct {
		provider, machineType string
		disks                 int
	}{{"aws", "i3.8xlarge", 3}, {"aws", "i4i.12xlarge", 2}, {"aws", "m5.large", 0}, {"gcp", "n2-highmem-8", 5}, {"gcp", "e2-small", 1}, {"aws", "n2-highmem-8", 4}} {
		if found, err := presets.Lookup(asked.provider, asked.machineType, asked.disks); !errors.Is(err, ErrUnknown) {
			t.Errorf("%+v: %+v %v", asked, found, err)
		}
	}
	if _, err := Parse([]byte("{}")); err == nil {
		t.Error("no presets are presets")
	}
}

func TestTheFilesAreThoseOfTheGoldenFiles(t *testing.T) {
	presets := loaded(t)
	for _, machine := range []struct {
		provider, machineType string
		disks, cpus           int
	}{{"aws", "i3.8xlarge", 4, 32}, {"aws", "i4i.xlarge", 1, 4}, {"gcp", "n2-highmem-16", 8, 16}} {
		found, err := presets.Lookup(machine.provider, machine.machineType, machine.disks)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, machine.machineType+".io_properties.yaml", found.ScyllaYAML("/var/lib/scylla"))
		golden(t, machine.machineType+".cassandra.yaml", found.Cassandra(machine.cpus).YAML())
	}
	golden(t, "io.conf", ScyllaConf())
}

func TestCassandrasSettingsStayInBounds(t *testing.T) {
	for _, figures := range []Figures{{}, {ReadIOPS: 1, WriteBandwidth: 1}, {ReadIOPS: 1 << 40, WriteBandwidth: 1 << 50}} {
		for _, cpus := range []int{1, 2, 8, 192} {
			s := figures.Cassandra(cpus)
			if s.ConcurrentReads < 32 || s.ConcurrentReads > max(32, 16*cpus) || s.ConcurrentWrites < 32 || s.ConcurrentCompactors < 1 ||
				s.ConcurrentCompactors > 8 || s.CompactionThroughput < 16 {
				t.Errorf("%+v on %d CPUs: %+v", figures, cpus, s)
			}
		}
	}
}

func golden(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(wanted) != content {
		t.Errorf("%s is\n%s", name, content)
	}
}
