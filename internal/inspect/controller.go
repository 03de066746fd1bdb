package inspect

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

// DefaultBudget is how many bytes the histories of one controller's keys may take.
// It is enough for the last 610 keys that have gone through all that is remembered
// of one, or for the last 4,400 that were asked for and ran once.
const DefaultBudget = 4 << 20

// Controller remembers what happened to the keys of one queue and its pool. Make
// it with Inspector.Controller. All methods may be called from anywhere.
type Controller struct {
	name     string
	resource string // that the keys are of
	budget   int

	queue *workqueue.Queue[types.NamespacedName]
	pool  *reconcile.Pool

	mu        sync.Mutex
	histories map[types.NamespacedName]*history
	// freshest and oldest are the ends of the list of all histories, by when
	// something was last added to each: what is over the budget goes at the old end.
	freshest, oldest *history
	bytes            int // of all histories
	forgotten        uint64

	counts counts
}

// counts are totals since the start.
type counts struct {
	asked   map[string]uint64 // asks for a run, by source
	shared  uint64            // of those, the ones that changed nothing
	dropped map[string]uint64 // by predicate

	runs, failed, panicked, stale uint64
	waited                        time.Duration // of the key that was taken last
}

func newController(name, resource string) *Controller {
	return &Controller{
		name: name, resource: resource, budget: DefaultBudget,
		histories: map[types.NamespacedName]*history{},
		counts:    counts{asked: map[string]uint64{}, dropped: map[string]uint64{}},
	}
}

// Name is the controller's.
func (c *Controller) Name() string { return c.name }

// Attach says whose queue and pool the hooks are those of.
func (c *Controller) Attach(queue *workqueue.Queue[types.NamespacedName], pool *reconcile.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.pool = queue, pool
}

func (c *Controller) parts() (*workqueue.Queue[types.NamespacedName], *reconcile.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue, c.pool
}

// Queue adds the controller's hooks to those of a queue.
func (c *Controller) Queue(trace workqueue.Trace[types.NamespacedName]) workqueue.Trace[types.NamespacedName] {
	return trace.Then(workqueue.Trace[types.NamespacedName]{OnAsk: c.ask, OnGet: c.take})
}

// Pool adds the controller's hooks to those of a pool.
func (c *Controller) Pool(trace reconcile.Trace) reconcile.Trace {
	return trace.Then(reconcile.Trace{OnReconcile: c.reconciled, OnStaleWait: c.stale})
}

// Dropped is a queue for handler.WhenElse: it takes the keys of changes that a
// predicate of this name has dropped, and only writes down that it was so.
func (c *Controller) Dropped(by string) Dropped { return Dropped{c, by} }

// Dropped is what a predicate keeps from a queue.
type Dropped struct {
	of *Controller
	by string
}

// Add writes down that a change was dropped.
func (d Dropped) Add(key types.NamespacedName, cause workqueue.Cause) { d.of.drop(key, d.by, cause) }

// AddUrgent is Add.
func (d Dropped) AddUrgent(key types.NamespacedName, cause workqueue.Cause) { d.Add(key, cause) }

// AddLow is Add.
func (d Dropped) AddLow(key types.NamespacedName, cause workqueue.Cause) { d.Add(key, cause) }

// Reset does nothing: there is nothing to forget.
func (Dropped) Reset(types.NamespacedName) {}

