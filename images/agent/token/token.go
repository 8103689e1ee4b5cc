// Package token tells where on the ring a partition is.
package token

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Of is the token of a partition key as the engines' Murmur3Partitioner has it: the first half of MurmurHash3_x64_128 with
// seed 0, by Austin Appleby, but with the bytes after the last block of 16 taken as signed numbers.
func Of(key []byte) int64 {
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
	if len(rest) > 8 {
		h2 ^= mix2(signed(rest[8:]))
	}
	h1 ^= mix1(signed(rest[:min(len(rest), 8)]))
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

// signed joins at most eight bytes, the lowest first. A negative one changes all bits above it.
func signed(tail []byte) uint64 {
	var joined int64
	for index, part := range tail {
		joined ^= int64(int8(part)) << (8 * index)
	}
	return uint64(joined)
}

func finish(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
