package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// streams is where the command's output goes.
type streams struct {
	stdout, stderr *tee // nil: straight to ours
}

func openStreams(stdoutPath, stderrPath string) (streams, error) {
	var s streams
	var err error
	if stdoutPath != "" {
		if s.stdout, err = openTee(os.Stdout, stdoutPath); err != nil {
			return s, fmt.Errorf("standard output to %s: %w", stdoutPath, err)
		}
	}
	if stderrPath != "" {
		if s.stderr, err = openTee(os.Stderr, stderrPath); err != nil {
			return s, fmt.Errorf("standard error to %s: %w", stderrPath, err)
		}
	}
	return s, nil
}

// child lists the descriptors that the command gets as 0, 1 and 2.
func (s streams) child() []uintptr {
	files := []uintptr{0, 1, 2}
	if s.stdout != nil {
		files[1] = s.stdout.childFD
	}
	if s.stderr != nil {
		files[2] = s.stderr.childFD
	}
	return files
}

func (s streams) started() {
	s.stdout.started()
	s.stderr.started()
}

// finish returns when all that the command had written is copied.
func (s streams) finish() error {
	return errors.Join(s.stdout.finish(), s.stderr.finish())
}

// tee copies one stream both to this program's own and to a file. One goroutine
// per tee, from openTee to finish. A nil tee does nothing.
type tee struct {
	name    string
	read    *os.File // our end of the pipe
	write   *os.File // the command's end
	childFD uintptr
	copied  chan error
}

func openTee(own *os.File, path string) (*tee, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	// Appending, so that both streams may name one file, and a step adds to what
	// the step before has written. An earlier step may have left a link or a
	// pipe there: see files.go.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	t := &tee{name: path, copied: make(chan error, 1)}
	if t.read, t.write, err = os.Pipe(); err != nil {
		return nil, err
	}
	t.childFD = t.write.Fd() // makes that end blocking, as a command expects
	go func() { t.copied <- t.copy(own, file) }()
	return t, nil
}

// started gives up our copy of the command's end: with it the pipe would never
// come to its end.
func (t *tee) started() {
	if t != nil {
		_ = t.write.Close() // nothing was written through it
	}
}

// finish waits for the copy. A process that the command has left behind may
// keep the pipe open for ever: what is in the pipe is taken, and that is all.
func (t *tee) finish() error {
	if t == nil {
		return nil
	}
	_ = t.read.SetReadDeadline(time.Now()) // fails when it has come to its end already
	if err := <-t.copied; err != nil {
		return fmt.Errorf("copying output to %s: %w", t.name, err)
	}
	return nil
}

// copy goes on when the file fails: the log shall be complete, and a command
// must not hang in a full pipe.
func (t *tee) copy(own io.Writer, file *os.File) error {
	defer t.read.Close()
	var failed error
	keep := func(p []byte) {
		_, _ = own.Write(p) // the log may be gone; the file matters
		if failed == nil {
			_, failed = file.Write(p)
		}
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := t.read.Read(buffer)
		keep(buffer[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = drain(t.read, buffer, keep)
		}
		if err != nil {
			return errors.Join(failed, file.Close())
		}
	}
}

// maxPipe is how much a pipe can hold (fs.pipe-max-size, for those who are not root).
const maxPipe = 1 << 20

// drain takes what is in a pipe now, and does not wait for more: no more than a pipe
// can hold, for a process that goes on printing fills it as fast as it is read. An
// expired deadline lets nothing through, so it is lifted and the pipe read directly.
func drain(pipe *os.File, buffer []byte, keep func([]byte)) error {
	if err := pipe.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	if err := raw.Read(func(fd uintptr) bool {
		for left := maxPipe; left > 0; {
			n, err := syscall.Read(int(fd), buffer)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 {
				return true
			}
			keep(buffer[:n])
			left -= n
		}
		return true
	}); err != nil {
		return err
	}
	return io.EOF
}
