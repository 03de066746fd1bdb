package workqueue_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

// The model keeps, for each key, the list of all wishes since its last run, and
// looks through it whenever somebody wants to know what the key does next. The
// queue must come to the same answer from the one wish that it keeps.
type model struct {
	t    *testing.T
	q    *workqueue.Queue[string]
	now  time.Duration // since the start
	keys map[string]*modelKey
	down bool

	nextRelease time.Duration

	lanes  [2]modelLane // news, low
	passed int          // news since the last low key, while there were low keys
	log    []string
}

type modelKey struct {
	held, ready   bool // ready: it lies in a lane
	urgent, plain bool // somebody asked by AddUrgent; by Add or AddLow
	delays        []modelDelay
	backoffs      []modelDelay
	asked, allLow bool
	ahead         bool // somebody asked by AddUrgent, or it is the retry of such a run
	ranLow        bool
	ranAhead      bool
	ranReleased   bool // the run at work came because of a Release
	renewed       bool // the run at work is that of an object before a Reset
	failures      int
	told          []string // the events that the next run has to account for, in order
}

// A modelDelay is a delay or a backoff.
type modelDelay struct {
	due   time.Duration
	event string

	troubled bool          // a backoff that Release may end
	pause    time.Duration // it may not before this
	released bool          // it has
}

// A modelLane knows the order in which each namespace's keys became ready, and those
// of them that are ahead came to be so, how many turns others have had while a
// namespace was waiting, and how many keys have gone past its plain ones.
type modelLane struct {
	keys   map[string]map[bool][]string // by whether they are ahead
	turns  map[string]map[string]int
	passed map[string]int
}

const (
	modelLowEvery   = 3
	modelPlainEvery = 3
	modelCauses     = 3
	modelGap        = 7 * time.Millisecond
)

var modelNames = []string{"a/1", "a/2", "a/3", "b/1", "b/2", "c/1"}

func modelLimiter(failures int, _ time.Duration) time.Duration {
	return time.Duration(failures+1) * 10 * time.Millisecond
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, keys: map[string]*modelKey{}}
	m.q = workqueue.New(workqueue.Config[string]{
		Limiter:    modelLimiter,
		LowEvery:   modelLowEvery,
		PlainEvery: modelPlainEvery,
		MaxCauses:  modelCauses,
		Namespace:  func(k string) string { return k[:1] },
	})
	for _, k := range modelNames {
		m.keys[k] = &modelKey{}
	}
	for i := range m.lanes {
		m.lanes[i] = modelLane{map[string]map[bool][]string{}, map[string]map[string]int{}, map[string]int{}}
		for _, k := range modelNames {
			m.lanes[i].keys[k[:1]] = map[bool][]string{}
		}
	}
	return m
}

// pending is the delay or the backoff, of those since its last run, that says
// when the key should run; nil if none does.
func (k *modelKey) pending() *modelDelay {
	switch {
	case k.urgent:
		return nil
	case len(k.backoffs) > 0:
		return earliest(k.backoffs)
	case k.plain || len(k.delays) == 0:
		return nil
	default:
		return earliest(k.delays)
	}
}

func earliest(delays []modelDelay) *modelDelay {
	first := &delays[0]
	for i := range delays {
		if delays[i].due < first.due {
			first = &delays[i]
		}
	}
	return first
}

// next is when the key should run, from the wishes since its last run.
func (k *modelKey) next() (at time.Duration, asked bool) {
	if d := k.pending(); d != nil {
		return d.due, true
	}
	return 0, k.urgent || k.plain
}

// pass is what the clock does: a delay that says when the key should run is a
// cause once that time has come.
func (k *modelKey) pass(before, now time.Duration) {
	if d := k.pending(); d != nil && before < d.due && d.due <= now {
		k.told = append(k.told, d.event)
	}
}

