package workqueue

// The two lanes.
const (
	news = iota
	low  // the keys of an initial list or a resync, which nothing has happened to
)

// lanes is all keys that are Ready.
type lanes[K comparable] struct {
	lane    [2]lane[K]
	tenants map[string]*tenant[K] // of every key that the queue knows

	// passed is how many news have gone out past a waiting low key since the
	// last low one did. The bound is in keys and not in seconds: after a
	// restart every low key is old, and a bound in seconds would turn the
	// lanes around just then.
	passed int
}

// lane gives each tenant (a namespace, usually) one key in turn. So one
// namespace's flood of 10,000 keys costs another's single key one turn of each
// tenant that has something ready, and not 10,000.
type lane[K comparable] struct {
	first, last *tenant[K] // the ring: who is served next, who is served last
	n           int        // keys in the lane
}

// tenant lives as long as the queue knows a key of its.
type tenant[K comparable] struct {
	name string
	keys int // that the queue knows, in any state
	line [2]line[K]
}

// line is a tenant's keys in one lane: those that are ahead, which go first, so
// that what is at work ends before more is begun, and the others; each in the
// order in which they came there. Other tenants do not notice.
//
// The tenant is in the lane's ring while it has some. One that lost its only key
// to the other lane stays there, without any, until its turn.
type line[K comparable] struct {
	ahead, plain list[K]
	// passed is how many of those ahead have gone out past a plain one that
	// waited, since the last plain one did.
	passed int
	inRing bool
	next   *tenant[K] // in the ring
}

func laneOf[K comparable](e *entry[K]) int {
	if e.wish.is(ofLow) {
		return low
	}
	return news
}

func (l *lanes[K]) len() int { return l.lane[news].n + l.lane[low].n }

func (l *lanes[K]) push(e *entry[K]) {
	which := laneOf(e)
	lane, line := &l.lane[which], &e.tenant.line[which]
	if !line.inRing {
		lane.queue(e.tenant, which)
	}
	line.of(e).push(e)
	lane.n++
}

func (l *lanes[K]) remove(e *entry[K]) {
	which := laneOf(e)
	lane := &l.lane[which]
	e.tenant.line[which].of(e).remove(e)
	if lane.n--; lane.n == 0 {
		lane.clear(which)
	}
}

// pop takes the next key: news first, but one key of every lowEvery is a low
// one while both lanes have some.
func (l *lanes[K]) pop(lowEvery, plainEvery int) *entry[K] {
	if l.lane[low].n == 0 {
		return l.lane[news].pop(news, plainEvery)
	}
	if l.lane[news].n == 0 || l.passed >= lowEvery-1 {
		l.passed = 0
		return l.lane[low].pop(low, plainEvery)
	}
	l.passed++
	return l.lane[news].pop(news, plainEvery)
}

func (l *lane[K]) pop(which, plainEvery int) *entry[K] {
	for l.first != nil {
		t := l.first
		line := &t.line[which]
		l.first, line.next, line.inRing = line.next, nil, false
		e := line.pop(plainEvery)
		if line.len() > 0 {
			l.queue(t, which)
		}
		if e == nil {
			continue
		}
		if l.n--; l.n == 0 {
			l.clear(which)
		}
		return e
	}
	return nil
}

func (l *line[K]) len() int { return l.ahead.n + l.plain.n }

func (l *line[K]) of(e *entry[K]) *list[K] {
	if e.wish.is(ahead) {
		return &l.ahead
	}
	return &l.plain
}

// pop takes the next key: one that is ahead, but one key of every plainEvery is
// a plain one while there are both.
func (l *line[K]) pop(plainEvery int) *entry[K] {
	if l.plain.n == 0 {
		return l.ahead.pop()
	}
	if l.ahead.n == 0 || l.passed >= plainEvery-1 {
		l.passed = 0
		return l.plain.pop()
	}
	l.passed++
	return l.ahead.pop()
}

// queue puts t at the end of the ring.
func (l *lane[K]) queue(t *tenant[K], which int) {
	if l.first == nil {
		l.first = t
	} else {
		l.last.line[which].next = t
	}
	l.last, t.line[which].inRing = t, true
}

// clear takes from the ring who stayed there without keys.
func (l *lane[K]) clear(which int) {
	for t := l.first; t != nil; {
		line := &t.line[which]
		t, line.next, line.inRing = line.next, nil, false
	}
	l.first = nil
}

// admit finds the tenant of one more key.
func (l *lanes[K]) admit(name string) *tenant[K] {
	t := l.tenants[name]
	if t == nil {
		t = &tenant[K]{name: name}
		l.tenants[name] = t
	}
	t.keys++
	return t
}

// dismiss is for a key that the queue forgets.
func (l *lanes[K]) dismiss(t *tenant[K]) {
	if t.keys--; t.keys == 0 {
		delete(l.tenants, t.name)
	}
}
