package fifo

import "slices"

// Waiting is what waits, in the order in which it comes out: at most n entries, for
// whoever wants to look at it. They are copies; their objects are shared, and are not
// to be changed. How far each of them brings the consumer shows when it is popped, so
// ResourceVersion is empty. Any goroutine may call it.
func (f *FIFO) Waiting(n int) []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var waiting []Entry
	for e := f.head; e != nil && len(waiting) < n; e = e.next {
		waiting = append(waiting, Entry{Key: e.Key, Deltas: slices.Clone(e.Deltas)})
	}
	return waiting
}
