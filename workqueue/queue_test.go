package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

// A rig is a queue of strings with the moves that the stories need. Keys are
// written as namespace/name.
type rig struct {
	*workqueue.Queue[string]
	t *testing.T
}

func newRig(t *testing.T, cfg workqueue.Config[string]) *rig {
	t.Helper()
	if cfg.Limiter == nil {
		cfg.Limiter = workqueue.Exponential(time.Second, 1000*time.Second)
	}
	return &rig{workqueue.New(cfg), t}
}

func because(event string) workqueue.Cause {
	return workqueue.Cause{Source: "test", Event: event}
}

// get takes the next key, which must be ready by now.
func (r *rig) get(want string) []workqueue.Cause {
	r.t.Helper()
	synctest.Wait()
	if r.Len() == 0 {
		r.t.Fatalf("no key is ready, want %s", want)
	}
	got, causes, err := r.Get(context.Background())
	if err != nil || got != want {
		r.t.Fatalf("Get = %q, %v; want %s", got, err, want)
	}
	return causes
}

// run takes the next key and gives it back, well.
func (r *rig) run(want string) {
	r.t.Helper()
	r.get(want)
	r.Forget(want)
	r.Done(want)
}

// fail takes the next key and gives it back, failed.
func (r *rig) fail(want string) {
	r.t.Helper()
	r.get(want)
	r.AddRateLimited(want, because("retry"))
	r.Done(want)
}

func (r *rig) is(key string, want workqueue.State) {
	r.t.Helper()
	synctest.Wait()
	if got := r.Explain(key).State; got != want {
		r.t.Fatalf("%s is %v, want %v", key, got, want)
	}
}

// readyAfter advances time to just before d, when key must not be ready, and
// then to d, when it must be.
func (r *rig) readyAfter(key string, d time.Duration) {
	r.t.Helper()
	time.Sleep(d - time.Nanosecond)
	synctest.Wait()
	if got := r.Explain(key).State; got == workqueue.Ready {
		r.t.Fatalf("%s is ready before %v", key, d)
	}
	time.Sleep(time.Nanosecond)
	r.is(key, workqueue.Ready)
}

// empty asserts that the queue has no key that will ever be ready by itself.
func (r *rig) empty() {
	r.t.Helper()
	synctest.Wait()
	s := r.Stats()
	if n := s.Ready + s.Waiting + s.BackingOff + s.Processing + s.Dirty; n != 0 {
		r.t.Fatalf("%d keys are left: %+v", n, s)
	}
}

// lines writes causes as a log would.
func lines(causes []workqueue.Cause) string {
	var out []string
	for _, c := range causes {
		out = append(out, c.String())
	}
	return strings.Join(out, "; ")
}

func story(t *testing.T, cfg workqueue.Config[string], tell func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { tell(newRig(t, cfg)) })
}

// Claim 3.
func TestAllWhoAskShareOneRun(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", workqueue.Cause{Source: "pods", Event: "create", Name: "a-pod", NewRV: "5"})
		r.Add("ns/a", workqueue.Cause{Source: "pods", Event: "update", Name: "a-pod", OldRV: "5", NewRV: "7"})
		r.Add("ns/b", because("update"))
		r.Add("ns/a", workqueue.Cause{Source: "pods", Event: "update", Name: "a-pod", OldRV: "7", NewRV: "9", Count: 2})
		if got := r.Len(); got != 2 {
			t.Fatalf("Len = %d, want 2 keys", got)
		}
		causes := r.get("ns/a")
		if got, want := lines(causes), "pods create a-pod →5; pods update a-pod 5→9 ×3"; got != want {
			t.Errorf("causes = %q, want %q", got, want)
		}
		r.Done("ns/a")
		r.run("ns/b")
		r.empty()
	})
}

// Claims 1 and 2.
func TestAddWhileProcessingRunsOnceMoreAfterDone(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		running := r.get("ns/a")
		r.Add("ns/a", because("update"))
		r.Add("ns/a", because("update"))
		r.is("ns/a", workqueue.Dirty)
		if r.Len() != 0 {
			t.Fatal("a key that a worker has is ready for another")
		}
		if got := lines(running); got != "test create" {
			t.Errorf("the causes of the run at work became %q", got)
		}
		r.Done("ns/a")
		if got := lines(r.get("ns/a")); got != "test update ×2" {
			t.Errorf("causes of the second run = %q", got)
		}
		r.Done("ns/a")
		r.empty()
	})
}

