package oracle

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ours "millrace/workqueue"
)

// queueException is a difference between the queues that we mean. Operations that
// fall under one are left out, and TestEveryQueueExceptionIsNeeded shows what
// would come of each.
type queueException string

const (
	// There, Add does not know of the delay: the key runs now, and once more at
	// the time that nobody wants any more (issue 126027 of kubernetes). Here, a
	// key has one next run, and the earliest wish wins.
	oneRunForAll queueException = "AddAfter and Add are one run"

	// There, a key that fails and hears of itself meanwhile is run again at
	// once, 235,000 times in 300 ms. Here, a backoff is a floor for all but
	// AddUrgent.
	backoffIsAFloor queueException = "a backoff is not cut short by Add"

	// There, a key that is queued is queued a second time by a Done too many,
	// and handed out to two workers at once. Here, such a Done is counted, and
	// ignored.
	unpairedDone queueException = "a Done too many does nothing"

	// There, a delay that ends while a worker has the key is an Add at that
	// moment, so that a shutdown between the two keeps it. Here, what a worker
	// has asked for later begins to bind at Done, and a shutdown drops it.
	dueAtDone queueException = "a delay that ended in the worker's hands is dropped by a shutdown"
)

// exception finds the one that o falls under, as its key stands now.
func (q *queues) exception(o op) (queueException, bool) {
	x := q.ours.Explain(o.Key)
	now := time.Now()
	ready := x.State == ours.Ready || x.State == ours.Dirty
	over := !x.Due.IsZero() && !x.Due.After(now) // to client-go it is ready
	waiting := !x.Due.IsZero() && !over
	backoff := waiting && (x.State == ours.BackingOff || q.failed[o.Key])
	// before says that what the key is to do comes before what o asks for.
	before := func(d time.Duration) bool { return x.Due.Before(now.Add(d)) }
	switch o.Do {
	case "Add":
		return first(when(backoff, backoffIsAFloor), when(waiting, oneRunForAll))
	case "AddAfter":
		return first(
			when(backoff && !before(o.Delay), backoffIsAFloor),
			when((ready || over) && o.Delay > 0 || waiting && !backoff && o.Delay <= 0, oneRunForAll))
	case "AddRateLimited", "AddRateLimitedWithin", "AddTroubled":
		delay := ours.Exponential(baseDelay, maxDelay)(x.Failures, maxDelay)
		return first(
			when(x.State == ours.Dirty || waiting && !backoff && before(delay), backoffIsAFloor),
			when(ready || over, oneRunForAll))
	case "Done":
		return first(when(x.State == ours.Ready, unpairedDone))
	case "ShutDown":
		return first(when(slices.ContainsFunc(q.held, q.isOver), dueAtDone))
	}
	return "", false
}

func when(applies bool, x queueException) queueException {
	if applies {
		return x
	}
	return ""
}

func first(xs ...queueException) (queueException, bool) {
	for _, x := range xs {
		if x != "" {
			return x, true
		}
	}
	return "", false
}

// isOver says that the delay of a key that a worker has is over.
func (q *queues) isOver(key string) bool {
	x := q.ours.Explain(key)
	return x.State == ours.Processing && !x.Due.IsZero() && !x.Due.After(time.Now())
}

var queueStories = map[queueException]string{
	oneRunForAll:    "AddAfter a 50ms, Add a, Get, Done a, wait 60ms",
	backoffIsAFloor: "AddRateLimited a, Add a",
	unpairedDone:    "Add a, Done a",
	dueAtDone:       "Add a, Get, AddAfter a 10ms, wait 20ms, ShutDown, Done a",
}

// An exception that no operations need would hide a bug, some day.
func TestEveryQueueExceptionIsNeeded(t *testing.T) {
	for x, story := range queueStories {
		t.Run(string(x), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueues()
				defer q.theirs.ShutDown()
				var wrong string
				var met []queueException
				for words := range strings.SplitSeq(story, ", ") {
					o := readOp(t, words)
					if x, meant := q.exception(o); meant {
						met = append(met, x)
					}
					if wrong = q.do(t, o) + q.compare(); wrong != "" {
						break
					}
				}
				if wrong == "" || !slices.Contains(met, x) {
					t.Errorf("%s: not equal %q, under the exceptions %q", story, wrong, met)
				}
			})
		})
	}
}

func readOp(t *testing.T, words string) op {
	t.Helper()
	var o op
	for i, word := range strings.Fields(words) {
		d, err := time.ParseDuration(word)
		switch {
		case i == 0:
			o.Do = word
		case err == nil:
			o.Delay = d
		default:
			o.Key = word
		}
	}
	return o
}

// There, a shutdown that waits for what is being worked on returns with a dirty
// key still queued. Here, Drain returns when that one is done too.
func TestDrainWaitsForWhatIsDirtyAndClientGoDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueues()
		for _, words := range []string{"Add a", "Get", "Add a"} {
			q.do(t, readOp(t, words))
		}
		theirEnd, ourEnd := make(chan struct{}), make(chan error)
		go func() { q.theirs.ShutDownWithDrain(); close(theirEnd) }()
		go func() { ourEnd <- q.ours.Drain(t.Context()) }()
		q.do(t, readOp(t, "Done a"))
		<-theirEnd
		if q.theirs.Len() != 1 || q.ours.Len() != 1 {
			t.Errorf("client-go has drained with %d keys ready, ours has %d", q.theirs.Len(), q.ours.Len())
		}
		select {
		case err := <-ourEnd:
			t.Errorf("ours has drained with a key ready: %v", err)
		default:
		}
		q.do(t, readOp(t, "Get"))
		q.do(t, readOp(t, "Done a"))
		must(t, <-ourEnd)
		q.theirs.ShutDown() // ends the goroutine that ShutDownWithDrain forgets
	})
}
