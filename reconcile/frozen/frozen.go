// Package frozen keeps with a run what it began with, where the run itself does not say
// and the administrator may say something else while it is at work.
//
//	config-defaults ──▶ a run begins ──Keep──▶ status.annotations ──Timeout──▶ every later look
//	                    (or admission has written spec.timeout, and there is nothing to keep)
//
// A time-out that moved under a running run would end it for what its author never
// asked. So the default that was in force when the run was written down as begun holds
// until its end, over restarts: it stands in the status, beside what is going to be run.
//
//  1. A run that has begun has the time-out that it began with, whatever the default is
//     by then. (TestARunKeepsTheTimeoutThatItBeganWith)
//  2. The common default costs nothing: nothing is written down for it, and of a run
//     that has begun its absence means that one. (TestTheCommonDefaultIsNotWrittenDown)
//  3. What cannot be read is as what is not there. (TestWhatCannotBeReadIsNotThere)
package frozen

import (
	"maps"
	"time"
)

// Annotation is the one in the status, with a duration as Go prints it.
const Annotation = "millrace.dev/default-timeout"

// Common is Tekton's default time-out, of runs of both kinds.
const Common = time.Hour

// Timeout is how long a run may take that does not say; 0 is for ever. It is the one
// that the run began with, or the default if it has not begun.
func Timeout(annotations map[string]string, begun bool, byDefault time.Duration) time.Duration {
	kept, err := time.ParseDuration(annotations[Annotation])
	switch {
	case !begun:
		return byDefault
	case err != nil || kept < 0:
		return Common
	default:
		return kept
	}
}

// Keep returns the annotations of the status of a run that begins with that default.
func Keep(annotations map[string]string, byDefault time.Duration) map[string]string {
	if byDefault == Common {
		return annotations
	}
	kept := maps.Clone(annotations)
	if kept == nil {
		kept = map[string]string{}
	}
	kept[Annotation] = byDefault.String()
	return kept
}
