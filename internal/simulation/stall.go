package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"millrace/internal/simulation/apiserver"
)

// A stall is of the handlers of one resource in one process: who handles a change of it
// does not come back. It is of fault 24, and nobody but the process feels it: its watch
// is told all there is.
type stall struct {
	resource string
	over     chan struct{}
}

const stalls = "a handler stalls"

// stallHandlers has the handlers of a resource stall in a process from now on.
func (w *World) stallHandlers(p *process, resource string) (end func()) {
	s := &stall{resource, make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.stall = s
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.stall = nil
		close(s.over)
	}
}

// handling is called by a process before it handles a change. A process that is told to
// stop is done with its handlers, as one that has really gone is.
func (w *World) handling(ctx context.Context, p *process, resource string) {
	w.mu.Lock()
	s := p.stall
	if s == nil || s.resource != resource || ctx.Err() != nil {
		w.mu.Unlock()
		return
	}
	w.facts.Faults[stalls]++
	w.mu.Unlock()
	select {
	case <-s.over:
	case <-ctx.Done():
	}
}

// stallsFor is how long they stall in the scenario.
const stallsFor = 10 * time.Minute

// oneStalls has the handlers of pods stall for ten minutes, while runs are created.
func oneStalls(w *World) {
	w.tasks("blue", "green")
	w.Agenda.After(soon, func() {
		for _, pod := range slices.Sorted(maps.Keys(w.alive)) {
			w.Agenda.After(stallsFor, w.stallHandlers(w.alive[pod], "pods"))
		}
	})
	w.sample(stallsFor)
	for i := range 20 {
		w.creates(soon+time.Second+time.Duration(i)*28*time.Second, []string{"blue", "green"}[i%2], fmt.Sprint("a", i), fromTask)
	}
}

// goesOnWithoutPods is of fault 24, too. Each run gets its pod as soon as ever, since the
// chain of runs flows. A run as short as these ends within a minute though nobody hears of
// its pod, for a worker that does not find in the cache what it wrote asks the server
// after half a minute: all but the one whose pod is in the hand of the handler, and so in
// the cache. When the handlers go on it does, too.
func goesOnWithoutPods(f *Facts, report report) Check {
	return Check{
		See: func(e apiserver.Exchange) {
			if run, ok := born(e, "pods"); ok && f.Runs[run] != nil {
				if took := e.At.Sub(f.Runs[run].Created); took > 5*time.Second {
					report("%s was made %s after its run, while handlers of pods stalled", e.Key, took)
				}
			}
		},
		End: func() {
			if f.Faults[stalls] != 1 || len(f.Samples) == 0 {
				report("handlers have stalled %d times, which once for all is meant to be, and a process was asked %d times what it holds", f.Faults[stalls], len(f.Samples))
			}
			held := 0
			for _, run := range f.Runs {
				switch took := run.Ended.Sub(run.Created); {
				case run.Ended.IsZero(): // I2 says so
				case run.Ended.After(f.Begun.Add(soon + stallsFor + 30*time.Second)):
					report("%s ended %s after its creation, when handlers had gone on", run.Key, took)
				case took > run.allowance()+time.Minute:
					held++
				}
			}
			if held != 1 {
				report("%d runs were held up, and of one the handler held the pod", held)
			}
		},
	}
}
