package workqueue

import (
	"strconv"
	"strings"
	"time"
)

// Cause is one reason why a key is in the queue. It answers "why was this
// reconciled?" after the event itself is gone: the queue carries keys, never
// objects, so whatever should survive until the reconcile has to be said here.
//
// The strings are kept as they are given, so they must not be cut out of a
// buffer that is larger than they are. The zero Cause is not kept.
type Cause struct {
	// Source is who asked: a resource ("pods") or a stage ("reconcile").
	Source string
	// Event is what happened there, in lower case: create, update, delete,
	// generic, initial, resync; from a worker: retry, requeue, requeue-after.
	Event string
	// Name is the object that brought the news, where that is not the key
	// itself: the pod of a TaskRun's key.
	Name string
	// OldRV and NewRV are that object's resourceVersions around the event.
	// Of merged causes they are the first old one and the last new one.
	OldRV, NewRV string
	// Count is how many events this stands for; 0 is taken as 1.
	Count int
	// First and Last are when the first and the last of them reached the
	// queue; of a delay or a backoff, when its time came, so that the time from
	// First to the run is always how long the run was overdue. The queue sets
	// them; what the caller puts there is ignored.
	First, Last time.Time
}

// Others is the Event of the cause that takes in what the bounded set has no
// room for: it has a count and times, and no names.
const Others = "others"

// String is the cause on one line of a log: "pods update tr-1-pod 7→9 ×3".
func (c Cause) String() string {
	words := make([]string, 0, 5)
	for _, w := range []string{c.Source, c.Event, c.Name} {
		if w != "" {
			words = append(words, w)
		}
	}
	if c.OldRV != "" || c.NewRV != "" {
		words = append(words, c.OldRV+"→"+c.NewRV)
	}
	if c.Count > 1 {
		words = append(words, "×"+strconv.Itoa(c.Count))
	}
	return strings.Join(words, " ")
}

// same tells whether b is news of the same kind as c, so that one line with a
// count can stand for both.
func (c *Cause) same(b *Cause) bool {
	return c.Event == b.Event && c.Source == b.Source && c.Name == b.Name
}

// note adds c to a set of at most limit causes. A cause of a kind that is in
// the set already only counts there; one that finds the set full is counted
// under Others, which is the set's last place. So the set is bounded whatever
// happens to a key that nobody gets to.
func note(set []Cause, c Cause, limit int, now time.Time) []Cause {
	if c.Event == "" && c.Source == "" {
		return set
	}
	c.Count, c.First, c.Last = max(c.Count, 1), now, now
	for i := range set {
		if set[i].same(&c) {
			set[i].absorb(c)
			return set
		}
	}
	if len(set) < limit-1 {
		return append(set, c)
	}
	if len(set) < limit {
		return append(set, Cause{Event: Others, Count: c.Count, First: now, Last: now})
	}
	last := &set[len(set)-1]
	last.Count, last.Last = last.Count+c.Count, now
	return set
}

func (c *Cause) absorb(later Cause) {
	c.Count += later.Count
	c.Last = later.Last
	if later.NewRV != "" {
		c.NewRV = later.NewRV
	}
}
