package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// errEarlierStep says that an earlier step failed, or was skipped itself.
var errEarlierStep = errors.New("an earlier step failed, so this one is skipped")

// stoppedError says that a signal came while the step was waiting.
type stoppedError struct{ signal syscall.Signal }

func (e stoppedError) Error() string { return "stopped while waiting: " + e.signal.String() }

// wait returns when all of the step's wait files are there.
func (s step) wait(signals <-chan os.Signal) error {
	return await(s.waitFiles, s.ready, signals)
}

// await returns when ready says so, which it is asked whenever something happens
// near one of the files.
func await(files []string, ready func() (bool, error), signals <-chan os.Signal) error {
	if ready, err := ready(); ready || err != nil {
		return err // most often step 0, which needs no watch
	}
	w := newWatcher()
	defer w.Close()
	for {
		// Watch first, then look: what comes in between is news of the watch.
		for _, file := range files {
			w.Follow(file)
		}
		if ready, err := ready(); ready || err != nil {
			return err
		}
		select {
		case <-w.News():
		case <-time.After(w.LookAgain()):
		case sig := <-signals:
			if sig := number(sig); ends(sig) {
				return stoppedError{sig}
			}
		}
	}
}

// ready says whether all wait files are there. A file's `.err` is an error.
func (s step) ready() (bool, error) {
	all := true
	for _, file := range s.waitFiles {
		there, err := s.arrived(file)
		if err != nil {
			return false, err
		}
		all = all && there
	}
	return all, nil
}

func (s step) arrived(file string) (bool, error) {
	info, err := os.Stat(file) // following links: the downward API makes its files as links
	switch {
	case err == nil && (!s.waitContent || info.Size() > 0):
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("waiting for the step before: %w", err) // it would never end
	}
	if _, err := os.Stat(file + ".err"); err == nil {
		return false, errEarlierStep
	}
	return false, nil
}
