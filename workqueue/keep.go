package workqueue

// entryLocked finds the entry of key, or makes one that is idle.
func (q *Queue[K]) entryLocked(key K, hash uint32) *entry[K] {
	if e := q.keys.find(key, hash); e != nil {
		return e
	}
	e := q.blankLocked(q.cfg.Namespace(key))
	e.key, e.hash = key, hash
	q.keys.put(e)
	q.hangLocked(e, 0)
	return e
}

// blankLocked makes an entry for a key of this tenant, out of the one that has
// been idle longest if there are more than are kept for their own sake.
func (q *Queue[K]) blankLocked(namespace string) *entry[K] {
	if q.rested.n <= keepIdle {
		return &entry[K]{tenant: q.ready.admit(namespace)}
	}
	e := q.rested.head
	q.unhangLocked(e)
	q.keys.remove(e)
	t := e.tenant
	if t.name != namespace {
		q.ready.dismiss(t)
		t = q.ready.admit(namespace)
	}
	*e = entry[K]{tenant: t}
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
	for q.rested.n > keepIdle+keepSpare {
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