// Claim 4. client-go runs twice: kubernetes issue 126027.
func TestAddAfterAndAddAreOneRun(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddAfter("ns/a", time.Minute, because("requeue-after"))
		r.is("ns/a", workqueue.Waiting)
		r.Add("ns/a", because("update"))
		if got := lines(r.get("ns/a")); got != "test update" {
			t.Errorf("causes = %q", got)
		}
		r.Done("ns/a")
		time.Sleep(time.Hour)
		r.empty()
	})
}

// Claim 4.
func TestTheEarliestDelayWins(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddAfter("ns/a", time.Hour, because("requeue-after"))
		r.AddAfter("ns/a", time.Minute, because("requeue-after"))
		r.AddAfter("ns/a", time.Hour, because("requeue-after"))
		r.readyAfter("ns/a", time.Minute)
		r.run("ns/a")
		time.Sleep(2 * time.Hour)
		r.empty()
	})
}

// What client-go cannot do (kubernetes issue 133560): a run replaces the delay
// that an earlier run asked for, with a later one too.
func TestEachRunChoosesItsOwnNextTime(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddAfter("ns/a", time.Minute, because("requeue-after"))
		time.Sleep(30 * time.Second)
		r.Add("ns/a", because("update"))
		r.get("ns/a")
		r.AddAfter("ns/a", time.Minute, because("requeue-after"))
		r.Done("ns/a")
		r.readyAfter("ns/a", time.Minute)
	})
}

func TestAddAfterNothingIsAdd(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddAfter("ns/a", 0, because("requeue-after"))
		r.run("ns/a")
		r.AddAfter("ns/a", -time.Second, because("requeue-after"))
		r.run("ns/a")
		time.Sleep(time.Second)
		r.AddAfter("ns/a", 1<<63-1, because("requeue-after"))
		r.AddAfter("ns/b", time.Second, because("requeue-after"))
		r.readyAfter("ns/b", time.Second)
		time.Sleep(1000 * time.Hour)
		r.is("ns/a", workqueue.Waiting)
	})
}

// A delay asked for by a worker begins when it asks, not at Done.
func TestADelayThatEndsWhileProcessingMakesTheKeyReadyAtDone(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.get("ns/a")
		r.AddAfter("ns/a", time.Second, because("requeue-after"))
		r.is("ns/a", workqueue.Processing)
		time.Sleep(2 * time.Second)
		r.Done("ns/a")
		r.run("ns/a")
		r.empty()
	})
}

func TestKeysDueAtOnceRunInTheOrderInWhichTheyWereAsked(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for _, k := range []string{"ns/c", "ns/a", "ns/d", "ns/b"} {
			r.AddAfter(k, time.Second, because("requeue-after"))
		}
		time.Sleep(time.Second)
		for _, k := range []string{"ns/c", "ns/a", "ns/d", "ns/b"} {
			r.run(k)
		}
	})
}

// More keys than one ring of the alarm takes.
func TestManyKeysDueAtOnceAllBecomeReady(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		const n = 5000
		for i := range n {
			r.AddAfter(fmt.Sprintf("ns/%04d", i), time.Second, because("requeue-after"))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := r.Len(); got != n {
			t.Fatalf("%d keys are ready, want %d", got, n)
		}
		for i := range n {
			r.run(fmt.Sprintf("ns/%04d", i))
		}
		r.empty()
	})
}

// Claim 5.
func TestAddDoesNotEndABackoff(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		r.is("ns/a", workqueue.BackingOff)
		r.Add("ns/a", because("update"))
		r.AddLow("ns/a", because("resync"))
		r.AddAfter("ns/a", time.Millisecond, because("requeue-after"))
		r.readyAfter("ns/a", time.Second)
		if got := lines(r.get("ns/a")); got != "test update; test resync; test retry" {
			t.Errorf("causes = %q", got)
		}
	})
}

// Claim 5.
func TestAddUrgentEndsABackoff(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		r.AddUrgent("ns/a", because("spec"))
		r.is("ns/a", workqueue.Ready)
		if got := r.NumRequeues("ns/a"); got != 1 {
			t.Errorf("the urgent run has forgotten the failure: NumRequeues = %d, want 1", got)
		}
		r.fail("ns/a")
		r.readyAfter("ns/a", 2*time.Second)
		r.run("ns/a")
		r.empty()
	})
}

