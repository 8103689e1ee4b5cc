package scylla

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ringmaster/agent/enginetls"
	"ringmaster/agent/statefile"
)

// Ports of the engine, the same on every node. Its API is on the machine's own loopback address.
const (
	cqlPort       = 9042
	internodePort = 7001
	apiPort       = 10000
)

// The engine's first role, and its password as crypt(3) writes it with SHA-512. The engine makes it when there is no other
// superuser; the job secure ends it.
const (
	defaultSuperuser     = "cassandra"
	defaultSuperuserHash = "$6$ringmasterfirst$/UKZJ1pMyp7Zv1QfaXigVeQZvryK04B2ys7l8i0KFkIJTmATt9zt.5cW78OlAW3m4Pg/IT5sdxDyGfkhfDTpZ/"
)

// folders are the places of one node: root below the machine's state, work where the data is.
type folders struct{ root, work string }

func (f folders) conf() string   { return filepath.Join(f.root, "conf") }
func (f folders) yaml() string   { return filepath.Join(f.conf(), "scylla.yaml") }
func (f folders) data() string   { return filepath.Join(f.work, "data") }
func (f folders) output() string { return filepath.Join(f.root, "logs", "scylla.log") }

func (f folders) make() error {
	for _, folder := range []string{f.conf(), filepath.Join(f.root, "logs"), f.work} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	return nil
}

const yamlNote = "# Written by the agent at every start. Change it with PUT /v1/config.\n"

// writeFiles renders everything the engine reads at its start. What depends on the machine, such as its CPUs and disks, was
// written by the first boot.
func writeFiles(config Config, place folders, tls enginetls.Identity, firstBoot bool) error {
	if err := place.make(); err != nil {
		return err
	}
	settings, err := yaml.Marshal(settings(config, place, tls, firstBoot))
	if err != nil {
		return err
	}
	if err := statefile.Write(place.yaml(), []byte(yamlNote+string(settings))); err != nil {
		return err
	}
	rackdc := fmt.Sprintf("%sdc=%s\nrack=%s\n", yamlNote, config.Datacenter, config.Rack)
	return statefile.Write(filepath.Join(place.conf(), "cassandra-rackdc.properties"), []byte(rackdc))
}

// settings are scylla.yaml.
func settings(config Config, place folders, tls enginetls.Identity, firstBoot bool) map[string]any {
	tokens := make([]string, len(config.InitialTokens))
	for index, token := range config.InitialTokens {
		tokens[index] = strconv.FormatInt(token, 10)
	}
	all := map[string]any{
		"cluster_name":    config.ClusterName,
		"num_tokens":      len(tokens),
		"initial_token":   strings.Join(tokens, ","),
		"partitioner":     "org.apache.cassandra.dht.Murmur3Partitioner",
		"endpoint_snitch": "GossipingPropertyFileSnitch",
		"listen_address":  config.Address,
		"rpc_address":     config.Address,
		"seed_provider": []any{map[string]any{
			"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
			"parameters": []any{map[string]any{"seeds": strings.Join(config.Seeds, ",")}},
		}},
		"ssl_storage_port":            internodePort,
		"native_transport_port":       cqlPort,
		"api_address":                 "127.0.0.1",
		"api_port":                    apiPort,
		"prometheus_address":          config.Address,
		"authenticator":               "PasswordAuthenticator",
		"authorizer":                  "CassandraAuthorizer",
		"workdir":                     place.work,
		"commitlog_sync":              "periodic",
		"commitlog_sync_period_in_ms": 10000,
		"server_encryption_options":   pemFiles(tls, map[string]any{"internode_encryption": "all", "require_client_auth": true}),
		"client_encryption_options":   pemFiles(tls, map[string]any{"enabled": true, "require_client_auth": false}),
	}
	if a := config.Alternator; a != nil {
		maps.Copy(all, map[string]any{
			"alternator_address":               config.Address,
			"alternator_https_port":            a.Port,
			"alternator_write_isolation":       a.WriteIsolation,
			"alternator_enforce_authorization": true,
			"alternator_encryption_options":    pemFiles(tls, map[string]any{}),
		})
	}
	if firstBoot {
		all["auth_superuser_name"], all["auth_superuser_salted_password"] = defaultSuperuser, defaultSuperuserHash
		if dead := config.FirstBoot.ReplaceHostID; dead != "" {
			all["replace_node_first_boot"] = dead
		}
	}
	maps.Copy(all, config.Settings)
	return plain(all).(map[string]any)
}

// pemFiles names the engine's key, its certificate and the authorities of its ring; it reads them anew when they change.
func pemFiles(tls enginetls.Identity, more map[string]any) map[string]any {
	maps.Copy(more, map[string]any{
		// One file holds both; the engine looks for what it needs.
		"certificate": tls.KeyAndCertificate,
		"keyfile":     tls.KeyAndCertificate,
		"truststore":  tls.Authority,
	})
	return more
}

// plain turns the numbers of a JSON document, kept as they were written, into numbers that YAML writes as such.
func plain(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		if fraction, err := value.Float64(); err == nil {
			return fraction
		}
	case map[string]any:
		for name, inner := range value {
			value[name] = plain(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = plain(inner)
		}
	}
	return value
}
