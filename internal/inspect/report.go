package inspect

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

// Report answers why a key was reconciled, and when it will be again. Times of
// what has not happened are left out.
type Report struct {
	Controller string    `json:"controller"`
	Key        string    `json:"key"`
	Now        time.Time `json:"now"`
	// Leads: this replica does the work. One that does not has no keys in its
	// queues.
	Leads bool `json:"leads"`

	Object     *Object     `json:"object,omitempty"`
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	Queue      Standing    `json:"queue"`
	Alarm      *Alarm      `json:"alarm,omitempty"`

	// Runs is how many there have been since this replica remembers the key.
	Runs uint64 `json:"runs"`
	// PerMinute is about how many there are of late.
	PerMinute float64 `json:"perMinute"`
	// Because are the causes of the last run that has ended.
	Because []Cause `json:"because,omitempty"`
	// Events is what happened, in order; Lost, how many earlier ones are not
	// remembered any more.
	Events []Event `json:"events"`
	Lost   uint64  `json:"lost"`
}

// Object is the object of the key as the cache has it.
type Object struct {
	Resource        string `json:"resource"`
	Cached          bool   `json:"cached"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	UID             string `json:"uid,omitempty"`
	// Bytes is what it takes in the cache, in its tier: plain or packed.
	Bytes int    `json:"bytes,omitempty"`
	Tier  string `json:"tier,omitempty"`
}

// Quarantine is what keeps the newest state of an object out of the cache.
type Quarantine struct {
	Resource        string    `json:"resource"`
	Key             string    `json:"key"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Since           time.Time `json:"since"`
	Next            time.Time `json:"next"`
	Attempts        int       `json:"attempts"`
	Error           string    `json:"error"`
}

// Standing is where a key stands in its queue.
type Standing struct {
	State string `json:"state"`
	// Ahead: it goes before those of its namespace that nobody wants urgently.
	Ahead    bool `json:"ahead,omitempty"`
	Low      bool `json:"low,omitempty"`
	Failures int  `json:"failures,omitempty"`
	// Due is when a delay or a backoff ends.
	Due             time.Time `json:"due,omitzero"`
	ReadySince      time.Time `json:"readySince,omitzero"`
	ProcessingSince time.Time `json:"processingSince,omitzero"`
	// Next are the causes of the run to come, Running those of the one at work.
	Next    []Cause `json:"next,omitempty"`
	Running []Cause `json:"running,omitempty"`
}