// Claim 5, for the key that hears of itself: each failing run changes the
// object, and so brings an event for its own key. client-go runs 235,000 times
// in 300 ms here; with a backoff of 1, 2, 4 … seconds it should be 6 in 40 s.
func TestAFailingKeyThatHearsOfItselfDoesNotSpin(t *testing.T) {
	for _, when := range []string{"before", "after", "both"} {
		t.Run(when, func(t *testing.T) {
			story(t, workqueue.Config[string]{}, func(r *rig) {
				ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
				defer cancel()
				runs := 0
				r.Add("ns/a", because("create"))
				for {
					k, _, err := r.Get(ctx)
					if err != nil {
						break
					}
					runs++
					if when != "after" {
						r.Add(k, because("update"))
					}
					r.AddRateLimited(k, because("retry"))
					if when != "before" {
						r.Add(k, because("update"))
					}
					r.Done(k)
				}
				if runs != 6 {
					t.Errorf("%d runs in 40 s, want 6: at 0, 1, 3, 7, 15 and 31 s", runs)
				}
			})
		})
	}
}

// A spec that was changed while the old one was failing is tried at once.
func TestUrgentNewsDuringAFailingRunAreNotPushedBack(t *testing.T) {
	for _, first := range []string{"news", "failure"} {
		story(t, workqueue.Config[string]{}, func(r *rig) {
			r.Add("ns/a", because("create"))
			r.get("ns/a")
			if first == "news" {
				r.AddUrgent("ns/a", because("spec"))
				r.AddRateLimited("ns/a", because("retry"))
			} else {
				r.AddRateLimited("ns/a", because("retry"))
				r.AddUrgent("ns/a", because("spec"))
			}
			r.is("ns/a", workqueue.Dirty)
			r.Done("ns/a")
			r.run("ns/a")
			r.empty()
		})
	}
}

// Claim 6.
func TestForgetBeginsAgainAtTheFirstDelay(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		for _, seconds := range []int{1, 2, 4, 8} {
			r.fail("ns/a")
			r.readyAfter("ns/a", time.Duration(seconds)*time.Second)
		}
		r.run("ns/a")
		r.empty()
		r.Add("ns/a", because("update"))
		r.fail("ns/a")
		r.readyAfter("ns/a", time.Second)
	})
}

func TestForgetDoesNotShortenABackoff(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		r.Forget("ns/a")
		r.readyAfter("ns/a", time.Second)
	})
}

// A server in trouble says when to come back, and is asked at least every 30 s.
func TestABackoffCanHaveAFloorAndACeiling(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		fail := func() {
			r.get("ns/a")
			r.AddRateLimitedWithin("ns/a", 3*time.Second, 30*time.Second, because("retry"))
			r.Done("ns/a")
		}
		r.Add("ns/a", because("create"))
		for _, seconds := range []int{3, 3, 4, 8, 16, 30, 30, 30} {
			fail()
			r.readyAfter("ns/a", time.Duration(seconds)*time.Second)
		}
		r.get("ns/a")
		r.AddRateLimitedWithin("ns/a", time.Minute, 30*time.Second, because("retry"))
		r.Done("ns/a")
		r.readyAfter("ns/a", time.Minute)
		// The outage is over, and the key fails for a reason of its own.
		r.fail("ns/a")
		r.readyAfter("ns/a", 32*time.Second)
	})
}

// Claim 15, as a real cluster showed its lack: a run asks to be called again
// at its timeout, in 59 minutes, and its pod has news every minute.
func TestADelayIsACauseOfTheRunThatItsTimeBringsAndOfNoOther(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		reconcile := func(want string) {
			t.Helper()
			if got := lines(r.get("ns/a")); got != want {
				t.Errorf("causes = %q, want %q", got, want)
			}
			r.Forget("ns/a")
			r.AddAfter("ns/a", 59*time.Minute, because("requeue-after"))
			r.Done("ns/a")
		}
		r.Add("ns/a", because("create"))
		reconcile("test create")
		for range 3 {
			time.Sleep(time.Minute)
			r.Add("ns/a", because("update"))
			reconcile("test update")
		}
		r.readyAfter("ns/a", 59*time.Minute)
		reconcile("test requeue-after")
	})
}

// Claim 15. The news came while the run was at work that asked for the delay.
func TestADelayOfADirtyKeyIsNotTold(t *testing.T) {
	for _, first := range []string{"news", "delay"} {
		story(t, workqueue.Config[string]{}, func(r *rig) {
			r.Add("ns/a", because("create"))
			r.get("ns/a")
			if first == "news" {
				r.Add("ns/a", because("update"))
			}
			r.AddAfter("ns/a", time.Hour, because("requeue-after"))
			if first == "delay" {
				r.Add("ns/a", because("update"))
			}
			r.Done("ns/a")
			if got := lines(r.get("ns/a")); got != "test update" {
				t.Errorf("%s first: causes = %q", first, got)
			}
		})
	}
}

