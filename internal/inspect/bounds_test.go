package inspect

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

// life is what the hooks hear of a key that is asked for and run so many times.
func life(c *Controller, key types.NamespacedName, times int) {
	queue, pool := c.Queue(workqueue.Trace[types.NamespacedName]{}), c.Pool(reconcile.Trace{})
	for i := range times {
		cause := workqueue.Cause{Source: "pods", Event: "update", Name: key.Name + "-pod", OldRV: fmt.Sprint(1000 + i), NewRV: fmt.Sprint(1001 + i), Count: 1}
		queue.OnAsk(key, workqueue.Asked{Cause: cause, From: workqueue.Idle, To: workqueue.Ready})
		queue.OnGet(key, time.Millisecond)
		pool.OnReconcile(reconcile.Reconciled{Key: key, Outcome: reconcile.Failed, Err: errors.New(strings.Repeat("no ", 1000)), Causes: []workqueue.Cause{cause}})
	}
}

// Claim 4: whatever happens, the histories of a controller cost no more than its
// budget, and that is what the heap says, too.
func TestHistoriesStayWithinTheirBudget(t *testing.T) {
	c := newController("taskrun", "taskruns")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 4_000 {
		life(c, types.NamespacedName{Namespace: "ci", Name: fmt.Sprintf("build-%d", i)}, 1+i%40)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := int(after.HeapAlloc) - int(before.HeapAlloc)
	t.Logf("%d keys in %d bytes, of which the heap says %d", len(c.histories), c.bytes, heap)
	if c.bytes > c.budget || len(c.histories) < 300 {
		t.Errorf("%d keys in %d bytes of %d", len(c.histories), c.bytes, c.budget)
	}
	if heap > c.budget*5/4 {
		t.Errorf("they take %d bytes of heap, and are counted as %d", heap, c.bytes)
	}
	if _, newest := c.histories[types.NamespacedName{Namespace: "ci", Name: "build-3999"}]; !newest {
		t.Error("the newest key is forgotten")
	}
	n := 0
	for h := c.freshest; h != nil; h = h.longerAgo {
		n++
	}
	if n != len(c.histories) || c.forgotten != uint64(4_000-n) {
		t.Errorf("%d in the list, %d in the map, %d forgotten", n, len(c.histories), c.forgotten)
	}
	runtime.KeepAlive(c)
}

// Claim 4: one key in a hot loop costs what one key may cost, and no others their
// history.
func TestOneKeyCannotCostMoreThanItsShare(t *testing.T) {
	c := newController("taskrun", "taskruns")
	quiet, hot := types.NamespacedName{Namespace: "ci", Name: "quiet"}, types.NamespacedName{Namespace: "ci", Name: "hot"}
	life(c, quiet, 1)
	life(c, hot, 10_000)
	h := c.histories[hot]
	if h.bytes > 16<<10 || h.asks.n != keptAsks || h.runs.n != keptRuns || h.total != 10_000 {
		t.Errorf("%d bytes, %d asks, %d runs of %d", h.bytes, h.asks.n, h.runs.n, h.total)
	}
	if c.histories[quiet] == nil {
		t.Error("the quiet key is forgotten")
	}
	if got := h.runs.last().err; len(got) > keptError+len("…") {
		t.Errorf("an error of %d bytes is kept", len(got))
	}
}

// What is asked for again and again before a run is one line with a count.
func TestAsksOfOneKindAreOneLine(t *testing.T) {
	c := newController("taskrun", "taskruns")
	queue := c.Queue(workqueue.Trace[types.NamespacedName]{})
	key := types.NamespacedName{Namespace: "ci", Name: "build"}
	for i := range 1000 {
		queue.OnAsk(key, workqueue.Asked{Cause: workqueue.Cause{Source: "pods", Event: "update", Name: "p", NewRV: fmt.Sprint(i), Count: 2}, From: workqueue.Ready, To: workqueue.Ready})
	}
	h := c.histories[key]
	if h.asks.n != 1 || h.asks.last().count != 2000 || h.asks.last().new.String() != "999" {
		t.Errorf("%d lines, the last: %+v", h.asks.n, h.asks.last())
	}
}

// BenchmarkHooks is what it costs that somebody may ask: a whole turn of a key
// through a queue, without hooks and with them. On a machine that others use too,
// cpu-ns/op is what counts.
func BenchmarkHooks(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%t", watched), func(b *testing.B) {
			var trace workqueue.Trace[types.NamespacedName]
			if watched {
				trace = newController("taskrun", "taskruns").Queue(trace)
			}
			q := workqueue.New(workqueue.Config[types.NamespacedName]{Trace: trace})
			cause := workqueue.Cause{Source: "pods", Event: "update", Name: "build-pod", OldRV: "4711", NewRV: "4712", Count: 1}
			key := types.NamespacedName{Namespace: "ci", Name: "build"}
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				q.Add(key, cause)
				if _, _, err := q.Get(b.Context()); err != nil {
					b.Fatal(err)
				}
				q.Done(key)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
