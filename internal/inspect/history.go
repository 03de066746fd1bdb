package inspect

import (
	"math"
	"strings"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

const (
	// keptAsks and keptRuns bound what is remembered of one key. A TaskRun of some
	// steps is asked for some twenty times in its life, and runs about as often; a
	// key in a hot loop fills both in no time, and then keeps the latest.
	keptAsks, keptRuns = 32, 16
	// keptError bounds the text of an error, in bytes.
	keptError = 256
)

// version is a resourceVersion, kept in place: the string that came is a part of
// its object's, which must not be kept for its sake. Servers give numbers of at
// most 20 digits; what is longer is cut.
type version struct {
	n     uint8
	bytes [23]byte
}

func versionOf(s string) (v version) {
	v.n = uint8(copy(v.bytes[:], s))
	return v
}

func (v *version) String() string { return string(v.bytes[:v.n]) }

// ask is one ask for a run of a key, or several of the same kind in a row; or a
// change that a predicate has dropped before it became one.
type ask struct {
	source, event, name string
	by                  string // the predicate that dropped it; empty if none did
	old, new            version
	count               int64
	received            int64 // when the first event reached the process; 0: not known
	first, last         int64
	due                 int64 // the end of the delay or backoff that the key then had; 0: none
	from, to            workqueue.State
	urgent, low         bool
}

// same tells whether a later ask is one more of the kind of a.
func (a *ask) same(b *ask) bool {
	return a.source == b.source && a.event == b.event && a.name == b.name && a.by == b.by &&
		a.from == b.from && a.to == b.to && a.urgent == b.urgent && a.low == b.low
}

// run is one turn of a key in a worker's hands.
type run struct {
	taken, ended int64 // 0: not yet
	waited       time.Duration
	took         time.Duration // in the reconcile function
	after        time.Duration // Result.RequeueAfter
	outcome      reconcile.Outcome
	stale        bool // it was not reconciled: a cache was behind
	panicked     bool
	err          string
}

// history is what is remembered of one key.
type history struct {
	key types.NamespacedName

	asks   ring[ask]
	runs   ring[run]
	causes []ask // of the last run that has ended

	total uint64 // runs there have been since this history began
	heat  float64
	at    int64 // when heat was right

	bytes              int // what this history costs
	fresher, longerAgo *history
}

// warmth is over how long a run warms its key: after that long it counts for a
// third of one, so that heat divided by it is about the rate of late.
const warmth = time.Minute

// heatAt is heat at a later time.
func (h *history) heatAt(now int64) float64 {
	return h.heat * math.Exp(-float64(now-h.at)/float64(warmth))
}

// note remembers an ask, as one more of the last one if it is of the same kind
// and no run has begun since.
func (h *history) note(a ask) {
	if last := h.asks.last(); last != nil && last.same(&a) && !h.ranSince(last.last) {
		last.count, last.last, last.due, last.new = last.count+a.count, a.last, a.due, a.new
		return
	}
	a.name = h.known(a.name)
	h.asks.push(a, keptAsks)
}

// ranSince tells whether a worker has taken the key since.
func (h *history) ranSince(at int64) bool {
	last := h.runs.last()
	return last != nil && last.taken >= at
}

// known is a name as it is kept already, or a copy: what comes is a part of an
// object, which must not be kept for its sake.
func (h *history) known(name string) string {
	for i := h.asks.n - 1; i >= 0; i-- {
		if at := h.asks.at(i); at.name == name {
			return at.name
		}
	}
	return strings.Clone(name)
}

// begin remembers that a worker has taken the key.
func (h *history) begin(now int64, waited time.Duration) {
	h.runs.push(run{taken: now, waited: waited}, keptRuns)
	h.heat = h.heatAt(now) + 1
	h.at = now
	h.total++
}

// end is the run that is at work; one of its own if that began before the history
// did.
func (h *history) end(now int64) *run {
	last := h.runs.last()
	if last == nil || last.ended != 0 {
		h.runs.push(run{taken: now}, keptRuns)
		last = h.runs.last()
	}
	last.ended = now
	return last
}

// because keeps the causes of the run that has ended.
func (h *history) because(causes []workqueue.Cause) {
	h.causes = h.causes[:0]
	for _, c := range causes {
		h.causes = append(h.causes, ask{
			source: c.Source, event: c.Event, name: h.known(c.Name), count: int64(c.Count),
			old: versionOf(c.OldRV), new: versionOf(c.NewRV), first: c.First.UnixNano(), last: c.Last.UnixNano(),
		})
	}
}

// size is what the history costs: its tables, its names and errors. Strings that
// name stages and events are constants of the program and not counted.
func (h *history) size() int {
	n := int(unsafe.Sizeof(*h)) + mapCost + len(h.key.Namespace) + len(h.key.Name)
	n += cap(h.asks.all)*int(unsafe.Sizeof(ask{})) + cap(h.runs.all)*int(unsafe.Sizeof(run{})) + cap(h.causes)*int(unsafe.Sizeof(ask{}))
	seen := ""
	for i := range h.asks.all {
		if name := h.asks.all[i].name; name != seen { // where children take turns it is counted too high
			n += len(name)
			seen = name
		}
	}
	for i := range h.runs.all {
		n += len(h.runs.all[i].err)
	}
	return n
}

// mapCost is about what an entry of the map of histories takes: its key, its
// pointer, and the room that a map leaves.
const mapCost = 80

// ring is the latest of what was pushed. It grows by doubling, up to its limit.
type ring[T any] struct {
	all     []T
	from, n int
	lost    uint64 // how many there have been that it has no more
}

func (r *ring[T]) at(i int) *T {
	if i += r.from; i >= len(r.all) {
		i -= len(r.all)
	}
	return &r.all[i]
}

func (r *ring[T]) last() *T {
	if r.n == 0 {
		return nil
	}
	return r.at(r.n - 1)
}

func (r *ring[T]) push(v T, limit int) {
	if r.n == len(r.all) && r.n < limit {
		r.grow(min(max(2*r.n, 2), limit))
	}
	if r.n < len(r.all) {
		r.n++
	} else {
		if r.from++; r.from == len(r.all) {
			r.from = 0
		}
		r.lost++
	}
	*r.last() = v
}

func (r *ring[T]) grow(to int) {
	all := make([]T, to)
	for i := range r.n {
		all[i] = *r.at(i)
	}
	r.all, r.from = all, 0
}
