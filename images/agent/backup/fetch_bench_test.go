package backup

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ringmaster/agent"
)

// BenchmarkFetch is what a node does of a restore before its engine: read, verify, decrypt, and write so that it lasts.
func BenchmarkFetch(b *testing.B) {
	m := &machine{t: &testing.T{}, root: b.TempDir(), with: testEncryption}
	m.store = agent.Store{Kind: agent.FolderStore, Folder: b.TempDir()}
	m.restart()
	data := make([]byte, 64<<20)
	for number := range 4 {
		if _, err := rand.Read(data); err != nil {
			b.Fatal(err)
		}
		m.flush("bench", "orders", uuidName(number), data)
	}
	ctx := b.Context()
	if _, err := m.service.Index(ctx, agent.IndexSnapshotParameters{Tag: "bench", Encryption: m.with}, silent); err != nil {
		b.Fatal(err)
	}
	page, err := m.service.Bundles("bench", "", 100)
	if err != nil {
		b.Fatal(err)
	}
	parameters := agent.UploadBundlesParameters{Tag: "bench", Store: m.store, Encryption: m.with}
	for _, one := range page.Items {
		parameters.Keys = append(parameters.Keys, one.Key)
	}
	uploaded, err := m.service.Upload(ctx, parameters, silent)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(4 * 64 << 20)
	b.ResetTimer()
	for turn := range b.N {
		name := fmt.Sprintf("run-%d", turn)
		fetch := m.fetching(name, uploaded.Stored)
		fetch.Parallel = 0
		if _, err := m.service.Fetch(ctx, fetch, silent); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = os.RemoveAll(filepath.Join(m.root, "restores"))
		b.StartTimer()
	}
}
