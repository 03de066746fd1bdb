package workqueue

// lanes is all keys that are Ready: the news, and behind them the keys of an
// initial list or a resync, which nothing has happened to.
type lanes[K comparable] struct {
	news, low lane[K]

	// passed is how many news have gone out past a waiting low key since the
	// last low one did. The bound is in keys and not in seconds: after a
	// restart every low key is old, and a bound in seconds would turn the
	// lanes around just then.
	passed int
}

func (l *lanes[K]) of(e *entry[K]) *lane[K] {
	if e.low {
		return &l.low
	}
	return &l.news
}

func (l *lanes[K]) len() int { return l.news.n + l.low.n }

// pop takes the next key: news first, but one key of every lowEvery is a low
// one while both lanes have some.
func (l *lanes[K]) pop(lowEvery int) *entry[K] {
	if l.low.n > 0 && (l.news.n == 0 || l.passed >= lowEvery-1) {
		l.passed = 0
		return l.low.pop()
	}
	if l.low.n > 0 {
		l.passed++
	}
	return l.news.pop()
}

// lane gives each tenant (a namespace, usually) one key in turn, and each
// tenant's keys in the order in which they became ready. So one namespace's
// flood of 10,000 keys costs another's single key one turn of each tenant that
// has something ready, and not 10,000.
type lane[K comparable] struct {
	tenants     map[string]*tenant[K] // all in the ring, and some that may come again
	first, last *tenant[K]            // the ring: who is served next, who is served last
	n           int                   // keys in the lane
}

// tenant is in the ring while it has keys. One that lost its only key to the
// other lane stays there, empty, until its turn.
type tenant[K comparable] struct {
	name   string
	keys   list[K]
	inRing bool
	next   *tenant[K]
}

func (l *lane[K]) push(name string, e *entry[K]) {
	t := l.tenants[name]
	if t == nil {
		t = l.admit(name)
	}
	if !t.inRing {
		l.queue(t)
	}
	t.keys.push(e)
	l.n++
}

func (l *lane[K]) remove(name string, e *entry[K]) {
	l.tenants[name].keys.remove(e)
	l.n--
}

func (l *lane[K]) pop() *entry[K] {
	for l.first != nil {
		t := l.first
		l.first, t.next, t.inRing = t.next, nil, false
		e := t.keys.pop()
		if t.keys.n > 0 {
			l.queue(t)
		} else if len(l.tenants) > keepSpare {
			delete(l.tenants, t.name)
		}
		if e != nil {
			l.n--
			return e
		}
	}
	return nil
}

// queue puts t at the end of the ring.
func (l *lane[K]) queue(t *tenant[K]) {
	if l.first == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last, t.inRing = t, true
}

func (l *lane[K]) admit(name string) *tenant[K] {
	if l.tenants == nil {
		l.tenants = map[string]*tenant[K]{}
	}
	t := &tenant[K]{name: name}
	l.tenants[name] = t
	return t
}
