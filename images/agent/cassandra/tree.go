package cassandra

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/statefile"
)

// tree is one version of the engine on disk, as images/machine/cassandra/bake makes it.
type tree struct {
	folder   string
	manifest manifest
}

// manifest is written last by the bake: a tree that has one is whole.
type manifest struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	// JVM is the full version of the Java that the archive and the figure were made with.
	JVM string `json:"jvm"`
	// RowOverhead is what a memtable row costs, in bytes. The engine would measure it at every start.
	RowOverhead int    `json:"row_overhead"`
	Archive     string `json:"archive"`
	// Management is the jar by which the agent reaches the engine's management beans.
	Management string            `json:"management"`
	Jars       map[string]string `json:"jars"`
	JarsDigest string            `json:"jars_digest"`
}

// openTree finds the version in the cache. Error code: engine-not-found.
func openTree(cache, version string) (tree, error) {
	folder := filepath.Join(cache, Name+"-"+version)
	// The class-data archive is bound to the class path's text; the bake wrote real paths.
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	found := tree{folder: folder}
	if err := statefile.ReadJSON(filepath.Join(folder, "manifest.json"), &found.manifest); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return tree{}, agent.Errorf("engine-not-found", "There is no tree of Cassandra %s in %s; bake it first.", version, cache)
		}
		return tree{}, err
	}
	if found.manifest.Management == "" {
		return tree{}, agent.Errorf("engine-not-found", "The tree of Cassandra %s in %s was baked for older agents; bake it again.", version, cache)
	}
	return found, nil
}

// check compares the tree with its manifest. Error code: engine-damaged.
func (t tree) check(version string) error {
	if t.manifest.Engine != Name || t.manifest.Version != version {
		return agent.Errorf("engine-damaged", "%s holds %s %s.", t.folder, t.manifest.Engine, t.manifest.Version)
	}
	var lines strings.Builder
	for _, name := range t.jarNames() {
		fmt.Fprintf(&lines, "%s  %s\n", t.manifest.Jars[name], name)
	}
	if digest := sha256.Sum256([]byte(lines.String())); hex.EncodeToString(digest[:]) != t.manifest.JarsDigest {
		return agent.Errorf("engine-damaged", "The list of jars in %s is not the one its tree was made of.", t.folder)
	}
	for _, name := range t.jarNames() {
		content, err := os.ReadFile(filepath.Join(t.folder, "lib", name))
		if err != nil {
			return agent.Errorf("engine-damaged", "%s of Cassandra %s cannot be read; bake it again.", name, version)
		}
		if digest := sha256.Sum256(content); hex.EncodeToString(digest[:]) != t.manifest.Jars[name] {
			return agent.Errorf("engine-damaged", "%s of Cassandra %s has another checksum; bake it again.", name, version)
		}
	}
	return nil
}

func (t tree) jarNames() []string { return slices.Sorted(maps.Keys(t.manifest.Jars)) }

// classPath must be the very text that the bake used: the archive is bound to it.
func (t tree) classPath() string {
	jars := t.jarNames()
	for index, name := range jars {
		jars[index] = filepath.Join(t.folder, "lib", name)
	}
	return strings.Join(jars, ":")
}

// java is the Java that runs the engine.
type java struct{ home, version string }

// findJava looks in JAVA_HOME, then in the path. Error code: java-not-found.
func findJava() (java, error) {
	program := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		found, err := exec.LookPath("java")
		if err != nil {
			return java{}, agent.Errorf("java-not-found", "There is no Java on this machine.")
		}
		program = found
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return java{}, agent.Errorf("java-not-found", "There is no Java at %s.", program)
	}
	home := filepath.Dir(filepath.Dir(real))
	content, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return java{}, agent.Errorf("java-not-found", "%s does not tell its version.", home)
	}
	facts := map[string]string{"IMPLEMENTOR": "unknown"}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			facts[name] = strings.Trim(value, `"`)
		}
	}
	return java{home: home, version: facts["IMPLEMENTOR"] + " " + facts["JAVA_RUNTIME_VERSION"]}, nil
}

func (j java) program(name string) string { return filepath.Join(j.home, "bin", name) }
