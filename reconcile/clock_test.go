package reconcile

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARunStartsByThisMachinesClock(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 700_000_000, time.UTC)
	for ahead, want := range map[time.Duration]time.Duration{
		-time.Hour:                     -700 * time.Millisecond,
		0:                              0, // in this second
		time.Second:                    time.Second,
		MaxSkew - time.Second:          MaxSkew - time.Second,
		MaxSkew + time.Second:          -700 * time.Millisecond,
		time.Hour:                      -700 * time.Millisecond, // else it would be timed out an hour late
		-1 * 24 * 365 * time.Hour:      -700 * time.Millisecond,
		200 * time.Millisecond:         200 * time.Millisecond,
		-300 * time.Millisecond:        -300 * time.Millisecond,
		-1500 * time.Millisecond:       -700 * time.Millisecond,
		2 * MaxSkew:                    -700 * time.Millisecond,
		MaxSkew - 700*time.Millisecond: MaxSkew - 700*time.Millisecond,
	} {
		if got := StartTime(now, metav1.NewTime(now.Add(ahead))).Sub(now); got != want {
			t.Errorf("made by a server that is %s ahead, a run starts in %s, want %s", ahead, got, want)
		}
	}
}

// A run whose start is that of a server that is ahead ends then, and not before.
func TestARunDoesNotEndBeforeItStarted(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 700_000_000, time.UTC)
	for started, want := range map[time.Duration]time.Duration{
		-time.Minute:            -700 * time.Millisecond,
		-700 * time.Millisecond: -700 * time.Millisecond,
		-time.Millisecond:       -time.Millisecond,
		30 * time.Second:        30 * time.Second,
	} {
		if got := CompletionTime(now, metav1.NewTime(now.Add(started))).Sub(now); got != want {
			t.Errorf("started in %s, a run ends in %s, want %s", started, got, want)
		}
	}
}
