package cassandra

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

func TestValuesOfTheFileBecomeThoseOfTheRunningEngine(t *testing.T) {
	for _, row := range []struct {
		setting string
		value   any
		want    any
	}{
		{"compaction_throughput", "32MiB/s", int64(32)}, {"compaction_throughput", "1048576B/s", int64(1)}, {"compaction_throughput", "1KiB/s", nil},
		{"compaction_throughput", "0MiB/s", int64(0)}, {"compaction_throughput", int64(32), nil}, {"read_request_timeout", "5s", int64(5000)},
		{"read_request_timeout", "200ms", int64(200)}, {"read_request_timeout", "5", nil}, {"max_hint_window", "3h", int64(10_800_000)},
		{"hinted_handoff_enabled", true, true}, {"hinted_handoff_enabled", "false", false}, {"hinted_handoff_enabled", int64(1), nil},
		{"concurrent_compactors", int64(2), int64(2)}, {"concurrent_compactors", 2.5, nil}, {"batch_size_warn_threshold", "1MiB", int64(1024)},
		{"max_hints_size_per_host", "1GiB", int64(1024)}, {"read_request_timeout", "5 s", nil}, {"read_request_timeout", "-5s", nil},
	} {
		got, err := liveSettings[row.setting].convert(row.value)
		if got != row.want || (err == nil) != (row.want != nil) {
			t.Errorf("%s %v: %v %v", row.setting, row.value, got, err)
		}
	}
}

func TestEverySettingWithASetterMayBeSetAndRead(t *testing.T) {
	for name, live := range liveSettings {
		if slices.Contains(guarded, name) {
			t.Errorf("%s is guarded", name)
		}
		allowedHere := slices.ContainsFunc(allowed(), func(bean managed) bool {
			return bean.Name == live.bean && slices.Contains(bean.Attributes, attribute{Name: live.attribute}) &&
				(live.read == "" || slices.Contains(bean.Attributes, attribute{Name: live.read, Mode: "read"}))
		})
		if !allowedHere {
			t.Errorf("%s of %s is refused by the policy", live.attribute, live.bean)
		}
	}
	names := []string{}
	for _, bean := range allowed() {
		names = append(names, bean.Name)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("a bean is in the policy twice: %v", names)
	}
}

func TestSettingsAreToldOrWaitForARestart(t *testing.T) {
	for _, row := range []struct {
		name                   string
		wanted, started        map[string]any
		before                 map[string]json.RawMessage
		tell                   map[string]any
		restored, needsRestart []string
	}{
		{"nothing differs", map[string]any{"compaction_throughput": "8MiB/s"}, map[string]any{"compaction_throughput": "8MiB/s"}, nil, nil, nil, nil},
		{"one is new", map[string]any{"compaction_throughput": "8MiB/s"}, nil, nil, map[string]any{"compaction_throughput": int64(8)}, nil, nil},
		{"one has no setter", map[string]any{"slow_query_log_timeout": "1s"}, nil, nil, nil, nil, []string{"slow_query_log_timeout"}},
		{"one is too fine", map[string]any{"compaction_throughput": "1KiB/s"}, nil, nil, nil, nil, []string{"compaction_throughput"}},
		{"told earlier, again another", map[string]any{"compaction_throughput": "9MiB/s"}, nil, map[string]json.RawMessage{"compaction_throughput": json.RawMessage("64")}, map[string]any{"compaction_throughput": int64(9)}, nil, nil},
		{"told earlier, no longer wanted", nil, nil, map[string]json.RawMessage{"compaction_throughput": json.RawMessage("64")}, map[string]any{"compaction_throughput": "64"}, []string{"compaction_throughput"}, nil},
		{"told earlier, the start's again", map[string]any{"compaction_throughput": "8MiB/s"}, map[string]any{"compaction_throughput": "8MiB/s"}, map[string]json.RawMessage{"compaction_throughput": json.RawMessage("8")}, map[string]any{"compaction_throughput": int64(8)}, []string{"compaction_throughput"}, nil},
		{"told earlier, what was is unknown", nil, nil, map[string]json.RawMessage{"compaction_throughput": json.RawMessage("null")}, nil, nil, []string{"compaction_throughput"}},
		{"started with it, no longer wanted", nil, map[string]any{"compaction_throughput": "8MiB/s"}, nil, nil, nil, []string{"compaction_throughput"}},
		{"the agent answers for it", map[string]any{"seed_provider": "x"}, map[string]any{"seed_provider": "y"}, nil, nil, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			plan := planSettings(row.wanted, row.started, row.before)
			for name, value := range plan.tell {
				if raw, isRaw := value.(json.RawMessage); isRaw {
					plan.tell[name] = string(raw)
				}
			}
			if !maps.Equal(plan.tell, row.tell) || !slices.Equal(plan.restored, row.restored) || !slices.Equal(plan.needsRestart, row.needsRestart) {
				t.Errorf("%+v", plan)
			}
		})
	}
}
