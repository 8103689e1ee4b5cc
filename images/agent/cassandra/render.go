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

// boot says which start of the engine this is.
type boot int

const (
	// ordinary: the node has served before. The engine's own, careful values.
	ordinary boot = iota
	// fresh: the first boot; into an empty ring, or left to the engine.
	fresh
	// held: the first boot into a ring with data. The engine starts without joining; the agent lets it join.
	held
	// replacing: the first boot of a node that takes over from a dead one. It cannot be held; the agent watches it.
	replacing
	// resumed: the first boot again, after the engine ended in the middle of joining or replacing.
	resumed
)

// folders are the places of one node below the machine's state.
type folders struct{ root string }

func (f folders) conf() string      { return filepath.Join(f.root, "conf") }
func (f folders) logs() string      { return filepath.Join(f.root, "logs") }
func (f folders) data() string      { return filepath.Join(f.root, "data") }
func (f folders) commitLog() string { return filepath.Join(f.root, "commitlog") }
func (f folders) archive() string   { return filepath.Join(f.root, "archive") }
func (f folders) output() string    { return filepath.Join(f.logs(), "jvm.log") }
func (f folders) systemLog() string { return filepath.Join(f.logs(), "system.log") }
func (f folders) slowLog() string   { return filepath.Join(f.logs(), "slow.log") }

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

const yamlNote = "# Written by the agent at every start. Change it with PUT /v1/config.\n"

// writeFiles renders everything the engine reads at its start.
func writeFiles(config Config, place folders, tls tlsFiles, start boot) error {
	if err := place.make(); err != nil {
		return err
	}
	settings, err := yaml.Marshal(settings(config, place, tls, start))
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"cassandra.yaml":              yamlNote + string(settings),
		"cassandra-rackdc.properties": fmt.Sprintf("%sdc=%s\nrack=%s\n", yamlNote, config.Datacenter, config.Rack),
		"logback.xml":                 strings.ReplaceAll(logback, "@LOGS@", place.logs()),
	} {
		if err := statefile.Write(filepath.Join(place.conf(), name), []byte(content)); err != nil {
			return err
		}
	}
	return writeManagement(config, place)
}

// seedProvider is the setting of that name.
func seedProvider(addresses []string) []any {
	seeds := make([]string, len(addresses))
	for index, seed := range addresses {
		seeds[index] = net.JoinHostPort(seed, strconv.Itoa(internodePort))
	}
	return []any{map[string]any{
		"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
		"parameters": []any{map[string]any{"seeds": strings.Join(seeds, ",")}},
	}}
}

