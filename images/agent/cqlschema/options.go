package cqlschema

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// told are the options of a table that are told, as system_schema.tables has them.
var told = []string{
	"additional_write_policy", "bloom_filter_fp_chance", "caching", "cdc", "comment", "compaction", "compression", "crc_check_chance",
	"default_time_to_live", "gc_grace_seconds", "max_index_interval", "memtable", "memtable_flush_period_in_ms", "min_index_interval",
	"read_repair", "speculative_retry",
}

// form says what the value of an option is.
type form int

const (
	text form = iota
	whole
	fraction
	entries
)

// settable are the options that may be set: those by which data are laid out and read, none by which rows get lost.
var settable = map[string]form{
	"additional_write_policy": text, "bloom_filter_fp_chance": fraction, "caching": entries, "compaction": entries, "compression": entries,
	"crc_check_chance": fraction, "gc_grace_seconds": whole, "speculative_retry": text,
}

// usual are entries that the engine writes by itself where nothing was said.
var usual = map[string]string{"max_threshold": "32", "min_threshold": "4"}

var (
	entryForm = regexp.MustCompile(`^[a-z_]{1,64}$`)
	valueForm = regexp.MustCompile(`^[A-Za-z0-9_.,:%() -]{0,200}$`)
)

// Options are those of a row of system_schema.tables or views.
func Options(row cql.Row) map[string]any {
	options := map[string]any{}
	for _, name := range told {
		if value := row[name]; value != nil {
			options[name] = value
		}
	}
	return options
}

// CheckOptions refuses what may not be set. Error code: invalid-parameters.
func CheckOptions(options map[string]any) error {
	refuse := func(format string, arguments ...any) error {
		return agent.Errorf("invalid-parameters", format, arguments...)
	}
	if len(options) == 0 {
		return refuse("options is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		kind, known := settable[name]
		if !known {
			return refuse("%q is no option that may be set", name)
		}
		if _, err := literal(kind, options[name]); err != nil {
			return refuse("%s: %v", name, err)
		}
	}
	return nil
}

// literal is a value as CQL has it.
func literal(kind form, value any) (string, error) {
	switch value := value.(type) {
	case string:
		if kind == text && valueForm.MatchString(value) {
			return "'" + value + "'", nil
		}
	case json.Number:
		number, err := value.Float64()
		if err != nil {
			break
		}
		return literal(kind, number)
	case float64:
		if kind == whole && value == float64(int64(value)) && value >= 0 && value <= 1<<31-1 || kind == fraction && value >= 0 && value <= 1 {
			return strconv.FormatFloat(value, 'f', -1, 64), nil
		}
	case map[string]any:
		if kind != entries {
			break
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			one, isText := value[name].(string)
			if !isText || !entryForm.MatchString(name) || !valueForm.MatchString(one) {
				return "", fmt.Errorf("the entry %q is none that may be set", name)
			}
			parts = append(parts, "'"+name+"': '"+one+"'")
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	}
	return "", fmt.Errorf("%v is no value for it", value)
}

// Same tells whether options have these values: as they are written, but for what the engine adds to them.
func Same(found, wanted map[string]any) bool {
	for name, value := range wanted {
		if !same(found[name], value) {
			return false
		}
	}
	return true
}

func same(found, wanted any) bool {
	want, isMap := wanted.(map[string]any)
	have, haveMap := found.(map[string]any)
	if !isMap || !haveMap {
		return fmt.Sprint(number(found)) == fmt.Sprint(number(wanted))
	}
	for name, value := range want {
		if simple(name, fmt.Sprint(have[name])) != simple(name, fmt.Sprint(value)) {
			return false
		}
	}
	for name, value := range have {
		if _, asked := want[name]; !asked && usual[name] != fmt.Sprint(value) {
			return false
		}
	}
	return true
}

// simple is a class without its package.
func simple(name, value string) string {
	if name == "class" {
		return value[strings.LastIndexByte(value, '.')+1:]
	}
	return value
}

func number(value any) any {
	switch value := value.(type) {
	case int32:
		return float64(value)
	case int64:
		return float64(value)
	case float32:
		return float64(value)
	case json.Number:
		if number, err := value.Float64(); err == nil {
			return number
		}
	}
	return value
}

// ReadOptions are those of one table. Error code: unknown-table.
func ReadOptions(ctx context.Context, conn Session, keyspace, table string) (map[string]any, error) {
	rows, err := conn.Query(ctx, cql.One, "SELECT * FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", keyspace, table)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, agent.Errorf("unknown-table", "There is no table %s.%s.", keyspace, table)
	}
	return Options(rows[0]), nil
}

// Alter sets options of a table, if they are what they were known to be; done twice it is done once. Error codes: unknown-table,
// options-differ, options-refused.
func Alter(ctx context.Context, conn Session, p agent.AlterTableParameters) (agent.TableAltered, error) {
	found, err := ReadOptions(ctx, conn, p.Keyspace, p.Table)
	if err != nil {
		return agent.TableAltered{}, err
	}
	changed := false
	if !Same(found, p.Options) {
		if !Same(found, p.Before) {
			return agent.TableAltered{}, agent.Errorf("options-differ", "Options of %s.%s were changed by somebody else meanwhile; they are left as they are now.", p.Keyspace, p.Table)
		}
		var settings []string
		for _, name := range slices.Sorted(maps.Keys(p.Options)) {
			value, err := literal(settable[name], p.Options[name])
			if err != nil {
				return agent.TableAltered{}, agent.Errorf("invalid-parameters", "%s: %v", name, err)
			}
			settings = append(settings, name+" = "+value)
		}
		statement := "ALTER TABLE " + Quoted(p.Keyspace) + "." + Quoted(p.Table) + " WITH " + strings.Join(settings, " AND ")
		if _, err := conn.Query(ctx, cql.One, statement); err != nil {
			if cql.Code(err) != 0 && !cql.Passing(err) {
				return agent.TableAltered{}, agent.Errorf("options-refused", "The engine refuses the options: %v", err)
			}
			return agent.TableAltered{}, err
		}
		changed = true
		if found, err = ReadOptions(ctx, conn, p.Keyspace, p.Table); err != nil {
			return agent.TableAltered{}, err
		}
	}
	now := map[string]any{}
	for name := range p.Options {
		now[name] = found[name]
	}
	return agent.TableAltered{Changed: changed, Options: now}, nil
}
