package cassandra

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/agent"
)

var update = flag.Bool("update", false, "write the golden files anew")

const good = `{
  "engine": "cassandra", "version": "5.0.5", "cluster_name": "demo", "datacenter": "local-1", "rack": "local-1a",
  "address": "127.1.2.3", "seeds": ["127.1.2.3", "127.2.2.3"], "initial_tokens": [-9223372036854775808, 4611686018427387905],
  "heap_mib": 512, "system_auth_replication": 3,
  "first_boot": {"auto_bootstrap": false, "ring_delay_ms": 500, "gossip_settle_polls": 0, "superuser_setup_delay_ms": 0},
  "jvm": {"profile": "small"}, "settings": {"compaction_throughput": "32MiB/s", "tombstone_warn_threshold": 2000}
}`

func code(err error) string {
	var coded *agent.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func parsed(t *testing.T, document string) Config {
	t.Helper()
	config, err := parseConfig(json.RawMessage(document))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestOddConfigurationsAreRefused(t *testing.T) {
	for _, refused := range []struct{ old, new, code string }{
		{`"cassandra"`, `"other"`, "invalid-config"},
		{`"5.0.5"`, `"../5.0.5"`, "invalid-config"},
		{`"demo"`, `"demo\nauthenticator: AllowAllAuthenticator"`, "invalid-config"},
		{`"local-1"`, `"local 1"`, "invalid-config"},
		{`"local-1a"`, `""`, "invalid-config"},
		{`"address": "127.1.2.3"`, `"address": "example.com"`, "invalid-config"},
		{`"127.2.2.3"`, `"127.2.2.3:7000"`, "invalid-config"},
		{`4611686018427387905`, `-9223372036854775808`, "invalid-config"},
		{`4611686018427387905`, `9223372036854775808`, "invalid-config"},
		{`512`, `64`, "invalid-config"},
		{`500`, `-1`, "invalid-config"},
		{`"small"`, `"huge"`, "invalid-config"},
		{`"heap_mib"`, `"surprise": 1, "heap_mib"`, "invalid-config"},
		{`"small"`, `"small", "collector": "parallel"`, "invalid-config"},
		{`"heap_mib"`, `"revision": "two words", "heap_mib"`, "invalid-config"},
		{`"auto_bootstrap": false`, `"auto_bootstrap": true`, "invalid-config"},
		{`"auto_bootstrap": false`, `"auto_bootstrap": false, "replace_address": "127.2.2.9"`, "invalid-config"},
		{`"auto_bootstrap": false`, `"replace_address": "127.1.2.3"`, "invalid-config"},
		{`"auto_bootstrap": false`, `"join": {"members": []}`, "invalid-config"},
		{`"auto_bootstrap": false`, `"join": {"members": ["127.1.2.3"]}`, "invalid-config"},
		{`"auto_bootstrap": false`, `"join": {"members": ["node-1"]}`, "invalid-config"},
		{`"compaction_throughput"`, `"authenticator"`, "setting-not-allowed"},
		{`"compaction_throughput"`, `"client_encryption_options"`, "setting-not-allowed"},
		{`"compaction_throughput"`, `"Odd Name"`, "invalid-config"},
	} {
		if _, err := parseConfig(json.RawMessage(strings.Replace(good, refused.old, refused.new, 1))); code(err) != refused.code {
			t.Errorf("%s for %s: %v", refused.new, refused.old, err)
		}
	}
}

func TestWhoANodeIsCannotChange(t *testing.T) {
	config := parsed(t, good)
	for old, new := range map[string]string{
		`"demo"`: `"other"`, `"local-1a"`: `"local-1b"`, `"address": "127.1.2.3"`: `"address": "127.1.2.4"`, `4611686018427387905`: `7`,
	} {
		if err := config.checkSuccessor(parsed(t, strings.Replace(good, old, new, 1))); code(err) != "identity-fixed" {
			t.Errorf("%s for %s: %v", new, old, err)
		}
	}
	for old, new := range map[string]string{`512`: `1024`, `"5.0.5"`: `"5.0.9"`, `"32MiB/s"`: `"0MiB/s"`} {
		if err := config.checkSuccessor(parsed(t, strings.Replace(good, old, new, 1))); err != nil {
			t.Errorf("%s for %s: %v", new, old, err)
		}
	}
}

func TestANodeThatIsToJoinIsNotItsOwnSeed(t *testing.T) {
	joins := strings.Replace(good, `"auto_bootstrap": false`, `"join": {"members": ["127.2.2.3"]}`, 1)
	if err := parsed(t, joins).checkFirst(); code(err) != "invalid-config" {
		t.Fatal(err)
	}
	if err := parsed(t, strings.Replace(joins, `"seeds": ["127.1.2.3", `, `"seeds": [`, 1)).checkFirst(); err != nil {
		t.Fatal(err)
	}
}

func TestTheCollectorIsTheProfilesUnlessChosen(t *testing.T) {
	for chosen, option := range map[JVM]string{
		{Profile: "small"}: "-XX:+UseSerialGC", {Profile: "standard"}: "-XX:+UseG1GC",
		{Profile: "small", Collector: "g1"}: "-XX:+UseG1GC", {Profile: "standard", Collector: "zgc"}: "-XX:+UseZGC",
	} {
		if options := collectorOptions(chosen); options[0] != option {
			t.Errorf("%+v: %v", chosen, options)
		}
	}
}

// TestRenderedFilesAreAsCommitted compares with testdata; `go test ./cassandra -update` writes them anew, to be read in the diff.
func TestRenderedFilesAreAsCommitted(t *testing.T) {
	const empty = `{"auto_bootstrap": false, "ring_delay_ms": 500, "gossip_settle_polls": 0, "superuser_setup_delay_ms": 0}`
	const joins = `{"ring_delay_ms": 2000, "gossip_settle_polls": 0, "join": {"members": ["127.2.2.3"]}}`
	const replaces = `{"ring_delay_ms": 2000, "broadcast_interval_ms": 3000, "replace_address": "127.2.2.9"}`
	for _, rendering := range []struct {
		name      string
		start     boot
		firstBoot string
	}{
		{"first-boot", fresh, empty}, {"later", ordinary, empty},
		{"held", held, joins}, {"replacing", replacing, replaces}, {"resumed", resumed, replaces},
	} {
		name, start := rendering.name, rendering.start
		config := parsed(t, strings.Replace(good, empty, rendering.firstBoot, 1))
		root := t.TempDir()
		place := folders{root: root}
		tls := tlsFiles{keyAndCertificate: "/identity/engine.pem", authority: "/identity/cluster-ca.pem"}
		if err := writeFiles(config, place, tls, start); err != nil {
			t.Fatal(err)
		}
		found := tree{folder: "/engines/cassandra-5.0.5", manifest: manifest{
			JVM: "Test 17", RowOverhead: 180, Archive: "classes.jsa", Management: "jolokia.jar", Jars: map[string]string{"b.jar": "", "a.jar": ""},
		}}
		arguments := jvmArguments(config, place, found, java{version: "Test 17"}, program{&Engine{place: place}}.Mark(), start)
		rendered := map[string]string{"jvm-arguments.txt": strings.Join(arguments, "\n") + "\n"}
		files := []string{"cassandra.yaml", "cassandra-rackdc.properties", "logback.xml", "jolokia-policy.xml"}
		if start == held || start == replacing || start == resumed {
			// The rest is as in any first boot.
			files = nil
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(place.conf(), file))
			if err != nil {
				t.Fatal(err)
			}
			rendered[file] = string(content)
		}
		for file, content := range rendered {
			content = strings.ReplaceAll(content, root, "/state/cassandra")
			golden := filepath.Join("testdata", name, file)
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if wanted, err := os.ReadFile(golden); err != nil || string(wanted) != content {
				t.Errorf("%s differs (%v); it is now:\n%s", golden, err, content)
			}
		}
	}
}

func TestAnArchiveOfAnotherJavaIsNotUsed(t *testing.T) {
	found := tree{manifest: manifest{JVM: "Test 17.0.1", Archive: "classes.jsa"}}
	arguments := strings.Join(jvmArguments(parsed(t, good), folders{}, found, java{version: "Test 17.0.2"}, "-Dmark", ordinary), " ")
	if strings.Contains(arguments, "SharedArchiveFile") || strings.Contains(arguments, "row_overhead") {
		t.Fatal(arguments)
	}
}

func TestEveryRenderedFileIsItsOwnersOnly(t *testing.T) {
	place := folders{root: filepath.Join(t.TempDir(), "cassandra")}
	if err := writeFiles(parsed(t, good), place, tlsFiles{}, fresh); err != nil {
		t.Fatal(err)
	}
	err := filepath.Walk(place.root, func(path string, found os.FileInfo, err error) error {
		if err == nil && found.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %s", path, found.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