// Claim 15, for the time that came before the news, though the key was not
// ready yet: a worker had it.
func TestADelayThatEndedWhileProcessingIsToldBesideLaterNews(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.get("ns/a")
		r.AddAfter("ns/a", time.Second, because("requeue-after"))
		r.AddAfter("ns/a", time.Minute, because("later"))
		time.Sleep(2 * time.Second)
		r.Add("ns/a", because("update"))
		r.Done("ns/a")
		if got := lines(r.get("ns/a")); got != "test requeue-after; test update" {
			t.Errorf("causes = %q", got)
		}
	})
}

// Claim 15.
func TestARetryIsToldUnlessUrgentNewsCameBeforeIt(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		r.Add("ns/a", because("update"))
		r.AddUrgent("ns/a", because("spec"))
		if got := lines(r.get("ns/a")); got != "test update; test spec" {
			t.Errorf("causes = %q: the retry was not due", got)
		}
		r.Add("ns/a", because("update"))
		r.AddRateLimited("ns/a", because("retry"))
		r.Done("ns/a")
		r.readyAfter("ns/a", 2*time.Second)
		r.AddUrgent("ns/a", because("spec"))
		if got := lines(r.get("ns/a")); got != "test update; test retry; test spec" {
			t.Errorf("causes = %q: the retry was due", got)
		}
	})
}

// Claim 15.
func TestOfTwoDelaysTheOneThatCountsIsTold(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddAfter("ns/a", time.Hour, because("timeout"))
		r.AddAfter("ns/a", time.Minute, because("poll"))
		r.AddAfter("ns/a", 2*time.Minute, because("check"))
		if got := lines(r.Explain("ns/a").Causes); got != "test poll" {
			t.Errorf("it waits for %q", got)
		}
		start := time.Now()
		time.Sleep(5 * time.Minute)
		causes := r.get("ns/a")
		if got := lines(causes); got != "test poll" {
			t.Errorf("causes = %q", got)
		}
		if got := causes[0].First.Sub(start); got != time.Minute {
			t.Errorf("its time is said to have come after %v", got)
		}
		r.AddAfter("ns/a", time.Second, because("poll"))
		r.AddRateLimited("ns/a", because("retry"))
		r.Done("ns/a")
		time.Sleep(time.Hour)
		if got := lines(r.get("ns/a")); got != "test retry" {
			t.Errorf("causes = %q, and the failure had superseded the delay", got)
		}
	})
}

// Claim 7.
func TestResetIsACleanSlate(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		r.Add("ns/a", because("old"))
		r.Reset("ns/a")
		r.is("ns/a", workqueue.Idle)
		if got := r.NumRequeues("ns/a"); got != 0 {
			t.Errorf("NumRequeues = %d after Reset", got)
		}
		r.Add("ns/a", because("new"))
		if got := lines(r.get("ns/a")); got != "test new" {
			t.Errorf("causes = %q: those of the object before are among them", got)
		}
		r.AddRateLimited("ns/a", because("retry"))
		r.Done("ns/a")
		r.readyAfter("ns/a", time.Second)
	})
}

// The object was replaced while a run for the old one was at work.
func TestResetWhileProcessing(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.fail("ns/a")
		time.Sleep(time.Second)
		r.get("ns/a")
		r.AddAfter("ns/a", time.Hour, because("requeue-after"))
		r.Reset("ns/a")
		r.Add("ns/a", because("new"))
		r.AddRateLimited("ns/a", because("retry")) // the old run fails, late
		r.Done("ns/a")
		r.is("ns/a", workqueue.Ready)
		if got := r.NumRequeues("ns/a"); got != 1 {
			t.Errorf("NumRequeues = %d, want 1: only the failure after the Reset", got)
		}
		r.run("ns/a")
		r.empty()
	})
}

func TestResetOfAReadyKeyKeepsItReady(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Reset("ns/unknown")
		r.Add("ns/a", because("delete"))
		r.Reset("ns/a")
		r.run("ns/a")
		r.empty()
	})
}

// Claim 8.
func TestNewsGoBeforeTheInitialList(t *testing.T) {
	story(t, workqueue.Config[string]{LowEvery: 4}, func(r *rig) {
		for i := range 3 {
			r.AddLow(fmt.Sprintf("ns/low-%d", i), because("initial"))
		}
		r.Add("ns/news", because("update"))
		r.run("ns/news")
		r.run("ns/low-0")
		r.run("ns/low-1")
		r.run("ns/low-2")
		r.empty()
	})
}

