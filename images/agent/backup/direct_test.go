package backup

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileOfAnyLengthIsWrittenPastTheCache(t *testing.T) {
	for _, size := range []int{0, 1, alignment - 1, alignment, alignment + 1, directBytes - 1, directBytes, directBytes + 1, 2*directBytes + 4097} {
		content, path := randomBytes(size), filepath.Join(t.TempDir(), "file")
		file, err := createDirect(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600, int64(size))
		if err != nil {
			t.Fatal(err)
		}
		for rest := content; len(rest) > 0; {
			count, err := file.Write(rest[:min(len(rest), 1+rand.IntN(300_000))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[count:]
		}
		if err := file.finish(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) || file.Close() != nil {
			t.Errorf("%d: %d bytes, %v", size, len(got), err)
		}
	}
}
