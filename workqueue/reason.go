package workqueue

import (
	"math"
	"time"
)

// reason is a Cause as the queue keeps it, 112 bytes that hang in a list: a key
// has as many as it has causes, and the queue uses each again. Times are the
// queue's nanoseconds. A Cause is made of it when the key is handed out.
type reason struct {
	source, event, name, oldRV, newRV string

	count       int32 // at least 1
	shared      bool  // it stands for a delay or a backoff of many keys: see plain
	first, last int64 // not of a shared one
	next        *reason
}

// reasons is where the reasons of one queue come from and go to.
type reasons struct {
	spare *reason // to use again, at most keepSpare
	n     int     // how many those are
	plain []*reason
}

// maxPlain bounds the plain reasons that are kept to be shared. A worker gives
// three (retry, requeue, requeue-after), each with the name of its stage.
const maxPlain = 16

func (r *reason) fill(c *Cause) {
	r.source, r.event, r.name, r.oldRV, r.newRV = c.Source, c.Event, c.Name, c.OldRV, c.NewRV
	r.count = int32(min(max(c.Count, 1), math.MaxInt32))
}

// same tells whether c is news of the same kind as r, so that one line with a
// count can stand for both.
func (r *reason) same(c *Cause) bool {
	return r.event == c.Event && r.source == c.Source && r.name == c.Name
}

func (r *reason) add(count int, now int64) {
	r.count = int32(min(int64(r.count)+int64(count), math.MaxInt32))
	r.last = now
}

// appendCauses makes causes of a list of reasons.
func appendCauses(causes []Cause, list *reason, epoch time.Time) []Cause {
	for r := list; r != nil; r = r.next {
		causes = append(causes, Cause{})
		c := &causes[len(causes)-1] // filled in place: it is large
		c.Source, c.Event, c.Name, c.OldRV, c.NewRV = r.source, r.event, r.name, r.oldRV, r.newRV
		c.Count = int(r.count)
		c.First = epoch.Add(time.Duration(r.first))
		c.Last = c.First
		if r.last != r.first {
			c.Last = epoch.Add(time.Duration(r.last))
		}
	}
	return causes
}

// note adds c to a list of at most limit reasons. A cause of a kind that is in
// the list already only counts there; one that finds the list full is counted
// under Others, which has the last place. So the list is bounded whatever
// happens to a key that nobody gets to.
func (s *reasons) note(list **reason, c *Cause, limit int, now int64) {
	if c.Event == "" && c.Source == "" {
		return
	}
	n, end := 0, list
	var last *reason
	for r := *list; r != nil; r = r.next {
		if r.same(c) {
			r.add(max(c.Count, 1), now)
			if c.NewRV != "" {
				r.newRV = c.NewRV
			}
			return
		}
		n, last, end = n+1, r, &r.next
	}
	if n >= limit {
		last.add(max(c.Count, 1), now)
		return
	}
	r := s.take()
	if n == limit-1 {
		r.fill(&Cause{Event: Others, Count: c.Count})
	} else {
		r.fill(c)
	}
	r.first, r.last = now, now
	*end = r
}

// later is the reason of a delay or a backoff. It is not told before its time,
// and most are alike (a worker's retry, of 100,000 keys): those share one.
func (s *reasons) later(c *Cause) *reason {
	if c.Event == "" && c.Source == "" {
		return nil
	}
	if c.Name == "" && c.OldRV == "" && c.NewRV == "" && c.Count <= 1 {
		for _, r := range s.plain {
			if r.same(c) {
				return r
			}
		}
		if len(s.plain) < maxPlain {
			r := &reason{shared: true}
			r.fill(c)
			s.plain = append(s.plain, r)
			return r
		}
	}
	r := s.take()
	r.fill(c)
	return r
}

// join adds a later reason, whose time came at due, to a list of the others. It
// is the list's afterwards.
func (s *reasons) join(list **reason, later *reason, limit int, due int64) {
	c := Cause{Source: later.source, Event: later.event, Name: later.name, OldRV: later.oldRV, NewRV: later.newRV, Count: int(later.count)}
	s.drop(&later)
	s.note(list, &c, limit, due)
}

func (s *reasons) take() *reason {
	r := s.spare
	if r == nil {
		return &reason{}
	}
	s.spare, r.next = r.next, nil
	s.n--
	return r
}

// drop empties a list. The strings are let go.
func (s *reasons) drop(list **reason) {
	r := *list
	*list = nil
	for r != nil {
		next := r.next
		if !r.shared && s.n < keepSpare {
			*r = reason{next: s.spare}
			s.spare = r
			s.n++
		}
		r = next
	}
}
