package scylla

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/statefile"
)

// Keyspace is one as the job keyspaces tells it.
type Keyspace struct {
	Name string `json:"name"`
	// Class is how replicas are placed: "NetworkTopologyStrategy", "SimpleStrategy", "LocalStrategy"…
	Class string `json:"class"`
	// Replication is the number of replicas per data centre. Of SimpleStrategy, which knows no data centres, it is one
	// entry "replication_factor".
	Replication map[string]int `json:"replication"`
	// System: of the engine's or the control plane's own.
	System bool `json:"system"`
	// Tablets: the engine moves its data among the nodes by itself.
	Tablets bool `json:"tablets"`
}

// Keyspaces is the result of the job keyspaces.
type Keyspaces struct {
	Keyspaces []Keyspace `json:"keyspaces"`
}

const networkTopology = "NetworkTopologyStrategy"

func (e *Engine) keyspaces(ctx context.Context, _ Nothing, _ agent.Report) (Keyspaces, error) {
	told := Keyspaces{}
	return told, e.asControl(ctx, func(ctx context.Context, conn session) (err error) {
		told.Keyspaces, err = e.readKeyspaces(ctx, conn)
		return err
	})
}

func (e *Engine) readKeyspaces(ctx context.Context, conn session) ([]Keyspace, error) {
	var withTablets []string
	if err := e.untilAnswered(ctx, func() (err error) {
		withTablets, err = e.api.Keyspaces(ctx, "tablets")
		return err
	}); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, cql.One, "SELECT keyspace_name, replication FROM system_schema.keyspaces")
	if err != nil {
		return nil, err
	}
	found := make([]Keyspace, 0, len(rows))
	for _, row := range rows {
		keyspace := Keyspace{Name: row.Text("keyspace_name"), Replication: map[string]int{}}
		entries, _ := row["replication"].(map[string]any)
		for name, value := range entries {
			text, _ := value.(string)
			if name == "class" {
				keyspace.Class = text[strings.LastIndexByte(text, '.')+1:]
			} else if factor, err := strconv.Atoi(text); err == nil {
				keyspace.Replication[name] = factor
			}
		}
		keyspace.System = keyspace.Name == "system" || strings.HasPrefix(keyspace.Name, "system_") || keyspace.Name == "ringmaster"
		keyspace.Tablets = slices.Contains(withTablets, keyspace.Name)
		found = append(found, keyspace)
	}
	slices.SortFunc(found, func(a, b Keyspace) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// ReplicateParameters are those of the job replicate.
type ReplicateParameters struct {
	Keyspaces []KeyspaceReplication `json:"keyspaces"`
	// Joining are nodes per data centre that are joining or about to, and count as if they were there.
	Joining map[string]int `json:"joining,omitempty"`
}

// KeyspaceReplication is the number of replicas that a keyspace shall have per data centre.
type KeyspaceReplication struct {
	Name        string         `json:"name"`
	Replication map[string]int `json:"replication"`
}

func (p ReplicateParameters) check() error {
	if len(p.Keyspaces) == 0 {
		return agent.Errorf("invalid-parameters", "keyspaces is empty")
	}
	for _, keyspace := range p.Keyspaces {
		replicas := 0
		for datacenter, factor := range keyspace.Replication {
			if !nameForm.MatchString(datacenter) || factor < 0 {
				return agent.Errorf("invalid-parameters", "replication of %s must be numbers by the names of data centres", keyspace.Name)
			}
			replicas += factor
		}
		if replicas == 0 || keyspace.Name == "" {
			return agent.Errorf("invalid-parameters", "%s must have replicas somewhere", keyspace.Name)
		}
	}
	return nil
}

// replicate changes the replication of keyspaces. The engine changes that of a keyspace with tablets by one replica at a time, and
// moves its data; data of others is moved by a rebuild or a repair. Error codes: unknown-keyspace, keyspace-protected, unknown-datacenter,
// not-enough-nodes, besides those of asControl.
func (e *Engine) replicate(ctx context.Context, p ReplicateParameters, report agent.Report) (Nothing, error) {
	return Nothing{}, e.asControl(ctx, func(ctx context.Context, conn session) error {
		existing, err := e.readKeyspaces(ctx, conn)
		if err != nil {
			return err
		}
		ring, err := e.readRing(ctx)
		if err != nil {
			return err
		}
		nodes := map[string]int{ring.Datacenter: 1}
		for _, peer := range ring.Peers {
			if peer.Status != "JOINING" {
				nodes[peer.Datacenter]++
			}
		}
		for datacenter, joining := range p.Joining {
			nodes[datacenter] += joining
		}
		// All are looked at before the first is changed.
		var statements []string
		for _, wanted := range p.Keyspaces {
			steps, err := wanted.statements(existing, nodes)
			if err != nil {
				return err
			}
			statements = append(statements, steps...)
		}
		for index, statement := range statements {
			report(float64(index)/float64(len(statements)+1), "Changing replication")
			if _, err := conn.Query(ctx, cql.Quorum, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k KeyspaceReplication) statements(existing []Keyspace, nodes map[string]int) ([]string, error) {
	index := slices.IndexFunc(existing, func(found Keyspace) bool { return found.Name == k.Name })
	if index < 0 {
		return nil, agent.Errorf("unknown-keyspace", "There is no keyspace %s.", k.Name)
	}
	found := existing[index]
	if found.Class != networkTopology && found.Class != "SimpleStrategy" {
		return nil, agent.Errorf("keyspace-protected", "%s is the engine's own and is on every node by itself.", k.Name)
	}
	wanted := maps.Clone(k.Replication)
	maps.DeleteFunc(wanted, func(_ string, factor int) bool { return factor == 0 })
	for _, datacenter := range slices.Sorted(maps.Keys(wanted)) {
		there, known := nodes[datacenter]
		if !known {
			return nil, agent.Errorf("unknown-datacenter", "There is no data centre %s in this ring; there are: %s.",
				datacenter, strings.Join(slices.Sorted(maps.Keys(nodes)), ", "))
		}
		if wanted[datacenter] > there {
			return nil, agent.Errorf("not-enough-nodes", "%s cannot have %d replicas in %s, which has %d nodes.", k.Name, wanted[datacenter], datacenter, there)
		}
	}
	if !found.Tablets {
		if found.Class == networkTopology && maps.Equal(found.Replication, wanted) {
			return nil, nil
		}
		for datacenter := range found.Replication {
			// What is left out keeps its replicas; 0 ends them.
			if _, kept := wanted[datacenter]; !kept && found.Class == networkTopology {
				wanted[datacenter] = 0
			}
		}
		return []string{alter(k.Name, wanted)}, nil
	}
	return stepwise(k.Name, found.Replication, wanted), nil
}

// stepwise changes one data centre by one replica in each statement.
func stepwise(keyspace string, from, to map[string]int) []string {
	at := maps.Clone(from)
	datacenters := slices.Sorted(maps.Keys(at))
	for datacenter := range to {
		if _, known := at[datacenter]; !known {
			datacenters = append(datacenters, datacenter)
		}
	}
	slices.Sort(datacenters)
	var statements []string
	for _, datacenter := range datacenters {
		for at[datacenter] != to[datacenter] {
			step := 1
			if at[datacenter] > to[datacenter] {
				step = -1
			}
			at[datacenter] += step
			statements = append(statements, alter(keyspace, at))
		}
	}
	return statements
}

func alter(keyspace string, replication map[string]int) string {
	options := []string{"'class': '" + networkTopology + "'"}
	for _, datacenter := range slices.Sorted(maps.Keys(replication)) {
		options = append(options, fmt.Sprintf("'%s': %d", strings.ReplaceAll(datacenter, "'", "''"), replication[datacenter]))
	}
	return "ALTER KEYSPACE " + quotedName(keyspace) + " WITH replication = {" + strings.Join(options, ", ") + "}"
}

// Settings is the result of the job settings: values in effect, by their names in scylla.yaml, as the engine writes them.
type Settings struct {
	Settings map[string]string `json:"settings"`
}

func (e *Engine) settings(ctx context.Context, _ Nothing, _ agent.Report) (Settings, error) {
	told := Settings{}
	return told, e.asControl(ctx, func(ctx context.Context, conn session) (err error) {
		told.Settings, err = inEffect(ctx, conn)
		return err
	})
}

// inEffect leaves out what TLS and passwords are about.
func inEffect(ctx context.Context, conn session) (map[string]string, error) {
	rows, err := conn.Query(ctx, cql.One, "SELECT name, value FROM system.config")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, row := range rows {
		name := row.Text("name")
		if strings.Contains(name, "encryption") || strings.Contains(name, "superuser") || strings.Contains(name, "password") {
			continue
		}
		// Words are written as JSON writes them.
		found[name] = strings.Trim(row.Text("value"), `"`)
	}
	return found, nil
}

// applySettings makes the running engine take the stored configuration's settings. It takes some of them while it runs, and says of
// the others that it does not. One that is no longer set is back at the engine's own value only after a restart.
func (e *Engine) applySettings(ctx context.Context, _ Nothing, report agent.Report) (agent.AppliedSettings, error) {
	config, err := e.configured()
	if err != nil {
		return agent.AppliedSettings{}, err
	}
	result := agent.AppliedSettings{}
	err = e.asControl(ctx, func(ctx context.Context, conn session) error {
		result = agent.AppliedSettings{Applied: []string{}, NeedsRestart: []string{}, Refused: map[string]string{}}
		now, err := inEffect(ctx, conn)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(config.Settings)) {
			wanted := fmt.Sprint(plain(config.Settings[name]))
			if found, told := now[name]; told && strings.EqualFold(found, wanted) {
				continue
			}
			report(0.5, "Telling the engine "+name)
			switch err := tell(ctx, conn, name, wanted); {
			case err == nil:
				result.Applied = append(result.Applied, name)
			case cql.Code(err) != 0 && !cql.Passing(err):
				result.NeedsRestart = append(result.NeedsRestart, name)
				result.Refused[name] = err.Error()
			default:
				return err
			}
		}
		return nil
	})
	if err != nil {
		return agent.AppliedSettings{}, err
	}
	if len(result.NeedsRestart) == 0 && e.startedWithSame(config) {
		return result, e.noteRevision(config.Revision)
	}
	return result, nil
}

// tell changes a setting of the running engine.
func tell(ctx context.Context, conn session, name, value string) error {
	_, err := conn.Query(ctx, cql.One, "UPDATE system.config SET value = ? WHERE name = ?", value, name)
	return err
}

// startedWithSame tells whether the running engine has all that is not a setting as the configuration says, and no setting that is
// no longer in it: both only a start changes.
func (e *Engine) startedWithSame(config Config) bool {
	var started Config
	if statefile.ReadJSON(e.startedPath(), &started) != nil {
		return false
	}
	for name := range started.Settings {
		if _, kept := config.Settings[name]; !kept {
			return false
		}
	}
	sameAlternator := (started.Alternator == nil) == (config.Alternator == nil) && (config.Alternator == nil || *started.Alternator == *config.Alternator)
	return started.Version == config.Version && sameAlternator
}

// StreamLimitParameters are those of the job stream-limit.
type StreamLimitParameters struct {
	// MiBPerSecond 0 lifts the limit, null means the configuration's own value.
	MiBPerSecond *int `json:"mib_per_second"`
}

func (p StreamLimitParameters) check() error {
	if p.MiBPerSecond != nil && (*p.MiBPerSecond < 0 || *p.MiBPerSecond > 100_000) {
		return agent.Errorf("invalid-parameters", "mib_per_second must be between 0 and 100000, or null")
	}
	return nil
}

const streamLimit = "stream_io_throughput_mb_per_sec"

// limitStreams sets how much a second this node streams at most, until the engine is started anew. The API has a call of that
// meaning, but the engine does nothing when it is called.
func (e *Engine) limitStreams(ctx context.Context, p StreamLimitParameters, _ agent.Report) (Nothing, error) {
	config, err := e.configured()
	if err != nil {
		return Nothing{}, err
	}
	value := "0"
	if p.MiBPerSecond != nil {
		value = strconv.Itoa(*p.MiBPerSecond)
	} else if set, given := config.Settings[streamLimit]; given {
		value = fmt.Sprint(set)
	}
	return Nothing{}, e.asControl(ctx, func(ctx context.Context, conn session) error { return tell(ctx, conn, streamLimit, value) })
}

// AllowlistParameters are those of the job allowlist.
type AllowlistParameters struct {
	CIDRs []string `json:"cidrs"`
}

// allowlist only takes the empty list: the engine does not look at where clients come from. Error code: not-supported.
func (e *Engine) allowlist(_ context.Context, p AllowlistParameters, _ agent.Report) (Nothing, error) {
	if len(p.CIDRs) > 0 {
		return Nothing{}, agent.Errorf("not-supported", "ScyllaDB cannot limit roles to addresses; the network of the cloud must.")
	}
	return Nothing{}, nil
}

// reloadTLS waits until new connections of clients and nodes are shown the certificate on disk. The engine watches the files itself;
// nothing needs to be told. Error code: tls-not-reloaded.
func (e *Engine) reloadTLS(ctx context.Context, _ Nothing, report agent.Report) (agent.TLSReloaded, error) {
	if err := e.isRunning(); err != nil {
		return agent.TLSReloaded{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.TLSReloaded{}, err
	}
	own, err := e.identity.Own()
	if err != nil {
		return agent.TLSReloaded{}, err
	}
	serial := own.SerialNumber.Text(16)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	report(0.2, "Waiting until the engine shows the new certificate")
	for {
		var last error
		for _, port := range []int{cqlPort, internodePort} {
			if last == nil {
				last = e.identity.Shows(ctx, net.JoinHostPort(config.Address, strconv.Itoa(port)), serial)
			}
		}
		if last == nil {
			return agent.TLSReloaded{Serial: serial}, e.identity.ForgetFormer()
		}
		if pause(ctx, retryPause) != nil {
			return agent.TLSReloaded{}, agent.Errorf("tls-not-reloaded", "The engine does not use certificate %s: %v", serial, last)
		}
	}
}