// Claim 8. controller-runtime's priority queue never serves it: 20,000 Gets
// were tried.
func TestALowKeyIsServedWhileNewsNeverEnd(t *testing.T) {
	story(t, workqueue.Config[string]{LowEvery: 4}, func(r *rig) {
		r.AddLow("ns/low-0", because("resync"))
		r.AddLow("ns/low-1", because("resync"))
		r.Add("ns/x", because("update"))
		r.Add("ns/y", because("update"))
		var order []string
		for range 8 {
			k, _, err := r.Get(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if k == "ns/x" || k == "ns/y" {
				r.Add(k, because("update"))
			}
			r.Done(k)
			order = append(order, strings.TrimPrefix(k, "ns/"))
		}
		if got, want := strings.Join(order, " "), "x y x low-0 y x y low-1"; got != want {
			t.Errorf("order = %s, want %s", got, want)
		}
	})
}

func TestNewsTakeALowKeyAlong(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for _, k := range []string{"ns/a", "ns/b", "ns/c"} {
			r.AddLow(k, because("initial"))
		}
		r.Add("ns/b", because("update"))
		r.AddLow("ns/b", because("resync"))
		if got := r.Stats().ReadyLow; got != 2 {
			t.Errorf("ReadyLow = %d, want 2", got)
		}
		r.run("ns/b")
		r.run("ns/a")
		r.run("ns/c")
	})
}

// The model found that an urgent ask sent a ready key to the end of the line.
func TestAskingAgainDoesNotCostAReadyKeyItsPlace(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.Add("ns/b", because("create"))
		r.Add("ns/a", because("update"))
		r.AddUrgent("ns/a", because("spec"))
		r.AddRateLimited("ns/a", because("retry"))
		r.run("ns/a")
		r.run("ns/b")
	})
}

// A retry keeps the lane of the run that failed, or a bad start would turn the
// whole initial list into news.
func TestARetryKeepsItsLane(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddLow("ns/low", because("initial"))
		r.fail("ns/low")
		r.Add("ns/news", because("create"))
		r.fail("ns/news")
		time.Sleep(time.Second)
		synctest.Wait()
		if s := r.Stats(); s.Ready != 2 || s.ReadyLow != 1 {
			t.Fatalf("ready %d, of them low %d; want 2 and 1", s.Ready, s.ReadyLow)
		}
		r.run("ns/news")
		r.run("ns/low")
	})
}

// Claim 9, and invariant I14: one run behind another namespace's flood.
func TestNamespacesTakeTurns(t *testing.T) {
	cfg := workqueue.Config[string]{Namespace: func(k string) string { ns, _, _ := strings.Cut(k, "/"); return ns }}
	story(t, cfg, func(r *rig) {
		for i := range 10_000 {
			r.Add(fmt.Sprintf("flood/%d", i), because("create"))
		}
		r.Add("quiet/1", because("create"))
		r.Add("quiet/2", because("create"))
		r.Add("calm/1", because("create"))
		for _, k := range []string{"flood/0", "quiet/1", "calm/1", "flood/1", "quiet/2", "flood/2", "flood/3"} {
			r.run(k)
		}
	})
}

// Claim 17. What has ended is written down before more is begun.
func TestUrgentKeysGoBeforeTheirNamespacesOthers(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		for _, k := range []string{"ns/a", "ns/b", "ns/c"} {
			r.Add(k, because("create"))
		}
		r.AddUrgent("ns/d", because("ended"))
		r.AddUrgent("ns/b", because("ended")) // which was there already
		for _, k := range []string{"ns/d", "ns/b", "ns/a", "ns/c"} {
			r.run(k)
		}
		r.empty()
	})
}

// Claim 17: the wait begins anew with each plain key, and an urgent one that comes while
// its key is at work goes first as well.
func TestAPlainKeyIsServedWhileUrgentOnesNeverEnd(t *testing.T) {
	story(t, workqueue.Config[string]{PlainEvery: 3}, func(r *rig) {
		for i := range 3 {
			r.Add(fmt.Sprint("ns/plain-", i), because("create"))
		}
		r.AddUrgent("ns/x", because("ended"))
		r.AddUrgent("ns/y", because("ended"))
		for _, k := range []string{"ns/x", "ns/y", "ns/plain-0", "ns/x", "ns/y", "ns/plain-1", "ns/x", "ns/y", "ns/plain-2", "ns/x"} {
			r.get(k)
			if k == "ns/x" || k == "ns/y" {
				r.AddUrgent(k, because("ended"))
			}
			r.Done(k)
		}
	})
}

// Claim 17: a server that had no time for what a run came to is asked again before it is
// asked for more; and who comes after its end has no part in that.
func TestTheRetryOfAnUrgentRunIsAheadToo(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.AddUrgent("ns/a", because("ended"))
		r.fail("ns/a")
		r.Add("ns/b", because("create"))
		r.readyAfter("ns/a", time.Second)
		r.Add("ns/c", because("create"))
		r.run("ns/a")
		r.Add("ns/a", because("update"))
		for _, k := range []string{"ns/b", "ns/c", "ns/a"} {
			r.run(k)
		}
		r.empty()
	})
}

