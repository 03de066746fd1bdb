package workqueue

import "time"

// State is where a key stands.
type State uint8

// The six states of a key.
const (
	// Idle: nobody has asked for it. The queue remembers an idle key only
	// while it has failures that were not forgotten.
	Idle State = iota
	// Waiting for the time that AddAfter named.
	Waiting
	// BackingOff after a failure: an ordinary Add does not end this early.
	BackingOff
	// Ready for the next Get.
	Ready
	// Processing: a worker has it, and nobody has asked for another run now.
	// A delay or a backoff that was asked for meanwhile begins to bind at Done.
	Processing
	// Dirty: a worker has it, and it has to run again at once after Done.
	Dirty
	states = iota
)

func (s State) String() string {
	return [...]string{"idle", "waiting", "backing off", "ready", "processing", "processing and dirty"}[s]
}

// wish is what a key is to do next: one of Idle, Waiting, BackingOff and Ready.
// Of a key that a worker holds, it is what happens at Done.
type wish struct {
	// due, in the queue's nanoseconds: of Waiting and BackingOff, when that
	// ends; of Ready, since when it is so.
	due int64
	// floor, of a backoff that Release may shorten, is the end of the pause that
	// the server asked for: in seconds, so that it fits in here, rounded up, and
	// never 0. Of everything else it is 0.
	floor uint32
	state State
	marks mark
}

// mark is what else is to be known about a wish. (It is a set and not a field
// each, since Go keeps a struct in registers only up to its fourth field, and a
// wish is handed around in every Add.)
type mark uint8

const (
	urgent   mark = 1 << iota // of Ready: a failure does not push it back
	ahead                     // one who asks for it did so urgently, or it is the retry of such a run
	ofLow                     // all who ask for it are of the low lane
	released                  // it is the end of a backoff that Release has shortened

	place = ahead | ofLow // these say where in the lanes it is
)

func (w wish) is(m mark) bool { return w.marks&m != 0 }

func (w wish) delayed() bool { return w.state == Waiting || w.state == BackingOff }

// sameTime tells whether w and v are one state, at one time.
func (w wish) sameTime(v wish) bool { return w.state == v.state && w.due == v.due }

// merge is the state machine. It says what a key does next, which was to do
// have, when somebody asks for ask; held tells whether a worker has the key, and
// works for the object that it stands for now. The first rule, who asks first gets
// what he asks for, is apart from the others since it is the one that nearly every
// Add comes to.
func merge(held bool, have, ask wish) wish {
	if have.state == Idle {
		return ask
	}
	return combine(held, have, ask)
}

func combine(held bool, have, ask wish) wish {
	next := choose(held, have, ask)
	next.marks = next.marks&^ofLow | ask.marks&have.marks&ofLow | (ask.marks|have.marks)&ahead
	if next.state == Ready && have.state == Ready {
		next.due = have.due
	}
	return next
}

// choose has the other rules, in the order of the cases:
//
//   - who asks urgently gets what he asks for;
//   - what was asked for urgently stays so until it has run;
//   - a backoff is a floor: only an earlier backoff moves it;
//   - a failure pushes back the ordinary asks that came in while the failing
//     run was at work (else a key that fails and hears of itself spins: 235,000
//     runs in 300 ms were seen), but not a key that is ready without a worker:
//     its run is still to come, and will tell;
//   - then the earliest wins, and there is one run for all who asked.
func choose(held bool, have, ask wish) wish {
	switch {
	case ask.is(urgent):
		return ask
	case have.is(urgent):
		return have
	case have.state == BackingOff && ask.state != BackingOff:
		return have
	case ask.state == BackingOff && have.state == Ready && !held:
		return have
	case ask.state == BackingOff && have.state != BackingOff:
		return ask
	case have.state == Ready:
		return have
	case ask.state == Ready || ask.due < have.due:
		return ask
	default:
		return have
	}
}

// entry is a key that the queue knows. It hangs in exactly one place, which
// follows from hold, wish and failures: the list of keys at work, a lane (Ready),
// the heap (Waiting, BackingOff) or one of the two lists of idle keys. Of those
// in the heap, the ones that Release may shorten are in a list beside it, too.
//
// Its size counts: 100,000 keys may back off. It is 112 bytes with keys of 32,
// which is one of the allocator's sizes; eight more would be sixteen.
type entry[K comparable] struct {
	key  K
	wish wish

	at       int32  // its index in the heap, while it is there
	failures int32  // since the last Forget or Reset
	order    uint32 // breaks ties in the heap: who was asked for first runs first
	hash     uint32 // of the key, in the queue's table

	prev, next *entry[K] // in the one list that it is in

	tenant *tenant[K]
	hold   *hold   // not nil while a worker has it, between Get and Done
	causes *reason // of the next run; at most Config.MaxCauses
	later  *reason // of the delay or the backoff that wish is, if its time has not come
}

// hold is what there is to know about a key while a worker has it.
type hold struct {
	started int64
	marks   mark    // of the wish that brought it
	renewed bool    // by Reset since: what its run comes to is not the next object's
	reasons *reason // of the run; they do not change
	causes  []Cause // the same, for the worker
}

// tell makes the causes, which the worker may read until Done. The worker does
// that itself, without the queue's lock.
func (h *hold) tell(epoch time.Time) []Cause {
	h.causes = appendCauses(h.causes[:0], h.reasons, epoch)
	return h.causes
}

// held tells whether a worker has the key for the object that it stands for now.
func (e *entry[K]) held() bool { return e.hold != nil && !e.hold.renewed }

func (e *entry[K]) state() State {
	switch {
	case e.hold == nil:
		return e.wish.state
	case e.wish.state == Ready:
		return Dirty
	default:
		return Processing
	}
}

// list is a doubly linked list through entry.prev and entry.next, so that a
// key moves from place to place without an allocation.
type list[K comparable] struct {
	head, tail *entry[K]
	n          int
}

func (l *list[K]) push(e *entry[K]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.n++
}

func (l *list[K]) remove(e *entry[K]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	l.n--
}

func (l *list[K]) pop() *entry[K] {
	e := l.head
	if e != nil {
		l.remove(e)
	}
	return e
}
