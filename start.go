package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// A question is one that the API server has to answer before the chains can be wired.
type question struct {
	about string // as /readyz names it until the first try has failed
	ask   func(ctx context.Context) error
}

// A start is the time before the chains are wired, in which the program learns what they
// go by. The port of the probes is open then.
//
// Every question is asked until it is answered, whatever goes wrong with it: a kubelet that
// starts another process has nothing but the same question, and waits longer each time.
// That holds of a 401 and a 403 as well: rights may come after the Deployment, a server
// that begins may not know of either, and tokens are renewed in their files.
type start struct {
	questions []question

	mu    sync.Mutex
	waits error // what is still to be done
}

func newStart(questions []question) *start {
	s := &start{questions: questions}
	s.wait(fmt.Errorf("%s: %w", questions[0].about, errNotAsked))
	return s
}

// errBeingWired is what is missing when all is answered. From then on others are to be
// asked for the probes; whoever still asks these is not told that there is anything yet.
var errBeingWired = errors.New("the API server has told what the start needs, and the caches are being wired")

// probes are what the kubelet is answered meanwhile: never that it is ready. There is
// nothing yet that a new process would mend.
func (s *start) probes(ctx context.Context) *probes {
	return &probes{
		ready: func() error { return errors.Join(readiness(ctx)(), s.missing()) },
		live:  func() error { return nil },
	}
}

// missing is what is waited for, and how the last try went; errBeingWired when all is
// answered.
func (s *start) missing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits
}

func (s *start) wait(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = fmt.Errorf("waiting for the API server: %w", why)
}

func (s *start) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = errBeingWired
}

// learn asks one after the other, and tells whether all are answered: not if ctx ends
// before.
func (s *start) learn(ctx context.Context) bool {
	for _, q := range s.questions {
		s.wait(fmt.Errorf("%s: %w", q.about, errNotAsked))
		if !s.insist(ctx, q) {
			return false
		}
	}
	s.over()
	return true
}

// insist asks until there is an answer. A server that is away sees a request in 5 to 10
// seconds, so ten seconds after it is back everybody has begun.
func (s *start) insist(ctx context.Context, q question) bool {
	pauses := wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 5 * time.Second}
	for {
		err := q.try(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		s.wait(err)
		pause := pauses.Step()
		klog.FromContext(ctx).Error(err, "The API server has not told what the start needs, and is asked again", "after", pause.Round(time.Millisecond))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// try asks once. How long an answer may take to begin is for patience to say; this is so
// that one which begins and does not end is given up, too.
func (q question) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*answerWithin)
	defer cancel()
	return q.ask(ctx)
}
