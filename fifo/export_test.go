package fifo

// Idle reports whether Pop would have to wait.
func (f *FIFO) Idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head == nil
}