// Claims 9 and 17: in one namespace everything is urgent, and the others do not notice.
func TestUrgentKeysDoNotCostOtherNamespacesTheirTurn(t *testing.T) {
	cfg := workqueue.Config[string]{Namespace: func(k string) string { ns, _, _ := strings.Cut(k, "/"); return ns }}
	story(t, cfg, func(r *rig) {
		for i := range 1000 {
			r.AddUrgent(fmt.Sprint("busy/", i), because("ended"))
		}
		r.Add("quiet/1", because("create"))
		r.Add("quiet/2", because("create"))
		for _, k := range []string{"busy/0", "quiet/1", "busy/1", "quiet/2", "busy/2"} {
			r.run(k)
		}
	})
}

// The namespace's only key left the low lane before its turn.
func TestANamespaceThatLostItsKeyLosesItsTurn(t *testing.T) {
	cfg := workqueue.Config[string]{Namespace: func(k string) string { return k[:1] }}
	story(t, cfg, func(r *rig) {
		r.AddLow("a/1", because("initial"))
		r.AddLow("b/1", because("initial"))
		r.Add("a/1", because("update"))
		r.run("a/1")
		r.AddLow("a/2", because("initial"))
		r.run("a/2") // in the turn that a/1 left
		r.run("b/1")
		r.empty()
	})
}

// Claim 11. client-go queues the key twice (kubernetes issue 79934).
func TestDoneWithoutGetIsIgnored(t *testing.T) {
	var unpaired []string
	cfg := workqueue.Config[string]{}
	cfg.Trace.OnUnpairedDone = func(k string) { unpaired = append(unpaired, k) }
	story(t, cfg, func(r *rig) {
		r.Done("ns/never-seen")
		r.Add("ns/a", because("create"))
		r.Done("ns/a") // ready, and no worker has it
		r.get("ns/a")
		r.Add("ns/a", because("update"))
		r.Done("ns/a")
		r.Done("ns/a") // once too often
		if got := r.Len(); got != 1 {
			t.Fatalf("Len = %d, want 1", got)
		}
		r.run("ns/a")
		r.empty()
		if want := []string{"ns/never-seen", "ns/a", "ns/a"}; !slices.Equal(unpaired, want) || r.Stats().UnpairedDones != 3 {
			t.Errorf("unpaired = %v and %d counted, want %v", unpaired, r.Stats().UnpairedDones, want)
		}
	})
}

// Claim 10. controller-runtime's priority queue panics at the second ShutDown, and
// keeps what is queued to itself.
func TestShutDownHandsOutWhatIsQueuedAndDropsWhatIsDelayed(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/fails", because("create"))
		r.fail("ns/fails")
		r.AddAfter("ns/later", time.Minute, because("requeue-after"))
		r.Add("ns/dirty", because("create"))
		r.get("ns/dirty")
		r.Add("ns/dirty", because("update"))
		r.Add("ns/ready", because("create"))

		r.ShutDown()
		r.ShutDown()
		r.Add("ns/new", because("create"))
		r.AddAfter("ns/new", time.Second, because("requeue-after"))
		r.AddUrgent("ns/fails", because("spec"))
		r.run("ns/ready")
		if _, _, err := r.Get(context.Background()); !errors.Is(err, workqueue.ErrShutDown) {
			t.Fatalf("Get = %v, want ErrShutDown", err)
		}
		r.AddRateLimited("ns/dirty", because("retry"))
		r.Done("ns/dirty")
		r.run("ns/dirty")
		time.Sleep(time.Hour)
		r.empty()
	})
}

func TestAFailureAskedForBeforeShutDownIsDroppedAtDone(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.get("ns/a")
		r.AddRateLimited("ns/a", because("retry"))
		r.ShutDown()
		r.Done("ns/a")
		time.Sleep(time.Hour)
		r.empty()
		if err := r.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Claim 10. client-go's ShutDownWithDrain returns with the dirty key queued.
func TestDrainWaitsForQueuedAndForWorkInHand(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		var done []string
		worker := func() {
			for {
				k, _, err := r.Get(context.Background())
				if err != nil {
					return
				}
				time.Sleep(time.Second)
				r.Done(k)
				done = append(done, k)
			}
		}
		r.Add("ns/a", because("create"))
		r.Add("ns/b", because("create"))
		go worker()
		synctest.Wait() // the worker has a
		r.Add("ns/a", because("update"))
		start := time.Now()
		if err := r.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if want := []string{"ns/a", "ns/b", "ns/a"}; !slices.Equal(done, want) || time.Since(start) != 3*time.Second {
			t.Errorf("done %v after %v, want %v after 3s", done, time.Since(start), want)
		}
	})
}

