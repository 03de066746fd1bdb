package workqueue

// entryLocked finds the entry of key, or makes one that is idle.
func (q *Queue[K]) entryLocked(key K, hash uint32) *entry[K] {
	if e := q.keys.find(key, hash); e != nil {
		return e
	}
	var e *entry[K]
	if q.rested.n > keepSpare/2 { // the older half is there to be used again
		e = q.rested.head
		q.evictLocked(e)
		*e = entry[K]{}
	} else {
		e = &entry[K]{}
	}
	e.key, e.tenant = key, q.ready.admit(q.cfg.Namespace(key))
	q.keys.put(e, hash)
	q.hangLocked(e, 0)
	return e
}

// idle is the list for an idle key.
func (q *Queue[K]) idle(e *entry[K]) *list[K] {
	if e.failures > 0 {
		return &q.remembered
	}
	return &q.rested
}

// countLocked sets the count of failures, which decides where an idle key hangs.
func (q *Queue[K]) countLocked(e *entry[K], failures int32) {
	if e.failures == failures {
		return
	}
	if e.state() != Idle {
		e.failures = failures
		return
	}
	q.unhangLocked(e)
	e.failures = failures
	q.hangLocked(e, 0)
}

// trimLocked lets go of the idle keys that are too many: those that have been
// idle longest.
func (q *Queue[K]) trimLocked() {
	for q.rested.n > keepSpare {
		q.evictLocked(q.rested.head)
	}
	for q.remembered.n > q.cfg.MaxRemembered {
		q.evictLocked(q.remembered.head)
	}
}

func (q *Queue[K]) evictLocked(e *entry[K]) {
	q.unhangLocked(e)
	q.keys.remove(e)
	q.ready.dismiss(e.tenant)
}
