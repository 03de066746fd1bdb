package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// pollInterval is how often to look where there is no inotify. At 50 ms a
	// person does not notice the wait, and a hundred steps that wait on one node
	// take a few percent of one core.
	pollInterval = 50 * time.Millisecond

	// doubtInterval is how often to look although inotify works: it is silent
	// about changes made on the other side of a file system that a sandbox (Kata
	// over virtiofs, gVisor over its gofer) shares with its host.
	doubtInterval = 5 * time.Second
)

// watchFor are the ways in which a file appears in a directory or gets its
// content: made, moved in (the downward API renames a link), written.
const watchFor = syscall.IN_CREATE | syscall.IN_MOVED_TO | syscall.IN_MODIFY | syscall.IN_ONLYDIR

// watcher tells that something happened near the files it follows. It does not
// tell what: who is told looks again. One goroutine reads events, from
// newWatcher to Close.
type watcher struct {
	fd      int      // of inotify; Fd() would make it blocking
	inotify *os.File // owns fd; nil: the kernel had none for us
	blind   bool     // something is not watched, so News may stay silent for ever
	news    chan struct{}
	done    chan struct{}
}

func newWatcher() *watcher {
	w := &watcher{news: make(chan struct{}, 1), done: make(chan struct{})}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		w.blind = true
		close(w.done)
		return w
	}
	w.fd, w.inotify = fd, os.NewFile(uintptr(fd), "inotify")
	go w.read()
	return w
}

// News has a value when something happened since it was last read.
func (w *watcher) News() <-chan struct{} { return w.news }

// LookAgain is how long to wait for news before looking without any.
func (w *watcher) LookAgain() time.Duration {
	if w.blind {
		return pollInterval
	}
	return doubtInterval
}

// Follow watches the directory of file or, while that is not there, the nearest
// one above it that is. Following twice costs nothing: the kernel keeps one
// watch per directory.
func (w *watcher) Follow(file string) {
	for !w.blind {
		missing := w.watchNearest(filepath.Dir(file))
		if missing == "" {
			return
		}
		// The missing directory may have been made before the watch above it
		// was. If it was not, its making will be news.
		if _, err := os.Lstat(missing); err != nil {
			return
		}
	}
}

// watchNearest watches dir or what there is of its parents, and returns the
// first directory on the way to dir that is missing.
func (w *watcher) watchNearest(dir string) (missing string) {
	for {
		_, err := syscall.InotifyAddWatch(w.fd, dir, watchFor)
		switch {
		case err == nil:
			return missing
		case err == syscall.ENOENT && dir != filepath.Dir(dir):
			missing, dir = dir, filepath.Dir(dir)
		default: // no watches left (ENOSPC), or not ours to read
			w.blind = true
			return ""
		}
	}
}

// Close ends the watch and its goroutine.
func (w *watcher) Close() {
	if w.inotify != nil {
		_ = w.inotify.Close() // wakes the reader; there is nothing to lose
	}
	<-w.done
}

func (w *watcher) read() {
	defer close(w.done)
	events := make([]byte, 4096)
	for {
		if _, err := w.inotify.Read(events); err != nil {
			return // closed
		}
		select {
		case w.news <- struct{}{}:
		default: // told already
		}
	}
}
