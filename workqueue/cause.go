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
// buffer that is larger than they are. A Cause without Source and Event is not
// kept.
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
	// them. What the caller puts into First is only told to Trace.OnAsk.
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
