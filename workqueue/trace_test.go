package workqueue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever asks, in whatever form, is told of with what came of it.
func TestAnAskIsToldWithWhatItMadeOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		begun := time.Now()
		q := New(Config[string]{Trace: Trace[string]{OnAsk: func(key string, a Asked) {
			line := fmt.Sprintf("%s %s: %s → %s", key, a.Cause, a.From, a.To)
			if !a.Due.IsZero() {
				line += fmt.Sprintf(" until %v", a.Due.Sub(begun))
			}
			if a.Urgent {
				line += ", urgent"
			}
			if a.Low {
				line += ", low"
			}
			told = append(told, line)
		}}})
		cause := func(event string) Cause { return Cause{Source: "s", Event: event} }
		q.AddLow("a", cause("initial"))
		q.Add("a", cause("update"))
		key, _, err := q.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q.Add("a", cause("update"))
		q.AddRateLimited("a", cause("retry"))
		q.Done(key)
		q.Add("a", cause("update"))
		q.AddUrgent("a", cause("delete"))
		q.AddAfter("b", time.Minute, cause("requeue-after"))
		want := []string{
			"a s initial: idle → ready, low",
			"a s update: ready → ready",
			"a s update: processing → processing and dirty",
			"a s retry: processing and dirty → processing until 5ms",
			"a s update: backing off → backing off until 5ms",
			"a s delete: backing off → ready, urgent",
			"b s requeue-after: idle → waiting until 1m0s",
		}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("told:\n%q\nwant:\n%q", told, want)
		}
	})
}
