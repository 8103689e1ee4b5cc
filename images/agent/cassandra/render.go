package cassandra

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ringmaster/agent/statefile"
)

// Ports of the engine, the same on every node.
const (
	cqlPort       = 9042
	internodePort = 7000
)

//go:embed logback.xml
var logback string

// folders are the places of one node below the machine's state.
type folders struct{ root string }

func (f folders) conf() string      { return filepath.Join(f.root, "conf") }
func (f folders) logs() string      { return filepath.Join(f.root, "logs") }
func (f folders) data() string      { return filepath.Join(f.root, "data") }
func (f folders) output() string    { return filepath.Join(f.logs(), "jvm.log") }
func (f folders) systemLog() string { return filepath.Join(f.logs(), "system.log") }

func (f folders) make() error {
	for _, folder := range []string{f.conf(), f.logs(), f.data(), filepath.Join(f.root, "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// tlsFiles are PEM files of the engine's own key with its certificate, and of the cluster's authority.
type tlsFiles struct{ keyAndCertificate, authority string }

// writeFiles renders everything the engine reads at its start.
func writeFiles(config Config, place folders, tls tlsFiles, firstBoot bool) error {
	if err := place.make(); err != nil {
		return err
	}
	settings, err := yaml.Marshal(settings(config, place, tls, firstBoot))
	if err != nil {
		return err
	}
	const note = "# Written by the agent at every start. Change it with PUT /v1/config.\n"
	for name, content := range map[string]string{
		"cassandra.yaml":              note + string(settings),
		"cassandra-rackdc.properties": fmt.Sprintf("%sdc=%s\nrack=%s\n", note, config.Datacenter, config.Rack),
		"logback.xml":                 strings.ReplaceAll(logback, "@LOGS@", place.logs()),
	} {
		if err := statefile.Write(filepath.Join(place.conf(), name), []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// settings are cassandra.yaml.
func settings(config Config, place folders, tls tlsFiles, firstBoot bool) map[string]any {
	tokens := make([]string, len(config.InitialTokens))
	for index, token := range config.InitialTokens {
		tokens[index] = strconv.FormatInt(token, 10)
	}
	seeds := make([]string, len(config.Seeds))
	for index, seed := range config.Seeds {
		seeds[index] = net.JoinHostPort(seed, strconv.Itoa(internodePort))
	}
	all := map[string]any{
		"cluster_name":          config.ClusterName,
		"num_tokens":            len(tokens),
		"initial_token":         strings.Join(tokens, ","),
		"partitioner":           "org.apache.cassandra.dht.Murmur3Partitioner",
		"endpoint_snitch":       "GossipingPropertyFileSnitch",
		"listen_address":        config.Address,
		"rpc_address":           config.Address,
		"storage_port":          internodePort,
		"native_transport_port": cqlPort,
		"seed_provider": []any{map[string]any{
			"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
			"parameters": []any{map[string]any{"seeds": strings.Join(seeds, ",")}},
		}},
		"authenticator":          "PasswordAuthenticator",
		"authorizer":             "CassandraAuthorizer",
		"role_manager":           "CassandraRoleManager",
		"data_file_directories":  []any{place.data()},
		"commitlog_directory":    filepath.Join(place.root, "commitlog"),
		"hints_directory":        filepath.Join(place.root, "hints"),
		"saved_caches_directory": filepath.Join(place.root, "saved_caches"),
		"cdc_raw_directory":      filepath.Join(place.root, "cdc_raw"),
		"commitlog_sync":         "periodic",
		"commitlog_sync_period":  "10000ms",
		"server_encryption_options": merged(pemFiles(tls), map[string]any{
			"internode_encryption": "all",
			"require_client_auth":  true,
			"accepted_protocols":   []any{"TLSv1.3"},
		}),
		"client_encryption_options": merged(pemFiles(tls), map[string]any{
			"enabled":             true,
			"optional":            false,
			"require_client_auth": false,
			"accepted_protocols":  []any{"TLSv1.3", "TLSv1.2"},
		}),
	}
	if config.JVM.Profile == "small" {
		maps.Copy(all, map[string]any{
			"concurrent_reads":                    8,
			"concurrent_writes":                   8,
			"concurrent_counter_writes":           8,
			"concurrent_materialized_view_writes": 2,
			"concurrent_compactors":               1,
			"memtable_flush_writers":              1,
			"memtable_heap_space":                 fmt.Sprintf("%dMiB", config.HeapMiB/4),
			"memtable_offheap_space":              fmt.Sprintf("%dMiB", config.HeapMiB/8),
			"file_cache_size":                     "32MiB",
			"networking_cache_size":               "16MiB",
			"key_cache_size":                      "8MiB",
			"counter_cache_size":                  "4MiB",
			"prepared_statements_cache_size":      "4MiB",
			"commitlog_total_space":               "256MiB",
		})
	}
	if firstBoot && config.FirstBoot.AutoBootstrap != nil {
		all["auto_bootstrap"] = *config.FirstBoot.AutoBootstrap
	}
	maps.Copy(all, config.Settings)
	return plain(all).(map[string]any)
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

// pemFiles makes the engine read plain PEM files; it looks every ten minutes whether they were renewed.
func pemFiles(tls tlsFiles) map[string]any {
	return map[string]any{
		"ssl_context_factory": map[string]any{"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
		"keystore":            tls.keyAndCertificate,
		"truststore":          tls.authority,
	}
}

func merged(first, second map[string]any) map[string]any {
	maps.Copy(first, second)
	return first
}

// jvmArguments are the whole command line after `java`. Nothing secret may be in it: every user can read it.
func jvmArguments(config Config, place folders, found tree, with java, mark string, firstBoot bool) []string {
	heap := fmt.Sprintf("%dm", config.HeapMiB)
	arguments := []string{"-Xmx" + heap}
	if config.JVM.Profile == "small" {
		arguments = append(arguments,
			// The engine locks in memory whatever heap there is at the start, page by page; so it starts small.
			"-Xms96m",
			"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			fmt.Sprintf("-XX:MaxDirectMemorySize=%dm", max(128, config.HeapMiB/2)))
	} else {
		arguments = append(arguments,
			"-Xms"+heap, "-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled", "-XX:MaxTenuringThreshold=1", "-XX:G1HeapRegionSize=16m",
			"-XX:G1RSetUpdatingPauseTimePercent=5", "-XX:MaxGCPauseMillis=300", "-XX:InitiatingHeapOccupancyPercent=70",
			"-XX:+AlwaysPreTouch")
	}
	if found.manifest.JVM == with.version {
		// Of another Java both would be wrong: the archive unusable, the figure somebody else's.
		arguments = append(arguments,
			"-Xshare:auto", "-XX:SharedArchiveFile="+filepath.Join(found.folder, found.manifest.Archive),
			fmt.Sprintf("-Dcassandra.memtable.row_overhead_size=%d", found.manifest.RowOverhead))
	}
	arguments = append(arguments,
		"@"+filepath.Join(found.folder, "jvm.options"),
		"-cp", found.classPath(),
		mark,
		"-Dcassandra.config=file://"+filepath.Join(place.conf(), "cassandra.yaml"),
		"-Dcassandra-rackdc.properties=file://"+filepath.Join(place.conf(), "cassandra-rackdc.properties"),
		"-Dlogback.configurationFile="+filepath.Join(place.conf(), "logback.xml"),
		"-Dcassandra.storagedir="+place.root,
		"-Dcassandra.logdir="+place.logs(),
		"-Djava.io.tmpdir="+filepath.Join(place.root, "tmp"),
		"-Dcassandra-foreground=yes",
	)
	if firstBoot {
		arguments = append(arguments, firstBootProperties(config)...)
	}
	return append(arguments, "org.apache.cassandra.service.CassandraDaemon")
}

// notInALoop keeps the superuser's set-up, which is tried again after the same delay until most of the ring is up, from
// taking a whole CPU of a machine on which others are still starting: without a pause that is thousands of tries a second.
func notInALoop(delayMS *int) *int {
	const shortest = 100
	if delayMS == nil {
		return nil
	}
	return new(max(*delayMS, shortest))
}

func firstBootProperties(config Config) []string {
	properties := []string{
		// A node that is known but has no tokens yet is forgotten, and kept out for a while, when it is silent for half of this;
		// by default that follows the ring delay. With a short ring delay nodes that start side by side would forget each
		// other in the middle of it, and the schema of the one forgotten is never fetched.
		"-Dcassandra.gossip_quarantine_delay_ms=60000",
		// Nodes that start side by side miss some of each other's schema changes. How often a node looks for what it missed
		// is a minute by default, and a look that comes after the first minute is put off by another.
		"-Dcassandra.schema_pull_interval_ms=1000",
	}
	for _, property := range []struct {
		name  string
		value *int
	}{
		{"cassandra.ring_delay_ms", config.FirstBoot.RingDelayMS},
		{"cassandra.skip_wait_for_gossip_to_settle", config.FirstBoot.GossipSettlePolls},
		{"cassandra.superuser_setup_delay_ms", notInALoop(config.FirstBoot.SuperuserSetupDelayMS)},
		// The replication that the keyspaces are created with; later it is a matter of their schema.
		{"cassandra.system_auth.default_rf", new(config.SystemAuthReplication)},
		{"cassandra.system_distributed.default_rf", new(min(config.SystemAuthReplication, 3))},
		{"cassandra.system_traces.default_rf", new(min(config.SystemAuthReplication, 2))},
	} {
		if property.value != nil {
			properties = append(properties, fmt.Sprintf("-D%s=%d", property.name, *property.value))
		}
	}
	return properties
}
