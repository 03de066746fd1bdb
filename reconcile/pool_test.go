package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"millrace/reconcile"
	"millrace/workqueue"
)

type key = types.NamespacedName

var (
	keyA = key{Namespace: "ci", Name: "a"}
	keyB = key{Namespace: "ci", Name: "b"}
	podA = schema.GroupResource{Resource: "pods"}
)

func because(event string) workqueue.Cause {
	return workqueue.Cause{Source: "test", Event: event}
}

// A rig is a pool at work in a bubble.
type rig struct {
	t    *testing.T
	q    *workqueue.Queue[key]
	pool *reconcile.Pool
	stop context.CancelFunc
	done chan error // Run's answer
	logs ktesting.Underlier
}

// start runs a pool with one worker, if cfg says nothing else, and a queue with
// backoffs of 1, 2, 4 … 1000 seconds.
func start(t *testing.T, fn reconcile.Func, cfg reconcile.PoolConfig) *rig {
	t.Helper()
	return startWith(t, workqueue.Exponential(time.Second, 1000*time.Second), fn, cfg)
}

func startWith(t *testing.T, limiter workqueue.Limiter, fn reconcile.Func, cfg reconcile.PoolConfig) *rig {
	t.Helper()
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
	logs, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the logger does not keep its lines")
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	r := &rig{
		t:    t,
		q:    workqueue.New(workqueue.Config[key]{Limiter: limiter}),
		stop: cancel,
		done: make(chan error, 1),
		logs: logs,
	}
	r.pool = reconcile.NewPool("test", r.q, fn, cfg)
	go func() { r.done <- r.pool.Run(ctx) }()
	synctest.Wait()
	return r
}

// end stops the pool and returns Run's answer.
func (r *rig) end() error {
	r.stop()
	return <-r.done
}

