package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// An end is what a run comes to.
type end struct {
	Reason   string
	Gone     bool
	Attempts int
	Pods     int // that were made for it
	Claims   int // likewise
}

// An exception is a difference from the run without faults that is right.
type exception struct {
	workload, reason string // the end that is right, too
	pods             int    // 1: more pods, and attempts, than without faults are right, too; -1: fewer
	because          string
}

// notBegun is what a run comes to that was not made, and rightly so: see
// PipelineRun.notBegun.
const notBegun = "not begun"

// covers says whether an end is right, though another was to be expected.
func (x exception) covers(workload string, want, got end) bool {
	pods, attempts := cmp.Compare(got.Pods, want.Pods), cmp.Compare(got.Attempts, want.Attempts)
	return x.workload == workload && x.reason == got.Reason && got.Claims == want.Claims &&
		(pods == 0 || pods == x.pods) && (attempts == 0 || attempts == pods)
}

// exceptions are at most ten.
func exceptions() []exception {
	return []exception{
		{"cancel", succeeded, 0, "the controller was away while the run could be cancelled, and found its pod complete"},
		{"cancel", cancelled, -1, "who was away when the run was made found it cancelled, and made no pod"},
		{"cancel during a retry", succeeded, 0, "likewise"},
		{"cancel during a retry", cancelled, -1, "who was away while an attempt failed found the run cancelled"},
		{"a time for each attempt", timedOut, -1, "an attempt's time was up while nobody was there to make its pod"},
		{"no image volumes", succeeded, 1, "who was started anew knows nothing of the node, and tries again"},
		{"pod deleted after its first step", string(crds.TaskRunReasonPodDeleted), 1, "the same deletion, told in the words of who saw the pod go, or gone; and who saw neither makes another (docs/decisions/0014, and I3)"},
		{"pod goes while its run cannot be written", string(crds.TaskRunReasonPodDeleted), 1, "likewise: who saw it neither go nor begin makes another"},
		{"pipeline: finally after a failure", notBegun, -1, "a task had failed before anybody who was there was shown the pipeline, and what has not begun does not begin then"},
		{"pod deleted after its first step", failed, 0, "the same deletion, told in the words of who saw the steps end by SIGTERM"},
	}
}

// Compare is I16 for a plan that goes wrong at one point: every run comes to what
// it comes to without that, with as many pods.
func Compare(clean, faulty *Result) []Violation {
	var found []Violation
	want, got := clean.ends(), faulty.ends()
	for _, key := range slices.SortedFunc(maps.Keys(want), byName) {
		w, g := want[key], got[key]
		if w == g || w.Gone && g.Gone {
			continue
		}
		if slices.ContainsFunc(exceptions(), func(x exception) bool { return x.covers(clean.Plan.Workload, w, g) }) {
			continue
		}
		found = append(found, Violation{"I16", faulty.Lasted, fmt.Sprintf("%s comes to %+v, and without the fault to %+v", key, g, w)})
	}
	return found
}

func byName(a, b types.NamespacedName) int {
	if a.String() < b.String() {
		return -1
	}
	return 1
}

func (r *Result) ends() map[types.NamespacedName]end {
	ends := map[types.NamespacedName]end{}
	created := map[types.NamespacedName]time.Time{}
	for uid, run := range r.Facts.Runs {
		if created[run.Key].After(run.Created) {
			continue // of those of one name the last one
		}
		created[run.Key] = run.Created
		last := apiserver.As[crds.TaskRun](run.Last)
		ends[run.Key] = end{
			Reason: last.Succeeded().Reason, Gone: run.Gone, Attempts: len(last.Status.RetriesStatus) + 1,
			Pods: r.Facts.PodsMade[uid], Claims: r.Facts.ClaimsMade[uid],
		}
	}
	for _, p := range r.Facts.PipelineRuns {
		for _, name := range p.notBegun() {
			ends[types.NamespacedName{Namespace: p.Key.Namespace, Name: p.Key.Name + "-" + name}] = end{Reason: notBegun}
		}
	}
	return ends
}
