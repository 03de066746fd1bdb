package indexer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// Upstream: TestHammerController, TestTransformingInformerRace. Everything at
// once, for the race detector: a producer with its transform, a resync timer,
// the consumer with a handler that reads the store, readers, and waiters.
func TestEverythingAtOnce(t *testing.T) {
	x := indexer.New("things")
	byApp := indexer.AddIndex(x, "app", indexer.Label("app"))
	f := fifo.New(x, fifo.Config{Transform: func(o *wire.Object) (*wire.Object, error) {
		if o.Key().Name == "h" {
			return nil, errors.New("not this one")
		}
		return o.Cut(wire.Path{"metadata", "ownerReferences"})
	}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error)
	go func() {
		ran <- x.Run(ctx, f, func(c indexer.Change) {
			// Of an entry the store holds the end, when handlers are told of its
			// beginning: never something older.
			o, ok := x.Object(c.Key)
			if c.New != nil && (!ok || older(o, c.New)) || c.New == nil && ok && older(o, c.Old) {
				t.Errorf("%s, and the store holds another", show(c))
			}
		})
	}()
	var others sync.WaitGroup
	others.Go(func() {
		for ctx.Err() == nil {
			f.Resync()
			time.Sleep(time.Millisecond)
		}
	})
	for range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				if _, err := indexer.ReadIndex[map[string]any](byApp, "0"); err != nil {
					t.Error(err)
				}
				x.Stats()
				f.Len()
			}
		})
	}
	now, version := hammer(t, f)
	if err := x.WaitFor(ctx, version); err != nil {
		t.Error(err)
	}
	delete(now, key("h")) // which was never taken in
	if got := x.Stats().Objects; got != len(now) {
		t.Errorf("%d objects, want %d", got, len(now))
	}
	for k, v := range now {
		if o, ok := x.Object(k); !ok || o.ResourceVersion() != v {
			t.Errorf("%s is not there as of %s", k, v)
		}
	}
	stop()
	others.Wait()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func older(a, b *wire.Object) bool {
	order, err := wire.CompareResourceVersions(a.ResourceVersion(), b.ResourceVersion())
	return err != nil || order < 0
}

// hammer makes changes and lists, and returns what there is in the end.
func hammer(t *testing.T, f *fifo.FIFO) (now map[types.NamespacedName]string, version string) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	objects := map[types.NamespacedName]*wire.Object{}
	refused := func(err error) {
		if err != nil && !errors.Is(err, fifo.ErrClosed) && err.Error() != "transform n/h: not this one" {
			t.Error(err)
		}
	}
	for i := 1; i <= 3000; i++ {
		version = strconv.Itoa(i)
		name := string(rune('a' + r.IntN(8)))
		was, exists := objects[key(name)]
		uid := "u" + version
		if exists {
			uid = string(was.UID())
		}
		o := obj(t, name, uid, version, fmt.Sprint("app=", r.IntN(2)), "^owner")
		if exists && r.IntN(4) == 0 {
			delete(objects, key(name))
			refused(f.Delete(o))
		} else {
			objects[key(name)] = o
			refused(f.Update(o))
		}
		if i%100 == 0 {
			f.Begin()
			for _, o := range objects {
				refused(f.Item(o))
			}
			f.Commit(version)
		}
	}
	now = map[types.NamespacedName]string{}
	for k, o := range objects {
		now[k] = o.ResourceVersion()
	}
	return now, version
}
