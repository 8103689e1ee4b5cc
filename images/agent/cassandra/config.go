package cassandra

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"ringmaster/agent"
)

// Config is the document of PUT /v1/config.
type Config struct {
	Engine string `json:"engine"`
	// Revision is the control plane's own name for this configuration; the status tells which one is stored and which one runs.
	Revision    string   `json:"revision,omitempty"`
	Version     string   `json:"version"`
	ClusterName string   `json:"cluster_name"`
	Datacenter  string   `json:"datacenter"`
	Rack        string   `json:"rack"`
	Address     string   `json:"address"`
	Seeds       []string `json:"seeds"`
	// InitialTokens are this node's; their number is num_tokens.
	InitialTokens []int64 `json:"initial_tokens"`
	HeapMiB       int     `json:"heap_mib"`
	// SystemAuthReplication is the number of nodes that hold roles and passwords from the first start on.
	SystemAuthReplication int       `json:"system_auth_replication"`
	FirstBoot             FirstBoot `json:"first_boot"`
	JVM                   JVM       `json:"jvm"`
	// Settings override cassandra.yaml, except what the agent guards.
	Settings map[string]any `json:"settings,omitempty"`
}

// FirstBoot shortens what the control plane has made needless, on the first boot only; see docs/engine-start.md. What is
// left out keeps the engine's own value. Later starts always do.
type FirstBoot struct {
	// AutoBootstrap false: no data is fetched from other nodes. Only right for an empty ring.
	AutoBootstrap *bool `json:"auto_bootstrap,omitempty"`
	RingDelayMS   *int  `json:"ring_delay_ms,omitempty"`
	// GossipSettlePolls is how many times in a row gossip must look settled.
	GossipSettlePolls     *int `json:"gossip_settle_polls,omitempty"`
	SuperuserSetupDelayMS *int `json:"superuser_setup_delay_ms,omitempty"`
	// Join: the ring holds data. The node is held back until it sees what it must, see joining.go.
	Join *Join `json:"join,omitempty"`
	// ReplaceAddress: the node takes over the tokens of the dead node at this address, whose machine is gone.
	ReplaceAddress string `json:"replace_address,omitempty"`
	// BroadcastIntervalMS is how often nodes tell their load; the engine waits at least as long before it replaces a node.
	BroadcastIntervalMS *int `json:"broadcast_interval_ms,omitempty"`
}

// Join says which ring a node joins.
type Join struct {
	// Members are the addresses of its live nodes, all of them.
	Members []string `json:"members"`
}

// intoData tells whether the first boot is into a ring that holds data.
func (f FirstBoot) intoData() bool { return f.Join != nil || f.ReplaceAddress != "" }

// JVM chooses the options of the Java machine.
type JVM struct {
	// Profile is "small" (serial collector, first compiler only: starts fast, for a few cores) or "standard".
	Profile string `json:"profile"`
	// Collector is "serial", "g1" or "zgc"; left out, the profile chooses.
	Collector string `json:"collector,omitempty"`
}

var (
	versionForm  = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9]+)?$`)
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$`)
	revisionForm = regexp.MustCompile(`^[!-~]{0,64}$`)
	settingForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
)

// guarded are settings that the agent answers for: identity, addresses, folders and security.
var guarded = []string{
	"cluster_name", "num_tokens", "initial_token", "auto_bootstrap", "partitioner", "endpoint_snitch", "seed_provider",
	"listen_address", "listen_interface", "broadcast_address", "rpc_address", "rpc_interface", "broadcast_rpc_address",
	"storage_port", "ssl_storage_port", "native_transport_port", "native_transport_port_ssl", "start_native_transport",
	"authenticator", "authorizer", "role_manager", "network_authorizer", "cidr_authorizer", "internode_authenticator",
	"server_encryption_options", "client_encryption_options", "data_file_directories", "local_system_data_file_directory",
	"commitlog_directory", "hints_directory", "saved_caches_directory", "cdc_raw_directory", "heap_dump_path",
	"allocate_tokens_for_keyspace", "allocate_tokens_for_local_replication_factor", "transparent_data_encryption_options",
	"audit_logging_options", "full_query_logging_options", "jmx_server_options",
	// An engine that has files with such names does not start without it.
	"uuid_sstable_identifiers_enabled",
}

// parseConfig reads and checks a document. Error codes: invalid-config, setting-not-allowed.
func parseConfig(document json.RawMessage) (Config, error) {
	var config Config
	if err := strictly(document, &config); err != nil {
		return Config{}, agent.Errorf("invalid-config", "%v", err)
	}
	if config.JVM.Profile == "" {
		config.JVM.Profile = "small"
	}
	if err := config.check(); err != nil {
		return Config{}, err
	}
	return config, nil
}

