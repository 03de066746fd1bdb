package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

// A flood is many runs that are made at once, in few namespaces, and few workers. To begin a run, and to write down what it is at or how it has ended, takes a
// worker a while; to see that there is nothing to do, hardly any time.
type flood struct {
	*workqueue.Queue[string]
	tellEnd func(key string, c workqueue.Cause)
	start   time.Time
	left    sync.WaitGroup // runs that have not ended

	mu   sync.Mutex
	runs map[string]*floodRun
}

// A floodRun is what one of them is at, what of that has been written down, and when
// what happened.
type floodRun struct {
	at, written stage
	since       [stages]time.Duration // that it is at this
	done        time.Duration         // its end was written down
}

type stage int

const (
	waits stage = iota
	begun
	works
	hasEnded
	stages
)

const (
	floodWorkers = 8
	floodWrite   = 20 * time.Millisecond
	floodLook    = time.Millisecond
	floodBegins  = time.Second     // after it was made, a pod's steps do,
	floodEnds    = 5 * time.Second // and end
)

// floodTimes is what the runs came to.
type floodTimes struct {
	median, last time.Duration // until their end was written down
	late         time.Duration // and how long after the end that was, the median
}

func (t floodTimes) String() string {
	return fmt.Sprintf("half are done after %v, all after %v, and each %v after its end", t.median, t.last, t.late)
}

// runFlood has the runs' ends told by AddUrgent, or by Add as everything else.
func runFlood(n int, urgently bool) (times floodTimes) {
	f := &flood{start: time.Now(), runs: map[string]*floodRun{}}
	f.Queue = workqueue.New(workqueue.Config[string]{Namespace: func(k string) string { ns, _, _ := strings.Cut(k, "/"); return ns }})
	f.tellEnd = f.Add
	if urgently {
		f.tellEnd = f.AddUrgent
	}
	f.left.Add(n)
	for i := range n {
		key := fmt.Sprintf("ns-%d/%d", i%4, i)
		f.runs[key] = &floodRun{}
		f.Add(key, because("create"))
	}
	var workers sync.WaitGroup
	for range floodWorkers {
		workers.Go(f.work)
	}
	f.left.Wait()
	f.ShutDown()
	workers.Wait()
	return f.times()
}

func (f *flood) work() {
	for {
		key, _, err := f.Get(context.Background())
		if errors.Is(err, workqueue.ErrShutDown) {
			return
		}
		f.reconcile(key)
		f.Done(key)
	}
}

// reconcile writes down what a run is at; of one that waits, it makes the pod.
func (f *flood) reconcile(key string) {
	r := f.runs[key]
	f.mu.Lock()
	at, written := r.at, r.written
	f.mu.Unlock()
	if at == written && at != waits {
		time.Sleep(floodLook)
		return
	}
	time.Sleep(floodWrite)
	if at == waits {
		f.tell(key, begun, f.Add)
		time.AfterFunc(floodBegins, func() { f.tell(key, works, f.Add) })
		time.AfterFunc(floodEnds, func() { f.tell(key, hasEnded, f.tellEnd) })
		at = begun
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.written = at
	f.Add(key, because("its own write"))
	if at == hasEnded {
		r.done = time.Since(f.start)
		f.left.Done()
	}
}

func (f *flood) tell(key string, at stage, add func(string, workqueue.Cause)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[key].at, f.runs[key].since[at] = at, time.Since(f.start)
	add(key, because("pod"))
}

func (f *flood) times() floodTimes {
	var done, late []time.Duration
	for _, r := range f.runs {
		done, late = append(done, r.done), append(late, r.done-r.since[hasEnded])
	}
	slices.Sort(done)
	slices.Sort(late)
	return floodTimes{done[len(done)/2], done[len(done)-1], late[len(late)/2]}
}

// Claim 17, for what it is there. Runs that have ended do not wait until all others have
// begun: half of them are done in less than four fifths of the time, and the last is not
// done much later, since it is the same work.
func TestInAFloodWhatHasEndedDoesNotWaitForWhatHasNotBegun(t *testing.T) {
	for _, n := range []int{2_000, 10_000} {
		synctest.Test(t, func(t *testing.T) {
			as, first := runFlood(n, false), runFlood(n, true)
			t.Logf("%d runs, their ends told as everything else: %s; urgently: %s", n, as, first)
			if first.median > as.median*4/5 || first.last > as.last*21/20 || first.late > as.late/4 {
				t.Errorf("of %d runs, their ends told as everything else: %s; urgently: %s", n, as, first)
			}
		})
	}
}
