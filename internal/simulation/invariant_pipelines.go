package simulation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// What holds of TaskRuns holds of those of PipelineRuns, too. Here is what holds of
// the PipelineRuns themselves; each is a part of the invariant of its number.

// noPipelineLost is of I2.
func noPipelineLost(f *Facts, report report) Check {
	return Check{End: func() {
		for _, run := range f.PipelineRuns {
			if run.Gone {
				continue
			}
			since := f.Calm
			if around := run.Within; around != nil {
				if run.Ended.IsZero() && !around.Gone {
					report("%s, within %s, has not ended", run.Key, around.Key)
				}
				continue // in time is what the one around it is
			}
			if run.Created.After(since) {
				since = run.Created
			}
			due := since.Add(healing + f.allowanceOf(run))
			c := apiserver.As[crds.PipelineRun](run.Last).Succeeded()
			switch {
			case run.Ended.IsZero():
				report("%s has not ended: Succeeded %s %s: %s", run.Key, c.Status, c.Reason, c.Message)
			case run.Ended.After(due):
				report("%s ended %s too late", run.Key, run.Ended.Sub(due))
			}
		}
	}}
}

// eachTaskOnceInItsTurn is of I3: a task has one run, or one for each combination
// of its matrix, and none before those have ended that it follows.
func eachTaskOnceInItsTurn(f *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		if e.Resource != "taskruns" && e.Resource != "pipelineruns" || !e.Committed() || e.Before != nil {
			return
		}
		run := f.parent(e.After)
		if run == nil {
			return
		}
		task := run.Children[e.After.GetUID()].Task
		if n, most := run.made()[task], max(1, run.Expect.Runs[task]); n > most {
			report("%s is run %d of task %s of %s, which has %d", e.Key, n, task, run.Key, most)
		}
		follows := follows(specOf(run), task)
		for _, other := range run.Children {
			if !other.Over && slices.Contains(follows, other.Task) {
				report("%s of %s is made before %s has ended", e.Key, run.Key, other.Key)
			}
		}
	}}
}

// specOf is what a PipelineRun executes.
func specOf(p *PipelineRun) crds.PipelineSpec {
	run := apiserver.As[crds.PipelineRun](p.Last)
	for _, spec := range []*crds.PipelineSpec{run.Status.PipelineSpec, run.Spec.PipelineSpec} {
		if spec != nil {
			return *spec
		}
	}
	return crds.PipelineSpec{}
}

// follows are the tasks that must have ended before one begins.
func follows(spec crds.PipelineSpec, task string) (names []string) {
	for _, t := range spec.Tasks {
		text := text(t)
		for _, other := range spec.Tasks {
			if t.Name == task && (slices.Contains(t.RunAfter, other.Name) || strings.Contains(text, "$(tasks."+other.Name+".")) {
				names = append(names, other.Name)
			}
		}
	}
	for _, t := range spec.Finally {
		for _, other := range spec.Tasks {
			if t.Name == task {
				names = append(names, other.Name)
			}
		}
	}
	return names
}

// changesOf are a program's changes of a PipelineRun.
func changesOf(e apiserver.Exchange) (before, after *crds.PipelineRun, ok bool) {
	if e.Resource != "pipelineruns" || !program(e.Actor) || !e.Committed() || e.Before == nil || e.After == nil {
		return nil, nil, false
	}
	return apiserver.As[crds.PipelineRun](e.Before), apiserver.As[crds.PipelineRun](e.After), true
}

// pipelinesGoForward is of I4.
func pipelinesGoForward(_ *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		before, after, ok := changesOf(e)
		if !ok {
			return
		}
		was, is := before.Succeeded(), after.Succeeded()
		if was.Status != is.Status && was.Status != "" && was.Status != corev1.ConditionUnknown {
			report("%s was %s and is %s", e.Key, was.Status, is.Status)
		}
		if a, b := before.Status.StartTime, after.Status.StartTime; a != nil && (b == nil || !a.Equal(b)) {
			report("%s started at %s and now at %v", e.Key, a, b)
		}
		if a, b := after.Status.StartTime, after.Status.CompletionTime; after.IsDone() && (b == nil || a != nil && b.Before(a)) {
			report("%s started at %v and has ended at %v", e.Key, a, b)
		}
		if before.Status.PipelineSpec != nil && text(before.Status.PipelineSpec) != text(after.Status.PipelineSpec) {
			report("%s executes something else than was written down", e.Key)
		}
		for _, child := range before.Status.ChildReferences {
			if !slices.ContainsFunc(after.Status.ChildReferences, func(c crds.ChildStatusReference) bool { return c.Name == child.Name }) {
				report("%s has told of %s, and does not any more", e.Key, child.Name)
			}
		}
	}}
}

// pipelinesEndLast is of I5.
func pipelinesEndLast(f *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		before, after, ok := changesOf(e)
		if !ok {
			return
		}
		if before.IsDone() {
			report("%s had ended, and is written by %s", e.Key, e.Request)
			return
		}
		for _, c := range f.PipelineRuns[after.UID].Children {
			if after.IsDone() && !c.Over {
				report("%s has ended before %s of its task %s", e.Key, c.Key, c.Task)
			}
		}
	}}
}

// samePipelineEnds is of I16: it tells of every TaskRun that was made and that anybody
// could know of, and if nothing but faults happened to it, these are what they are without.
func samePipelineEnds(f *Facts, report report) Check {
	return Check{End: func() {
		for _, run := range f.PipelineRuns {
			if run.Gone || run.Ended.IsZero() || run.Expect.Reason == "" {
				continue
			}
			last := apiserver.As[crds.PipelineRun](run.Last)
			refs := last.Status.ChildReferences
			if got, want := len(refs), len(run.Children)-run.untold(refs); got != want {
				report("%s has had %d TaskRuns made, and tells of %d", run.Key, len(run.Children), got)
			}
			if !f.troubled(run) {
				run.compare(last, func(format string, args ...any) { report("%s "+format, append([]any{run.Key}, args...)...) })
			}
		}
	}}
}

func (p *PipelineRun) compare(last *crds.PipelineRun, report report) {
	if c := last.Succeeded(); c.Reason != p.Expect.Reason {
		report("ended with %s (%s), and ends with %s without faults", c.Reason, c.Message, p.Expect.Reason)
	}
	late := p.Expect.Reason == string(crds.PipelineRunReasonTimedOut) // and may have been before its first task
	if got, want := fmt.Sprint(p.made()), fmt.Sprint(p.expected()); got != want && !(late && len(p.Children) == 0) {
		report("has had TaskRuns made by task %s, and %s without faults", got, want)
	}
	results := make([]string, 0, len(last.Status.Results))
	for _, r := range last.Status.Results {
		results = append(results, r.Name+"="+r.Value.StringVal)
	}
	if got := strings.Join(results, ","); got != p.Expect.Results {
		report("has the results %q, and %q without faults", got, p.Expect.Results)
	}
}
