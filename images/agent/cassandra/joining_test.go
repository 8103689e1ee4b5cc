package cassandra

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	self       = "127.0.0.4"
	schemaSeen = "s1"
)

var others = []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}

// wholeView is of a ring of three that a fourth may join.
func wholeView() ringView {
	return ringView{
		Mode: "STARTING", Initialized: true, Schema: schemaSeen, Live: append(slices.Clone(others), self),
		Owners:  map[string]bool{others[0]: true, others[1]: true, others[2]: true},
		Schemas: map[string][]string{schemaSeen: append(slices.Clone(others), self)},
	}
}

func TestANodeJoinsOnlyWhatItWasToldOf(t *testing.T) {
	if missing := wholeView().missing(self, others, ""); missing != "" {
		t.Fatal(missing)
	}
	for _, refused := range []struct {
		why   string
		spoil func(*ringView)
		says  string
	}{
		{"gossip has not come yet", func(v *ringView) { v.Owners = map[string]bool{} }, "tokens of 127.0.0.1"},
		{"a member has no tokens", func(v *ringView) { delete(v.Owners, others[1]) }, "tokens of 127.0.0.2"},
		{"a member is down", func(v *ringView) { v.Live = v.Live[1:] }, "127.0.0.1 down"},
		{"a stranger holds tokens", func(v *ringView) { v.Owners["127.0.0.9"] = true }, "127.0.0.9, which is no member"},
		{"the schema has not come yet", func(v *ringView) { v.Schema = "s0" }, "schema differs from that of 127.0.0.1"},
		{"a member has another schema", func(v *ringView) {
			v.Schemas = map[string][]string{schemaSeen: others[:2], "s2": others[2:]}
		}, "schema differs from that of 127.0.0.3"},
		{"a member does not answer", func(v *ringView) {
			v.Schemas = map[string][]string{schemaSeen: others[:2], "UNREACHABLE": others[2:]}
		}, "schema differs from that of 127.0.0.3"},
		{"somebody leaves", func(v *ringView) { v.Leaving = others[:1] }, "joining, leaving or moving"},
		{"somebody else joins", func(v *ringView) { v.Joining = []string{"127.0.0.8"} }, "joining, leaving or moving"},
		{"its address is a member's", func(v *ringView) { v.Owners[self] = true }, "own address"},
	} {
		view := wholeView()
		view.Owners = maps.Clone(view.Owners)
		refused.spoil(&view)
		if missing := view.missing(self, others, ""); !strings.Contains(missing, refused.says) {
			t.Errorf("%s: %q", refused.why, missing)
		}
	}
}

func TestANodeReplacesOnlyADeadOne(t *testing.T) {
	view := wholeView()
	dead, living := others[2], others[:2]
	view.Live, view.Schemas = append(slices.Clone(living), self), map[string][]string{schemaSeen: living}
	view.Joining = []string{self}
	if missing := view.missing(self, living, dead); missing != "" {
		t.Error(missing)
	}
	// Without a list of members all that is seen must agree.
	if missing := view.missing(self, nil, dead); missing != "" {
		t.Error(missing)
	}
	view.Live = append(view.Live, dead)
	if missing := view.missing(self, living, dead); !strings.Contains(missing, "alive") {
		t.Error(missing)
	}
	if missing := (ringView{}).missing(self, nil, dead); missing == "" {
		t.Error("it would replace a node of a ring that it does not see")
	}
}

func TestAnInterruptedJoinGoesOnWithTheEnginesOwnWaits(t *testing.T) {
	into := Config{FirstBoot: FirstBoot{Join: &Join{Members: others}}}
	instead := Config{FirstBoot: FirstBoot{ReplaceAddress: others[0]}}
	for _, start := range []struct {
		stage  string
		config Config
		booted bool
		want   boot
		after  string
	}{
		{"", Config{}, false, fresh, ""},
		{"", into, true, ordinary, ""},
		{"", into, false, held, stageHeld},
		{stageHeld, into, false, held, stageHeld},
		{stageBegun, into, false, resumed, stageBegun},
		{"", instead, false, replacing, stageBegun},
		{stageBegun, instead, false, resumed, stageBegun},
		{stageSeen, instead, false, resumed, stageSeen},
	} {
		engine := &Engine{place: folders{root: t.TempDir()}}
		if start.stage != "" {
			if err := engine.setJoiningStage(start.stage); err != nil {
				t.Fatal(err)
			}
		}
		got, err := engine.chooseBoot(start.config, start.booted)
		if stage, _ := engine.joiningStage(); err != nil || got != start.want || stage != start.after {
			t.Errorf("%+v: %v %v, then %q", start, got, err, stage)
		}
	}
	engine := &Engine{place: folders{root: t.TempDir()}}
	_ = engine.setJoiningStage(stageUnseen)
	if _, err := engine.chooseBoot(instead, false); code(err) != "join-unwatched" {
		t.Error(err)
	}
	if err := engine.startable(false); code(err) != "join-unwatched" {
		t.Error(err)
	}
}
