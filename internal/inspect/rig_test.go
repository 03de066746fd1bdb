package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/inspect"
	"millrace/predicate"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/wire"
	"millrace/workqueue"
)

// A rig is two chains (runs, and the pods that they own), one queue and its pool,
// wired as main wires them, at work in a bubble. The reflectors are not run: the
// test says what the server says.
type rig struct {
	t         testing.TB
	inspector *inspect.Inspector
	control   *inspect.Controller
	queue     *workqueue.Queue[types.NamespacedName]
	pool      *reconcile.Pool
	fifos     map[string]*fifo.FIFO
	fn        reconcile.Func
	stop      func()
}

var build = types.NamespacedName{Namespace: "ci", Name: "build"}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{t: tb, fifos: map[string]*fifo.FIFO{}}
	r.fn = func(context.Context, types.NamespacedName) (reconcile.Result, error) { return reconcile.Result{}, nil }
	r.inspector = inspect.New("v1.2.3", func() bool { return true })
	r.control = r.inspector.Controller("taskrun", "taskruns")
	r.queue = workqueue.New(workqueue.Config[types.NamespacedName]{Limiter: workqueue.Exponential(time.Second, time.Minute), Trace: r.control.Queue(workqueue.Trace[types.NamespacedName]{})})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	chain := func(resource string, handlers ...func(indexer.Change)) {
		x := indexer.New(resource)
		f := fifo.New(x, fifo.Config{})
		shown := r.inspector.Resource(resource)
		shown.Attach(reflector.New(&rest.RESTClient{}, resource, f, reflector.Config{Trace: shown.Source(reflector.Trace{})}), f, x)
		r.fifos[resource] = f
		go func() { ended <- x.Run(ctx, f, handlers...) }()
	}
	chain("taskruns", handler.WhenElse(predicate.GenerationChanged,
		handler.Enqueue("taskruns", r.queue), handler.Enqueue("taskruns", r.control.Dropped("its spec has not changed"))))
	chain("pods", handler.EnqueueOwner("pods", schema.GroupKind{Group: "tekton.dev", Kind: "TaskRun"}, r.queue))
	r.pool = reconcile.NewPool("taskrun", r.queue, func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) { return r.fn(ctx, key) },
		reconcile.PoolConfig{Workers: 2, Trace: r.control.Pool(reconcile.Trace{})})
	r.control.Attach(r.queue, r.pool)
	go func() { ended <- r.pool.Run(ctx) }()
	r.stop = func() {
		cancel()
		for range 3 {
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				tb.Error(err)
			}
		}
	}
	return r
}

// bubble runs a story with a rig.
func bubble(t *testing.T, story func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.stop()
		story(r)
	})
}

// says is an event of a watch.
func (r *rig) says(resource, name string, version, generation int, owner string) {
	r.t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil,
		`{"metadata":{"name":%q,"namespace":"ci","uid":"uid-of-%s","resourceVersion":"%d","generation":%d,"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":%q,"uid":"u"}]}}`,
		name, name, version, generation, owner))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.fifos[resource].Update(o); err != nil {
		r.t.Fatal(err)
	}
}