// account is how a set with room for modelCauses tells these events.
func account(events []string) string {
	var lines []string
	counts := map[string]int{}
	for _, event := range events {
		if counts[event] == 0 && len(lines) >= modelCauses-1 {
			event = workqueue.Others
		}
		if counts[event]++; counts[event] == 1 {
			lines = append(lines, event)
		}
	}
	for i, event := range lines {
		lines[i] = fmt.Sprint(event, "×", counts[event])
	}
	return strings.Join(lines, " ")
}

func accountOf(causes []workqueue.Cause) string {
	lines := make([]string, len(causes))
	for i, c := range causes {
		lines[i] = fmt.Sprint(c.Event, "×", c.Count)
	}
	return strings.Join(lines, " ")
}

// atOnce: it runs without waiting for any time.
func (k *modelKey) atOnce() bool { return k.urgent || k.plain && len(k.backoffs) == 0 }

func (k *modelKey) state() workqueue.State {
	_, asked := k.next()
	switch {
	case k.held && k.atOnce():
		return workqueue.Dirty
	case k.held:
		return workqueue.Processing
	case k.ready:
		return workqueue.Ready
	case !asked:
		return workqueue.Idle
	case len(k.backoffs) > 0:
		return workqueue.BackingOff
	default:
		return workqueue.Waiting
	}
}

func (k *modelKey) clear() {
	*k = modelKey{held: k.held, ranLow: k.ranLow, ranAhead: k.ranAhead, ranReleased: k.ranReleased, renewed: k.renewed, failures: k.failures}
}

// news notes a wish to run now, and says for whom.
func (m *model) news(name, event string, low, ahead bool) *modelKey {
	k := m.ask(name, low, ahead)
	k.told = append(k.told, event)
	return k
}

// ask notes one wish; what kind it is of is noted by the caller.
func (m *model) ask(name string, low, ahead bool) *modelKey {
	k := m.keys[name]
	moves := k.ready && (k.allLow && !low || !k.ahead && ahead)
	if moves {
		m.leave(name)
	}
	k.allLow = low && (k.allLow || !k.asked)
	k.ahead = k.ahead || ahead
	k.asked = true
	if moves {
		m.enter(name)
	}
	return k
}

// lane is the number of the one that a key that is ready lies in.
func (k *modelKey) lane() int {
	if k.allLow {
		return 1
	}
	return 0
}

func (m *model) enter(name string) {
	k, ns := m.keys[name], name[:1]
	l := m.lanes[k.lane()]
	if l.of(ns) == 0 {
		l.turns[ns] = map[string]int{}
	}
	l.keys[ns][k.ahead] = append(l.keys[ns][k.ahead], name)
}

func (m *model) leave(name string) {
	k, ns := m.keys[name], name[:1]
	keys := m.lanes[k.lane()].keys[ns]
	i := slices.Index(keys[k.ahead], name)
	keys[k.ahead] = slices.Delete(keys[k.ahead], i, i+1)
}

// settle puts keys whose time has come into their lanes.
func (m *model) settle() {
	for {
		first, at := "", time.Duration(0)
		for _, name := range modelNames {
			k := m.keys[name]
			if due, asked := k.next(); asked && !k.held && !k.ready && due <= m.now && (first == "" || due < at) {
				first, at = name, due
			}
		}
		if first == "" {
			return
		}
		m.keys[first].ready = true
		m.enter(first)
	}
}

// got checks that the key that Get chose was one that it might choose.
func (m *model) got(name string, causes []workqueue.Cause) {
	k := m.keys[name]
	if k == nil || !k.ready {
		m.fatalf("Get returned %q, which is not ready", name)
	}
	m.checkLane(k.lane())
	m.checkTurn(k.lane(), name)
	m.checkLine(k.lane(), name)
	m.leave(name)
	if got, want := accountOf(causes), account(k.told); got != want {
		m.fatalf("the causes of %s are %s; the model says %s", name, got, want)
	}
	for i := range causes[1:] {
		if causes[i+1].First.Before(causes[i].First) {
			m.fatalf("the causes of %s are not in the order of their times: %+v", name, causes)
		}
	}
	d := k.pending()
	k.held, k.ranLow, k.ranAhead, k.ranReleased, k.renewed = true, k.allLow, k.ahead, d != nil && d.released, false
	k.clear()
}

