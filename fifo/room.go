package fifo

import "context"

// Room waits until there is room for another object of the first list, or ctx ends, or
// the FIFO is closed. The producer calls it before each Item. It never waits otherwise.
//
// A first list brings everything, and all of it is news: were it taken in as fast as the
// network brings it, a start would hold the whole of it here, plain, ten times what the
// consumer makes of it. Nothing is lost by waiting: a page is not asked for before, and a
// streaming list that its server gives up is asked for again, of which what has come is
// no news. A watch may not wait so. A server ends those that are not read, and then their
// changes have to be listed.
func (f *FIFO) Room(ctx context.Context) {
	for f.crowded() {
		select {
		case <-f.room:
		case <-ctx.Done():
			return
		}
	}
}

func (f *FIFO) crowded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.initial && f.unseen != nil && !f.closed && len(f.items) >= f.cfg.Crowd
}
