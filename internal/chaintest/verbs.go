package chaintest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
)

// A Command is a line of a story: a verb, what it is about, and arguments with values
// or without.
type Command struct {
	Verb string
	Args []Arg
}

// An Arg is a word, or key=value.
type Arg struct{ Key, Value string }

// CommandOf is a command as datadriven has read it.
func CommandOf(verb string, args []datadriven.CmdArg) Command {
	c := Command{Verb: verb}
	for _, a := range args {
		c.Args = append(c.Args, Arg{Key: a.Key, Value: strings.Join(a.Vals, ",")})
	}
	return c
}

// value is that of an argument, empty if there is none.
func (c Command) value(key string) string {
	for _, a := range c.Args {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// word is the n-th argument, empty if there is none.
func (c Command) word(n int) string {
	if n >= len(c.Args) {
		return ""
	}
	return c.Args[n].Key
}

// A verb does a command, and returns what it has to show beside what the stages say.
type verb func(context.Context, Command) (string, error)

// verbs are all commands of stories.
func (w *World) verbs() map[string]verb {
	return map[string]verb{
		"start":     w.doStart,     // start taskruns|pods [selector=k=v] [via=predicate] [resync=30s]: begin to follow the server
		"via":       w.doVia,       // via taskruns|pods [predicate]: another predicate before the handler, or none
		"server":    w.doServer,    // server set|delete kind/name …, has RESOURCE, or drop|tear|expire|down|up: something happens there
		"step":      w.doStep,      // step taskruns|pods [all]: the indexer takes an entry out of the FIFO
		"show":      w.doShow,      // show deltas|cache taskruns, queue, index pods owner=taskrun/a
		"resync":    w.doResync,    // resync taskruns: what a resync period does
		"advance":   w.doAdvance,   // advance 5s: time passes
		"worker":    w.doWorker,    // worker get, or done NAME [error] [after=1m] [requeue] [no-forget]
		"reconcile": w.doReconcile, // reconcile [error] [after=1m] [requeue] [no-forget] [no-gate]: get, look, done
		"add":       w.doAdd,       // add NAME [after=1m] [urgent]: somebody asks for a run
		"write":     w.doWrite,     // write taskrun/a status=x: a reconcile writes, and means to read it again
		"await":     w.doAwait,     // await taskruns 5: has the cache seen that resourceVersion?
		"drain":     w.doDrain,     // drain: the program is told to stop
	}
}

// Do does a command and returns all that came of it. The error says what is wrong
// with the command.
func (w *World) Do(ctx context.Context, c Command) (string, error) {
	do := w.verbs()[c.Verb]
	if do == nil {
		return "", fmt.Errorf("no command %q", c.Verb)
	}
	shown, err := do(ctx, c)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Verb, err)
	}
	w.settle()
	return w.hear() + shown, nil
}

// chainOf is the chain that a command is about.
func (w *World) chainOf(name string) (*chain, error) {
	c := w.chains[name]
	if c == nil {
		return nil, fmt.Errorf("no chain of %q: want one of %s, and start it first", name, strings.Join(w.names, ", "))
	}
	return c, nil
}

func (w *World) doStart(ctx context.Context, c Command) (string, error) {
	r, err := byKind(c.word(0))
	if err != nil {
		return "", err
	}
	var resync time.Duration
	if text := c.value("resync"); text != "" {
		if resync, err = time.ParseDuration(text); err != nil {
			return "", err
		}
	}
	return "", w.start(ctx, r, c.value("selector"), c.value("via"), resync)
}

func (w *World) doVia(_ context.Context, c Command) (string, error) {
	r, err := byKind(c.word(0))
	if err != nil {
		return "", err
	}
	of, err := w.chainOf(r.name)
	if err != nil {
		return "", err
	}
	return "", w.handle(r, of, c.word(1))
}

func (w *World) doStep(ctx context.Context, c Command) (string, error) {
	of, err := w.chainOf(c.word(0))
	if err != nil {
		return "", err
	}
	if len(of.fifo.Waiting(1)) == 0 {
		return "nothing waits\n", nil
	}
	for all := c.word(1) == "all"; ; {
		if err := w.step(ctx, c.word(0), of); err != nil {
			return "", err
		}
		if !all || len(of.fifo.Waiting(1)) == 0 {
			return "", nil
		}
	}
}

func (w *World) doShow(_ context.Context, c Command) (string, error) {
	if c.word(0) == "queue" {
		return w.queued(), nil
	}
	of, err := w.chainOf(c.word(1))
	if err != nil {
		return "", err
	}
	switch c.word(0) {
	case "deltas":
		return w.deltas(of), nil
	case "cache":
		return w.cache(of), nil
	case "index":
		return w.found(of, c)
	default:
		return "", fmt.Errorf("no %q: want deltas, cache, queue or index", c.word(0))
	}
}

// found is what an index finds: owner=taskrun/a, first-owner=taskrun/a or app=web.
func (w *World) found(of *chain, c Command) (string, error) {
	if label := c.value("app"); label != "" {
		return keys(of.byLabel.Keys(label)), nil
	}
	for name, index := range of.owners() {
		if owner := c.value(name); owner != "" {
			o, err := w.object(owner)
			if err != nil {
				return "", err
			}
			return keys(index.Keys(o.GetUID())), nil
		}
	}
	return "", errors.New("want owner=, first-owner= or app=")
}

func (w *World) doResync(_ context.Context, c Command) (string, error) {
	of, err := w.chainOf(c.word(0))
	if err == nil {
		of.fifo.Resync()
	}
	return "", err
}

func (w *World) doAdvance(ctx context.Context, c Command) (string, error) {
	d, err := time.ParseDuration(c.word(0))
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(d):
		return "", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// doAwait asks whether a cache has come as far as a resourceVersion, as a reconcile
// does that has written.
func (w *World) doAwait(ctx context.Context, c Command) (string, error) {
	of, err := w.chainOf(c.word(0))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := of.store.WaitFor(ctx, c.word(1)); err != nil {
		return fmt.Sprintf("not yet: the cache is at @%s\n", of.store.ResourceVersion()), nil
	}
	return fmt.Sprintf("it has: the cache is at @%s\n", of.store.ResourceVersion()), nil
}

// patience is how long a command waits for what may never come.
const patience = time.Millisecond

func has(c Command, word string) bool {
	return slices.ContainsFunc(c.Args, func(a Arg) bool { return a.Key == word })
}
