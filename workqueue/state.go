package workqueue

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
	due    int64 // of Waiting and BackingOff, in the queue's nanoseconds
	state  State
	urgent bool // of Ready: a failure does not push it back
}

func (w wish) delayed() bool { return w.state == Waiting || w.state == BackingOff }

// merge is the state machine. It says what a key does next, which was to do
// have, when somebody asks for ask; held tells whether a worker has the key.
// The rules, in the order of the cases:
//
//   - who asks first, or urgently, gets what he asks for;
//   - what was asked for urgently stays so until it has run;
//   - a backoff is a floor: only an earlier backoff moves it;
//   - a failure pushes back the ordinary asks that came in while the failing
//     run was at work (else a key that fails and hears of itself spins: 235,000
//     runs in 300 ms were seen), but not a key that is ready without a worker:
//     its run is still to come, and will tell;
//   - then the earliest wins, and there is one run for all who asked.
func merge(held bool, have, ask wish) wish {
	switch {
	case have.state == Idle || ask.urgent:
		return ask
	case have.urgent:
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

// entry is a key that the queue knows.
//
// It hangs in exactly one place, which follows from held, wish and failures:
// the list of keys at work, a lane (Ready), the heap (Waiting, BackingOff) or
// one of the two lists of idle keys.
type entry[K comparable] struct {
	key    K
	wish   wish
	held   bool // a worker has it, between Get and Done
	low    bool // everything that asks for the next run is of the low lane
	ranLow bool // the run at work came through the low lane

	at       int32 // its index in the heap, while it is there
	failures int   // since the last Forget or Reset
	since    int64 // when it was last made Ready or Dirty
	started  int64 // when the worker at work took it
	order    int64 // breaks ties in the heap: who was asked for first runs first

	prev, next *entry[K] // in the one list that it is in

	causes []Cause // of the next run; at most Config.MaxCauses
	later  []Cause // of the delay or the backoff that wish is, if its time has not come; at most one
	handed []Cause // of the run at work; the worker's until Done
}

func (e *entry[K]) state() State {
	switch {
	case !e.held:
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
