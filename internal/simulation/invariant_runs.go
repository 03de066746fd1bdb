package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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
	c := apiserver.Into[crds.TaskRun](o).Succeeded()
	return fmt.Sprintf("Succeeded %s %s: %s", c.Status, c.Reason, c.Message)
}

// changes are a program's changes of a run.
func changes(e apiserver.Exchange) (before, after *crds.TaskRun, ok bool) {
	if e.Resource != "taskruns" || !program(e.Actor) || !e.Committed() || e.Before == nil || e.After == nil {
		return nil, nil, false
	}
	return apiserver.Into[crds.TaskRun](e.Before), apiserver.Into[crds.TaskRun](e.After), true
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
		// A run that waits for quota gives its start back: its time does not run.
		waits := is.Reason == string(crds.TaskRunReasonExceededResourceQuota) && len(before.Status.Steps) == 0
		if a, b := before.Status.StartTime, after.Status.StartTime; a != nil && (b == nil || !a.Equal(b)) && !waits {
			report("%s started at %s and now at %v", e.Key, a, b)
		}
		if a, b := after.Status.StartTime, after.Status.CompletionTime; a != nil && b != nil && b.Before(a) {
			report("%s ended before it began", e.Key)
		}
		if after.IsDone() && after.Status.CompletionTime == nil {
			report("%s has ended at no time", e.Key)
		}
		if step := thawed(before.Status.Steps, after.Status.Steps); step != "" {
			report("%s: %s had ended and is something else now", e.Key, step)
		}
	}}
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

// completedIsOver is I5.
func completedIsOver(_ *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		if before, _, ok := changes(e); ok && before.IsDone() {
			report("%s had ended, and is written by %s", e.Key, e.Request)
		}
	}}
}

// sameEnds is I16, for runs that nothing but faults happened to.
func sameEnds(f *Facts, report report) Check {
	return Check{End: func() {
		for _, run := range f.Runs {
			if run.Gone || len(run.Disturbed) > 0 || run.Ended.IsZero() || run.Expect.Reason == "" {
				continue
			}
			status := apiserver.Into[crds.TaskRun](run.Last).Status
			c, _ := status.Conditions.Get(crds.ConditionSucceeded)
			if c.Reason != run.Expect.Reason {
				report("%s ended with %s (%s), and ends with %s without faults", run.Key, c.Reason, c.Message, run.Expect.Reason)
			}
			results := make([]string, 0, len(status.Results))
			for _, r := range status.Results {
				results = append(results, r.Name+"="+r.Value.StringVal)
			}
			if got := strings.Join(results, ","); got != run.Expect.Results {
				report("%s has the results %q, and %q without faults", run.Key, got, run.Expect.Results)
			}
		}
	}}
}
