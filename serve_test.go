package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/internal/settings"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/shard"
	"millrace/workqueue"
)

func TestReadyzNamesWhatIsMissingUntilTheFirstLists(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	pods, tasks := indexer.New("pods"), indexer.New("tasks")
	ready := readiness(ctx, chain{Indexer: pods}, chain{Indexer: tasks})
	hasListed(t, tasks)
	if err := ready(); err == nil || !strings.Contains(err.Error(), "pods") || strings.Contains(err.Error(), "tasks") {
		t.Errorf("with pods missing: %v", err)
	}
	hasListed(t, pods)
	if err := ready(); err != nil {
		t.Errorf("with all there: %v", err)
	}
	stop()
	if err := ready(); err == nil {
		t.Error("ready though stopping")
	}
}

// hasListed brings a store its first list, which is empty.
func hasListed(t *testing.T, x *indexer.Indexer) {
	t.Helper()
	f := fifo.New(x, fifo.Config{})
	f.Begin()
	f.Commit("1")
	f.Close()
	if err := x.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func newShareWithoutLists() *share {
	s := &share{}
	for _, c := range []*chain{&s.taskRuns, &s.pipelineRuns, &s.customRuns, &s.pods, &s.pipelines, &s.tasks, &s.stepActions, &s.accounts, &s.limitRanges} {
		*c = chain{Indexer: indexer.New("things")}
	}
	return s
}

func (s *share) hasListed(t *testing.T) {
	t.Helper()
	for _, c := range s.chains() {
		hasListed(t, c.Indexer)
	}
}

// All replicas get other shares at once when one comes or goes. If that made them
// unready, the webhook, which each of them serves all the time, would have nobody left.
func TestAShareThatChangesMakesNobodyUnreadyWhoHasBeenReady(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := &program{member: shard.NewMember(nil, shard.MemberConfig{}), api: &clients{settings: settings.New(settings.Trace{})}}
	p.contends.Store(&time.Time{})
	ready := p.probes(ctx).ready
	if err := ready(); err != nil {
		t.Errorf("who stands by is not ready: %v", err)
	}
	first := newShareWithoutLists()
	p.share.Store(first)
	if err := ready(); err == nil {
		t.Error("ready before its first share has its lists: an update would go on to the next replica")
	}
	first.hasListed(t)
	if err := ready(); err != nil {
		t.Errorf("at work on its first share: %v", err)
	}
	for what, next := range map[string]*share{"between two shares": nil, "while the next share lists": newShareWithoutLists()} {
		p.share.Store(next)
		if err := ready(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	stop()
	if ready() == nil {
		t.Error("ready though stopping")
	}
}

// A new pod of an update has no share before one that is ending gives its own back. If it
// was ready at once, the update would be at the next one before this one has begun.
func TestWhoHasJustBegunAndHasNoShareIsNotReadyYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{member: shard.NewMember(nil, shard.MemberConfig{}), api: &clients{settings: settings.New(settings.Trace{})}}
		p.cfg = electing(t)
		ready := p.probes(t.Context()).ready
		if err := ready(); !errors.Is(err, errShareMayCome) {
			t.Errorf("it does not even try to get one: %v", err)
		}
		now := time.Now()
		p.contends.Store(&now)
		time.Sleep(p.cfg.leaseDuration - time.Second)
		if err := ready(); !errors.Is(err, errShareMayCome) {
			t.Errorf("it may still get a share: %v", err)
		}
		mine := newShareWithoutLists()
		mine.hasListed(t)
		p.share.Store(mine)
		if err := ready(); err != nil {
			t.Errorf("it has one: %v", err)
		}
		p.hasShared.Store(false)
		p.share.Store(nil)
		time.Sleep(time.Second)
		if err := ready(); err != nil {
			t.Errorf("it has waited for one: %v", err)
		}
	})
}

func TestServeAnswersUntilItsContextEnds(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") }) //nolint:errcheck // a test's
	ended := make(chan error, 1)
	go func() {
		probe := &probes{ready: func() error { return errors.New("waiting for pods") }, live: func() error { return nil }}
		ended <- serve(ctx, listener, metrics, func() *probes { return probe })
	}()
	for path, want := range map[string]string{
		"/healthz": "200 ok\n", "/readyz": "503 waiting for pods\n", "/metrics": "200 up 1\n", "/": "404 404 page not found\n",
	} {
		if got := get(t, "http://"+listener.Addr().String()+path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve returned %v", err)
	}
}

// What only a new process can mend fails the liveness probe; that is told apart from
// a server that is away.
func TestHealthzFailsWhenAStoreTakesNothingInAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := chain{Indexer: indexer.New("pods")}
		pods.fifo = fifo.New(pods.Indexer, fifo.Config{})
		pods.source = reflector.New(&rest.RESTClient{}, "pods", pods.fifo, reflector.Config{})
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
		pool := reconcile.NewPool("taskrun", queue, nil, reconcile.PoolConfig{})
		live := liveness([]chain{pods}, pool)
		time.Sleep(time.Hour) // nothing happens
		if err := live(); err != nil {
			t.Errorf("while nothing happens: %v", err)
		}
		pods.fifo.Bookmark("7") // nobody takes it
		time.Sleep(unheard)
		if err := live(); err != nil {
			t.Errorf("after %v: %v", unheard, err)
		}
		time.Sleep(time.Second)
		if err := live(); err == nil || !strings.Contains(err.Error(), "news of pods have waited for 5m1s") {
			t.Errorf("after a second more: %v", err)
		}
	})
}

// A worker that does not come back.
func TestHealthzFailsWhenAWorkerIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
		key := types.NamespacedName{Namespace: "ci", Name: "build"}
		queue.Add(key, workqueue.Cause{})
		live := liveness(nil, reconcile.NewPool("taskrun", queue, nil, reconcile.PoolConfig{}))
		if _, _, err := queue.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		if err := live(); err != nil {
			t.Errorf("after four minutes: %v", err)
		}
		time.Sleep(time.Minute)
		if err := live(); err == nil || !strings.Contains(err.Error(), "a worker of taskrun") {
			t.Errorf("after five minutes: %v", err)
		}
		queue.Done(key)
		if err := live(); err != nil {
			t.Errorf("when it has come back: %v", err)
		}
	})
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: time.Minute}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:4] + string(body)
}

func TestToBeToldToStopBeforeTheFirstListIsNoFailure(t *testing.T) {
	told, stop := context.WithCancel(t.Context())
	inVain := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	stop()
	if err := unlessStopped(told, inVain)(told); err != nil {
		t.Error(err)
	}
	interrupted := errors.New("reconciles in hand were interrupted")
	if err := unlessStopped(told, func(context.Context) error { return interrupted })(told); !errors.Is(err, interrupted) {
		t.Errorf("a drain that was not enough became %v", err)
	}
}