// Cause is workqueue.Cause for people.
type Cause struct {
	Source string    `json:"source,omitempty"`
	Event  string    `json:"event"`
	Name   string    `json:"name,omitempty"`
	OldRV  string    `json:"oldRV,omitempty"`
	NewRV  string    `json:"newRV,omitempty"`
	Count  int       `json:"count"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

func (c Cause) String() string {
	return workqueue.Cause{Source: c.Source, Event: c.Event, Name: c.Name, OldRV: c.OldRV, NewRV: c.NewRV, Count: c.Count}.String()
}

func causeOf(c workqueue.Cause) Cause {
	return Cause{c.Source, c.Event, c.Name, c.OldRV, c.NewRV, c.Count, c.First.UTC(), c.Last.UTC()}
}

func causesOf(list []workqueue.Cause) (causes []Cause) {
	for _, c := range list {
		causes = append(causes, causeOf(c))
	}
	return causes
}

func (a *ask) cause() Cause {
	return Cause{a.source, a.event, a.name, a.old.String(), a.new.String(), int(a.count), timeOf(a.first), timeOf(a.last)}
}

// The stages that an Event may be of.
const (
	atPredicate = "predicate"
	atQueue     = "queue"
	atWorker    = "worker"
)

// Event is one thing that happened to a key. Which fields it has depends on the
// stage.
type Event struct {
	Time  time.Time `json:"time"`
	Stage string    `json:"stage"`
	// Text is all that follows, on one line.
	Text string `json:"text"`

	// Of a predicate and a queue: the news that came, when it reached the process,
	// and how long it was in the FIFO and the store before it came here.
	Cause    *Cause        `json:"cause,omitempty"`
	Received time.Time     `json:"received,omitzero"`
	Behind   time.Duration `json:"behindNanoseconds,omitempty"`
	// Of a predicate: which one dropped it.
	Predicate string `json:"predicate,omitempty"`
	// Of a queue: what the ask made of the key, and until when it stays away.
	From   string    `json:"from,omitempty"`
	To     string    `json:"to,omitempty"`
	Due    time.Time `json:"due,omitzero"`
	Urgent bool      `json:"urgent,omitempty"`
	Low    bool      `json:"low,omitempty"`

	// Of a worker: how long the key had been ready when it was taken, how long the
	// reconcile took, and what came of it. A run at work has no outcome yet.
	Waited       time.Duration `json:"waitedNanoseconds,omitempty"`
	Took         time.Duration `json:"tookNanoseconds,omitempty"`
	Ended        time.Time     `json:"ended,omitzero"`
	Outcome      string        `json:"outcome,omitempty"`
	RequeueAfter time.Duration `json:"requeueAfterNanoseconds,omitempty"`
	Error        string        `json:"error,omitempty"`
}

// atWork and behindItsWrites are outcomes beside reconcile's.
const (
	atWork          = "at work"
	behindItsWrites = "not reconciled: a cache was behind the key's own writes"
)

func (a *ask) told() Event {
	cause := a.cause()
	e := Event{Time: timeOf(a.first), Stage: atQueue, Cause: &cause, Received: timeOf(a.received), Due: timeOf(a.due), Urgent: a.urgent, Low: a.low}
	if a.received != 0 {
		e.Behind = time.Duration(a.first - a.received)
	}
	if a.by != "" {
		e.Stage, e.Predicate = atPredicate, a.by
		return e
	}
	e.From, e.To = a.from.String(), a.to.String()
	return e
}

func (r *run) told() Event {
	e := Event{Time: timeOf(r.taken), Stage: atWorker, Waited: r.waited, Took: r.took, Ended: timeOf(r.ended), RequeueAfter: r.after, Error: r.err}
	switch {
	case r.ended == 0:
		e.Outcome = atWork
	case r.stale:
		e.Outcome = behindItsWrites
	case r.panicked:
		e.Outcome = "panic"
	default:
		e.Outcome = string(r.outcome)
	}
	return e
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// utc leaves the zero time what it is: encoding/json looks for that.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// Explain reports on one key of a controller. It is false if nobody knows that
// key: neither the cache, nor the queue, nor what is remembered.
func (i *Inspector) Explain(c *Controller, key types.NamespacedName) (Report, bool) {
	now := time.Now().UTC()
	r := Report{Controller: c.name, Key: key.String(), Now: now, Leads: i.leads(), Events: []Event{},
		Queue: Standing{State: workqueue.Idle.String()}}
	r.Object, r.Quarantine = i.look(c.resource, key)
	queue, pool := c.parts()
	if queue != nil {
		r.Queue = standing(queue.Explain(key))
	}
	if pool != nil {
		r.Alarm = alarmOf(pool.Alarms(), key)
	}
	remembered := c.recall(key, now, &r)
	return r, remembered || r.Object.Cached || r.Quarantine != nil || r.Queue.State != workqueue.Idle.String()
}

// look finds the object of a key where it is kept, and where it is kept out.
func (i *Inspector) look(resource string, key types.NamespacedName) (*Object, *Quarantine) {
	o := &Object{Resource: resource}
	r, ok := i.resource(resource)
	if !ok {
		return o, nil
	}
	stages := r.stages.Load()
	if g, ok := stages.store.Glance(key); ok {
		o.Cached, o.ResourceVersion, o.UID, o.Tier = true, g.ResourceVersion(), string(g.UID()), "plain"
		bytes, packed := g.Size()
		if o.Bytes = bytes; packed {
			o.Tier = "packed"
		}
	}
	for _, q := range stages.source.Quarantine() {
		if q.Key == key {
			return o, quarantineOf(resource, q)
		}
	}
	return o, nil
}

func standing(x workqueue.Explanation) Standing {
	return Standing{
		State: x.State.String(), Ahead: x.Ahead, Low: x.Low, Failures: x.Failures,
		Due: utc(x.Due), ReadySince: utc(x.ReadySince), ProcessingSince: utc(x.ProcessingSince),
		Next: causesOf(x.Causes), Running: causesOf(x.Running),
	}
}

func alarmOf(alarms []reconcile.Alarm, key types.NamespacedName) *Alarm {
	i := slices.IndexFunc(alarms, func(a reconcile.Alarm) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	a := newAlarm(alarms[i])
	return &a
}

// recall fills in what is remembered of a key, if anything is.
func (c *Controller) recall(key types.NamespacedName, now time.Time, r *Report) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.histories[key]
	if h == nil {
		return false
	}
	r.Runs, r.Lost = h.total, h.asks.lost+h.runs.lost
	r.PerMinute = h.heatAt(now.UnixNano()) * float64(time.Minute) / float64(warmth)
	for i := range h.causes {
		r.Because = append(r.Because, h.causes[i].cause())
	}
	for i := range h.asks.n {
		r.Events = append(r.Events, h.asks.at(i).told())
	}
	for i := range h.runs.n {
		r.Events = append(r.Events, h.runs.at(i).told())
	}
	// What is asked for at the very moment at which the key is taken came before.
	for i := range r.Events {
		r.Events[i].Text = r.Events[i].what()
	}
	slices.SortStableFunc(r.Events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return true
}