// settings are cassandra.yaml.
func settings(config Config, place folders, tls tlsFiles, start boot) map[string]any {
	tokens := make([]string, len(config.InitialTokens))
	for index, token := range config.InitialTokens {
		tokens[index] = strconv.FormatInt(token, 10)
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
		"seed_provider":         seedProvider(config.Seeds),
		"authenticator":         "PasswordAuthenticator",
		"authorizer":            "CassandraAuthorizer",
		"role_manager":          "CassandraRoleManager",
		"cidr_authorizer": map[string]any{
			"class_name": "CassandraCIDRAuthorizer",
			// The engine takes texts only. It looks for changes once in so many minutes; jobs make it look at once.
			"parameters": map[string]any{
				"cidr_authorizer_mode": "ENFORCE", "cidr_checks_for_superusers": "true", "cidr_groups_cache_refresh_interval": "1",
			},
		},
		// What is known of roles is looked up again every few seconds, behind the requests, and kept for a minute when that fails: the
		// engine's own two seconds made requests wait for other nodes, and refused them as unauthorized when one had just died.
		"roles_validity": "60s", "roles_update_interval": "2s", "roles_cache_active_update": true,
		"permissions_validity": "60s", "permissions_update_interval": "5s", "permissions_cache_active_update": true,
		"data_file_directories":  []any{place.data()},
		"commitlog_directory":    place.commitLog(),
		"hints_directory":        filepath.Join(place.root, "hints"),
		"saved_caches_directory": filepath.Join(place.root, "saved_caches"),
		"cdc_raw_directory":      filepath.Join(place.root, "cdc_raw"),
		// What is remembered of repairs and streams that have ended: every look at those that run goes through all of it.
		"repair_state_size":     1000,
		"streaming_state_size":  "4MiB",
		"commitlog_sync":        "periodic",
		"commitlog_sync_period": "10000ms",
		// No two SSTables, of any node, ever have the same name: a backup can tell which ones it has. Those that are there keep theirs.
		"uuid_sstable_identifiers_enabled": true,
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
	if start != ordinary && config.FirstBoot.AutoBootstrap != nil {
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
func jvmArguments(config Config, place folders, found tree, with java, mark string, start boot) []string {
	heap := fmt.Sprintf("%dm", config.HeapMiB)
	arguments := []string{"-Xmx" + heap}
	if config.JVM.Profile == "small" {
		arguments = append(arguments,
			// The engine locks in memory whatever heap there is at the start, page by page; so it starts small.
			"-Xms96m",
			"-XX:TieredStopAtLevel=1",
			fmt.Sprintf("-XX:MaxDirectMemorySize=%dm", max(128, config.HeapMiB/2)))
	} else {
		arguments = append(arguments, "-Xms"+heap, "-XX:+AlwaysPreTouch")
	}
	arguments = append(arguments, collectorOptions(config.JVM)...)
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
	arguments = append(arguments, managementOptions(found, place)...)
	if start != resumed {
		// A rebuild that is called again goes on where it was; by default the engine refuses it.
		arguments = append(arguments, "-Dcassandra.reset_bootstrap_progress=false")
	}
	if start != ordinary {
		arguments = append(arguments, firstBootProperties(config, start)...)
	}
	return append(arguments, "org.apache.cassandra.service.CassandraDaemon")
}

func collectorOptions(chosen JVM) []string {
	collector := chosen.Collector
	if collector == "" {
		collector = map[string]string{"small": "serial", "standard": "g1"}[chosen.Profile]
	}
	switch collector {
	case "serial":
		return []string{"-XX:+UseSerialGC"}
	case "zgc":
		return []string{"-XX:+UseZGC"}
	}
	return []string{
		"-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled", "-XX:MaxTenuringThreshold=1", "-XX:G1HeapRegionSize=16m",
		"-XX:G1RSetUpdatingPauseTimePercent=5", "-XX:MaxGCPauseMillis=300", "-XX:InitiatingHeapOccupancyPercent=70",
	}
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

func firstBootProperties(config Config, start boot) []string {
	// The replication that the keyspaces are created with; later it is a matter of their schema.
	properties := []string{
		fmt.Sprintf("-Dcassandra.system_auth.default_rf=%d", config.SystemAuthReplication),
		fmt.Sprintf("-Dcassandra.system_distributed.default_rf=%d", min(config.SystemAuthReplication, 3)),
		fmt.Sprintf("-Dcassandra.system_traces.default_rf=%d", min(config.SystemAuthReplication, 2)),
	}
	if config.FirstBoot.ReplaceAddress != "" {
		properties = append(properties, "-Dcassandra.replace_address_first_boot="+config.FirstBoot.ReplaceAddress)
	}
	if start == resumed {
		// All of it anew, with the engine's own waits: writes of the time between have passed this node by.
		return append(properties, "-Dcassandra.reset_bootstrap_progress=true")
	}
	properties = append(properties,
		// A node that is known but has no tokens yet is forgotten, and kept out for a while, when it is silent for half of this;
		// by default that follows the ring delay. With a short ring delay nodes that start side by side would forget each
		// other in the middle of it, and the schema of the one forgotten is never fetched.
		"-Dcassandra.gossip_quarantine_delay_ms=60000",
		// Nodes that start side by side miss some of each other's schema changes. How often a node looks for what it missed
		// is a minute by default, and a look that comes after the first minute is put off by another.
		"-Dcassandra.schema_pull_interval_ms=1000",
	)
	superuserDelay := notInALoop(config.FirstBoot.SuperuserSetupDelayMS)
	switch start {
	case held:
		superuserDelay = new(int(heldSetupDelay.Milliseconds()))
		properties = append(properties, "-Dcassandra.join_ring=false", "-Dcassandra.start_native_transport=false",
			// An earlier try leaves traces of this address in the ring for half a minute. What is looked for here the
			// agent sees to, more strictly, before the node joins.
			"-Dcassandra.allow_unsafe_join=true")
	case replacing:
		properties = append(properties, "-Dcassandra.start_native_transport=false")
	}
	for _, property := range []struct {
		name  string
		value *int
	}{
		{"cassandra.ring_delay_ms", config.FirstBoot.RingDelayMS},
		{"cassandra.skip_wait_for_gossip_to_settle", config.FirstBoot.GossipSettlePolls},
		{"cassandra.superuser_setup_delay_ms", superuserDelay},
		{"cassandra.broadcast_interval_ms", config.FirstBoot.BroadcastIntervalMS},
	} {
		if property.value != nil {
			properties = append(properties, fmt.Sprintf("-D%s=%d", property.name, *property.value))
		}
	}
	return properties
}
