package backup

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheRateIsTheLimitHoweverManyMove has a clock of its own: it says the same on a busy machine.
func TestTheRateIsTheLimitHoweverManyMove(t *testing.T) {
	for _, perSecond := range []int64{64 << 10, 1 << 20, 50 << 20, 400 << 20} {
		for _, movers := range []int{1, 2, 7, 16} {
			synctest.Test(t, func(t *testing.T) {
				shared := limit{}
				shared.set(perSecond)
				total := perSecond * 4
				began := time.Now()
				var moving sync.WaitGroup
				for range movers {
					moving.Go(func() {
						for left := total / int64(movers); left > 0; {
							piece := min(left, int64(1+rand.IntN(shared.piece())))
							if err := shared.take(t.Context(), int(piece)); err != nil {
								t.Error(err)
							}
							// The store and the disk take their time too, and a sleep lasts longer than asked for.
							time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond / time.Duration(1+perSecond>>22))
							left -= piece
						}
					})
				}
				moving.Wait()
				rate := float64(total) / time.Since(began).Seconds()
				if ratio := rate / float64(perSecond); ratio < 0.95 || ratio > 1.05 {
					t.Errorf("%d movers at %d a second moved %.3f of that", movers, perSecond, ratio)
				}
			})
		}
	}
}

func TestALimitCanBeChangedAndLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := limit{}
		began := time.Now()
		for range 1000 {
			_ = shared.take(t.Context(), 1<<20)
		}
		if time.Since(began) != 0 {
			t.Errorf("no limit took %s", time.Since(began))
		}
		// A pause is not made up for later.
		shared.set(1 << 20)
		time.Sleep(time.Minute)
		began = time.Now()
		for range 8 {
			_ = shared.take(t.Context(), 1<<20)
		}
		if took := time.Since(began); took < 7500*time.Millisecond || took > 8500*time.Millisecond {
			t.Errorf("8 seconds' worth took %s", took)
		}
		ending, cancel := context.WithCancel(t.Context())
		cancel()
		if shared.take(ending, 1<<30) == nil {
			t.Error("it waits although nobody does")
		}
	})
}
