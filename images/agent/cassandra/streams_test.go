package cassandra

import (
	"strings"
	"testing"
	"time"
)

const mebibyte = 1 << 20

func TestProgressOfStreamsOnlyGrowsAndTellsWhatIsLeft(t *testing.T) {
	watch := streamWatch{Base: 5 * mebibyte}
	began := time.Now().Add(-10 * time.Second)
	if watch.between(0.2, 0.9) != 0.2 || watch.words("Fetching") != "Fetching" {
		t.Error("it tells of bytes before there are any")
	}
	watch.note([]plan{{TotalRx: 100 * mebibyte}}, 5*mebibyte, inward, began)
	watch.note([]plan{{CurrentRx: 10 * mebibyte, TotalRx: 100 * mebibyte}}, 15*mebibyte, inward, began)
	watch.note([]plan{{CurrentRx: 60 * mebibyte, TotalRx: 100 * mebibyte}}, 65*mebibyte, inward, began.Add(5*time.Second))
	if watch.Done != 60*mebibyte || watch.Total != 100*mebibyte {
		t.Errorf("%+v", watch)
	}
	if said := watch.words("Fetching"); !strings.HasPrefix(said, "Fetching: 60.0 MiB of 100.0 MiB, about 8 s left") {
		t.Error(said)
	}
	// The engine forgets a plan that has ended; its counter does not.
	watch.note(nil, 105*mebibyte, inward, began.Add(9*time.Second))
	if watch.Done != 100*mebibyte || watch.between(0, 1) != 1 {
		t.Errorf("%+v", watch)
	}
}

func TestRatesAreReadAsTheEngineWritesThem(t *testing.T) {
	for rate, wanted := range map[string]int{"24MiB/s": 24, "0MiB/s": 0, "512KiB/s": 1, "3145728B/s": 3} {
		if got, err := mebibytes(rate); err != nil || got != wanted {
			t.Errorf("%s: %d %v", rate, got, err)
		}
	}
	for _, odd := range []string{"", "24", "fast", "24Mbit/s"} {
		if _, err := mebibytes(odd); code(err) != "invalid-config" {
			t.Errorf("%s: %v", odd, err)
		}
	}
}