// log is the lines that were logged so far, at the levels that are on.
func (r *rig) log() []string {
	var lines []string
	for _, e := range r.logs.GetBuffer().Data() {
		line := e.Message
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *rig) wantLog(want ...string) {
	r.t.Helper()
	if got := r.log(); !slices.Equal(got, want) {
		r.t.Errorf("logged\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Claim 3: the table in doc.go is what a pool does. Each row is made by a pool
// and looked for in the documentation.
func TestTableOfResultsInTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		documented[strings.Join(columns(line), " | ")] = true
	}
	rows := []struct {
		returns string
		result  reconcile.Result
		err     error
	}{
		{"Result{}, nil", reconcile.Result{}, nil},
		{"Result{RequeueAfter: d}, nil", reconcile.Result{RequeueAfter: 5 * time.Minute}, nil},
		{"Result{RequeueAfter: d, Requeue: true}, nil", reconcile.Result{RequeueAfter: 5 * time.Minute, Requeue: true}, nil},
		{"Result{RequeueAfter: -d}, nil", reconcile.Result{RequeueAfter: -5 * time.Minute}, nil},
		{"Result{Requeue: true}, nil", reconcile.Result{Requeue: true}, nil},
		{"anything, err", reconcile.Result{RequeueAfter: 5 * time.Minute}, errors.New("no")},
		{"anything, Terminal(err)", reconcile.Result{Requeue: true}, reconcile.Terminal(errors.New("no"))},
	}
	for _, row := range rows {
		synctest.Test(t, func(t *testing.T) {
			var runs []time.Time
			var outcome reconcile.Outcome
			fn := func(context.Context, key) (reconcile.Result, error) {
				runs = append(runs, time.Now())
				if len(runs) <= 2 { // two failures before, so that there is something to forget
					return reconcile.Result{}, errors.New("before")
				}
				if len(runs) > 3 {
					return reconcile.Result{}, nil
				}
				return row.result, row.err
			}
			trace := reconcile.Trace{OnReconcile: func(r reconcile.Reconciled) {
				if len(runs) == 3 {
					outcome = r.Outcome
				}
			}}
			r := start(t, fn, reconcile.PoolConfig{Trace: trace})
			r.q.Add(keyA, because("create"))
			time.Sleep(3 * time.Second) // runs at 0, 1 and 3 s
			synctest.Wait()
			failures, lines := r.q.NumRequeues(keyA), len(r.log())-2
			time.Sleep(time.Hour)
			synctest.Wait()
			again := "with the next news"
			if len(runs) > 3 {
				again = map[time.Duration]string{
					5 * time.Minute: "after d",
					4 * time.Second: "after the backoff",
				}[runs[3].Sub(runs[2])]
			}
			forgotten := map[int]string{0: "forgotten", 3: "counted"}[failures]
			logged := map[int]string{0: "no", 1: "once"}[lines]
			got := strings.Join([]string{row.returns, again, forgotten, logged, string(outcome)}, " | ")
			if !documented[got] {
				t.Errorf("doc.go has no such line:\n%s", got)
			}
			if err := r.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// columns splits a line of the table, whose columns are two spaces apart.
func columns(line string) []string {
	var out []string
	for cell := range strings.SplitSeq(strings.TrimPrefix(line, "//"), "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			out = append(out, cell)
		}
	}
	return out
}

// Claim 1.
func TestNoReconcileBeforeEverySourceIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, runs := make(chan struct{}), make(chan struct{})
		var reconciled atomic.Int32
		fn := func(context.Context, key) (reconcile.Result, error) {
			reconciled.Add(1)
			return reconcile.Result{}, nil
		}
		forbidden := errors.New("pods is forbidden")
		r := start(t, fn, reconcile.PoolConfig{Sources: []reconcile.Source{
			{Name: "taskruns", Synced: runs},
			{Name: "pods", Synced: pods, LastError: func() error { return forbidden }},
		}})
		r.q.Add(keyA, because("initial"))
		close(runs)
		time.Sleep(70 * time.Second)
		synctest.Wait()
		if reconciled.Load() != 0 {
			t.Fatal("reconciled before the pods were there")
		}
		r.wantLog("Still waiting for the first list", "Still waiting for the first list")
		close(pods)
		synctest.Wait()
		if reconciled.Load() != 1 {
			t.Error("not reconciled after the pods were there")
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 1. controller-runtime's sync wait hangs without a word (issue 1653).
func TestAWaitInVainNamesTheSourceAndItsLastError(t *testing.T) {
	forbidden := apierrors.NewForbidden(podA, "", errors.New("no RBAC rule"))
	for _, c := range []struct {
		last func() error
		want string
	}{
		{nil, "pool test: wait for the first list of pods: context canceled"},
		{func() error { return nil }, "pool test: wait for the first list of pods: context canceled"},
		{func() error { return forbidden }, "pool test: wait for the first list of pods: context canceled (its last error: pods is forbidden: no RBAC rule)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			fn := func(context.Context, key) (reconcile.Result, error) { panic("reconciled") }
			r := start(t, fn, reconcile.PoolConfig{Sources: []reconcile.Source{{Name: "pods", Synced: make(chan struct{}), LastError: c.last}}})
			err := r.end()
			if err == nil || err.Error() != c.want || !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v, want %s", err, c.want)
			}
			if c.last != nil && c.last() != nil && !apierrors.IsForbidden(err) {
				t.Error("the last error cannot be told from Run's")
			}
		})
	}
}

// Claim 2.
func TestWorkersAreAsManyAsWereAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int32
		fn := func(context.Context, key) (reconcile.Result, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Second)
			busy.Add(-1)
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Workers: 3})
		begun := time.Now()
		for i := range 9 {
			r.q.Add(key{Name: fmt.Sprint(i)}, because("create"))
		}
		for r.q.Stats().Ready+r.q.Stats().Processing > 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if got := time.Since(begun); most.Load() != 3 || got != 3*time.Second {
			t.Errorf("9 keys of 1 s took 3 workers %v, at most %d at once", got, most.Load())
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 4.
func TestAPanicIsAnErrorOfThatKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outcomes []string
		panics := 0
		fn := func(_ context.Context, k key) (reconcile.Result, error) {
			if k == keyA && panics < 2 {
				panic("poison")
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Trace: reconcile.Trace{
			OnPanic: func(_ key, p *reconcile.PanicError) {
				panics++
				if !strings.Contains(string(p.Stack), "TestAPanicIsAnErrorOfThatKey") {
					t.Errorf("the stack does not show where it was:\n%s", p.Stack)
				}
			},
			OnReconcile: func(r reconcile.Reconciled) {
				outcomes = append(outcomes, fmt.Sprint(r.Key.Name, " ", r.Outcome))
				if p := new(reconcile.PanicError); r.Err != nil && !errors.As(r.Err, &p) {
					t.Errorf("Err = %v, want a *PanicError", r.Err)
				}
			},
		}})
		r.q.Add(keyA, because("create"))
		r.q.Add(keyB, because("create"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"a error", "b success", "a error", "a success"}; !slices.Equal(outcomes, want) {
			t.Errorf("outcomes = %v, want %v", outcomes, want)
		}
		line := "Reconcile panicked, will be tried again: panic: poison"
		r.wantLog(line, line)
		for _, e := range r.logs.GetBuffer().Data() {
			if n := strings.Count(fmt.Sprint(e.ParameterKVList...), "[running"); n != 1 {
				t.Errorf("the stack is in the line %d times", n)
			}
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// A panic with a Terminal error is a panic: whoever threw it did not choose.
func TestAPanicIsNeverTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		fn := func(context.Context, key) (reconcile.Result, error) {
			if runs++; runs == 1 {
				panic(reconcile.Terminal(errors.New("no")))
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		time.Sleep(time.Second)
		synctest.Wait()
		if runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 5.
func TestAReconcileThatHangsIsTimedOutAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		runs := 0
		fn := func(ctx context.Context, _ key) (reconcile.Result, error) {
			if runs++; runs > 1 {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			return reconcile.Result{}, fmt.Errorf("get pod: %w", ctx.Err())
		}
		r := start(t, fn, reconcile.PoolConfig{Timeout: 10 * time.Second, Trace: reconcile.Trace{
			OnReconcile: func(r reconcile.Reconciled) { errs = append(errs, r.Err) },
		}})
		r.q.Add(keyA, because("create"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if len(errs) != 2 || !errors.Is(errs[0], reconcile.ErrTimeout) || !errors.Is(errs[0], context.DeadlineExceeded) || errs[1] != nil {
			t.Errorf("errors = %v, want a timeout and then none", errs)
		}
		r.wantLog("Reconcile failed, will be tried again: reconcile timed out: get pod: context deadline exceeded")
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 6.
func TestServerTroubleIsCappedAndItsRetryAfterObeyed(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("etcd has no leader")
	busy := apierrors.NewTooManyRequests("later", 7)
	for name, c := range map[string]struct {
		err  error
		want []int // seconds between runs
	}{
		"the server's": {fmt.Errorf("get: %w", unavailable), []int{1, 2, 4, 8, 16, 30, 30, 30}},
		"too many":     {busy, []int{7, 7, 7, 8, 16, 30, 30, 30}},
		"the key's":    {errors.New("no"), []int{1, 2, 4, 8, 16, 32, 64, 128}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs []time.Time
				fn := func(context.Context, key) (reconcile.Result, error) {
					runs = append(runs, time.Now())
					return reconcile.Result{}, c.err
				}
				r := start(t, fn, reconcile.PoolConfig{})
				r.q.Add(keyA, because("create"))
				time.Sleep(time.Hour)
				synctest.Wait()
				for i, want := range c.want {
					if got := runs[i+1].Sub(runs[i]); got != time.Duration(want)*time.Second {
						t.Errorf("pause %d is %v, want %ds", i, got, want)
					}
				}
				if err := r.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestServerTroubleKnowsItsErrors(t *testing.T) {
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	for _, c := range []struct {
		err     error
		trouble bool
		after   time.Duration
	}{
		{errors.New("no"), false, 0},
		{apierrors.NewNotFound(podA, "a"), false, 0},
		{apierrors.NewConflict(podA, "a", errors.New("changed")), false, 0},
		{apierrors.NewForbidden(podA, "a", errors.New("quota")), false, 0},
		{apierrors.NewBadRequest("no"), false, 0},
		{apierrors.NewTooManyRequests("later", 3), true, 3 * time.Second},
		{apierrors.NewTooManyRequests("under maintenance", 86400), true, 5 * time.Minute},
		{apierrors.NewTooManyRequests("a clock that is wrong", -3), true, 0},
		{apierrors.NewInternalError(errors.New("etcd")), true, 0},
		{apierrors.NewServerTimeout(podA, "get", 2), true, 2 * time.Second},
		{apierrors.NewTimeoutError("slow", 0), true, 0},
		{apierrors.NewGenericServerResponse(502, "get", podA, "a", "", 0, true), true, 0},
		{refused, true, 0},
		{fmt.Errorf("read: %w", syscall.ECONNRESET), true, 0},
		{fmt.Errorf("get: %w", context.DeadlineExceeded), true, 0},
		{fmt.Errorf("get: %w", context.Canceled), false, 0},
	} {
		if after, trouble := reconcile.ServerTrouble(c.err); trouble != c.trouble || after != c.after {
			t.Errorf("%v: trouble %v, after %v; want %v, %v", c.err, trouble, after, c.trouble, c.after)
		}
	}
}

// Claim 6.
func TestALongStormOfConflictsIsFollowedByNoLongSleep(t *testing.T) {
	conflict := fmt.Errorf("patch status: %w", apierrors.NewConflict(podA, "a", errors.New("changed")))
	for name, met := range map[string]func() (reconcile.Result, error){
		"as an error":             func() (reconcile.Result, error) { return reconcile.Result{}, conflict },
		"as a wish to look again": func() (reconcile.Result, error) { return reconcile.Result{Requeue: true}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storm := time.Now().Add(10 * time.Minute)
				runs, ended := 0, time.Time{}
				fn := func(context.Context, key) (reconcile.Result, error) {
					if runs++; time.Now().Before(storm) {
						return met()
					}
					ended = time.Now()
					return reconcile.Result{}, nil
				}
				r := start(t, fn, reconcile.PoolConfig{})
				r.q.Add(keyA, because("create"))
				time.Sleep(11 * time.Minute)
				synctest.Wait() // else the race detector sees nothing between the worker and here
				if late := ended.Sub(storm); ended.IsZero() || late > 5*time.Second {
					t.Errorf("run %s after the storm", late)
				}
				if runs > 150 {
					t.Errorf("%d runs in ten minutes of conflicts", runs)
				}
				if err := r.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Claim 6.
func TestAMissingRightIsNotAskedForAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := time.Now().Add(10 * time.Minute)
		var runs []time.Time
		fn := func(context.Context, key) (reconcile.Result, error) {
			runs = append(runs, time.Now())
			if time.Now().Before(given) {
				return reconcile.Result{}, fmt.Errorf("list TaskRuns: %w", apierrors.NewForbidden(podA, "", errors.New("no right")))
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		first := slices.IndexFunc(runs, func(at time.Time) bool { return at.Sub(runs[0]) > 30*time.Second })
		if first > 6 {
			t.Errorf("%d runs in the first half minute", first)
		}
		if late := runs[len(runs)-1].Sub(given); late < 0 || late > 30*time.Second {
			t.Errorf("run %s after the right was given", late)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 10.
func TestStopTakesNoMoreKeysAndLetsTheRunningFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var finished []string
		fn := func(ctx context.Context, k key) (reconcile.Result, error) {
			select {
			case <-time.After(10 * time.Second): // what was begun
			case <-ctx.Done():
				t.Error("the running reconcile was interrupted:", context.Cause(ctx))
			}
			finished = append(finished, k.Name)
			return reconcile.Result{}, errors.New("fails at last")
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		r.q.Add(keyB, because("create"))
		synctest.Wait()
		time.Sleep(time.Second)
		begun := time.Now()
		if err := r.end(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if took := time.Since(begun); took != 9*time.Second || !slices.Equal(finished, []string{"a"}) {
			t.Errorf("stopped after %v with %v finished, want 9s and a", took, finished)
		}
		r.q.Add(keyB, because("update"))
		if s := r.q.Stats(); s.BackingOff+s.Processing+s.Dirty != 0 || s.Ready != 1 {
			t.Errorf("after the stop: %+v", s)
		}
	})
}

// Claim 10.
func TestAStopHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause, err error
		fn := func(ctx context.Context, _ key) (reconcile.Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			time.Sleep(time.Second) // it needs a moment to come to an end
			return reconcile.Result{}, ctx.Err()
		}
		r := start(t, fn, reconcile.PoolConfig{
			Timeout: -1, DrainTimeout: 5 * time.Second,
			Trace: reconcile.Trace{OnReconcile: func(r reconcile.Reconciled) { err = r.Err }},
		})
		r.q.Add(keyA, because("create"))
		synctest.Wait()
		time.Sleep(time.Hour)
		begun := time.Now()
		stopped := r.end()
		if took := time.Since(begun); took != 6*time.Second {
			t.Errorf("stopped after %v, want 5s and the second that the reconcile needed", took)
		}
		if stopped == nil || stopped.Error() != "pool test: reconciles in hand were interrupted 5s after the stop" {
			t.Errorf("Run = %v", stopped)
		}
		if cause == nil || !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("cause %v, error %v", cause, err)
		}
	})
}

// Claim 10: somebody else may shut the queue down; then it is worked off.
func TestRunEndsWhenTheQueueIsShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		fn := func(context.Context, key) (reconcile.Result, error) {
			runs++
			time.Sleep(time.Second)
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		r.q.Add(keyB, because("create"))
		r.q.ShutDown()
		if err := <-r.done; err != nil || runs != 2 {
			t.Errorf("Run = %v after %d runs", err, runs)
		}
	})
}

// Claim 11.
func TestAPoolIsQuietWhenAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		fn := func(context.Context, key) (reconcile.Result, error) {
			if runs++; runs == 1 {
				return reconcile.Result{}, apierrors.NewConflict(podA, "a", errors.New("changed"))
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if runs != 2 {
			t.Errorf("%d runs, want 2: a conflict is tried again", runs)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
		r.wantLog()
	})
}

// Claim 11: the line has what one needs to know.
func TestAFailureIsLoggedWithKeyAndCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn := func(context.Context, key) (reconcile.Result, error) {
			return reconcile.Result{}, errors.New("no")
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, workqueue.Cause{Source: "pods", Event: "update", Name: "a-pod", OldRV: "7", NewRV: "9"})
		synctest.Wait()
		line := r.logs.GetBuffer().String()
		for _, want := range []string{`ERROR Reconcile failed, will be tried again`, `err="no"`, `controller="test"`, `key="ci/a"`, `causes=["pods update a-pod 7→9"]`, "failures=1"} {
			if !strings.Contains(line, want) {
				t.Errorf("%s is not in\n%s", want, line)
			}
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 12.
func TestCausesReachTheReconcileAndTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told, traced []string
		starts := 0
		fn := func(ctx context.Context, _ key) (reconcile.Result, error) {
			told = append(told, fmt.Sprint(reconcile.Causes(ctx)))
			switch len(told) {
			case 1:
				return reconcile.Result{}, errors.New("no")
			case 2:
				return reconcile.Result{Requeue: true}, nil
			case 3:
				return reconcile.Result{RequeueAfter: time.Second}, nil
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Trace: reconcile.Trace{
			OnStart:     func(key) { starts++ },
			OnReconcile: func(r reconcile.Reconciled) { traced = append(traced, fmt.Sprint(r.Causes)) },
		}})
		r.q.Add(keyA, because("create"))
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{"[test create]", "[test retry]", "[test requeue]", "[test requeue-after]"}
		if !slices.Equal(told, want) || !slices.Equal(traced, want) || starts != len(want) {
			t.Errorf("told %v, traced %v, %d starts; want %v", told, traced, starts, want)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestCausesOfNoReconcile(t *testing.T) {
	if got := reconcile.Causes(context.Background()); got != nil {
		t.Errorf("Causes = %v", got)
	}
}

func TestTerminal(t *testing.T) {
	cause := errors.New("no such field")
	err := fmt.Errorf("read spec: %w", reconcile.Terminal(cause))
	if !reconcile.IsTerminal(err) || !errors.Is(err, cause) || err.Error() != "read spec: no such field" {
		t.Errorf("a wrapped Terminal is %v", err)
	}
	if reconcile.IsTerminal(cause) || reconcile.IsTerminal(nil) || reconcile.Terminal(nil) != nil {
		t.Error("what is not Terminal is taken for it")
	}
}

// Claim 11: at verbosity 2 the log answers why each key was reconciled.
func TestAtVerbosity2TheLogSaysWhyAKeyWasReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(2)))
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
		q := workqueue.New(workqueue.Config[key]{})
		ran := func(context.Context, key) (reconcile.Result, error) { return reconcile.Result{}, nil }
		q.Add(keyA, workqueue.Cause{Source: "pods", Event: "update", Name: "a-pod", OldRV: "7", NewRV: "9", Count: 3})
		ended := make(chan error)
		go func() { ended <- reconcile.NewPool("test", q, ran, reconcile.PoolConfig{Workers: 1}).Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		logs, ok := logger.GetSink().(ktesting.Underlier)
		if !ok {
			t.Fatal("the logger does not keep its lines")
		}
		text := logs.GetBuffer().String()
		for _, want := range []string{`INFO Reconciled `, `controller="test"`, `key="ci/a"`, `causes=["pods update a-pod 7→9 ×3"]`, `outcome="success"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the log lacks %s:\n%s", want, text)
			}
		}
	})
}
