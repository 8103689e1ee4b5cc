package cassandra

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/jolokia"
	"ringmaster/agent/process"
	"ringmaster/agent/statefile"
)

// liveSetting is a way to change a setting of the running engine.
type liveSetting struct {
	bean, attribute string
	// read is the attribute that tells the value when it is another than the one that sets it.
	read string
	// convert makes what the attribute takes of what stands in cassandra.yaml.
	convert func(any) (any, error)
}

// liveSettings are the settings that an engine takes while it runs, by their names in cassandra.yaml. All others need a
// restart.
var liveSettings = map[string]liveSetting{
	"compaction_throughput":                 {bean: storageService, attribute: "CompactionThroughputMbPerSec", convert: inMebibytesPerSecond},
	"concurrent_compactors":                 {bean: storageService, attribute: "ConcurrentCompactors", convert: whole},
	"concurrent_validations":                {bean: storageService, attribute: "ConcurrentValidators", convert: whole},
	"concurrent_materialized_view_builders": {bean: storageService, attribute: "ConcurrentViewBuilders", convert: whole},
	"sstable_preemptive_open_interval":      {bean: storageService, attribute: "SSTablePreemptiveOpenIntervalInMB", convert: inMebibytes},
	"snapshot_links_per_second":             {bean: storageService, attribute: "SnapshotLinksPerSecond", convert: whole},

	"stream_throughput_outbound": {bean: storageService, attribute: "StreamThroughputMebibytesPerSec",
		read: "StreamThroughputMebibytesPerSecAsDouble", convert: inMebibytesPerSecond},
	"inter_dc_stream_throughput_outbound": {bean: storageService, attribute: "InterDCStreamThroughputMebibytesPerSec",
		read: "InterDCStreamThroughputMebibytesPerSecAsDouble", convert: inMebibytesPerSecond},
	"entire_sstable_stream_throughput_outbound": {bean: storageService, attribute: "EntireSSTableStreamThroughputMebibytesPerSec",
		read: "EntireSSTableStreamThroughputMebibytesPerSecAsDouble", convert: inMebibytesPerSecond},
	"entire_sstable_inter_dc_stream_throughput_outbound": {bean: storageService, attribute: "EntireSSTableInterDCStreamThroughputMebibytesPerSec",
		read: "EntireSSTableInterDCStreamThroughputMebibytesPerSecAsDouble", convert: inMebibytesPerSecond},

	"request_timeout":               {bean: storageService, attribute: "RpcTimeout", convert: inMilliseconds},
	"read_request_timeout":          {bean: storageService, attribute: "ReadRpcTimeout", convert: inMilliseconds},
	"range_request_timeout":         {bean: storageService, attribute: "RangeRpcTimeout", convert: inMilliseconds},
	"write_request_timeout":         {bean: storageService, attribute: "WriteRpcTimeout", convert: inMilliseconds},
	"counter_write_request_timeout": {bean: storageService, attribute: "CounterWriteRpcTimeout", convert: inMilliseconds},
	"cas_contention_timeout":        {bean: storageService, attribute: "CasContentionTimeout", convert: inMilliseconds},
	"truncate_request_timeout":      {bean: storageService, attribute: "TruncateRpcTimeout", convert: inMilliseconds},
	"native_transport_timeout":      {bean: storageService, attribute: "NativeTransportTimeoutMillis", convert: inMilliseconds},

	"hinted_handoff_enabled":         {bean: storageProxy, attribute: "HintedHandoffEnabled", convert: truth},
	"max_hint_window":                {bean: storageProxy, attribute: "MaxHintWindow", convert: inMilliseconds},
	"max_hints_size_per_host":        {bean: storageProxy, attribute: "MaxHintsSizePerHostInMiB", convert: inMebibytes},
	"transfer_hints_on_decommission": {bean: storageService, attribute: "TransferHintsOnDecommission", convert: truth},
	"batchlog_replay_throttle":       {bean: storageService, attribute: "BatchlogReplayThrottleInKB", convert: inKibibytes},

	"tombstone_warn_threshold":    {bean: storageService, attribute: "TombstoneWarnThreshold", convert: whole},
	"tombstone_failure_threshold": {bean: storageService, attribute: "TombstoneFailureThreshold", convert: whole},
	"batch_size_warn_threshold":   {bean: storageService, attribute: "BatchSizeWarnThresholdInKiB", convert: inKibibytes},
	"batch_size_fail_threshold":   {bean: storageService, attribute: "BatchSizeFailureThreshold", convert: inKibibytes},
	"incremental_backups":         {bean: storageService, attribute: "IncrementalBackupsEnabled", convert: truth},

	"native_transport_max_concurrent_connections": {bean: storageProxy, attribute: "NativeTransportMaxConcurrentConnections", convert: whole},
	"native_transport_max_requests_per_second":    {bean: storageService, attribute: "NativeTransportMaxRequestsPerSecond", convert: whole},
	"native_transport_rate_limiting_enabled":      {bean: storageService, attribute: "NativeTransportRateLimitingEnabled", convert: truth},

	"cdc_block_writes":      {bean: commitLog, attribute: "CDCBlockWrites", convert: truth},
	"cdc_on_repair_enabled": {bean: commitLog, attribute: "CDCOnRepairEnabled", convert: truth},

	"allow_filtering_enabled":     {bean: guardrails, attribute: "AllowFilteringEnabled", convert: truth},
	"drop_truncate_table_enabled": {bean: guardrails, attribute: "DropTruncateTableEnabled", convert: truth},
	"drop_keyspace_enabled":       {bean: guardrails, attribute: "DropKeyspaceEnabled", convert: truth},
	"group_by_enabled":            {bean: guardrails, attribute: "GroupByEnabled", convert: truth},
	"user_timestamps_enabled":     {bean: guardrails, attribute: "UserTimestampsEnabled", convert: truth},
}

