package workqueue_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

const gap = 4 * time.Millisecond

// ail takes the next key and gives it back, failed by the server.
func (r *rig) ail(want string, retryAfter time.Duration) {
	r.t.Helper()
	r.get(want)
	r.AddTroubled(want, retryAfter, 30*time.Second, because("retry"))
	r.Done(want)
}

// due is in how long a key will be ready.
func (r *rig) due(key string) time.Duration {
	r.t.Helper()
	x := r.Explain(key)
	if x.Due.IsZero() {
		r.t.Fatalf("%s is %v", key, x.State)
	}
	return time.Until(x.Due)
}

// Claim 16.
func TestReleaseEndsBackoffsOfTheServersTrouble(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for i := range 5 {
			k := fmt.Sprint("ns/", i)
			r.Add(k, because("create"))
			r.ail(k, 0)
		}
		r.Add("ns/own", because("create"))
		r.fail("ns/own")
		if got := r.Stats().Troubled; got != 5 {
			t.Fatalf("Troubled = %d, want 5", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := r.Release(2, gap) + r.Release(2, gap); got != 4 {
			t.Fatalf("released %d keys, want 4", got)
		}
		for i, want := range []time.Duration{0, gap, 2 * gap, 3 * gap, 900 * time.Millisecond} {
			if got := r.due(fmt.Sprint("ns/", i)); got != want {
				t.Errorf("key %d is due in %v, want %v", i, got, want)
			}
		}
		if got := r.due("ns/own"); got != 900*time.Millisecond {
			t.Errorf("a key that failed by itself is due in %v", got)
		}
		if got := lines(r.get("ns/0")); got != "test retry" {
			t.Errorf("causes = %q", got)
		}
		if s := r.Stats(); s.Troubled != 1 || s.Releases != 4 {
			t.Errorf("Troubled = %d, Releases = %d", s.Troubled, s.Releases)
		}
	})
}

// Claim 16. What an earlier Release has given away is not given away again.
func TestReleasesShareOnePace(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for i := range 100 {
			k := fmt.Sprint("ns/", i)
			r.Add(k, because("create"))
			r.ail(k, 0)
		}
		released := 0
		for range 60 { // a crowd of successes in one moment
			released += r.Release(2, gap)
		}
		if released != 100 {
			t.Fatalf("released %d, want all 100", released)
		}
		for ready := range 100 {
			synctest.Wait()
			if got := r.Len(); got != ready+1 {
				t.Fatalf("%d keys are ready after %v, want %d", got, time.Duration(ready)*gap, ready+1)
			}
			time.Sleep(gap)
		}
	})
}

// Claim 16. The pause that the server asked for is a lower bound.
func TestReleaseKeepsTheServersPause(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		for range 4 {
			r.ail("ns/a", 0)
			time.Sleep(30 * time.Second)
		}
		r.ail("ns/a", 7*time.Second) // for 16 s by its own count
		r.Add("ns/b", because("create"))
		r.ail("ns/b", 7*time.Second) // for these 7 s
		for range 7 {
			r.Release(10, gap)
			if got := r.due("ns/a"); got < 7*time.Second {
				t.Fatalf("released %v before its time", 7*time.Second-got)
			}
			time.Sleep(time.Second)
			if r.Explain("ns/b").State == workqueue.Ready {
				break
			}
		}
		if got := r.Release(10, gap); got != 1 || r.due("ns/a") != 0 {
			t.Errorf("released %d after the pause", got)
		}
		r.get("ns/b")
	})
}

// Claim 16. A server that comes and goes: whoever was released and has failed
// again waits for its own time, however often somebody says that all is well.
func TestAReleaseInVainIsNotRepeated(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		var runs []time.Duration
		start := time.Now()
		r.Add("ns/a", because("create"))
		for time.Since(start) < 10*time.Minute {
			r.Release(2, gap)
			synctest.Wait()
			if r.Len() > 0 {
				runs = append(runs, time.Since(start).Truncate(time.Second))
				r.ail("ns/a", 0)
			}
			time.Sleep(10 * time.Millisecond)
		}
		// Each run by its own time is followed by one for the news of a server
		// that is well; without these, there would be 24.
		if len(runs) < 40 || len(runs) > 46 {
			t.Errorf("%d runs in 10 minutes: %v", len(runs), runs)
		}
	})
}

