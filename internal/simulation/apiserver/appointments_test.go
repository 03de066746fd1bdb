package apiserver

import (
	"testing"
	"time"
)

// Where telling has taken so long that all is due, a watch comes to its end each
// time, and not, as a select has it, sometimes to a bookmark first.
func TestOfWhatIsDueAWatchsEndIsFirst(t *testing.T) {
	begun := time.Unix(0, 0)
	a := appointments{minute: begun.Add(time.Minute), last: begun.Add(298 * time.Second), over: begun.Add(300 * time.Second)}
	for _, step := range []struct {
		at             time.Duration
		over, bookmark bool
		next           time.Duration
	}{
		{at: 59 * time.Second, next: time.Minute},
		{at: 61 * time.Second, bookmark: true, next: 121 * time.Second},
		{at: 299 * time.Second, bookmark: true, next: 300 * time.Second}, // one for both
		{at: 299 * time.Second, next: 300 * time.Second},
		{at: time.Hour, over: true, next: 300 * time.Second},
	} {
		over, bookmark := a.take(begun.Add(step.at), time.Minute)
		if next := a.next().Sub(begun); over != step.over || bookmark != step.bookmark || next != step.next {
			t.Errorf("after %s over is %v, bookmark %v, next after %s", step.at, over, bookmark, next)
		}
	}
}