// whole takes a whole number.
func whole(value any) (any, error) {
	switch value := value.(type) {
	case int:
		return int64(value), nil
	case int64:
		return value, nil
	case string:
		return strconv.ParseInt(value, 10, 64)
	}
	return nil, fmt.Errorf("%v is no whole number", value)
}

func truth(value any) (any, error) {
	switch value := value.(type) {
	case bool:
		return value, nil
	case string:
		return strconv.ParseBool(value)
	}
	return nil, fmt.Errorf("%v is neither true nor false", value)
}

// inMilliseconds takes a duration such as "5s" or "200ms"; the engine knows d, h, m, s, ms, us and ns.
func inMilliseconds(value any) (any, error) {
	return measured(value, map[string]float64{
		"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1, "us": 1e-3, "µs": 1e-3, "ns": 1e-6,
	})
}

// inMebibytesPerSecond takes a rate such as "32MiB/s".
func inMebibytesPerSecond(value any) (any, error) {
	return measured(value, map[string]float64{"MiB/s": 1, "KiB/s": 1.0 / 1024, "B/s": 1.0 / (1 << 20)})
}

func inMebibytes(value any) (any, error) {
	return measured(value, map[string]float64{"GiB": 1024, "MiB": 1, "KiB": 1.0 / 1024, "B": 1.0 / (1 << 20)})
}

func inKibibytes(value any) (any, error) {
	return measured(value, map[string]float64{"GiB": 1 << 20, "MiB": 1024, "KiB": 1, "B": 1.0 / 1024})
}

