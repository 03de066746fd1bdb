package operate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"millrace/internal/audit"
)

// leaders is what the audit log shows of who had the Lease, and of who wrote for runs.
type leaders struct {
	led    int      // how often the Lease came to somebody
	held   int      // writes by whoever had it
	before int      // writes before anybody was seen to have it: they show nothing
	others []string // writes by somebody else
}

// leadersOf goes through renewals of the Lease and writes. The replica that has last
// renewed the Lease has it, until another does.
func leadersOf(renewals, writes []audit.Request) (l leaders) {
	all := slices.Concat(renewals, writes)
	slices.SortStableFunc(all, func(a, b audit.Request) int { return a.Received.Compare(b.Received) })
	holder := ""
	for _, r := range all {
		switch {
		case r.Resource == "leases":
			if r.Pod != holder {
				holder = r.Pod
				l.led++
			}
		case holder == "":
			l.before++
		case r.Pod == holder:
			l.held++
		default:
			l.others = append(l.others, fmt.Sprintf("%s wrote (%s %s %s) at %s, and %s has the Lease",
				r.Pod, r.Verb, r.Resource, r.Name, r.Received.Format("15:04:05.000"), holder))
		}
	}
	return l
}

// wrong is what there is to complain of: where no leader was seen, or none that wrote,
// nothing is shown, and that is no less wrong than two of them at once.
func (l leaders) wrong() []string {
	wrong := slices.Clone(l.others)
	if l.led == 0 || l.held == 0 {
		wrong = append(wrong, fmt.Sprintf("the Lease was seen to come to somebody %d times, and %d writes of whoever had it (%d before): the audit log was not heard", l.led, l.held, l.before))
	}
	return wrong
}

// Nobody is found innocent whom nobody has watched.
func TestWithoutALeaderThereIsNoEvidence(t *testing.T) {
	at := func(second int, pod, resource string) audit.Request {
		return audit.Request{Received: time.Unix(int64(second), 0), Pod: pod, Verb: "update", Resource: resource}
	}
	lease := func(second int, pod string) audit.Request { return at(second, pod, "leases") }
	write := func(second int, pod string) audit.Request { return at(second, pod, "pods") }
	for what, c := range map[string]struct {
		renewals, writes []audit.Request
		want             leaders
		wrong            int
	}{
		"nothing was heard":       {wrong: 1},
		"of the Lease nothing":    {writes: []audit.Request{write(1, "a")}, want: leaders{before: 1}, wrong: 1},
		"of the work nothing":     {renewals: []audit.Request{lease(1, "a")}, want: leaders{led: 1}, wrong: 1},
		"work before a leader":    {[]audit.Request{lease(2, "a")}, []audit.Request{write(1, "a")}, leaders{led: 1, before: 1}, 1},
		"one leader after other":  {[]audit.Request{lease(3, "b"), lease(1, "a")}, []audit.Request{write(4, "b"), write(2, "a")}, leaders{led: 2, held: 2}, 0},
		"there and back":          {[]audit.Request{lease(1, "a"), lease(3, "b"), lease(5, "a")}, []audit.Request{write(6, "a")}, leaders{led: 3, held: 1}, 0},
		"two leaders at a time":   {[]audit.Request{lease(1, "a"), lease(3, "b")}, []audit.Request{write(2, "a"), write(4, "a")}, leaders{led: 2, held: 1}, 1},
		"the Lease is not in use": {[]audit.Request{lease(1, "a")}, []audit.Request{write(2, "b")}, leaders{led: 1}, 2},
	} {
		got := leadersOf(c.renewals, c.writes)
		if got.led != c.want.led || got.held != c.want.held || got.before != c.want.before {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
		if wrong := got.wrong(); len(wrong) != c.wrong {
			t.Errorf("%s: complaints %q, want %d", what, wrong, c.wrong)
		}
	}
}
