package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Values of the entry "Reason" in the termination message.
const (
	reasonSkipped         = "Skipped"
	reasonTimeoutExceeded = "TimeoutExceeded"
	reasonNextStepNotTold = "NextStepNotTold"
)

// ending is how a step came to its end.
type ending struct {
	started time.Time // of the command or, where it never ran, of the attempt
	ran     bool      // the command did, so there may be results
	code    int       // the command's exit code, or this program's for want of one
	reason  string    // set when it was not the command that chose to end
	passed  bool      // the step was not to run, and the next one is
}

// own says whether code is the command's own. Only then can the steps go on
// after a failure.
func (end ending) own() bool { return end.ran && end.reason == "" }

// neverRan is the ending of a step whose command did not get to run.
func neverRan(code int, reason string) ending {
	return ending{started: time.Now(), code: code, reason: reason}
}

// run is the life of a step: wait, start, record. It returns the exit status.
func (s step) run(signals <-chan os.Signal) int {
	if err := s.wait(signals); err != nil {
		complainf("not starting %s: %v", s.command[0], err)
		return s.record(notStarted(err))
	}
	started := time.Now()
	if holds, err := s.holds(); err == nil && !holds {
		return s.record(ending{started: started, reason: reasonSkipped, passed: true})
	} else if err != nil {
		complainf("not starting %s: %v", s.command[0], err)
		return s.record(neverRan(exitFailed, ""))
	}
	end, err := s.start(signals)
	if err != nil {
		complainf("%v", err)
		end = neverRan(statusOf(err), "")
	}
	end.started = started
	status := s.record(end)
	if s.stay && status == 0 {
		awaitEnd(signals)
	}
	return status
}

// awaitEnd keeps the container of a sidecar that has done its work: one that ends
// is started again by kubelet, and would do it once more.
func awaitEnd(signals <-chan os.Signal) {
	for sig := range signals {
		if ends(number(sig)) {
			return
		}
	}
}

func (s step) start(signals <-chan os.Signal) (ending, error) {
	if err := s.prepare(); err != nil {
		return ending{}, err
	}
	if err := s.fill(); err != nil {
		return ending{}, err
	}
	path, err := lookPath(s.command[0], os.Getenv("PATH"))
	if err != nil {
		return ending{}, err
	}
	return s.execute(path, signals)
}

// prepare makes what the command expects to find. It runs after the wait: the
// steps before this one have ended by then, and can no longer change what is
// checked here.
func (s step) prepare() error {
	if s.metadataDir != "" {
		if err := makeDir(s.metadataDir); err != nil {
			return err
		}
		if err := makeDir(filepath.Join(s.metadataDir, "results")); err != nil {
			return err
		}
	}
	if err := s.credentials.layOut(); err != nil {
		return err
	}
	if err := enter(s.workingDir); err != nil {
		return err
	}
	if s.scriptFile == "" {
		return nil
	}
	if s.stay { // kubelet starts sidecars again, and the file may be there
		if err := os.Remove(s.scriptFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return writeNew(s.scriptFile, s.script, 0o755)
}

// enter makes a directory and goes there. Unlike a container runtime, which makes
// directories when the pod starts, and as root, this does so when it is the step's
// turn, and as the user of the step, who is to write there. Links are followed, as
// by any cd: where they lead, this user might have gone anyway.
func enter(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the working directory: %w", err)
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("entering the working directory: %w", err)
	}
	return nil
}

// record writes down how the step ended, in the order in which it may be read:
// who sees the post file finds the rest complete. It returns the exit status.
func (s step) record(end ending) int {
	goesOn := end.passed || end.own() && (end.code == 0 || s.continueOnError)
	err := s.writeMessage(end)
	if err == nil && end.own() && s.metadataDir != "" {
		err = writeOver(filepath.Join(s.metadataDir, "exitCode"), strconv.Itoa(end.code))
	}
	if postErr := s.post(goesOn && err == nil); postErr != nil {
		err = errors.Join(err, fmt.Errorf("telling the next step: %w", postErr))
		// Where nothing can be written at all, the next step would wait for ever: the
		// controller learns of it by the message, and ends the pod.
		if s.post(false) != nil {
			end.reason = reasonNextStepNotTold
			err = errors.Join(err, s.writeMessage(end))
		}
	}
	switch {
	case err != nil:
		complainf("%v", err)
		return exitFailed
	case goesOn:
		return 0
	default:
		return end.code
	}
}

// post tells the next step, if there is one, to start or to skip.
func (s step) post(goesOn bool) error {
	switch {
	case s.postFile == "":
		return nil
	case goesOn:
		return writeOver(s.postFile, "")
	default:
		return writeOver(s.postFile+".err", "")
	}
}

// notStarted is the ending of a step whose wait came to nothing.
func notStarted(err error) ending {
	if stopped, is := errors.AsType[stoppedError](err); is {
		return neverRan(exitSignalled+int(stopped.signal), reasonSkipped)
	}
	if errors.Is(err, errEarlierStep) {
		return neverRan(exitFailed, reasonSkipped)
	}
	return neverRan(exitFailed, "")
}