// measured is a number with its unit in the unit whose factor is 1. What is not a whole number of those is an error: the
// running engine cannot be told it.
func measured(value any, units map[string]float64) (any, error) {
	text, isText := value.(string)
	if !isText {
		return nil, fmt.Errorf("%v has no unit", value)
	}
	digits := strings.TrimLeft(text, "0123456789")
	number, err := strconv.ParseInt(text[:len(text)-len(digits)], 10, 64)
	factor, known := units[digits]
	if err != nil || !known {
		return nil, fmt.Errorf("%q is no number with a unit", text)
	}
	if result := float64(number) * factor; result == math.Trunc(result) {
		return int64(result), nil
	}
	return nil, fmt.Errorf("%q is finer than the running engine can be told", text)
}

// Settings is the result of the job settings.
type Settings struct {
	// Settings are the values in effect, as the engine writes them, by their names in cassandra.yaml. What is not set is
	// left out, and so is what TLS and passwords are about.
	Settings map[string]string `json:"settings"`
}

func (e *Engine) settings(ctx context.Context, _ Nothing, _ agent.Report) (Settings, error) {
	told := Settings{Settings: map[string]string{}}
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, _ string) error {
		rows, err := conn.Query(ctx, cql.One, "SELECT name, value FROM system_views.settings")
		if err != nil {
			return err
		}
		for _, row := range rows {
			name := row.Text("name")
			if value, set := row["value"].(string); set && !strings.Contains(name, "password") && !strings.Contains(name, "encryption_options") {
				told.Settings[name] = value
			}
		}
		return nil
	})
	return told, err
}

// toldSettings are what a running engine had before it was told something else; null where it does not say.
type toldSettings struct {
	Process process.ID                 `json:"process"`
	Before  map[string]json.RawMessage `json:"before"`
}

// settingsPlan is what to do to make a running engine go by other settings.
type settingsPlan struct {
	// tell are values to set. Of those also in restored, what was before need not be kept any longer.
	tell         map[string]any
	restored     []string
	needsRestart []string
}

