package tracing

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"millrace/workqueue"
)

const (
	// mostOfKey asks are remembered for the next run of a key, and mostAsks for all keys
	// of a controller: four megabytes. A run says how many more there were.
	mostOfKey = 32
	mostAsks  = 16384
)

// ask is one reason for the next run of a key.
type ask struct {
	source, event string
	arrival       *arrival          // the event that brought it; nil if none did
	after         trace.SpanContext // the reconcile that asked to be called again
	due           time.Time         // when it wants the run; zero for now
}

// asks is why a key runs next.
type asks struct {
	list   []ask
	missed int // that are not remembered
	stale  int // workers that took the key, and found the cache behind its own writes
}

func (a *asks) events() []ask {
	if a == nil {
		return nil
	}
	return a.list
}

// told are those that the run is for. Of the delays and backoffs that a key was to wait
// for, the queue tells only the one whose time came; what something else has superseded
// is no cause.
func (a *asks) told(causes []workqueue.Cause) []ask {
	all := slices.ContainsFunc(causes, func(c workqueue.Cause) bool { return c.Event == workqueue.Others })
	return slices.DeleteFunc(slices.Clone(a.events()), func(k ask) bool {
		return !all && !slices.ContainsFunc(causes, func(c workqueue.Cause) bool {
			return c.Source == k.source && c.Event == k.event
		})
	})
}

// work is a key that a worker has.
type work struct {
	asks   *asks
	got    time.Time
	waited time.Duration // ready, until then

	run  run
	span trace.Span // the reconcile; nil while there is none, and if it is not traced
	over *ended     // what the reconcile has written of the run's end
}

// asked remembers an ask. It is called with the queue's lock held.
func (c *Controller) asked(key types.NamespacedName, a workqueue.Asked) {
	now := time.Now()
	from := c.tracer.arrivals.of(a.Cause, key.Namespace, key.Name, now)
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[key]
	if c.asks >= mostAsks {
		c.tracer.told.dropped(Forgotten, 1)
		if p != nil {
			p.missed++
		}
		return
	}
	if p == nil {
		p = &asks{}
		c.pending[types.NamespacedName{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}] = p
	}
	if len(p.list) == mostOfKey {
		p.missed++
		c.tracer.told.dropped(Forgotten, 1)
		return
	}
	k := ask{source: a.Cause.Source, event: a.Cause.Event, arrival: from, due: a.Due}
	if w := c.working[key]; w != nil && w.span != nil && k.source == c.name {
		k.after = w.span.SpanContext()
	}
	p.list = append(p.list, k)
	c.asks++
}

// got gives what is remembered to the worker. It is called with the queue's lock held,
// so an ask is for this run or for the next.
func (c *Controller) got(key types.NamespacedName, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[key]
	delete(c.pending, key)
	c.asks -= len(p.events())
	c.working[key] = &work{asks: p, got: time.Now(), waited: waited}
}

// stale gives back what a worker was given, since there was no run.
func (c *Controller) stale(key types.NamespacedName, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.working[key]
	delete(c.working, key)
	if w == nil || w.asks == nil {
		return
	}
	w.asks.stale++
	if next := c.pending[key]; next != nil {
		c.asks -= len(next.list)
		w.asks.list = append(w.asks.list, next.list...)
		if over := len(w.asks.list) - mostOfKey; over > 0 {
			w.asks.list = w.asks.list[:mostOfKey]
			w.asks.missed += over
			c.tracer.told.dropped(Forgotten, over)
		}
		w.asks.missed += next.missed
	}
	c.pending[key] = w.asks
	c.asks += len(w.asks.list)
}