func TestDrainSaysWhatIsLeftWhenItsTimeIsUp(t *testing.T) {
	story(t, workqueue.Config[string]{Name: "taskrun"}, func(r *rig) {
		for _, k := range []string{"ns/a", "ns/b", "ns/c"} {
			r.Add(k, because("create"))
		}
		r.get("ns/a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := r.Drain(ctx)
		want := `drain workqueue "taskrun" with 2 keys queued and 1 at work: context deadline exceeded`
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("Drain = %v, want %s", err, want)
		}
	})
}

func TestGetReturnsWhenItsContextEnds(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() { _, _, err := r.Get(ctx); result <- err }()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("Get = %v", err)
		}
		r.Add("ns/a", because("create"))
		if _, _, err := r.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Get with an ended context took a key: %v", err)
		}
		r.run("ns/a")
	})
}

// A worker that is woken for a key and told to stop in the same moment leaves
// the key to another one that sleeps.
func TestAWakeUpIsPassedOn(t *testing.T) {
	for range 200 {
		story(t, workqueue.Config[string]{}, func(r *rig) {
			ctx, cancel := context.WithCancel(context.Background())
			got := make(chan string, 2)
			take := func(ctx context.Context) {
				if k, _, err := r.Get(ctx); err == nil {
					got <- k
				}
			}
			go take(context.Background())
			synctest.Wait()
			go take(ctx) // the last to wait is the first to be woken
			synctest.Wait()
			r.Add("ns/a", because("create"))
			cancel()
			synctest.Wait()
			if len(got) != 1 {
				t.Fatal("the key is ready, a worker sleeps, and nobody takes it")
			}
			r.ShutDown()
		})
	}
}

func TestShutDownWakesEveryWorker(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		const n = 5
		ended := make(chan error, n)
		for range n {
			go func() { _, _, err := r.Get(context.Background()); ended <- err }()
		}
		synctest.Wait()
		r.ShutDown()
		for range n {
			if err := <-ended; !errors.Is(err, workqueue.ErrShutDown) {
				t.Errorf("Get = %v", err)
			}
		}
	})
}

// Claim 12.
func TestCausesAreBounded(t *testing.T) {
	story(t, workqueue.Config[string]{MaxCauses: 3}, func(r *rig) {
		for i := range 10 {
			r.Add("ns/a", workqueue.Cause{Source: "pods", Event: "update", Name: fmt.Sprint("pod-", i)})
			time.Sleep(time.Second)
		}
		start := time.Now()
		r.Add("ns/a", workqueue.Cause{Source: "pods", Event: "update", Name: "pod-1"})
		causes := r.get("ns/a")
		if got, want := lines(causes), "pods update pod-0; pods update pod-1 ×2; others ×8"; got != want {
			t.Errorf("causes = %q, want %q", got, want)
		}
		if c := causes[1]; !c.First.Equal(start.Add(-9*time.Second)) || !c.Last.Equal(start) {
			t.Errorf("pod-1 was first seen %v and last %v ago", start.Sub(c.First), start.Sub(c.Last))
		}
	})
}

// Claim 12; kubernetes PR 138743: a million keys that fail once and vanish.
func TestFailuresOfKeysThatVanishAreBounded(t *testing.T) {
	story(t, workqueue.Config[string]{MaxRemembered: 100}, func(r *rig) {
		for i := range 1000 {
			k := fmt.Sprintf("ns/%d", i)
			r.Add(k, because("create"))
			r.fail(k)
			time.Sleep(time.Second)
			r.get(k)
			r.Done(k) // without Forget
		}
		r.empty()
		if got := r.Stats().Remembered; got != 100 {
			t.Errorf("%d keys are remembered, want 100", got)
		}
		if first, last := r.NumRequeues("ns/0"), r.NumRequeues("ns/999"); first != 0 || last != 1 {
			t.Errorf("failures of the first key %d, of the last %d; want 0 and 1", first, last)
		}
		r.Forget("ns/999")
		if got := r.Stats().Remembered; got != 99 {
			t.Errorf("%d keys are remembered after Forget, want 99", got)
		}
	})
}

// Claim 12. More keys than any spare list, through every state, and then none.
func TestAQueueGivesBackMemory(t *testing.T) {
	const n = 100_000
	q := workqueue.New(workqueue.Config[string]{Limiter: workqueue.Exponential(0, 0)})
	before := heap()
	for i := range n {
		q.Add(fmt.Sprintf("ns/key-number-%d", i), because("create"))
	}
	full := heap() - before
	for range n {
		k, _, err := q.Get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		q.Done(k)
	}
	left := heap() - before
	runtime.KeepAlive(q)
	if left > full/20 {
		t.Errorf("%d of %d bytes are kept when every key is idle", left, full)
	}
}

