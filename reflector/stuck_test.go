package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	"millrace/wire"
)

// Whatever the server does or does not do, and for how long: the loop is alive.
func TestNoServerMakesALoopLookDead(t *testing.T) {
	for name, m := range moments() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, m.script)
				s.deaf, s.most = m.deaf, m.requests
				s.begin(m.cfg)
				for range 360 {
					s.pass(10 * time.Second)
					if err := s.r.Stuck(); err != nil {
						t.Fatal(err)
					}
				}
				s.end()
			})
		})
	}
}

// wall is a sink that does not return from an event.
type wall struct {
	*story

	fallen chan struct{}
}

func (w wall) Update(o *wire.Object) error { <-w.fallen; return w.story.Update(o) }

// A loop that is dead is told from one that waits.
func TestASinkThatDoesNotReturnLeavesADeadLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The pause lets whoever asks for single objects go to rest: where it meets the turn
		// that the event holds, it waits for a mutex, and the bubble's clock with it.
		s := serve(t, []answer{synced("9", pause(time.Second), event("MODIFIED", pod("a", "10")), open)})
		w := wall{s, make(chan struct{})}
		s.beginWith(w, Config{})
		s.pass(10 * time.Minute)
		if err := s.r.Stuck(); err != nil {
			t.Errorf("after ten minutes: %v", err)
		}
		s.pass(2 * time.Minute)
		if err := s.r.Stuck(); err == nil {
			t.Error("after twelve minutes in the sink, the loop is called well")
		}
		close(w.fallen)
		s.end()
		if err := s.r.Stuck(); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}
