package cassandra

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"ringmaster/agent/statefile"
)

// bakedTree makes a small tree as the bake does.
func bakedTree(t *testing.T) (cache, folder string) {
	t.Helper()
	cache = t.TempDir()
	folder = filepath.Join(cache, "cassandra-5.0.5")
	if err := os.MkdirAll(filepath.Join(folder, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "lib", "a.jar"), "jar")
	sum := func(text string) string { digest := sha256.Sum256([]byte(text)); return hex.EncodeToString(digest[:]) }
	made := manifest{Engine: "cassandra", Version: "5.0.5", Management: "a.jar", Jars: map[string]string{"a.jar": sum("jar")}}
	made.JarsDigest = sum(sum("jar") + "  a.jar\n")
	if err := statefile.WriteJSON(filepath.Join(folder, "manifest.json"), made); err != nil {
		t.Fatal(err)
	}
	return cache, folder
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func checked(cache string) error {
	found, err := openTree(cache, "5.0.5")
	if err != nil {
		return err
	}
	return found.check("5.0.5")
}

func TestAWholeTreeIsAccepted(t *testing.T) {
	cache, _ := bakedTree(t)
	if err := checked(cache); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedTreeIsRefused(t *testing.T) {
	for name, damage := range map[string]func(folder string){
		"engine-not-found": func(folder string) { _ = os.Remove(filepath.Join(folder, "manifest.json")) },
		"engine-damaged":   func(folder string) { write(t, filepath.Join(folder, "lib", "a.jar"), "jAr") },
	} {
		cache, folder := bakedTree(t)
		damage(folder)
		if err := checked(cache); code(err) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	cache, folder := bakedTree(t)
	if err := os.Remove(filepath.Join(folder, "lib", "a.jar")); err != nil {
		t.Fatal(err)
	}
	if err := checked(cache); code(err) != "engine-damaged" {
		t.Error(err)
	}
}
