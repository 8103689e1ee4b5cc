package canary

import (
	"math"
	"testing"
)

// The tokens were asked of the engine's own class.
func TestTokensAreTheEngines(t *testing.T) {
	for key, wanted := range map[string]int64{
		"": 0, "a": -8839064797231613815, "hello world": 5998619086395760910, "0123456789abcdef": 5467490433528156583,
		"The quick brown fox jumps over it": 1111144597589660361,
	} {
		if got := tokenOf([]byte(key)); got != wanted {
			t.Errorf("%q: %d", key, got)
		}
	}
}

func TestCanariesAreSpreadEvenlyOverTheRing(t *testing.T) {
	ids := IDs()
	if len(ids) != Rows {
		t.Fatal(len(ids))
	}
	for part, id := range ids {
		if partOfRing(tokenOf([]byte(id))) != part {
			t.Errorf("%s is not in part %d", id, part)
		}
	}
	if partOfRing(math.MinInt64) != 0 || partOfRing(-1) != Rows/2-1 || partOfRing(0) != Rows/2 || partOfRing(math.MaxInt64) != Rows-1 {
		t.Error("the parts are not those of the ring")
	}
}
