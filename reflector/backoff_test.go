package reflector

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Pauses double up to their limit, whatever the number of failures.
func TestBackoffDoublesToItsLimit(t *testing.T) {
	b := Backoff{}.withDefaults()
	random := rand.New(zero{})
	for failures, want := range map[int]time.Duration{
		1: 800 * time.Millisecond, 2: 1600 * time.Millisecond, 3: 3200 * time.Millisecond,
		5: 12800 * time.Millisecond, 6: 15 * time.Second, 60: 15 * time.Second, 1 << 20: 15 * time.Second,
	} {
		if got := b.delay(failures, 0, random); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}

// For any setting and any number of failures: at least Base (or Max/2 where
// that is less), less than Max, and never less than the server's wish.
func TestBackoffStaysWithinItsBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := Backoff{
			Base: time.Duration(random.Int64N(int64(time.Minute))),
			Max:  time.Duration(random.Int64N(int64(time.Hour))),
		}.withDefaults()
		failures := 1 + int(random.ExpFloat64()*100)
		wish := time.Duration(random.Int64N(int64(time.Minute)))
		if got := b.delay(failures, 0, random); got < min(b.Base, b.Max/2) || got > max(b.Max, 2) {
			t.Fatalf("%+v after %d failures: %v", b, failures, got)
		}
		if got := b.delay(failures, wish, random); got < wish || got > max(wish, b.Max)+b.Max {
			t.Fatalf("%+v after %d failures, asked for %v: %v", b, failures, wish, got)
		}
	}
	extreme := Backoff{Base: 1, Max: math.MaxInt64}
	if got := extreme.delay(math.MaxInt32, 0, random); got <= 0 {
		t.Fatalf("overflow: %v", got)
	}
}

// Jitter spreads those who failed together over as long again.
func TestBackoffIsJittered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := Backoff{}.withDefaults()
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		d := b.delay(3, 0, random)
		low, high = min(low, d), max(high, d)
	}
	if low < 3200*time.Millisecond || low > 3300*time.Millisecond || high < 6300*time.Millisecond || high >= 6400*time.Millisecond {
		t.Errorf("pauses lie between %v and %v", low, high)
	}
}
