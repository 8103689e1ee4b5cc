package cqlschema_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
)

// table is an engine with one table, whose options a statement sets.
type table struct {
	options cql.Row
	after   cql.Row
	altered []string
}

func (t *table) Query(_ context.Context, _ cql.Consistency, statement string, _ ...any) (cql.Rows, error) {
	if strings.HasPrefix(statement, "ALTER") {
		t.altered = append(t.altered, statement)
		t.options = t.after
		return nil, nil
	}
	if t.options == nil {
		return nil, nil
	}
	return cql.Rows{t.options}, nil
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var coded *agent.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Errorf("%v, not %s", err, code)
	}
}

func compression(kib string) map[string]any {
	return map[string]any{"class": "org.apache.cassandra.io.compress.LZ4Compressor", "chunk_length_in_kb": kib}
}

func chunks(before, after string) agent.AlterTableParameters {
	return agent.AlterTableParameters{
		Keyspace: "shop", Table: "Orders", Before: map[string]any{"compression": compression(before)}, Options: map[string]any{"compression": compression(after)},
	}
}

func TestOptionsAreSetOnce(t *testing.T) {
	engine := &table{options: cql.Row{"compression": compression("64")}, after: cql.Row{"compression": compression("4")}}
	for _, changed := range []bool{true, false} {
		found, err := cqlschema.Alter(t.Context(), engine, chunks("64", "4"))
		if err != nil || found.Changed != changed || found.Options["compression"].(map[string]any)["chunk_length_in_kb"] != "4" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	want := `ALTER TABLE "shop"."Orders" WITH compression = {'chunk_length_in_kb': '4', 'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}`
	if len(engine.altered) != 1 || engine.altered[0] != want {
		t.Errorf("%q", engine.altered)
	}
}

func TestOptionsThatSomebodyElseChangedAreLeftAlone(t *testing.T) {
	engine := &table{options: cql.Row{"compression": compression("16")}}
	_, err := cqlschema.Alter(t.Context(), engine, chunks("64", "4"))
	wantCode(t, err, "options-differ")
	if len(engine.altered) != 0 {
		t.Errorf("%q", engine.altered)
	}
	_, err = cqlschema.Alter(t.Context(), &table{}, chunks("64", "4"))
	wantCode(t, err, "unknown-table")
}

func TestWhatTheEngineAddsIsNoDifference(t *testing.T) {
	for _, one := range []struct {
		found, wanted any
		same          bool
	}{
		{map[string]any{"class": "org.apache.cassandra.db.compaction.LeveledCompactionStrategy", "max_threshold": "32", "min_threshold": "4"},
			map[string]any{"class": "LeveledCompactionStrategy"}, true},
		{map[string]any{"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "320"}, map[string]any{"class": "LeveledCompactionStrategy"}, false},
		{map[string]any{"class": "LeveledCompactionStrategy", "max_threshold": "8"}, map[string]any{"class": "LeveledCompactionStrategy"}, false},
		{map[string]any{"class": "LeveledCompactionStrategy"}, map[string]any{"class": "SizeTieredCompactionStrategy"}, false},
		{int32(864000), float64(864000), true},
		{int32(864000), float64(864001), false},
		{int32(864000), json.Number("864000"), true},
		{float64(0.01), float64(0.01), true},
		{"99p", "99p", true},
		{nil, "99p", false},
	} {
		if got := cqlschema.Same(map[string]any{"it": one.found}, map[string]any{"it": one.wanted}); got != one.same {
			t.Errorf("%v and %v: %v", one.found, one.wanted, got)
		}
	}
}

func TestOnlyOptionsOfTheListAreSet(t *testing.T) {
	for name, options := range map[string]map[string]any{
		"nothing":          {},
		"not of the list":  {"default_time_to_live": float64(1)},
		"no name":          {"comment = '' AND cdc": "true"},
		"a quote":          {"speculative_retry": "99p' AND cdc = 'true"},
		"an entry's quote": {"compaction": map[string]any{"class": "x'}"}},
		"an entry's name":  {"compaction": map[string]any{"class' : '": "x"}},
		"a number in text": {"gc_grace_seconds": "1"},
		"half a second":    {"gc_grace_seconds": 0.5},
		"too large":        {"gc_grace_seconds": float64(1 << 40)},
		"below nothing":    {"gc_grace_seconds": float64(-1)},
		"above all":        {"crc_check_chance": 1.5},
		"no map":           {"compression": "LZ4Compressor"},
		"a map of numbers": {"compression": map[string]any{"chunk_length_in_kb": float64(4)}},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, cqlschema.CheckOptions(options), "invalid-parameters") })
	}
	if err := cqlschema.CheckOptions(map[string]any{"gc_grace_seconds": json.Number("864000"), "speculative_retry": "99p", "compression": compression("4"), "crc_check_chance": 0.5}); err != nil {
		t.Error(err)
	}
}
