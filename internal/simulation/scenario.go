package simulation

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// Scenarios are workloads that ask one question each, beside the invariants. What
// goes wrong in them is in them; they are no ground for systematic plans.
func Scenarios() []Workload {
	refusals := []struct {
		kind, says string
		err        *apierrors.StatusError
	}{
		{"quota", "exceeded quota", quotaExceeded()},
		{"LimitRange", "maximum cpu", limitRange()},
		{"webhook", "denied the request", webhookSaysNo()},
		{"webhook away", "failed calling webhook", webhookAway()},
		{"ServiceAccount", "service account", noServiceAccount()},
		{"namespace", "being terminated", namespaceGoes("blue")},
	}
	all := make([]Workload, 0, len(refusals)+7)
	for _, r := range refusals {
		all = append(all, Workload{Name: "refused: " + r.kind, Lasts: 2 * time.Minute, Users: refusedFor(r.err), judge: waitsAndSaysWhy(r.says)})
	}
	return append(all,
		Workload{Name: TheFlood, Lasts: floodBegins + 5*time.Second, Users: flood, brief: true, quick: true, judge: fairToTheSmall},
		Workload{Name: "refers to what is not there", Lasts: time.Minute, Users: refersToNothing},
		Workload{Name: "settings go wrong", Lasts: 6 * time.Minute, Users: settingsGoWrong, judge: waitsForSense("1 minute", 0)},
		Workload{Name: "settings make no sense at the start", Lasts: 3 * time.Minute, Users: startsWithNonsense, judge: waitsForSense("soon", startsMakingSense)},
		Workload{Name: "calls for one run hang", Lasts: 12 * time.Minute, Users: oneHangs, judge: othersFlow},
		Workload{Name: "a child comes late", Lasts: 2 * time.Minute, Users: childComesLate, judge: stopsWhatIsLate},
		Workload{Name: stalls, Lasts: stallsFor + time.Minute, Users: oneStalls, judge: goesOnWithoutPods},
	)
}

// TheFlood is the scenario of two namespaces, one with FloodSize runs and one with one.
const TheFlood = "flood"

// soon is when the program has its caches and its Lease.
const soon = 5 * time.Second

// FloodSize is how many runs one namespace has created before another's only one.
const FloodSize = 10_000

const floodBegins = soon

func flood(w *World) {
	w.account("flood")
	w.account("brook")
	w.Agenda.After(floodBegins, func() {
		for i := range FloodSize {
			w.create("flood", fmt.Sprint("drop-", i), oneStep)
		}
	})
	w.creates(floodBegins+time.Second, "brook", "only", oneStep)
}

// fairToTheSmall is I14.
func fairToTheSmall(f *Facts, report report) Check {
	const namespaces = 2
	began := map[types.NamespacedName]time.Time{} // first requests for runs
	var told, started time.Time
	var service time.Duration // of all that were served
	made, served, waiting := 0, 0, 0
	only := types.NamespacedName{Namespace: "brook", Name: "only"}
	return Check{
		Told: func(e apiserver.Event) {
			if told.IsZero() && e.Object.GetName() == only.Name && e.Watch.Resource == "taskruns" {
				told, waiting = time.Now(), made-len(began)
			}
		},
		See: func(e apiserver.Exchange) {
			run := e.Key
			run.Name, _, _ = strings.Cut(run.Name, "-pod")
			switch {
			case runMade(e):
				made++
			case !program(e.Actor) || run.Namespace != "flood" && run.Namespace != "brook":
			case createsPod(e.Request):
				if run == only {
					started = e.At
				}
				if since, ok := began[run]; ok && e.Committed() {
					served, service = served+1, service+e.At.Sub(since)
				}
			case work(e.Request) && began[run].IsZero():
				began[run] = e.Sent
			}
		},
		End: func() {
			if served == 0 || waiting < FloodSize/2 || told.IsZero() {
				report("%d runs were served and %d waited: that is no flood", served, waiting)
				return
			}
			each := service / time.Duration(served)
			f.Flood = Flood{Waiting: waiting, Service: each, Wait: started.Sub(told)}
			if started.IsZero() || f.Flood.Wait > 2*namespaces*each {
				report("the only run of its namespace began %s after it was told of, behind %d of another; service takes %s", f.Flood.Wait, waiting, each)
			}
		},
	}
}

// Flood is what came of one.
type Flood struct {
	Waiting       int           // runs of another namespace that were there before
	Service, Wait time.Duration // how long one takes a worker; how long the only one waited
}

// oneHangs creates a run, for which no call is answered for ten minutes, and others.
func oneHangs(w *World) {
	w.tasks("blue", "green")
	w.afterNext(runMade, 50*time.Millisecond, func(e apiserver.Exchange) {
		end := w.forbid("calls for one run hang", about(e.Key), apiserver.Verdict{Lose: apiserver.BeforeActing, Hang: true})
		w.Agenda.After(10*time.Minute, end)
	})
	w.creates(soon, "blue", "stuck", oneStep)
	for i := range 40 {
		w.creates(soon+time.Second+time.Duration(i)*14*time.Second, []string{"blue", "green"}[i%2], fmt.Sprint("free-", i), fromTask)
	}
}

// othersFlow is of fault 24.
func othersFlow(f *Facts, report report) Check {
	return Check{End: func() {
		hung := f.Faults["calls for one run hang"]
		if hung < 5 {
			report("%d calls hung", hung)
		}
		for _, run := range f.Runs {
			if took := run.Ended.Sub(run.Created); run.Key.Name != "stuck" && (run.Ended.IsZero() || took > run.allowance()) {
				report("%s took %s, while the calls of another run hung", run.Key, took)
			}
		}
	}}
}

// refersToNothing creates runs of a Task and of a StepAction that nobody has made: the
// server is asked before they fail.
func refersToNothing(w *World) {
	w.account("blue")
	unresolved := Expect{Reason: string(crds.TaskRunReasonFailedResolution)}
	w.creates(soon, "blue", "task", func(draw) (crds.TaskRunSpec, Expect) {
		return crds.TaskRunSpec{TaskRef: &crds.TaskRef{Name: "nobody's"}}, unresolved
	})
	w.creates(soon, "blue", "action", func(draw) (crds.TaskRunSpec, Expect) {
		return embedded(crds.Step{Name: "only", Ref: &crds.Ref{Name: "nobody's"}}), unresolved
	})
}

// refusedFor creates a run, whose pod is refused for a minute.
func refusedFor(err *apierrors.StatusError) func(*World) {
	return func(w *World) {
		w.account("blue")
		end := w.forbid("refused", createsPod, apiserver.Verdict{Refuse: err})
		w.creates(soon, "blue", "a", oneStep)
		w.Agenda.After(soon+time.Minute, end)
	}
}

// waitsAndSaysWhy is of fault 17.
func waitsAndSaysWhy(why string) func(*Facts, report) Check {
	return func(f *Facts, report report) Check {
		return Check{See: func(e apiserver.Exchange) {
			if !podMade(e) {
				return
			}
			for _, run := range f.Runs {
				c := apiserver.As[crds.TaskRun](run.Last).Succeeded()
				if c.Reason == "" || c.Reason == string(crds.TaskRunReasonStarted) || !strings.Contains(c.Message, why) {
					report("a minute was waited for the pod, and the run said %s: %s", c.Reason, c.Message)
				}
			}
		}}
	}
}
