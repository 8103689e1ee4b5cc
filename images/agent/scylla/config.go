package scylla

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
	// InitialTokens are this node's, for keyspaces without tablets; their number is num_tokens.
	InitialTokens []int64     `json:"initial_tokens"`
	FirstBoot     FirstBoot   `json:"first_boot"`
	Alternator    *Alternator `json:"alternator,omitempty"`
	// Settings override scylla.yaml, except what the agent guards.
	Settings map[string]any `json:"settings,omitempty"`
}

// FirstBoot says how the node comes to be a member; without anything, as one of a new ring.
type FirstBoot struct {
	Join *Join `json:"join,omitempty"`
	// ReplaceHostID: the node takes the place of the dead member with this host id, whose machine is gone.
	ReplaceHostID string `json:"replace_host_id,omitempty"`
}

// Join says which ring a node joins.
type Join struct {
	// Members are the addresses of its live nodes, all of them.
	Members []string `json:"members"`
}

// Alternator is the DynamoDB API. It is offered by HTTPS only, to roles of the engine only.
type Alternator struct {
	Port int `json:"port"`
	// WriteIsolation is "always", "only_rmw_uses_lwt", "forbid_rmw" or "unsafe_rmw".
	WriteIsolation string `json:"write_isolation"`
}

var (
	versionForm  = regexp.MustCompile(`^[0-9]{4}\.[0-9]+\.[0-9]+(-[a-z0-9]+)?$`)
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$`)
	revisionForm = regexp.MustCompile(`^[!-~]{0,64}$`)
	settingForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
	hostIDForm   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

var writeIsolations = []string{"always", "only_rmw_uses_lwt", "forbid_rmw", "unsafe_rmw"}

// Ports between which Alternator's may be: nothing else of a node listens there.
const lowestAlternatorPort, highestAlternatorPort = 8000, 8999

// guarded are settings that the agent answers for: identity, addresses, folders and security.
var guarded = []string{
	"cluster_name", "num_tokens", "initial_token", "auto_bootstrap", "partitioner", "endpoint_snitch", "seed_provider",
	"listen_address", "listen_interface", "broadcast_address", "rpc_address", "rpc_interface", "broadcast_rpc_address",
	"storage_port", "ssl_storage_port", "native_transport_port", "native_transport_port_ssl", "native_shard_aware_transport_port",
	"native_shard_aware_transport_port_ssl", "start_native_transport", "api_address", "api_port", "prometheus_address", "prometheus_port",
	"authenticator", "authorizer", "role_manager", "auth_superuser_name", "auth_superuser_salted_password", "maintenance_socket",
	"server_encryption_options", "client_encryption_options", "workdir", "data_file_directories", "commitlog_directory",
	"schema_commitlog_directory", "hints_directory", "view_hints_directory", "saved_caches_directory", "replace_node_first_boot",
	"replace_address", "replace_address_first_boot", "join_ring", "override_decommission", "maintenance_mode", "developer_mode",
	"alternator_address", "alternator_port", "alternator_https_port", "alternator_encryption_options", "alternator_write_isolation",
	"alternator_enforce_authorization", "experimental", "experimental_features",
}

// parseConfig reads and checks a document. Error codes: invalid-config, setting-not-allowed.
func parseConfig(document json.RawMessage) (Config, error) {
	var config Config
	if err := strictly(document, &config); err != nil {
		return Config{}, agent.Errorf("invalid-config", "%v", err)
	}
	return config, config.check()
}

func (c Config) check() error {
	switch {
	case c.Engine != Name:
		return invalid("engine", "must be %q", Name)
	case !versionForm.MatchString(c.Version):
		return invalid("version", "must look like 2026.1.8")
	case !nameForm.MatchString(c.ClusterName):
		return invalid("cluster_name", "must be 1 to 100 letters, digits, spaces, dots, hyphens or underscores")
	case !nameForm.MatchString(c.Datacenter) || strings.Contains(c.Datacenter, " "):
		return invalid("datacenter", "must be 1 to 100 letters, digits, dots, hyphens or underscores")
	case !nameForm.MatchString(c.Rack) || strings.Contains(c.Rack, " "):
		return invalid("rack", "must be 1 to 100 letters, digits, dots, hyphens or underscores")
	case len(c.InitialTokens) < 1 || len(c.InitialTokens) > 1024:
		return invalid("initial_tokens", "must be 1 to 1024 tokens")
	case len(c.Seeds) < 1 || len(c.Seeds) > 100:
		return invalid("seeds", "must be 1 to 100 addresses")
	case !revisionForm.MatchString(c.Revision):
		return invalid("revision", "must be at most 64 printable characters without spaces")
	}
	tokens := slices.Sorted(slices.Values(c.InitialTokens))
	if len(slices.Compact(tokens)) != len(c.InitialTokens) {
		return invalid("initial_tokens", "holds a token twice")
	}
	for _, address := range append([]string{c.Address}, c.Seeds...) {
		if _, err := netip.ParseAddr(address); err != nil {
			return invalid("address or seeds", "%q is not an IP address", address)
		}
	}
	if err := c.FirstBoot.check(c.Address, c.Seeds); err != nil {
		return err
	}
	if a := c.Alternator; a != nil {
		if a.Port < lowestAlternatorPort || a.Port > highestAlternatorPort {
			return invalid("alternator.port", "must be between %d and %d", lowestAlternatorPort, highestAlternatorPort)
		}
		if !slices.Contains(writeIsolations, a.WriteIsolation) {
			return invalid("alternator.write_isolation", "must be one of %s", strings.Join(writeIsolations, ", "))
		}
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

func (f FirstBoot) check(own string, seeds []string) error {
	if f.ReplaceHostID != "" && !hostIDForm.MatchString(f.ReplaceHostID) {
		return invalid("first_boot.replace_host_id", "must be a host id of the ring, in small letters")
	}
	if f.Join == nil {
		if f.ReplaceHostID != "" {
			return invalid("first_boot.join", "must name the living members: a node that replaces another joins their ring")
		}
		return nil
	}
	if len(f.Join.Members) < 1 || len(f.Join.Members) > 1000 {
		return invalid("first_boot.join.members", "must be 1 to 1000 addresses")
	}
	for _, address := range f.Join.Members {
		if _, err := netip.ParseAddr(address); err != nil || address == own {
			return invalid("first_boot.join.members", "must be IP addresses of other nodes")
		}
	}
	// A node that asks nobody but itself founds a ring of its own.
	if slices.Contains(seeds, own) {
		return invalid("seeds", "must not hold the node's own address while it is to join")
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
