// Package canary names the rows that are written to find out whether a node has its data: one in each of many equal parts of the
// ring, so that a node that holds less than it should misses some of them.
package canary

import (
	"fmt"

	"ringmaster/agent/token"
)

// Rows is how many there are.
const Rows = 256

// IDs are their keys, in the order of the ring.
func IDs() []string {
	ids := make([]string, 0, Rows)
	for part := range Rows {
		for try := 0; ; try++ {
			id := fmt.Sprintf("%d.%d", part, try)
			if partOfRing(token.Of([]byte(id))) == part {
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
