package inspect

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/reflector"
)

// Snapshot is all chains, queues and pools at one moment. Counters begin at the
// start of the program; whoever wants rates compares two snapshots.
type Snapshot struct {
	Now         time.Time            `json:"now"`
	Version     string               `json:"version"`
	Leads       bool                 `json:"leads"`
	Share       *float64             `json:"share,omitempty"` // of the namespaces' hashes; nil if it is not shared
	Resources   []ResourceSnapshot   `json:"resources"`
	Controllers []ControllerSnapshot `json:"controllers"`
}

// ResourceSnapshot is one chain, from the reflector to the store. Ages are in
// seconds.
type ResourceSnapshot struct {
	Name string `json:"name"`

	// Of the reflector: what it does and since when, what keeps it from reflecting,
	// when it tries again, and when the server was last heard in a watch.
	State           string       `json:"state"`
	InState         float64      `json:"inState"`
	Why             string       `json:"why,omitempty"`
	RetryIn         float64      `json:"retryIn,omitempty"`
	Failures        int          `json:"failures,omitempty"`
	LastEvent       float64      `json:"lastEvent"` // -1: never
	Sharded         bool         `json:"sharded,omitempty"`
	Added           uint64       `json:"added"`
	Modified        uint64       `json:"modified"`
	Deleted         uint64       `json:"deleted"`
	Bookmarks       uint64       `json:"bookmarks"`
	Lists           uint64       `json:"lists"`
	Refused         uint64       `json:"refused"`
	Quarantine      []Quarantine `json:"quarantine,omitempty"` // at most 20
	Quarantined     int          `json:"quarantined"`
	ResourceVersion string       `json:"resourceVersion"`

	// Of the FIFO: how many objects wait, and how long the oldest has.
	Backlog int     `json:"backlog"`
	Oldest  float64 `json:"oldest"`

	// Of the store, by tier; and what was read from it: decodes, of which unpacks
	// found the object packed first (so do comparisons with its next state).
	Synced          bool  `json:"synced"`
	PlainObjects    int   `json:"plainObjects"`
	PlainBytes      int64 `json:"plainBytes"`
	PackedObjects   int   `json:"packedObjects"`
	PackedBytes     int64 `json:"packedBytes"`
	DictionaryBytes int64 `json:"dictionaryBytes"`
	SavedBytes      int64 `json:"savedBytes"`
	Decodes         int64 `json:"decodes"`
	Unpacks         int64 `json:"unpacks"`
	Packs           int64 `json:"packs"`
	IndexFailures   int64 `json:"indexFailures"`
}

