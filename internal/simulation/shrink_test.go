package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A history is what happened in a plan that breaks if some of it happens.
type history struct {
	fired []string
	first map[string]time.Duration
	plays int
}

// storms of n runs, each with some faults of nine kinds, one a second.
func stormyHistory(n int) *history {
	h := &history{first: map[string]time.Duration{}}
	for i := range n {
		h.happens(fmt.Sprintf("user run: blue/run-%d", i))
		for kind := range 9 {
			if (i+kind)%2 == 0 {
				h.happens(fmt.Sprintf("fault %d: millrace-0.1 patch taskruns/blue/run-%d/status #1", kind, i))
			}
		}
	}
	return h
}

func (h *history) happens(name string) {
	h.fired = append(h.fired, name)
	h.first[name] = time.Duration(len(h.first)) * time.Second
}

func (h *history) result() *Result {
	r := &Result{Fired: h.fired, First: h.first}
	for _, name := range h.fired {
		if run, ok := strings.CutPrefix(name, "user run: "); ok {
			r.Lines = append(r.Lines, Line{Run: run})
		}
	}
	return r
}

func (h *history) breaksIf(these ...string) Breaks {
	return func(plans []Plan) (int, []string) {
		for i, p := range plans {
			h.plays++
			if !slices.ContainsFunc(these, func(name string) bool { return !p.Only[name] }) {
				return i, slices.Sorted(maps.Keys(p.Only))
			}
		}
		return -1, nil
	}
}

func TestShrinkLeavesWhatMattersAlone(t *testing.T) {
	for name, matters := range map[string][]string{
		"one run and its fault":     {"user run: blue/run-31", "fault 7: millrace-0.1 patch taskruns/blue/run-31/status #1"},
		"two runs, of which one is": {"user run: blue/run-3", "user run: blue/run-31", "fault 1: millrace-0.1 patch taskruns/blue/run-3/status #1"},
		"nothing at all":            {},
		"six things": {
			"user run: blue/run-30", "user run: blue/run-31", "user run: blue/run-32",
			"fault 0: millrace-0.1 patch taskruns/blue/run-30/status #1", "fault 1: millrace-0.1 patch taskruns/blue/run-31/status #1", "fault 2: millrace-0.1 patch taskruns/blue/run-32/status #1",
		},
	} {
		h := stormyHistory(60) // 330 things
		breach := Violation{Invariant: "I3", At: h.first["user run: blue/run-40"], What: "blue/run-31-pod is made again"}
		smallest := Shrink(t.Context(), h.result(), breach, h.breaksIf(matters...))
		if got := slices.Sorted(maps.Keys(smallest.Only)); !slices.Equal(got, slices.Sorted(slices.Values(matters))) {
			t.Errorf("%s: %d plays leave %q", name, h.plays, got)
		}
		if h.plays > 120 {
			t.Errorf("%s: %d plays", name, h.plays)
		}
	}
}

// What did not happen when the rest was left out needs no play to be left out.
func TestShrinkDropsWhatDoesNotHappenAnyMore(t *testing.T) {
	h := stormyHistory(60)
	needed := "user run: blue/run-5"
	breaks := h.breaksIf(needed)
	breach := Violation{Invariant: "I9", At: time.Hour, What: "left running"}
	smallest := Shrink(t.Context(), h.result(), breach, func(plans []Plan) (int, []string) {
		first, _ := breaks(plans)
		return first, []string{needed} // the others come of something that is gone
	})
	if len(smallest.Only) != 1 || h.plays > 10 {
		t.Errorf("%d plays leave %d things", h.plays, len(smallest.Only))
	}
}

func TestShrinkKeepsWhatItHasWhenItsTimeIsUp(t *testing.T) {
	h := stormyHistory(60)
	ctx, cancel := context.WithCancel(t.Context())
	breaks := h.breaksIf("user run: blue/run-5")
	breach := Violation{Invariant: "I9", At: time.Hour, What: "left running"}
	smallest := Shrink(ctx, h.result(), breach, func(plans []Plan) (int, []string) {
		if h.plays > 4 {
			cancel()
		}
		return breaks(plans)
	})
	if n := len(smallest.Only); n == 1 || n >= len(h.fired) || !smallest.Only["user run: blue/run-5"] {
		t.Errorf("%d of %d things are left", n, len(h.fired))
	}
}

func TestARunIsNamedByItsOwnNameAlone(t *testing.T) {
	for text, want := range map[string]bool{
		"blue/run-3 has not ended":                           true,
		"blue/run-3: step-only had ended":                    true,
		"blue/run-3-pod is made for no run":                  true,
		"429: millrace-0.1 create pods/blue/run-3-pod #1":    true,
		"429: millrace-0.1 patch taskruns/blue/run-3/status": true,
		"blue/run-31 has not ended":                          false,
		"blue/run-31 and blue/run-3":                         true,
		"green/run-3 has not ended":                          false,
		"nothing":                                            false,
	} {
		if names(text, "blue/run-3") != want {
			t.Errorf("%q names blue/run-3: %t", text, !want)
		}
	}
}
