// Package canary names the rows that are written to find out whether a node has its data: one in each of many equal parts of the
// ring, so that a node that holds less than it should misses some of them.
package canary

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Rows is how many there are.
const Rows = 256

// IDs are their keys, in the order of the ring.
func IDs() []string {
	ids := make([]string, 0, Rows)
	for part := range Rows {
		for try := 0; ; try++ {
			id := fmt.Sprintf("%d.%d", part, try)
			if partOfRing(tokenOf([]byte(id))) == part {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// partOfRing is which of the equal parts a token is in.
func partOfRing(token int64) int {
	const bitsOfPart = 8
	return int((uint64(token) ^ 1<<63) >> (64 - bitsOfPart))
}

// tokenOf is the token of a partition key of one text column: the first half of MurmurHash3_x64_128 with seed 0, by Austin
// Appleby. The engine's own differs from the original where a key ends in bytes above 127, which our keys do not have.
func tokenOf(key []byte) int64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	var h1, h2 uint64
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	rest := key
	for ; len(rest) >= 16; rest = rest[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(rest))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(rest[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], rest)
	if len(rest) > 8 {
		h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	}
	if len(rest) > 0 {
		h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	}
	h1 ^= uint64(len(key))
	h2 ^= uint64(len(key))
	h1 += h2
	h2 += h1
	h1, h2 = finish(h1), finish(h2)
	token := int64(h1 + h2)
	if token == math.MinInt64 {
		// The smallest is no token of a key.
		return math.MaxInt64
	}
	return token
}

func finish(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
