package operate

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"millrace/internal/audit"
)

// hands are the replicas that have worked on a namespace, by the audit log: a turn of each,
// one after the other.
type hands map[string][]string

func handsOf(writes []audit.Request) hands {
	h := hands{}
	byTime := func(a, b audit.Request) int { return a.Received.Compare(b.Received) }
	for _, r := range slices.SortedStableFunc(slices.Values(writes), byTime) {
		if turns := h[r.Namespace]; len(turns) == 0 || turns[len(turns)-1] != r.Pod {
			h[r.Namespace] = append(turns, r.Pod)
		}
	}
	return h
}

// replicas are all that have had a turn.
func (h hands) replicas() []string {
	all := slices.Concat(slices.Collect(maps.Values(h))...)
	slices.Sort(all)
	return slices.Compact(all)
}

// passed is how often a namespace went from one replica to another.
func (h hands) passed() (n int) {
	for _, turns := range h {
		n += len(turns) - 1
	}
	return n
}

// wrong is what there is to complain of while shares change: a namespace in which nobody
// was seen to work shows nothing, and one that comes back to a replica which had passed it
// on was worked on by two at a time.
func (h hands) wrong(namespaces []string) (wrong []string) {
	for _, ns := range namespaces {
		turns := h[ns]
		if len(turns) == 0 {
			wrong = append(wrong, fmt.Sprintf("in %s nobody was seen to work: the audit log was not heard", ns))
		}
		if len(slices.Compact(slices.Sorted(slices.Values(turns)))) != len(turns) {
			wrong = append(wrong, fmt.Sprintf("%s went to and fro: %q", ns, turns))
		}
	}
	return wrong
}

// divided is what there is to complain of besides while no share changes: each namespace
// is one replica's.
func (h hands) divided(namespaces []string) []string {
	wrong := h.wrong(namespaces)
	for _, ns := range namespaces {
		if turns := h[ns]; len(turns) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s has passed from hand to hand while no share changed: %q", ns, turns))
		}
	}
	return wrong
}

func TestANamespaceComesBackToNobody(t *testing.T) {
	at := func(second int, ns, pod string) audit.Request {
		return audit.Request{Received: time.Unix(int64(second), 0), Namespace: ns, Pod: pod}
	}
	for what, c := range map[string]struct {
		writes         []audit.Request
		wrong, divided int // complaints
		passed         int
		replicas       []string
	}{
		"nothing was heard":   {wrong: 2, divided: 2},
		"of one nothing":      {[]audit.Request{at(1, "ci", "a")}, 1, 1, 0, []string{"a"}},
		"each has one":        {[]audit.Request{at(1, "ci", "a"), at(2, "web", "b"), at(3, "ci", "a")}, 0, 0, 0, []string{"a", "b"}},
		"one was passed on":   {[]audit.Request{at(1, "web", "b"), at(2, "ci", "b"), at(1, "ci", "a")}, 0, 1, 1, []string{"a", "b"}},
		"and passed on again": {[]audit.Request{at(1, "ci", "a"), at(2, "ci", "b"), at(3, "ci", "c"), at(1, "web", "c")}, 0, 1, 2, []string{"a", "b", "c"}},
		"two work on one":     {[]audit.Request{at(1, "ci", "a"), at(2, "ci", "b"), at(3, "ci", "a"), at(1, "web", "c")}, 1, 2, 2, []string{"a", "b", "c"}},
	} {
		h := handsOf(c.writes)
		namespaces := []string{"ci", "web"}
		if wrong, divided := h.wrong(namespaces), h.divided(namespaces); len(wrong) != c.wrong || len(divided) != c.divided {
			t.Errorf("%s: complaints %q and %q, want %d and %d", what, wrong, divided, c.wrong, c.divided)
		}
		if h.passed() != c.passed || !slices.Equal(h.replicas(), c.replicas) {
			t.Errorf("%s: passed %d times, by %q; want %d times, by %q", what, h.passed(), h.replicas(), c.passed, c.replicas)
		}
	}
}