// planSettings compares what shall be with what the engine was started with and what it was told since.
func planSettings(wanted, started map[string]any, before map[string]json.RawMessage) settingsPlan {
	plan := settingsPlan{tell: map[string]any{}}
	names := slices.Concat(slices.Collect(maps.Keys(wanted)), slices.Collect(maps.Keys(started)), slices.Collect(maps.Keys(before)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		value, stays := wanted[name]
		was, told := before[name]
		same := sameSetting(value, started[name])
		if slices.Contains(guarded, name) || same && !told {
			continue
		}
		live, possible := liveSettings[name]
		var converted any
		if stays && possible {
			converted, _ = live.convert(value)
		} else if len(was) > 0 && string(was) != "null" {
			converted = was
		}
		switch {
		case !possible || converted == nil:
			plan.needsRestart = append(plan.needsRestart, name)
		case same:
			plan.restored = append(plan.restored, name)
			plan.tell[name] = converted
		case stays:
			plan.tell[name] = converted
		default:
			// The engine was started with it, and now its own value shall be: which one that is, only a start tells.
			plan.needsRestart = append(plan.needsRestart, name)
		}
	}
	return plan
}

// sameSetting compares two values as they stand in cassandra.yaml.
func sameSetting(a, b any) bool {
	one, errOne := yaml.Marshal(a)
	other, errOther := yaml.Marshal(b)
	return errOne == nil && errOther == nil && string(one) == string(other)
}

func (e *Engine) applySettings(ctx context.Context, _ Nothing, report agent.Report) (agent.AppliedSettings, error) {
	if err := e.running(); err != nil {
		return agent.AppliedSettings{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.AppliedSettings{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, accessWithin, agent.Errorf("access-timeout", "The engine did not take its settings within %s.", accessWithin))
	defer cancel()
	started, err := readSettings(filepath.Join(e.place.conf(), "cassandra.yaml"))
	if err != nil {
		return agent.AppliedSettings{}, err
	}
	told, err := e.toldSettings()
	if err != nil {
		return agent.AppliedSettings{}, err
	}
	plan := planSettings(settings(config, e.place, e.tlsFiles(), ordinary), started, told.Before)
	result := agent.AppliedSettings{Applied: []string{}, NeedsRestart: append([]string{}, plan.needsRestart...), Refused: map[string]string{}}
	names := slices.Sorted(maps.Keys(plan.tell))
	for index, name := range names {
		report(float64(index)/float64(len(names)), "Setting "+name)
		live := liveSettings[name]
		_, known := told.Before[name]
		if !known {
			// Noted before it is changed: after a crash between the two, the value that stood there is still known.
			told.Before[name] = e.valueOf(ctx, live)
			if err := statefile.WriteJSON(e.toldPath(), told); err != nil {
				return agent.AppliedSettings{}, err
			}
		}
		err := e.management.Do(ctx, jolokia.Write(live.bean, live.attribute, plan.tell[name]), nil)
		switch refusal := jolokia.Refusal(err); {
		case refusal != nil:
			result.NeedsRestart = append(result.NeedsRestart, name)
			result.Refused[name] = refusal.Message
			if !known {
				delete(told.Before, name)
			}
		case err != nil:
			return agent.AppliedSettings{}, reached(fmt.Errorf("set %s: %w", name, err))
		default:
			result.Applied = append(result.Applied, name)
			if slices.Contains(plan.restored, name) {
				delete(told.Before, name)
			}
		}
	}
	if err := statefile.WriteJSON(e.toldPath(), told); err != nil {
		return agent.AppliedSettings{}, err
	}
	if len(result.NeedsRestart) == 0 && e.sameProgram(config) {
		// The engine goes by all of the configuration, as if it had been started with it.
		return result, e.noteRevision(config.Revision)
	}
	return result, nil
}

// sameProgram tells whether a start with the configuration would be of the version and with the JVM's options that run now.
func (e *Engine) sameProgram(config Config) bool {
	found, err := openTree(e.cache, config.Version)
	if err != nil {
		return false
	}
	with, err := findJava()
	if err != nil {
		return false
	}
	running, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.supervisor.Condition().Process.PID))
	if err != nil {
		return false
	}
	wanted := jvmArguments(config, e.place, found, with, "", ordinary)
	return slices.Equal(lastingArguments(wanted), lastingArguments(strings.Split(string(running), "\x00")))
}

// lastingArguments are the JVM's options and the class path: not what is for a first boot only.
func lastingArguments(arguments []string) []string {
	var lasting []string
	for index, argument := range arguments {
		if strings.HasPrefix(argument, "-X") || index > 0 && arguments[index-1] == "-cp" {
			lasting = append(lasting, argument)
		}
	}
	return lasting
}

// valueOf is what a setting is in the running engine, null when that does not say or says it in fractions, which it does
// not take back.
func (e *Engine) valueOf(ctx context.Context, live liveSetting) json.RawMessage {
	var value json.RawMessage
	if err := e.management.Do(ctx, jolokia.Read(live.bean, cmp.Or(live.read, live.attribute)), &value); err != nil {
		return json.RawMessage("null")
	}
	var number float64
	if err := json.Unmarshal(value, &number); err == nil && live.read != "" {
		if number != math.Trunc(number) {
			return json.RawMessage("null")
		}
		return json.RawMessage(strconv.FormatFloat(number, 'f', 0, 64))
	}
	return value
}

func (e *Engine) toldPath() string { return filepath.Join(e.place.root, "told-settings.json") }

// toldSettings are empty for an engine that was started since.
func (e *Engine) toldSettings() (toldSettings, error) {
	running := e.supervisor.Condition().Process
	var told toldSettings
	if err := statefile.ReadJSON(e.toldPath(), &told); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return toldSettings{}, err
	}
	if told.Process != running || told.Before == nil {
		return toldSettings{Process: running, Before: map[string]json.RawMessage{}}, nil
	}
	return told, nil
}

// readSettings reads the file that the engine read at its start.
func readSettings(path string) (map[string]any, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := map[string]any{}
	return read, yaml.Unmarshal(content, &read)
}
