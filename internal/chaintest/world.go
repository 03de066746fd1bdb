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
	uids   map[types.UID]string

	// For CaughtUp: the server is away, and the last change of each resource.
	away   bool
	newest map[string]string

	mu   sync.Mutex
	said []line // since the last command
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

// sayf adds a line to what this command came to. Reflectors talk at once with each
// other: their lines stand in the order of the chains.
func (w *World) sayf(who, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	place := len(w.names)
	if who == "server" {
		place = -1
	} else if i := slices.Index(w.names, who); i >= 0 {
		place = i
	}
	w.said = append(w.said, line{place, fmt.Sprintf("%-9s %s", who, fmt.Sprintf(format, args...))})
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
	if w.uids[of] == "" {
		w.uids[of] = fmt.Sprintf("u%d", len(w.uids)+1)
	}
	return w.uids[of]
}

// asked is told by the queue what came of an ask.
func (w *World) asked(key types.NamespacedName, asked workqueue.Asked) {
	w.asks[key] = true
	how := ""
	switch {
	case asked.Urgent:
		how = ", urgent"
	case asked.Low:
		how = ", in the low lane"
	}
	due := ""
	if !asked.Due.IsZero() {
		due = fmt.Sprintf(", due in %s", time.Until(asked.Due))
	}
	becomes := fmt.Sprintf("%s → %s", asked.From, asked.To)
	if asked.From == asked.To {
		becomes = fmt.Sprintf("%s, as it was", asked.To)
	}
	w.sayf("queue", "%s asked for%s: %s%s", key, how, becomes, due)
}

func (w *World) unpaired(key types.NamespacedName) {
	w.sayf("queue", "%s is given back by nobody who has it: passed over", key)
}

func nameOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
