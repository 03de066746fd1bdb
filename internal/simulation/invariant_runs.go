package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// nothingLost is I2.
func nothingLost(f *Facts, report report) Check {
	return Check{End: func() {
		for _, run := range f.Runs {
			if run.Gone {
				continue
			}
			since := f.Calm
			if run.Created.After(since) {
				since = run.Created
			}
			due := since.Add(healing + run.allowance())
			switch {
			case run.Ended.IsZero():
				report("%s has not ended: %s", run.Key, condition(run.Last))
			case run.Ended.After(due):
				report("%s ended %s too late", run.Key, run.Ended.Sub(due))
			}
		}
	}}
}

func condition(o *apiserver.Object) string {
	c := apiserver.As[crds.TaskRun](o).Succeeded()
	return fmt.Sprintf("Succeeded %s %s: %s", c.Status, c.Reason, c.Message)
}

// changes are a program's changes of a run.
func changes(e apiserver.Exchange) (before, after *crds.TaskRun, ok bool) {
	if e.Resource != "taskruns" || !program(e.Actor) || !e.Committed() || e.Before == nil || e.After == nil {
		return nil, nil, false
	}
	return apiserver.As[crds.TaskRun](e.Before), apiserver.As[crds.TaskRun](e.After), true
}

// monotone is I4.
func monotone(_ *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		before, after, ok := changes(e)
		if !ok {
			return
		}
		was, is := before.Succeeded(), after.Succeeded()
		if was.Status != is.Status && was.Status != "" && was.Status != corev1.ConditionUnknown {
			report("%s was %s and is %s", e.Key, was.Status, is.Status)
		}
		if before.Status.TaskSpec != nil && text(before.Status.TaskSpec) != text(after.Status.TaskSpec) {
			report("%s runs something else than was written down", e.Key)
		}
		if after.IsDone() && after.Status.CompletionTime == nil {
			report("%s has ended at no time", e.Key)
		}
		attempts(before, after, func(format string, args ...any) { report("%s "+format, append([]any{e.Key}, args...)...) })
	}}
}

// attempts compares the attempt that goes on, and those that are over.
func attempts(before, after *crds.TaskRun, report report) {
	old, now := before.Status.RetriesStatus, after.Status.RetriesStatus
	if len(now) < len(old) || len(old) > 0 && text(old) != text(now[:len(old)]) {
		report("had attempts that are written down as something else now")
		return
	}
	switch len(now) - len(old) {
	case 0:
		oneAttempt(before.Status, after.Status, report)
	case 1:
		ended := now[len(old)]
		oneAttempt(before.Status, ended, report)
		if ended.CompletionTime == nil {
			report("has an attempt that ended at no time")
		}
		if c, _ := ended.Conditions.Get(crds.ConditionSucceeded); c.Status != corev1.ConditionFalse || after.IsDone() {
			report("is tried again after an attempt that is %s, and is %s itself", c.Status, after.Succeeded().Status)
		}
	default:
		report("has %d attempts more at once", len(now)-len(old))
	}
	if len(now) > after.Spec.Retries {
		report("is tried again %d times, and %d were asked for", len(now), after.Spec.Retries)
	}
	if n := len(now); n > 0 && after.Status.StartTime != nil && after.Status.StartTime.Before(now[n-1].CompletionTime) {
		report("began an attempt before the one before had ended")
	}
}

// oneAttempt compares two states of one attempt.
func oneAttempt(before, after crds.TaskRunStatus, report report) {
	// A run that waits for quota gives its start back: its time does not run.
	c, _ := after.Conditions.Get(crds.ConditionSucceeded)
	waits := c.Reason == string(crds.TaskRunReasonExceededResourceQuota) && len(before.Steps) == 0
	if a, b := before.StartTime, after.StartTime; a != nil && (b == nil || !a.Equal(b)) && !waits {
		report("started at %s and now at %v", a, b)
	}
	if a, b := after.StartTime, after.CompletionTime; a != nil && b != nil && b.Before(a) {
		report("ended before it began")
	}
	if step := thawed(before.Steps, after.Steps); step != "" {
		report("has a step, %s, that had ended and is something else now", step)
	}
}

// thawed is a step that had ended and has changed since.
func thawed(before, after []crds.StepState) string {
	for _, step := range before {
		i := slices.IndexFunc(after, func(s crds.StepState) bool { return s.Container == step.Container })
		if step.Terminated != nil && (i < 0 || text(after[i]) != text(step)) {
			return step.Container
		}
	}
	return ""
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// completedIsOver is I5. What is made for a run that has ended is made by who knew
// that when the request was sent; another may not have been told yet.
func completedIsOver(_ *Facts, report report) Check {
	ended := map[types.UID]map[string]time.Time{} // by run, and by who knows of it
	know := func(run types.UID, actor string, since time.Time) {
		if ended[run] == nil {
			ended[run] = map[string]time.Time{}
		}
		if _, knows := ended[run][actor]; !knows {
			ended[run][actor] = since
		}
	}
	return Check{
		See: func(e apiserver.Exchange) {
			before, after, ok := changes(e)
			if ok && before.IsDone() {
				report("%s had ended, and is written by %s", e.Key, e.Request)
			}
			if ok && after.IsDone() {
				know(after.UID, e.Actor, e.At)
			}
			for _, resource := range []string{"pods", "persistentvolumeclaims"} {
				if run, ok := born(e, resource); ok {
					if since, knows := ended[run][e.Actor]; knows && e.Sent.After(since) {
						report("%s is made for a run that has ended, by %s", e.Key, e.Request)
					}
				}
			}
		},
		Told: func(e apiserver.Event) {
			if e.Watch.Resource == "taskruns" && apiserver.As[crds.TaskRun](e.Object).IsDone() {
				// It is on its way yet.
				know(e.Object.GetUID(), e.Watch.Actor, time.Now().Add(time.Second))
			}
		},
	}
}

// sameEnds is I16, for runs that nothing but faults happened to.
func sameEnds(f *Facts, report report) Check {
	return Check{End: func() {
		for uid, run := range f.Runs {
			if run.Gone || len(run.Disturbed) > 0 || run.Ended.IsZero() || run.Expect.Reason == "" {
				continue
			}
			status := apiserver.As[crds.TaskRun](run.Last).Status
			c, _ := status.Conditions.Get(crds.ConditionSucceeded)
			if c.Reason != run.Expect.Reason {
				report("%s ended with %s (%s), and ends with %s without faults", run.Key, c.Reason, c.Message, run.Expect.Reason)
			}
			results := make([]string, 0, len(status.Results))
			for _, r := range status.Results {
				results = append(results, r.Name+"="+r.Value.StringVal)
			}
			if got := len(status.RetriesStatus) + 1; got != max(1, run.Expect.Attempts) {
				report("%s was tried %d times, and %d times without faults", run.Key, got, max(1, run.Expect.Attempts))
			}
			if got := f.ClaimsMade[uid]; got != run.Expect.Claims {
				report("%s has had %d claims made, and %d without faults", run.Key, got, run.Expect.Claims)
			}
			if got := strings.Join(results, ","); got != run.Expect.Results {
				report("%s has the results %q, and %q without faults", run.Key, got, run.Expect.Results)
			}
		}
	}}
}