func (c Config) check() error {
	switch {
	case c.Engine != Name:
		return invalid("engine", "must be %q", Name)
	case !versionForm.MatchString(c.Version):
		return invalid("version", "must look like 5.0.5")
	case !nameForm.MatchString(c.ClusterName):
		return invalid("cluster_name", "must be 1 to 100 letters, digits, spaces, dots, hyphens or underscores")
	case !nameForm.MatchString(c.Datacenter) || strings.Contains(c.Datacenter, " "):
		return invalid("datacenter", "must be 1 to 100 letters, digits, dots, hyphens or underscores")
	case !nameForm.MatchString(c.Rack) || strings.Contains(c.Rack, " "):
		return invalid("rack", "must be 1 to 100 letters, digits, dots, hyphens or underscores")
	case c.HeapMiB < 192 || c.HeapMiB > 65536:
		return invalid("heap_mib", "must be between 192 and 65536")
	case len(c.InitialTokens) < 1 || len(c.InitialTokens) > 1024:
		return invalid("initial_tokens", "must be 1 to 1024 tokens")
	case c.SystemAuthReplication < 1 || c.SystemAuthReplication > 1000:
		return invalid("system_auth_replication", "must be between 1 and 1000")
	case len(c.Seeds) < 1 || len(c.Seeds) > 100:
		return invalid("seeds", "must be 1 to 100 addresses")
	case c.JVM.Profile != "small" && c.JVM.Profile != "standard":
		return invalid("jvm.profile", `must be "small" or "standard"`)
	case !slices.Contains([]string{"", "serial", "g1", "zgc"}, c.JVM.Collector):
		return invalid("jvm.collector", `must be "serial", "g1" or "zgc"`)
	case !revisionForm.MatchString(c.Revision):
		return invalid("revision", "must be at most 64 printable characters without spaces")
	}
	if err := c.FirstBoot.check(c.Address); err != nil {
		return err
	}
	for _, address := range append([]string{c.Address}, c.Seeds...) {
		if _, err := netip.ParseAddr(address); err != nil {
			return invalid("address or seeds", "%q is not an IP address", address)
		}
	}
	tokens := slices.Sorted(slices.Values(c.InitialTokens))
	if len(slices.Compact(tokens)) != len(c.InitialTokens) {
		return invalid("initial_tokens", "holds a token twice")
	}
	for setting := range c.Settings {
		if !settingForm.MatchString(setting) {
			return invalid("settings", "%q is not the name of a setting", setting)
		}
		if slices.Contains(guarded, setting) {
			return agent.Errorf("setting-not-allowed", "The agent answers for %s; it cannot be set.", setting)
		}
	}
	return nil
}

// stockRingDelayMS is how long the engine itself waits for the ring to settle.
const stockRingDelayMS = 30_000

func (f FirstBoot) check(own string) error {
	for name, value := range map[string]*int{
		"ring_delay_ms": f.RingDelayMS, "gossip_settle_polls": f.GossipSettlePolls,
		"superuser_setup_delay_ms": f.SuperuserSetupDelayMS, "broadcast_interval_ms": f.BroadcastIntervalMS,
	} {
		if value != nil && (*value < 0 || *value > 600_000) {
			return invalid("first_boot."+name, "must be between 0 and 600000")
		}
	}
	fetches := f.AutoBootstrap == nil || *f.AutoBootstrap
	switch {
	case f.intoData() && !fetches:
		return invalid("first_boot.auto_bootstrap", "must not be false for a node that joins a ring with data")
	case fetches && !f.intoData() && f.RingDelayMS != nil && *f.RingDelayMS < stockRingDelayMS:
		return invalid("first_boot.ring_delay_ms",
			"may only be less than %d for an empty ring or with join or replace_address", stockRingDelayMS)
	case f.ReplaceAddress == own:
		return invalid("first_boot.replace_address", "must not be this node's own")
	}
	if f.Join != nil && (len(f.Join.Members) < 1 || len(f.Join.Members) > 1000) {
		return invalid("first_boot.join.members", "must be 1 to 1000 addresses")
	}
	for _, address := range f.others() {
		if _, err := netip.ParseAddr(address); err != nil {
			return invalid("first_boot", "%q is not an IP address", address)
		}
	}
	if f.Join != nil && (slices.Contains(f.Join.Members, own) || slices.Contains(f.Join.Members, f.ReplaceAddress)) {
		return invalid("first_boot.join.members", "must be the live nodes before the join: neither this one nor one that it replaces")
	}
	return nil
}

// others are all addresses that it names.
func (f FirstBoot) others() []string {
	var all []string
	if f.Join != nil {
		all = append(all, f.Join.Members...)
	}
	if f.ReplaceAddress != "" {
		all = append(all, f.ReplaceAddress)
	}
	return all
}

// checkFirst tells whether a configuration may be that of a first boot. A node in its own seed list would not fetch any data.
func (c Config) checkFirst() error {
	if c.FirstBoot.intoData() && slices.Contains(c.Seeds, c.Address) {
		return invalid("seeds", "must not hold the node's own address while it is to join: a seed fetches no data")
	}
	return nil
}

// checkSuccessor tells whether a configuration may follow another on a node that may hold data.
func (c Config) checkSuccessor(next Config) error {
	for _, fixed := range []struct{ name, was, is string }{
		{"cluster_name", c.ClusterName, next.ClusterName},
		{"datacenter", c.Datacenter, next.Datacenter},
		{"rack", c.Rack, next.Rack},
		{"address", c.Address, next.Address},
		{"initial_tokens", fmt.Sprint(c.InitialTokens), fmt.Sprint(next.InitialTokens)},
	} {
		if fixed.was != fixed.is {
			return agent.Errorf("identity-fixed", "%s was %s when this node first started and cannot change.", fixed.name, fixed.was)
		}
	}
	return nil
}

func invalid(field, format string, arguments ...any) error {
	return agent.Errorf("invalid-config", "%s %s", field, fmt.Sprintf(format, arguments...))
}

// strictly reads one JSON value and refuses unknown fields and anything after it. Large numbers keep their digits.
func strictly(document []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}