func (m *model) checkLane(lane int) {
	news, low := m.lanes[0].len(), m.lanes[1].len()
	want := 0
	if news == 0 || low > 0 && m.passed == modelLowEvery-1 {
		want = 1
	}
	if lane != want {
		m.fatalf("Get served lane %d with %d news and %d low ready, %d news since the last low", lane, news, low, m.passed)
	}
	switch {
	case lane == 1:
		m.passed = 0
	case low > 0:
		m.passed++
	}
}

func (m *model) checkTurn(lane int, name string) {
	l, ns := m.lanes[lane], name[:1]
	l.turns[ns] = map[string]int{}
	for other := range l.keys {
		if other == ns || l.of(other) == 0 {
			continue
		}
		if l.turns[other][ns]++; l.turns[other][ns] > 1 {
			m.fatalf("namespace %s had a second turn while %s waited", ns, other)
		}
	}
}

// checkLine: within a namespace, first those that are ahead, but for every third, and
// each kind in its order.
func (m *model) checkLine(lane int, name string) {
	l, ns, ahead := m.lanes[lane], name[:1], m.keys[name].ahead
	keys := l.keys[ns]
	if want := len(keys[true]) > 0 && (len(keys[false]) == 0 || l.passed[ns] < modelPlainEvery-1); ahead != want {
		m.fatalf("Get returned %s, ahead: %v, where %v are ahead and %v are not, and %d have passed", name, ahead, keys[true], keys[false], l.passed[ns])
	}
	if first := keys[ahead][0]; first != name {
		m.fatalf("Get returned %s before %s, which was there sooner", name, first)
	}
	switch {
	case !ahead:
		l.passed[ns] = 0
	case len(keys[false]) > 0:
		l.passed[ns]++
	}
}

func (l modelLane) len() (n int) {
	for ns := range l.keys {
		n += l.of(ns)
	}
	return n
}

// of is how many keys a namespace has there.
func (l modelLane) of(ns string) int { return len(l.keys[ns][true]) + len(l.keys[ns][false]) }

func (m *model) done(name string) {
	k := m.keys[name]
	if !k.held {
		return
	}
	k.held = false
	if m.down && !k.atOnce() {
		k.clear()
	}
}

func (m *model) reset(name string) {
	k := m.keys[name]
	k.failures = 0
	k.renewed = k.held
	if !k.ready && !k.atOnce() {
		k.clear()
	}
}

func (m *model) shutDown() {
	m.down = true
	for _, k := range m.keys {
		if !k.held && !k.ready {
			k.clear()
		}
	}
}

