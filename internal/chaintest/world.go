package chaintest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/inspect"
	"millrace/internal/simulation/apiserver"
	"millrace/reconcile"
	"millrace/workqueue"
)

// namespace of all objects of a story.
const namespace = "n"

// A World is a server, some chains that follow it, and a queue at their end. Its
// methods belong to one goroutine, in a bubble of testing/synctest.
type World struct {
	// settle waits until nobody has anything left to do.
	settle func()

	server *apiserver.Server
	user   apiserver.Actor
	http   *http.Transport
	parts  errgroup.Group

	chains map[string]*chain
	names  []string // of the chains, in the order in which they were started
	queue  *workqueue.Queue[types.NamespacedName]
	shown  *inspect.Inspector
	gate   *reconcile.Gate
	asks   map[types.NamespacedName]bool // keys that the queue was asked for

	// For CaughtUp: the server is away, and the last change of each resource.
	away   bool
	newest map[string]string

	mu   sync.Mutex
	said []line // since the last command
	uids map[types.UID]string
}

// A line is something that a stage has said, and where in the chain that stands.
type line struct {
	place int
	text  string
}

// New makes a world in which nothing runs. settle is synctest.Wait.
func New(settle func()) *World {
	return NewShown(settle, inspect.New("story", func() bool { return true }))
}

// NewShown is New, with somebody who looks on: the live page shows what the story has
// come to.
func NewShown(settle func(), shown *inspect.Inspector) *World {
	w := &World{
		settle: settle, server: apiserver.New(apiserver.Config{}),
		chains: map[string]*chain{}, gate: reconcile.NewGate(), asks: map[types.NamespacedName]bool{}, uids: map[types.UID]string{}, newest: map[string]string{},
	}
	w.user = w.server.Actor("user")
	w.http = &http.Transport{DialContext: w.server.Connect("millrace").Dial}
	w.shown = shown
	looks := shown.Controller("taskrun", crds.ResourceTaskRuns)
	w.queue = workqueue.New(workqueue.Config[types.NamespacedName]{
		Name:  "taskruns",
		Trace: looks.Queue(workqueue.Trace[types.NamespacedName]{OnAsk: w.asked, OnUnpairedDone: w.unpaired}),
	})
	// Workers are in the story's hands, and this pool never runs: it is there to be shown.
	looks.Attach(w.queue, reconcile.NewPool("taskrun", w.queue, nil, reconcile.PoolConfig{Workers: 1}))
	return w
}

// Run runs the server until ctx ends, and waits for all that commands have started
// with the same ctx.
func (w *World) Run(ctx context.Context) error {
	err := w.server.Run(ctx)
	w.http.CloseIdleConnections()
	w.queue.ShutDown()
	return errors.Join(err, w.parts.Wait())
}

// Away reports whether the server is. Then reflectors try again by the clock, and who
// plays a story in real time should not stop to think.
func (w *World) Away() bool { return w.away }

// sayf adds a line to what this command came to.
func (w *World) sayf(stage, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	place := len(w.names)
	switch stage {
	case "server":
		place = -1
	case "program":
		place++
	}
	w.said = append(w.said, line{place, fmt.Sprintf("%-9s %s", stage, fmt.Sprintf(format, args...))})
}

// sayOf is sayf for the stages that a resource has of its own, and that run by
// themselves. They talk at once with each other: their lines stand in the order of the
// chains.
func (w *World) sayOf(stage, resource, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%-9s %s %s", stage, resource, fmt.Sprintf(format, args...))
	w.said = append(w.said, line{max(slices.Index(w.names, resource), 0), text})
}

// hear is what has been said since the last time.
func (w *World) hear() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.said, func(a, b line) int { return a.place - b.place })
	var text strings.Builder
	for _, l := range w.said {
		fmt.Fprintln(&text, strings.TrimRight(l.text, " "))
	}
	w.said = nil
	return text.String()
}

// uid is the name that a story has for one: u1, u2, in the order in which they came.
func (w *World) uid(of types.UID) string {
	if of == "" {
		return "-"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uids[of] == "" {
		w.uids[of] = fmt.Sprintf("u%d", len(w.uids)+1)
	}
	return w.uids[of]
}

// asked is told by the queue what came of an ask. Why it was asked, the handler has
// said, if it was one.
func (w *World) asked(key types.NamespacedName, asked workqueue.Asked) {
	w.asks[key] = true
	by, due := "", ""
	if !slices.Contains(w.names, asked.Cause.Source) {
		by = " asked for by " + asked.Cause.String()
		if asked.Urgent {
			by += ", urgent"
		}
	}
	if !asked.Due.IsZero() {
		due = fmt.Sprintf(", due in %s", time.Until(asked.Due))
	}
	becomes := fmt.Sprintf("%s → %s", asked.From, asked.To)
	if asked.From == asked.To {
		becomes = fmt.Sprintf("%s, as it was", asked.To)
	}
	w.sayf("queue", "%s%s: %s%s", key, by, becomes, due)
}

// asker is the queue as handlers see it, and tells what they ask of it.
type asker struct{ *World }

func (a asker) Add(key types.NamespacedName, cause workqueue.Cause) {
	a.sayf("handler", "asks for %s: %s", key, cause)
	a.queue.Add(key, cause)
}

func (a asker) AddUrgent(key types.NamespacedName, cause workqueue.Cause) {
	a.sayf("handler", "asks for %s, urgent: %s", key, cause)
	a.queue.AddUrgent(key, cause)
}

func (a asker) AddLow(key types.NamespacedName, cause workqueue.Cause) {
	a.sayf("handler", "asks for %s, in the low lane: %s", key, cause)
	a.queue.AddLow(key, cause)
}

func (a asker) Reset(key types.NamespacedName) {
	if a.queue.Explain(key).Failures > 0 {
		a.sayf("handler", "%s: the failures under this name were another object's", key)
	}
	a.queue.Reset(key)
}

func (w *World) unpaired(key types.NamespacedName) {
	w.sayf("queue", "%s is given back by nobody who has it: passed over", key)
}

func nameOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
