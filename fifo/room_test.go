package fifo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
)

// shared is a store that producer and consumer use at once.
type shared struct {
	sync.Mutex
	store
}

func (s *shared) Known(key types.NamespacedName) (types.UID, string, bool) {
	s.Lock()
	defer s.Unlock()
	return s.store.Known(key)
}

func (s *shared) take(e fifo.Entry) error {
	s.Lock()
	defer s.Unlock()
	return s.store.take(e)
}

// A first list is news from its first object to its last: it comes no faster than it is
// taken in. What comes later never waits.
func TestAFirstListWaitsForTheConsumerAndAWatchDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{store: store{}}
		q := fifo.New(s, fifo.Config{Crowd: 10})
		give := func(n int, take func(i int)) (given *int, over chan struct{}) {
			given, over = new(int), make(chan struct{})
			go func() {
				defer close(over)
				for *given < n {
					q.Room(t.Context())
					take(*given)
					*given++
				}
			}()
			return given, over
		}
		pop := func() {
			if err := q.Pop(t.Context(), s.take); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		item := func(i int) { _ = q.Item(obj(t, fmt.Sprintf("pod-%03d", i), "u", fmt.Sprint(i+1))) }
		q.Begin()
		given, over := give(100, item)
		synctest.Wait()
		if *given != 10 || q.Len() != 10 {
			t.Errorf("%d were given while nobody took any, %d wait", *given, q.Len())
		}
		pop()
		if *given != 11 {
			t.Errorf("%d were given after one was taken", *given)
		}
		for range 89 {
			pop()
		}
		<-over
		if q.Len() != 10 {
			t.Errorf("%d wait at the end of the list", q.Len())
		}
		q.Commit("100")
		_, over = give(100, func(i int) { _ = q.Update(obj(t, fmt.Sprintf("pod-%03d", i), "u", fmt.Sprint(i+200))) })
		<-over
		q.Begin()
		_, over = give(100, func(i int) { _ = q.Item(obj(t, fmt.Sprintf("pod-%03d", i), "u", fmt.Sprint(i+400))) })
		<-over // a relist brings what is known, for the most part, and each object once
		if q.Len() != 100 {
			t.Errorf("%d wait", q.Len())
		}
	})
}

func TestWhoWaitsForRoomIsLetGoAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(*fifo.FIFO, context.CancelFunc){
		"of its context": func(_ *fifo.FIFO, stop context.CancelFunc) { stop() },
		"of the queue":   func(q *fifo.FIFO, _ context.CancelFunc) { q.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				q := fifo.New(store{}, fifo.Config{Crowd: 1})
				q.Begin()
				_ = q.Item(obj(t, "pod", "u", "1"))
				over := make(chan struct{})
				go func() {
					defer close(over)
					q.Room(ctx)
				}()
				synctest.Wait()
				select {
				case <-over:
					t.Error("it did not wait")
				default:
				}
				end(q, stop)
				<-over
			})
		})
	}
}