// step does one move on both.
func (m *model) step(op, arg int, name string) {
	m.sleep(time.Microsecond) // so that no two due times are the same
	d := time.Duration(arg) * 10 * time.Millisecond
	c := workqueue.Cause{Source: "test", Event: fmt.Sprint("event-", arg)}
	k := m.keys[name]
	ignored := m.down && (op <= 4 || op == 11)
	switch op {
	case 0:
		m.sayf("Add %s", name)
		m.q.Add(name, c)
		if !ignored {
			m.news(name, c.Event, false, false).plain = true
		}
	case 1:
		m.sayf("AddLow %s", name)
		m.q.AddLow(name, c)
		if !ignored {
			m.news(name, c.Event, true, false).plain = true
		}
	case 2:
		m.sayf("AddUrgent %s", name)
		m.q.AddUrgent(name, c)
		if !ignored {
			m.news(name, c.Event, false, true).urgent = true
		}
	case 3:
		m.sayf("AddAfter %s %v", name, d)
		m.q.AddAfter(name, d, c)
		if !ignored && d == 0 {
			m.news(name, c.Event, false, false).plain = true
		} else if !ignored {
			m.ask(name, false, false)
			k.delays = append(k.delays, modelDelay{due: m.now + d, event: c.Event})
		}
	case 4:
		m.sayf("AddRateLimited %s", name)
		m.q.AddRateLimited(name, c)
		if !ignored {
			m.fail(name, true, modelDelay{due: m.now + modelLimiter(k.failures, 0), event: c.Event})
		}
	case 5:
		m.sayf("Forget %s", name)
		m.q.Forget(name)
		k.failures = 0
	case 6:
		m.sayf("Reset %s", name)
		m.q.Reset(name)
		m.reset(name)
	case 7:
		m.get()
	case 8:
		m.sayf("Done %s", name)
		m.q.Done(name)
		m.done(name)
	case 9:
		m.sayf("sleep %v", d)
		m.sleep(d)
	case 10:
		m.sayf("ShutDown")
		m.q.ShutDown()
		m.shutDown()
	case 11:
		pause, longest := max(0, d-20*time.Millisecond), 100*time.Millisecond
		m.sayf("AddTroubled %s %v", name, pause)
		m.q.AddTroubled(name, pause, longest, c)
		if !ignored {
			m.fail(name, modelLimiter(k.failures, 0) < longest, modelDelay{
				due: m.now + max(pause, min(modelLimiter(k.failures, 0), longest)), event: c.Event,
				troubled: !k.held || !k.ranReleased, pause: m.now + pause,
			})
		}
	case 12:
		m.release(arg)
	}
	m.settle()
	m.compare()
	m.compareCauses(name)
}

func (m *model) fail(name string, counts bool, backoff modelDelay) {
	k := m.keys[name]
	m.ask(name, k.held && k.ranLow, k.held && k.ranAhead)
	if !k.ready && !(k.renewed && k.atOnce()) {
		k.backoffs = append(k.backoffs, backoff)
	}
	if counts || k.failures == 0 {
		k.failures++
	}
}

// release looks which keys have come nearer, and whether they were allowed to.
func (m *model) release(n int) {
	before := map[string]time.Time{}
	for _, name := range modelNames {
		before[name] = m.q.Explain(name).Due
	}
	released := m.q.Release(n, modelGap)
	m.sayf("Release %d = %d", n, released)
	if released > n {
		m.fatalf("released %d keys, which are more than %d", released, n)
	}
	type move struct {
		name string
		due  time.Duration
	}
	var moves []move
	start := time.Now().Add(-m.now)
	for _, name := range modelNames {
		if due := m.q.Explain(name).Due; !due.Equal(before[name]) {
			moves = append(moves, move{name, due.Sub(start)})
		}
	}
	slices.SortFunc(moves, func(a, b move) int { return cmp.Compare(a.due, b.due) })
	if len(moves) != released {
		m.fatalf("%d keys have moved: %v", len(moves), moves)
	}
	for _, moved := range moves {
		k := m.keys[moved.name]
		d := k.pending()
		if k.held || k.ready || d == nil || !d.troubled || d.pause > m.now || d.due <= moved.due {
			m.fatalf("%s was released, and is %+v with %+v", moved.name, k, d)
		}
		want := max(m.nextRelease, m.now)
		if moved.due != want {
			m.fatalf("%s was released to %v, want %v", moved.name, moved.due, want)
		}
		m.nextRelease = want + modelGap
		d.due, d.troubled, d.released = moved.due, false, true
		k.pass(m.now-1, m.now) // the first of them is due at once
	}
	synctest.Wait()
}

func (m *model) get() {
	if m.q.Len() == 0 {
		return
	}
	name, causes, err := m.q.Get(context.Background())
	m.sayf("Get = %s %v", name, causes)
	if err != nil {
		m.fatalf("Get: %v", err)
	}
	m.got(name, causes)
}

func (m *model) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	for _, k := range m.keys {
		k.pass(m.now, m.now+d)
	}
	m.now += d
	m.settle()
}