// The names that dashboards know can be told from Stats and Trace.
func TestStatsAndTrace(t *testing.T) {
	var told []string
	say := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	cfg := workqueue.Config[string]{Trace: workqueue.Trace[string]{
		OnReady: func(k string) { say("ready %s", k) },
		OnGet:   func(k string, waited time.Duration) { say("get %s after %v", k, waited) },
		OnDone:  func(k string, worked time.Duration) { say("done %s after %v", k, worked) },
		OnRetry: func(k string, n int, d time.Duration) { say("retry %s, failure %d, in %v", k, n, d) },
	}}
	story(t, cfg, func(r *rig) {
		r.Add("ns/a", because("create"))
		r.Add("ns/a", because("update"))
		time.Sleep(2 * time.Second)
		r.get("ns/a")
		time.Sleep(3 * time.Second)
		r.Add("ns/a", because("update"))
		r.Add("ns/b", because("create"))
		time.Sleep(time.Second)
		r.get("ns/b")
		r.AddAfter("ns/c", time.Minute, because("requeue-after"))
		time.Sleep(time.Second)
		want := workqueue.Stats{
			Waiting: 1, Processing: 1, Dirty: 1, Adds: 3, Delays: 1,
			UnfinishedWork: 6 * time.Second, LongestRunning: 5 * time.Second,
		}
		if got := r.Stats(); got != want {
			t.Errorf("Stats = %+v\nwant    %+v", got, want)
		}
		r.Done("ns/a")
		r.AddRateLimited("ns/b", because("retry"))
		r.Done("ns/b")
		time.Sleep(time.Second)
		r.run("ns/a")
		want = workqueue.Stats{Ready: 1, Waiting: 1, Adds: 4, Retries: 1, Delays: 1}
		if got := r.Stats(); got != want {
			t.Errorf("Stats = %+v\nwant    %+v", got, want)
		}
		wantTold := []string{
			"ready ns/a", "get ns/a after 2s",
			"ready ns/a", "ready ns/b", "get ns/b after 1s",
			"done ns/a after 5s",
			"retry ns/b, failure 1, in 1s", "done ns/b after 1s", "ready ns/b",
			"get ns/a after 3s", "done ns/a after 0s",
		}
		if !slices.Equal(told, wantTold) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(wantTold, "\n"))
		}
	})
}

func TestExplain(t *testing.T) {
	story(t, workqueue.Config[string]{}, func(r *rig) {
		start := time.Now()
		if x := r.Explain("ns/a"); x.State != workqueue.Idle || x.Causes != nil {
			t.Errorf("an unknown key is %+v", x)
		}
		r.AddLow("ns/a", because("initial"))
		if x := r.Explain("ns/a"); x.State != workqueue.Ready || !x.Low || !x.ReadySince.Equal(start) {
			t.Errorf("a low key is %+v", x)
		}
		time.Sleep(time.Second)
		r.get("ns/a")
		r.AddRateLimited("ns/a", because("retry"))
		x := r.Explain("ns/a")
		if x.State != workqueue.Processing || x.Failures != 1 || !x.Due.Equal(start.Add(2*time.Second)) ||
			!x.ProcessingSince.Equal(start.Add(time.Second)) || lines(x.Running) != "test initial" || lines(x.Causes) != "test retry" {
			t.Errorf("a key that fails is %+v", x)
		}
		r.Done("ns/a")
		if x := r.Explain("ns/a"); x.State != workqueue.BackingOff || len(x.Running) > 0 {
			t.Errorf("a key that has failed is %+v", x)
		}
	})
}

// A key that is held back runs at that time, or for urgent news, and has failed no
// more often than before.
func TestAKeyThatIsHeldBackWaitsForUrgentNewsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Config[string]{})
		for _, c := range []struct {
			news func()
			want time.Duration
		}{
			{func() { q.Add("a", workqueue.Cause{Source: "pods", Event: "update"}) }, time.Minute},
			{func() { q.AddUrgent("a", workqueue.Cause{Source: "pods", Event: "delete"}) }, time.Second},
		} {
			begun := time.Now()
			q.HoldBack("a", time.Minute, workqueue.Cause{Source: "pool", Event: "held-back"})
			time.Sleep(time.Second)
			c.news()
			key, _, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begun); got != c.want {
				t.Errorf("it ran after %v, want %v", got, c.want)
			}
			q.Done(key)
			if n := q.NumRequeues("a"); n != 0 {
				t.Errorf("it has failed %d times", n)
			}
		}
	})
}