func (c *Controller) ask(key types.NamespacedName, asked workqueue.Asked) {
	now := time.Now()
	a := askOf(asked.Cause, now)
	a.from, a.to, a.urgent, a.low = asked.From, asked.To, asked.Urgent, asked.Low
	if !asked.Due.IsZero() {
		a.due = asked.Due.UnixNano()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.asked[a.source] += uint64(a.count)
	if a.from == a.to {
		c.counts.shared += uint64(a.count)
	}
	h := c.historyLocked(key)
	h.note(a)
	c.weighLocked(h)
}

func (c *Controller) drop(key types.NamespacedName, by string, cause workqueue.Cause) {
	a := askOf(cause, time.Now())
	a.by = by
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.dropped[by] += uint64(a.count)
	h := c.historyLocked(key)
	h.note(a)
	c.weighLocked(h)
}

func askOf(cause workqueue.Cause, now time.Time) ask {
	a := ask{
		source: cause.Source, event: cause.Event, name: cause.Name, count: int64(max(cause.Count, 1)),
		old: versionOf(cause.OldRV), new: versionOf(cause.NewRV), first: now.UnixNano(), last: now.UnixNano(),
	}
	if !cause.First.IsZero() {
		a.received = cause.First.UnixNano()
	}
	return a
}

func (c *Controller) take(key types.NamespacedName, waited time.Duration) {
	now := time.Now().UnixNano()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.waited = waited
	h := c.historyLocked(key)
	h.begin(now, waited)
	c.weighLocked(h)
}

func (c *Controller) reconciled(done reconcile.Reconciled) {
	now := time.Now().UnixNano()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.runs++
	h := c.historyLocked(done.Key)
	r := h.end(now)
	r.took, r.outcome, r.after = done.Took, done.Outcome, done.Result.RequeueAfter
	if done.Err != nil {
		c.counts.failed++
		r.after, r.err = 0, cut(done.Err.Error())
		if panicked := (*reconcile.PanicError)(nil); errors.As(done.Err, &panicked) {
			c.counts.panicked++
			r.panicked = true
		}
	}
	h.because(done.Causes)
	c.weighLocked(h)
}

func (c *Controller) stale(key types.NamespacedName, _ time.Duration, err error) {
	now := time.Now().UnixNano()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.stale++
	h := c.historyLocked(key)
	r := h.end(now)
	r.stale, r.err = true, cut(err.Error())
	c.weighLocked(h)
}

func cut(text string) string {
	if len(text) <= keptError {
		return text
	}
	return strings.ToValidUTF8(text[:keptError], "") + "…"
}

// historyLocked finds the history of a key, or begins one, and makes it the
// freshest.
func (c *Controller) historyLocked(key types.NamespacedName) *history {
	h := c.histories[key]
	if h == nil {
		key = types.NamespacedName{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}
		h = &history{key: key}
		c.histories[key] = h
	} else {
		c.unlinkLocked(h)
	}
	h.longerAgo, h.fresher = c.freshest, nil
	if c.freshest != nil {
		c.freshest.fresher = h
	} else {
		c.oldest = h
	}
	c.freshest = h
	return h
}

func (c *Controller) unlinkLocked(h *history) {
	if h.fresher != nil {
		h.fresher.longerAgo = h.longerAgo
	} else {
		c.freshest = h.longerAgo
	}
	if h.longerAgo != nil {
		h.longerAgo.fresher = h.fresher
	} else {
		c.oldest = h.fresher
	}
	h.fresher, h.longerAgo = nil, nil
}

// weighLocked counts what a history costs now, and forgets the oldest while all
// together cost too much.
func (c *Controller) weighLocked(h *history) {
	size := h.size()
	c.bytes += size - h.bytes
	h.bytes = size
	for c.bytes > c.budget && c.oldest != h {
		gone := c.oldest
		c.unlinkLocked(gone)
		delete(c.histories, gone.key)
		c.bytes -= gone.bytes
		c.forgotten++
	}
}

// Memory is how many keys are remembered, in how many bytes of how many, and how
// many were forgotten for lack of room.
type Memory struct {
	Keys      int    `json:"keys"`
	Bytes     int    `json:"bytes"`
	Budget    int    `json:"budget"`
	Forgotten uint64 `json:"forgotten"`
}

func (c *Controller) memoryLocked() Memory {
	return Memory{Keys: len(c.histories), Bytes: c.bytes, Budget: c.budget, Forgotten: c.forgotten}
}

// clone copies what may change later.
func (n counts) clone() counts {
	n.asked, n.dropped = maps.Clone(n.asked), maps.Clone(n.dropped)
	return n
}