// ControllerSnapshot is one queue and its pool.
type ControllerSnapshot struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`

	// Of the handlers: asks for a run by who asked, and of those how many found
	// that it would come anyway; changes that a predicate dropped.
	Asked   map[string]uint64 `json:"asked"`
	Shared  uint64            `json:"shared"`
	Dropped map[string]uint64 `json:"dropped"`

	// Of the queue: keys by state, and how long the key that was taken last had been
	// ready.
	Ready      int     `json:"ready"`
	ReadyLow   int     `json:"readyLow"`
	Waiting    int     `json:"waiting"`
	BackingOff int     `json:"backingOff"`
	Processing int     `json:"processing"`
	Dirty      int     `json:"dirty"`
	Adds       uint64  `json:"adds"`
	Retries    uint64  `json:"retries"`
	Waited     float64 `json:"waited"`

	// Of the pool.
	Workers  int      `json:"workers"`
	Busy     int      `json:"busy"`
	Longest  float64  `json:"longest"`
	Runs     uint64   `json:"runs"`
	Failed   uint64   `json:"failed"`
	Panicked uint64   `json:"panicked"`
	Stale    uint64   `json:"stale"`
	Damped   uint64   `json:"damped"`
	Alarms   []Alarm  `json:"alarms,omitempty"` // at most 20
	Alarmed  int      `json:"alarmed"`
	Hottest  []HotKey `json:"hottest"`
	Memory   Memory   `json:"memory"`
}

// Alarm is reconcile.Alarm for people.
type Alarm struct {
	Key   string    `json:"key"`
	Kind  string    `json:"kind"`
	Since time.Time `json:"since"`
	Runs  int       `json:"runs"`
	// Delay is how long it was held back the last time, in seconds, and Until the
	// end of that.
	Delay float64   `json:"delay"`
	Until time.Time `json:"until"`
	Error string    `json:"error,omitempty"`
}

func newAlarm(a reconcile.Alarm) Alarm {
	alarm := Alarm{Key: a.Key.String(), Kind: string(a.Kind), Since: a.Since.UTC(), Runs: a.Runs, Delay: a.Delay.Seconds(), Until: a.Until.UTC()}
	if a.Err != nil {
		alarm.Error = cut(a.Err.Error())
	}
	return alarm
}

// HotKey is a key that runs often, with about how often of late.
type HotKey struct {
	Key       string  `json:"key"`
	PerMinute float64 `json:"perMinute"`
	State     string  `json:"state"`
}

// hottest is how many keys are named for each controller, and named how many
// alarms and objects in quarantine are told of one by one.
const hottest, named = 5, 20

// Snapshot looks at everything. It takes each stage's lock for a moment, one after
// the other.
func (i *Inspector) Snapshot() Snapshot {
	now := time.Now().UTC()
	s := Snapshot{Now: now, Version: i.version, Leads: i.leads(), Resources: []ResourceSnapshot{}, Controllers: []ControllerSnapshot{}}
	if i.share != nil {
		share := i.share()
		s.Share = &share
	}
	resources, controllers := i.all()
	for _, r := range resources {
		if stages := r.stages.Load(); stages != nil {
			s.Resources = append(s.Resources, r.snapshot(stages, now))
		}
	}
	for _, c := range controllers {
		s.Controllers = append(s.Controllers, c.snapshot(now))
	}
	return s
}

func (r *Resource) snapshot(at *stages, now time.Time) ResourceSnapshot {
	status, store := at.source.Status(), at.store.Stats()
	s := ResourceSnapshot{
		Name: r.name, State: status.State.String(), InState: age(status.Since, now), LastEvent: -1, Sharded: status.Sharded,
		Added: r.added.Load(), Modified: r.modified.Load(), Deleted: r.deleted.Load(), Bookmarks: r.bookmarks.Load(), Lists: r.lists.Load(),
		Refused: status.Refused, Quarantined: status.Quarantined, ResourceVersion: at.store.ResourceVersion(),
		Backlog:      at.fifo.Len(),
		PlainObjects: store.Plain.Objects, PlainBytes: store.Plain.Bytes, PackedObjects: store.Packed.Objects, PackedBytes: store.Packed.Bytes,
		DictionaryBytes: store.DictionaryBytes, SavedBytes: store.SavedBytes,
		Decodes: store.Decodes, Unpacks: store.Unpacks, Packs: store.Packs, IndexFailures: store.IndexFailures,
	}
	if !status.LastEvent.IsZero() {
		s.LastEvent = age(status.LastEvent, now)
	}
	if status.Err != nil {
		s.Why = cut(status.Err.Error())
	}
	if f := r.failure.Load(); f != nil && (status.State == reflector.BackingOff || status.State == reflector.Suspended) {
		s.Failures, s.RetryIn = f.Failures, max(0, f.next.Sub(now).Seconds())
	}
	if since, ok := at.fifo.Oldest(); ok {
		s.Oldest = age(since, now)
	}
	select {
	case <-at.store.Synced():
		s.Synced = true
	default:
	}
	for n, q := range at.source.Quarantine() {
		if n == named {
			break
		}
		s.Quarantine = append(s.Quarantine, *quarantineOf(r.name, q))
	}
	return s
}

func quarantineOf(resource string, q reflector.Quarantined) *Quarantine {
	return &Quarantine{Resource: resource, Key: q.Key.String(), ResourceVersion: q.ResourceVersion, Since: q.Since.UTC(), Next: q.Next.UTC(), Attempts: q.Attempts, Error: cut(q.Err.Error())}
}

func age(since, now time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}

func (c *Controller) snapshot(now time.Time) ControllerSnapshot {
	s := ControllerSnapshot{Name: c.name, Resource: c.resource}
	keys := c.remembered(now, &s)
	queue, pool := c.parts()
	if queue != nil {
		q := queue.Stats()
		s.Ready, s.ReadyLow, s.Waiting, s.BackingOff, s.Processing, s.Dirty = q.Ready, q.ReadyLow, q.Waiting, q.BackingOff, q.Processing, q.Dirty
		s.Adds, s.Retries, s.Longest, s.Busy = q.Adds, q.Retries, q.LongestRunning.Seconds(), q.Processing+q.Dirty
	}
	for n, key := range keys {
		s.Hottest[n].State = queue.Explain(key).State.String()
	}
	if pool == nil {
		return s
	}
	s.Workers, s.Damped = pool.Workers(), pool.Damped()
	alarms := pool.Alarms()
	s.Alarmed = len(alarms)
	for _, a := range alarms[:min(named, len(alarms))] {
		s.Alarms = append(s.Alarms, newAlarm(a))
	}
	return s
}

// remembered fills in the counts, and finds the keys that run most often of late.
func (c *Controller) remembered(now time.Time, s *ControllerSnapshot) (keys []types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts.clone()
	s.Asked, s.Shared, s.Dropped, s.Waited = counts.asked, counts.shared, counts.dropped, counts.waited.Seconds()
	s.Runs, s.Failed, s.Panicked, s.Stale = counts.runs, counts.failed, counts.panicked, counts.stale
	s.Memory = c.memoryLocked()
	s.Hottest = []HotKey{}
	if c.queue == nil {
		return nil
	}
	for _, h := range c.hottestLocked(now.UnixNano()) {
		s.Hottest = append(s.Hottest, HotKey{Key: h.key.String(), PerMinute: h.heatAt(now.UnixNano())})
		keys = append(keys, h.key)
	}
	return keys
}

// hottestLocked is the keys that are warm, the hottest first. Those for which
// nothing was noted in ten times warmth are cold, whoever they are.
func (c *Controller) hottestLocked(now int64) (top []*history) {
	for h := c.freshest; h != nil && now-max(h.at, h.touched()) < 10*int64(warmth); h = h.longerAgo {
		if h.heatAt(now) < 0.05 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, h, func(a, b *history) int { return cmp.Compare(b.heatAt(now), a.heatAt(now)) })
		if at < hottest {
			top = slices.Insert(top, at, h)
			top = top[:min(len(top), hottest)]
		}
	}
	return top
}

// touched is when something was last noted.
func (h *history) touched() int64 {
	at := h.at
	if last := h.asks.last(); last != nil {
		at = max(at, last.last)
	}
	if last := h.runs.last(); last != nil {
		at = max(at, last.taken, last.ended)
	}
	return at
}