// Claim 16. Whose own time comes before his turn would be let go later than he
// goes anyway.
func TestAKeyThatIsDueBeforeItsTurnIsNotReleased(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for _, k := range []string{"ns/a", "ns/b", "ns/c"} {
			r.Add(k, because("create"))
			r.ail(k, 0)
		}
		if got := r.Release(1, 10*time.Second); got != 1 {
			t.Fatalf("released %d", got)
		}
		r.run("ns/a")
		if got := r.Release(2, gap); got != 0 || r.due("ns/b") != time.Second {
			t.Errorf("released %d; ns/b is due in %v", got, r.due("ns/b"))
		}
		time.Sleep(time.Second)
		r.ail("ns/b", 0)
		if got := r.Stats().Troubled; got != 1 {
			t.Errorf("Troubled = %d, want the one that has failed again", got)
		}
		r.run("ns/c")
		time.Sleep(9 * time.Second)
		r.run("ns/b")
		if got := r.Stats().Troubled; got != 0 {
			t.Errorf("Troubled = %d", got)
		}
	})
}

// After a success, or news that made it run, a key can be released as before.
func TestAReleaseCountsForOneRun(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.ail("ns/a", 0)
		r.Release(1, gap)
		r.run("ns/a")
		r.Add("ns/a", because("update"))
		r.ail("ns/a", 0)
		if got := r.Release(1, gap); got != 1 {
			t.Error("not released after a success")
		}
		time.Sleep(time.Second)
		r.ail("ns/a", 0) // the released run
		if got := r.Stats().Troubled; got != 0 {
			t.Errorf("Troubled = %d", got)
		}
		r.AddUrgent("ns/a", because("spec"))
		r.ail("ns/a", 0)
		if got := r.Release(1, gap); got != 1 {
			t.Error("not released after urgent news")
		}
	})
}

// Whatever takes a key out of its backoff takes it from those to be released.
func TestNothingButABackoffIsReleased(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		keys := []string{"ns/urgent", "ns/reset", "ns/due", "ns/sooner", "ns/held"}
		for _, k := range keys {
			r.Add(k, because("create"))
			r.ail(k, 0)
		}
		r.AddUrgent("ns/urgent", because("spec"))
		r.Reset("ns/reset")
		r.AddRateLimitedWithin("ns/sooner", 0, time.Millisecond, because("retry"))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.Stats().Troubled; got != 0 || r.Release(10, gap) != 0 {
			t.Errorf("Troubled = %d", got)
		}
		var ready []string
		for r.Len() > 0 {
			k, _, err := r.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ready = append(ready, k)
			r.AddTroubled(k, 0, time.Minute, because("retry")) // a worker has it
		}
		slices.Sort(ready)
		if got := fmt.Sprint(ready); got != "[ns/due ns/held ns/sooner ns/urgent]" || r.Release(10, gap) != 0 {
			t.Errorf("ready: %s", got)
		}
		r.Done("ns/held")
		if got := r.Release(10, gap); got != 1 {
			t.Errorf("%d released, want the one that was given back", got)
		}
		r.ShutDown()
		if got := r.Stats().Troubled; got != 0 || r.Release(10, gap) != 0 {
			t.Errorf("Troubled = %d after ShutDown", got)
		}
	})
}

// Claim 6, for a pause that no server means.
func TestAPauseWithoutEndDoesNotOverflow(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.ail("ns/a", math.MaxInt64)
		r.Add("ns/b", because("create"))
		r.ail("ns/b", 0)
		if got := r.Release(2, math.MaxInt64); got != 1 {
			t.Errorf("released %d", got)
		}
		r.get("ns/b")
		r.is("ns/a", workqueue.BackingOff)
		r.Add("ns/c", because("create"))
		r.ail("ns/c", 0)
		if got := r.Release(2, gap); got != 0 || r.due("ns/c") > time.Minute {
			t.Errorf("released %d: the gap before has no end", got)
		}
	})
}