func (m *model) compare() {
	ready := 0
	for _, name := range modelNames {
		k := m.keys[name]
		x := m.q.Explain(name)
		if x.State != k.state() || x.Failures != k.failures || m.q.NumRequeues(name) != k.failures {
			m.fatalf("%s is %v with %d failures, the model says %v with %d", name, x.State, x.Failures, k.state(), k.failures)
		}
		if k.ready {
			ready++
		}
		if x.Low != k.allLow {
			m.fatalf("%s is of the low lane: %v, the model says %v", name, x.Low, k.allLow)
		}
		if x.Ahead != k.ahead {
			m.fatalf("%s is ahead: %v, the model says %v", name, x.Ahead, k.ahead)
		}
	}
	if got := m.q.Len(); got != ready {
		m.fatalf("Len = %d, the model says %d", got, ready)
	}
}

// compareCauses looks at what the queue says that one key has been, and will be,
// asked for.
func (m *model) compareCauses(name string) {
	k := m.keys[name]
	want := account(k.told)
	if d := k.pending(); d != nil && m.now < d.due {
		want = strings.TrimSpace(want + " " + d.event + "×1")
	}
	if got := accountOf(m.q.Explain(name).Causes); got != want {
		m.fatalf("%s waits because of %s; the model says %s", name, got, want)
	}
}

// finish gives everything back and looks that nothing stays behind.
func (m *model) finish() {
	for range 1000 {
		for _, name := range modelNames {
			m.step(8, 0, name)
		}
		for m.q.Len() > 0 {
			m.step(7, 0, modelNames[0])
		}
		m.step(9, 100, modelNames[0])
		s := m.q.Stats()
		if s.Ready+s.Waiting+s.BackingOff+s.Processing+s.Dirty == 0 {
			return
		}
	}
	m.fatalf("the queue does not come to rest: %+v", m.q.Stats())
}

func (m *model) sayf(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%12v  ", m.now)+fmt.Sprintf(format, args...))
}

func (m *model) fatalf(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.log[max(0, len(m.log)-80):] {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

// weights of the moves: Get and Done often enough that keys do go round, and a
// ShutDown only now and then.
var weights = []int{0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 9, 9, 9, 11, 11, 11, 11, 12, 12, 12}

// Claims 1 to 12 and 15 to 17, for any order of calls.
func TestQueueAgreesWithTheModel(t *testing.T) {
	const runs, steps = 150, 300
	for seed := range uint64(runs) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			m := newModel(t)
			m.sayf("seed %d", seed)
			for range steps {
				op := weights[r.IntN(len(weights))]
				if r.IntN(2*steps) == 0 {
					op = 10
				}
				m.step(op, r.IntN(5), modelNames[r.IntN(len(modelNames))])
			}
			m.finish()
		})
		if t.Failed() {
			return
		}
	}
}

// The same with moves chosen by the fuzzer: two bytes each.
func FuzzQueueAgreesWithTheModel(f *testing.F) {
	f.Add([]byte("\x00\x00\x07\x00\x00\x01\x04\x00\x08\x00\x09\x20\x07\x00\x08\x00"))
	f.Add([]byte("\x00\x00\x00\x01\x02\x02\x02\x01\x07\x00\x04\x02\x08\x02\x07\x00\x08\x01\x09\x20\x07\x00\x07\x00"))
	f.Add([]byte("\x00\x00\x07\x00\x06\x00\x00\x00\x04\x00\x08\x00\x07\x00\x08\x00"))
	f.Add([]byte("\x01\x00\x01\x03\x00\x05\x07\x00\x02\x01\x07\x00\x0a\x00\x08\x00"))
	f.Fuzz(func(t *testing.T, moves []byte) {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t)
			for ; len(moves) > 1 && len(m.log) < 1000; moves = moves[2:] {
				arg := int(moves[1])
				m.step(int(moves[0])%13, arg>>4%5, modelNames[arg%len(modelNames)])
			}
			m.finish()
		})
	})
}
