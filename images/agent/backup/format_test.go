package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ringmaster/agent"
)

// testEncryption is the key 0, 1, … 31; the same is in provisioner/agent/tests/test_fake_backups.py.
var testEncryption = agent.Encryption{Key: base64.StdEncoding.EncodeToString([]byte{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
})}

func testKeys(t testing.TB) keys {
	t.Helper()
	derived, err := deriveKeys(testEncryption)
	if err != nil {
		t.Fatal(err)
	}
	return derived
}

type files map[string][]byte

func (f files) header() header {
	of := header{Format: "nb-big"}
	for name, content := range f {
		sum := sha256.Sum256(content)
		of.Components = append(of.Components, component{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
	}
	slices.SortFunc(of.Components, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return of
}

func (f files) checks() []uint32 {
	var all []uint32
	for _, one := range f.header().Components {
		all = append(all, crc32.Checksum(f[one.Name], castagnoli))
	}
	return all
}

func (f files) open(name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(f[name])), nil
}

// object is the bytes of a bundle, with its key.
func (f files) object(t testing.TB, with keys) (key string, content []byte) {
	t.Helper()
	key = with.bundleKey(f.header())
	sealing := seal(with, f.header(), f.checks(), key, f.open)
	content, err := io.ReadAll(sealing)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(content); sealing.digest() != hex.EncodeToString(sum[:]) || int64(len(content)) != f.header().storedBytes() {
		t.Fatalf("%d bytes, not %d as foretold, or another digest", len(content), f.header().storedBytes())
	}
	return key, content
}

type kept struct {
	bytes.Buffer
}

func (*kept) Close() error { return nil }

// unsealed reads an object in odd pieces, as lines do.
func unsealed(with keys, key string, content []byte) (files, error) {
	got := map[string]*kept{}
	_, err := unseal(with, key, &oddly{bytes.NewReader(content)}, nothing, func(one component) (io.WriteCloser, error) {
		got[one.Name] = &kept{}
		return got[one.Name], nil
	})
	if err != nil {
		return nil, err
	}
	found := files{}
	for name, one := range got {
		found[name] = one.Bytes()
	}
	return found, nil
}

type oddly struct{ in io.Reader }

func (o *oddly) Read(into []byte) (int, error) {
	return o.in.Read(into[:min(len(into), 1+rand.IntN(70_000))])
}

func randomBytes(size int) []byte {
	content := make([]byte, size)
	var seed [32]byte
	for index := range seed {
		seed[index] = byte(rand.Uint32())
	}
	_, _ = rand.NewChaCha8(seed).Read(content)
	return content
}

func TestTheFormatIsTheOneThatIsWrittenDown(t *testing.T) {
	with := testKeys(t)
	key, content := files{"Data.db": []byte("hello"), "Statistics.db": []byte("x")}.object(t, with)
	sum := sha256.Sum256(content)
	if key != "64b39d76629d591408f50cdaa9528b28fbba6bdef669ee46ce6f3da90425a27b" || hex.EncodeToString(sum[:]) != "853b164e2378e45e5f7b1c2f2f6ae222dfcc9f503c1001cc40063ed627fedffa" {
		t.Errorf("%s %x", key, sum)
	}
}

func TestEveryBundleComesBackAsItWas(t *testing.T) {
	with := testKeys(t)
	sizes := []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 2*chunkBytes + 17, 3 * chunkBytes}
	for trial := range 40 {
		bundle := files{}
		for _, name := range []string{"CompressionInfo.db", "Data.db", "Filter.db", "Index.db", "Statistics.db"}[:1+rand.IntN(5)] {
			size := sizes[rand.IntN(len(sizes))]
			if trial%2 == 0 {
				size = rand.IntN(5000)
			}
			bundle[name] = randomBytes(size)
		}
		if trial%7 == 0 {
			// The header and the files fill the last chunk to its end.
			bundle["Data.db"] = nil
			rest := chunkBytes - (len(bundle.header().encoded())+int(bundle.header().bytes()))%chunkBytes
			bundle["Data.db"] = randomBytes(rest - len("65536") + 1)
		}
		key, content := bundle.object(t, with)
		got, err := unsealed(with, key, content)
		if err != nil {
			t.Fatal(err)
		}
		for name := range bundle {
			if !bytes.Equal(got[name], bundle[name]) {
				t.Fatalf("%s of trial %d differs", name, trial)
			}
		}
		if again, other := bundle.object(t, with); again != key || !bytes.Equal(other, content) {
			t.Fatal("the same bundle is another object")
		}
	}
}

func TestAChangeIsNoticedWhereverItIs(t *testing.T) {
	with := testKeys(t)
	key, content := files{"Data.db": randomBytes(2*chunkBytes + 999), "Statistics.db": randomBytes(333)}.object(t, with)
	sealed := chunkBytes + tagBytes
	chunk := func(number int) []byte {
		return content[startBytes+number*sealed : min(startBytes+(number+1)*sealed, len(content))]
	}
	start := content[:startBytes]
	for name, changed := range map[string][]byte{
		"nothing":            {},
		"the start alone":    start,
		"a byte short":       content[:len(content)-1],
		"a byte more":        append(slices.Clone(content), 0),
		"without its end":    slices.Concat(start, chunk(0), chunk(1)),
		"chunks exchanged":   slices.Concat(start, chunk(1), chunk(0), chunk(2)),
		"a chunk twice":      slices.Concat(start, chunk(0), chunk(0), chunk(1), chunk(2)),
		"a chunk left out":   slices.Concat(start, chunk(0), chunk(2)),
		"the last one twice": slices.Concat(content, chunk(2)),
	} {
		if _, err := unsealed(with, key, changed); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, _ := files{"Data.db": []byte("other")}.object(t, with)
	if _, err := unsealed(with, other, content); !errors.Is(err, errDamaged) {
		t.Errorf("under the name of another: %v", err)
	}
	foreign, err := deriveKeys(agent.Encryption{Key: base64.StdEncoding.EncodeToString(make([]byte, 32))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unsealed(foreign, key, content); !errors.Is(err, errWrongKey) {
		t.Error(err)
	}
}

func TestAFileThatChangedAfterItsIndexIsNotStored(t *testing.T) {
	with := testKeys(t)
	bundle := files{"Data.db": randomBytes(3000), "Filter.db": {}, "Statistics.db": randomBytes(100)}
	of := bundle.header()
	for name, changed := range map[string][]byte{"another byte": append(randomBytes(1), bundle["Data.db"][1:]...), "shorter": bundle["Data.db"][:100]} {
		if name == "another byte" {
			changed[0] = bundle["Data.db"][0] ^ 1
		}
		sealing := seal(with, of, bundle.checks(), with.bundleKey(of), files{"Data.db": changed, "Statistics.db": bundle["Statistics.db"]}.open)
		if _, err := io.ReadAll(sealing); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesInAHeaderCannotLeadElsewhere(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for name, of := range map[string]header{
		"a path":       {Format: "nb-big", Components: []component{{Name: "../Data.db", SHA256: sum}}},
		"no name":      {Format: "nb-big", Components: []component{{Name: "", SHA256: sum}}},
		"a format":     {Format: "../x", Components: []component{{Name: "Data.db", SHA256: sum}}},
		"nothing":      {Format: "nb-big"},
		"twice":        {Format: "nb-big", Components: []component{{Name: "Data.db", SHA256: sum}, {Name: "Data.db", SHA256: sum}}},
		"not sorted":   {Format: "nb-big", Components: []component{{Name: "b", SHA256: sum}, {Name: "a", SHA256: sum}}},
		"less than 0":  {Format: "nb-big", Components: []component{{Name: "a", Size: -1, SHA256: sum}}},
		"not a digest": {Format: "nb-big", Components: []component{{Name: "a", SHA256: "x"}}},
	} {
		if of.check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzUnseal(f *testing.F) {
	with := testKeys(f)
	key, content := files{"Data.db": []byte("some rows"), "Statistics.db": []byte("facts")}.object(f, with)
	f.Add(content)
	f.Add(content[:startBytes])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, changed []byte) {
		got, err := unsealed(with, key, changed)
		if err == nil && !bytes.Equal(changed, content) {
			t.Errorf("%x was taken for the object: %v", changed, got)
		}
		if err != nil && !errors.Is(err, errDamaged) && !errors.Is(err, errWrongKey) {
			t.Error(err)
		}
	})
}
