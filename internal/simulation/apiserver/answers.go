package apiserver

import "sync"

// answers are those that are being given. A connection that has been accepted may still
// have a request when the server is closed: whoever came while Run waits would be waited
// for by nobody, or have its WaitGroup panic.
type answers struct {
	mu    sync.Mutex
	over  bool // nobody enters any more
	given sync.WaitGroup
}

// enter counts one that begins, which is to leave; it reports whether it may.
func (a *answers) enter() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.given.Add(1)
	}
	return !a.over
}

func (a *answers) leave() { a.given.Done() }

// end lets nobody in any more, and waits for those who are.
func (a *answers) end() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.given.Wait()
}
