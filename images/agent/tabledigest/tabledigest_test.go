package tabledigest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ringmaster/agent"
)

func TestPartsOfTheRingMeetAndCoverIt(t *testing.T) {
	wanted := newQuery("shop", "Orders", []agent.ColumnSchema{
		{Name: "id", Kind: "partition_key", Position: 1, Type: "int"},
		{Name: "day", Kind: "partition_key", Position: 0, Type: "text"},
		{Name: "seen", Kind: "regular", Type: "set<text>"},
		{Name: "note", Kind: "static", Type: "text"},
		{Name: "count", Kind: "regular", Type: "counter"},
	})
	if want := `SELECT "count", "day", "id", "note", "seen", WRITETIME("note") FROM "shop"."Orders" WHERE token("day", "id") > `; !strings.HasPrefix(wanted.statement(0, 1), want) {
		t.Errorf("%s", wanted.statement(0, 1))
	}
	for _, of := range []int{1, 2, 3, 64, mostSlices} {
		end := fmt.Sprint(math.MinInt64)
		for index := range of {
			statement := wanted.statement(index, of)
			if !strings.Contains(statement, "> "+end) {
				t.Fatalf("part %d of %d begins elsewhere than at %s: %s", index, of, end, statement)
			}
			_, bound, closed := strings.Cut(statement, "<= ")
			if closed == (index == of-1) {
				t.Fatalf("part %d of %d: %s", index, of, statement)
			}
			end = bound
		}
	}
}
