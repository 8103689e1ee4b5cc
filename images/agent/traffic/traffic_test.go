package traffic

import (
	"path/filepath"
	"reflect"
	"testing"

	"ringmaster/agent"
)

func read(toA, toB, in, out int64) []Count {
	return []Count{
		{Name: "b", Bytes: toB, Datacenter: "dc", Zone: "z2"}, {Name: "a", Bytes: toA, Datacenter: "dc", Zone: "z1"},
		{Name: "in", Bytes: in, Of: FromClient}, {Name: "out", Bytes: out, Of: ToClient},
	}
}

// sums are what is told: to the first zone, to the second, from clients, to clients.
func sums(t *testing.T, told *agent.TrafficStatus) [4]int64 {
	t.Helper()
	if told == nil || len(told.ToNodes) != 2 || told.ToNodes[0].Zone != "z1" || told.ToNodes[1].Zone != "z2" {
		t.Fatalf("%+v", told)
	}
	return [4]int64{told.ToNodes[0].Bytes, told.ToNodes[1].Bytes, told.FromClients, told.ToClients}
}

func TestBytesAddUpOverRestartsOfEngineAndAgent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.json")
	meter := &Meter{Path: path}
	if meter.Status() != nil {
		t.Error("something is told before anything was read")
	}
	var epoch string
	for _, look := range []struct {
		what   string
		engine string
		read   []Count
		again  bool // the agent is started anew before it
		wanted [4]int64
	}{
		{"a new engine's counters are all its own", "1", read(10, 0, 5, 7), false, [4]int64{10, 0, 5, 7}},
		{"it goes on", "1", read(15, 1, 5, 9), false, [4]int64{15, 1, 5, 9}},
		{"the agent is started anew", "1", read(16, 1, 6, 9), true, [4]int64{16, 1, 6, 9}},
		{"nothing happens", "1", read(16, 1, 6, 9), true, [4]int64{16, 1, 6, 9}},
		{"the engine is started anew", "2", read(3, 0, 0, 0), false, [4]int64{19, 1, 6, 9}},
		{"it has counted further than the one before", "3", read(30, 2, 8, 8), true, [4]int64{49, 3, 14, 17}},
		{"a connection is made anew and counts from nothing", "3", read(4, 2, 8, 8), false, [4]int64{53, 3, 14, 17}},
		{"a peer is not told of", "3", read(0, 2, 8, 8)[:1], false, [4]int64{53, 3, 14, 17}},
	} {
		if look.again {
			meter = &Meter{Path: path}
		}
		if err := meter.Note(look.engine, look.read, true && epoch != ""); err != nil {
			t.Fatal(err)
		}
		told := meter.Status()
		if found := sums(t, told); found != look.wanted {
			t.Errorf("%s: %v, not %v", look.what, found, look.wanted)
		}
		if epoch != "" && told.Epoch != epoch {
			t.Errorf("%s: counted anew", look.what)
		}
		epoch = told.Epoch
	}
}

func TestAnEngineThatRanBeforeIsCountedFromItsFirstReadingOn(t *testing.T) {
	meter := &Meter{Path: filepath.Join(t.TempDir(), "traffic.json")}
	for index, wanted := range [][4]int64{{0, 0, 0, 0}, {5, 0, 0, 1}} {
		if err := meter.Note("1", read(100+5*int64(index), 50, 20, 20+int64(index)), true); err != nil {
			t.Fatal(err)
		}
		if found := sums(t, meter.Status()); found != wanted {
			t.Errorf("%v, not %v", found, wanted)
		}
	}
}

func TestWhatCannotBeKeptIsNotTold(t *testing.T) {
	folder := t.TempDir()
	meter := &Meter{Path: filepath.Join(folder, "traffic.json")}
	if err := meter.Note("1", read(1, 2, 3, 4), false); err != nil {
		t.Fatal(err)
	}
	before := meter.Status()
	meter.Path = filepath.Join(folder, "no", "such", "folder", "traffic.json")
	if meter.Note("1", read(10, 20, 30, 40), false) == nil {
		t.Error("it was kept nowhere")
	}
	if after := meter.Status(); !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, not %+v", after, before)
	}
}
