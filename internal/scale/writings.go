package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace/internal/audit"
)

// writings are who wrote of runs and their pods, by namespace.
type writings struct {
	n       int
	by      map[string]string          // the last writer
	hands   map[string]int             // how often it became another one
	writers map[string]map[string]bool // the namespaces of each
}

func newWritings() *writings {
	return &writings{by: map[string]string{}, hands: map[string]int{}, writers: map[string]map[string]bool{}}
}

// during follows the audit log while something is done that has each namespace written in.
func (w *writings) during(ctx context.Context, log string, where []string, do func(context.Context) error) error {
	tail, err := audit.FromNow(log)
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	both, following := errgroup.WithContext(following)
	both.Go(func() error { return tail.Follow(following, w.see) })
	err = do(ctx)
	err = errors.Join(err, pause(ctx, 2*time.Second)) // the log is written a little later
	stop()
	if err = errors.Join(err, both.Wait()); err != nil {
		return err
	}
	return w.heard(where)
}

func (w *writings) see(r audit.Request) {
	const prefix = "system:serviceaccount:" + installNamespace + ":"
	replica, ours := strings.CutPrefix(r.User, prefix)
	if !ours || r.Namespace == "" || r.Namespace == installNamespace || r.Code >= 300 || r.Resource == "events" {
		return
	}
	switch r.Verb {
	case "create", "update", "patch", "delete":
	default:
		return
	}
	w.n++
	if last := w.by[r.Namespace]; last != "" && last != replica {
		w.hands[r.Namespace]++
	}
	w.by[r.Namespace] = replica
	if w.writers[replica] == nil {
		w.writers[replica] = map[string]bool{}
	}
	w.writers[replica][r.Namespace] = true
}

// heard is an error if there is a namespace in which nobody was seen to write: of a log
// that is not heard nobody is accused.
func (w *writings) heard(where []string) error {
	silent := 0
	for _, namespace := range where {
		if w.by[namespace] == "" {
			silent++
		}
	}
	if silent > 0 {
		return fmt.Errorf("in %d of %d namespaces no replica was seen to write, and each has had a run", silent, len(where))
	}
	return nil
}

// passedOnce is an error if a namespace went through several hands, or if none went to
// another at all: then nobody had to go on with anything.
func (w *writings) passedOnce() error {
	for namespace, hands := range w.hands {
		if hands > 1 {
			return fmt.Errorf("%s passed from hand to hand %d times", namespace, hands)
		}
	}
	if len(w.hands) == 0 {
		return errors.New("no namespace passed to another replica")
	}
	return nil
}
