package canary

import (
	"math"
	"testing"

	"ringmaster/agent/token"
)

func TestCanariesAreSpreadEvenlyOverTheRing(t *testing.T) {
	ids := IDs()
	if len(ids) != Rows {
		t.Fatal(len(ids))
	}
	for part, id := range ids {
		if partOfRing(token.Of([]byte(id))) != part {
			t.Errorf("%s is not in part %d", id, part)
		}
	}
	if partOfRing(math.MinInt64) != 0 || partOfRing(-1) != Rows/2-1 || partOfRing(0) != Rows/2 || partOfRing(math.MaxInt64) != Rows-1 {
		t.Error("the parts are not those of the ring")
	}
}
