package simulation

import (
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// The invariants here came of faults that were planted in the program (see package
// planted), and that none of the others caught.

// inItsTime is I4b: a condition's time moves with its status alone, results come
// at the end, and nobody is out of time before it is over.
func inItsTime(_ *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		before, after, ok := changes(e)
		if !ok {
			return
		}
		was, is := before.Succeeded(), after.Succeeded()
		if was.Status == is.Status && !was.LastTransitionTime.IsZero() && !was.LastTransitionTime.Equal(&is.LastTransitionTime) {
			report("%s is %s since %s, and now since %s", e.Key, is.Status, was.LastTransitionTime, is.LastTransitionTime)
		}
		if !after.IsDone() && len(after.Status.Results) > 0 {
			report("%s has results and has not ended", e.Key)
		}
		if limit := after.Spec.Timeout; is.Reason == timedOut && !before.IsDone() && limit != nil && after.Status.CompletionTime != nil && after.Status.StartTime != nil {
			if took := after.Status.CompletionTime.Sub(after.Status.StartTime.Time); took < limit.Duration {
				report("%s was out of time after %s, and had %s", e.Key, took, limit.Duration)
			}
		}
	}}
}

// nothingGoesOn is I5b: when a run has ended, and all is quiet, so has its pod.
func nothingGoesOn(f *Facts, report report) Check {
	lives := podLives{}
	return Check{
		See: lives.see,
		End: func() {
			for uid, run := range f.Runs {
				for _, life := range lives.of(uid) {
					if life.live && life.owned && !run.Ended.IsZero() && !run.Gone {
						report("%s has ended, and %s goes on", run.Key, life.key)
					}
				}
			}
		},
	}
}

// littleWork is I6b: where nothing goes wrong, each attempt of a run is looked at
// twenty times at most, resyncs included, and four times more for each restart of a
// sidecar, which is as many news.
func littleWork(f *Facts, report report) Check {
	const each, forRestart = 20, 4
	again := false // a process has been started again
	restarts := map[types.UID]int32{}
	return Check{
		See: func(e apiserver.Exchange) {
			again = again || program(e.Actor) && !strings.HasSuffix(e.Actor, ".1")
			if e.Resource == "pods" && e.After != nil {
				for _, s := range apiserver.As[corev1.Pod](e.After).Status.InitContainerStatuses {
					restarts[e.After.GetUID()] = max(restarts[e.After.GetUID()], s.RestartCount)
				}
			}
		},
		End: func() {
			if again || len(f.Faults) > 0 {
				return
			}
			done := 0.0
			for _, text := range f.Metrics {
				done += sum(text, "controller_runtime_reconcile_total{")
			}
			most := 0.0
			for uid := range f.Runs {
				most += each * float64(max(1, f.PodsMade[uid]))
			}
			for _, run := range f.PipelineRuns {
				if run.Within != nil { // a run more, of no pod
					most += each
				}
			}
			for _, n := range restarts {
				most += forRestart * float64(n)
			}
			if done > most {
				report("%g reconciles of %d runs", done, len(f.Runs))
			}
		},
	}
}

// sum adds up the metrics whose names begin so.
func sum(text, prefix string) float64 {
	total := 0.0
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(line, prefix) {
			total += metric(line, name)
		}
	}
	return total
}

// A Quit is the end of a process that nobody had told to stop.
type Quit struct {
	Actor string
	At    time.Time
	Err   error
}

// nobodyGivesUp is I9b: a process ends because it was told to, or has not got its
// Lease any more, or could not even begin; nothing that a server says is a reason.
func nobodyGivesUp(f *Facts, report report) Check {
	type change struct {
		at     time.Time
		holder string
	}
	var holders []change
	renewed := map[string]time.Time{} // when the last renewal of a process was sent
	begun := map[string]bool{}        // it has listed something
	holderAt := func(at time.Time) (holder string) {
		for _, c := range holders {
			if c.at.Before(at) {
				holder = c.holder
			}
		}
		return holder
	}
	return Check{
		See: func(e apiserver.Exchange) {
			begun[e.Actor] = begun[e.Actor] || e.Verb == "list" || e.Verb == "watch"
			if e.Resource != "leases" || !e.Committed() || e.After == nil || e.Key.Name != leaseName {
				return
			}
			id := apiserver.As[coordinationv1.Lease](e.After).Spec.HolderIdentity
			if id == nil || *id == "" || e.Lost { // who gives it back had it; and an answer that is lost renews nothing
				return
			}
			holders = append(holders, change{e.At, *id})
			renewed[e.Actor] = e.Sent
		},
		End: func() {
			for _, q := range f.Quits {
				pod, _, _ := strings.Cut(q.Actor, ".")
				// The process counts from when it first asked, though the server has
				// put it off for some seconds before it was heard.
				if begun[q.Actor] && holderAt(q.At) == pod && q.At.Sub(renewed[q.Actor]) < f.RenewDeadline-f.RetryPeriod {
					report("%s has ended though nobody told it to: %v", q.Actor, q.Err)
				}
			}
		},
	}
}

// retriesWait is I11b: what a worker asks or writes, and is refused, it tries again at
// most once a second, averaged over half a minute.
func retriesWait(_ *Facts, report report) Check {
	const window, most = 30 * time.Second, 30
	type what struct {
		actor, verb, resource, subresource string
		key                                types.NamespacedName
	}
	refused := map[what][]time.Time{}
	return Check{See: func(e apiserver.Exchange) {
		others := e.Verb == "list" || e.Verb == "watch" || e.Resource == "leases" || e.Resource == "events"
		if !program(e.Actor) || others || e.Code < 400 {
			return
		}
		w := what{e.Actor, e.Verb, e.Resource, e.Subresource, e.Key}
		refused[w] = append(refused[w], e.At)
		for e.At.Sub(refused[w][0]) > window {
			refused[w] = refused[w][1:]
		}
		if n := len(refused[w]); n > most {
			report("%s was refused %d times in %s", e.Request, n, window)
		}
	}}
}
