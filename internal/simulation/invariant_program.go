package simulation

import (
	"regexp"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// quiescence is I6. A Lease is renewed for ever, and an event may come late.
func quiescence(f *Facts, report report) Check {
	return Check{See: func(e apiserver.Exchange) {
		if !f.Quiet.IsZero() && program(e.Actor) && work(e.Request) {
			report("%s, %s after all had ended", e, e.At.Sub(f.Quiet).Round(time.Second))
		}
	}}
}

// cachesAreTrue is I7, as far as the metrics tell.
func cachesAreTrue(f *Facts, report report) Check {
	return Check{End: func() {
		for pod, metrics := range f.Metrics {
			if metrics == "" {
				report("%s has no metrics", pod)
				continue
			}
			for resource, held := range f.Held {
				cacheIsTrue(pod, metrics, resource, held, f.Newest[resource], report)
			}
			if metric(metrics, `leader_election_master_status{name="millrace-controller"}`) == 1 {
				queuesAreEmpty(pod, metrics, report)
			}
		}
	}}
}

func cacheIsTrue(pod, metrics, resource string, held int, newest uint64, report report) {
	of := func(name string) float64 { return metric(metrics, name+`{resource="`+resource+`"}`) }
	if got := metric(metrics, `informer_store_objects{resource="`+resource+`",tier="plain"}`); got != float64(held) {
		report("%s has %g %s in its cache, the server %d", pod, got, resource, held)
	}
	nothingWaits(pod, metrics, resource, report)
	if got := of("informer_store_resource_version"); got < float64(newest) && held > 0 {
		report("the cache of %s of %s is at version %g, the last change was %d", resource, pod, got, newest)
	}
}

func nothingWaits(pod, metrics, resource string, report report) {
	of := func(name string) float64 { return metric(metrics, name+`{resource="`+resource+`"}`) }
	if got := of("informer_queued_items"); got > 0 {
		report("%s has %g %s that wait to be taken into its cache", pod, got, resource)
	}
	if got := of("quarantined_keys"); got > 0 {
		report("%s has %g %s in quarantine", pod, got, resource)
	}
}

func queuesAreEmpty(pod, metrics string, report report) {
	for queue := range queues() {
		if got := metric(metrics, `workqueue_depth{name="`+queue+`"}`); got > 0 {
			report("%s has %g keys in its queue of %ss", pod, got, queue)
		}
	}
}

// queues are the program's, and the resources that their keys are of.
func queues() map[string]string {
	return map[string]string{"taskrun": "taskruns", "pipelinerun": "pipelineruns"}
}

// writesInsist is I8.
func writesInsist(f *Facts, report report) Check {
	lease := leaseLog{sent: map[string]time.Time{}}
	return Check{See: func(e apiserver.Exchange) {
		lease.see(e)
		if !program(e.Actor) || !work(e.Request) || !e.Committed() {
			return
		}
		if what := missing(e); what != "" {
			report("%s insists on no %s", e.Request, what)
		}
		lease.judge(e, f.RenewDeadline+f.RetryPeriod, report)
	}}
}

// missing is what a write should insist on and does not.
func missing(e apiserver.Exchange) string {
	switch {
	case e.Verb == "create":
		return ""
	case (e.Resource == "taskruns" || e.Resource == "pipelineruns") && e.ResourceVersion == "":
		return "version"
	case e.Resource == "pods" && e.UID == "":
		return "UID"
	default:
		return ""
	}
}

// leaseLog is who had the Lease, and when.
type leaseLog struct {
	sent   map[string]time.Time // by actor: when its last renewal was sent
	holder string
	since  time.Time
}

func (l *leaseLog) see(e apiserver.Exchange) {
	if e.Resource != "leases" || !e.Committed() || e.After == nil || e.Key.Name != leaseName {
		return
	}
	lease := apiserver.As[coordinationv1.Lease](e.After)
	if id := lease.Spec.HolderIdentity; id != nil && *id != l.holder {
		l.holder, l.since = *id, e.At
	}
	if program(e.Actor) {
		l.sent[e.Actor] = e.Sent
	}
}

// judge allows a writer as long as it may believe that it leads.
func (l *leaseLog) judge(e apiserver.Exchange, patience time.Duration, report report) {
	last, ok := l.sent[e.Actor]
	if !ok {
		report("%s without ever having had the Lease", e.Request)
	} else if late := e.Sent.Sub(last); late > patience {
		report("%s, %s after the last renewal", e.Request, late)
	}
	if pod, _, _ := strings.Cut(e.Actor, "."); l.holder != pod && e.Sent.After(l.since.Add(patience)) {
		report("%s while %q has the Lease", e.Request, l.holder)
	}
}

// nothingLeaks is I9.
func nothingLeaks(f *Facts, report report) Check {
	return Check{End: func() {
		if f.Leaks != "" {
			report("left running:\n%s", f.Leaks)
		}
		for _, s := range f.Stops {
			if s.Took > 30*time.Second {
				report("%s took %s to stop", s.Actor, s.Took)
			}
		}
	}}
}

// backsOff is I11: lists and watches that are refused come at most once a second,
// averaged over half a minute; and so do attempts to connect, for each resource.
func backsOff(f *Facts, report report) Check {
	const window = 30 * time.Second
	type who struct{ actor, resource string }
	refused := map[who][]time.Time{}
	return Check{
		See: func(e apiserver.Exchange) {
			if !program(e.Actor) || e.Verb != "list" && e.Verb != "watch" || e.Code == 200 {
				return
			}
			w := who{e.Actor, e.Resource}
			refused[w] = append(refused[w], e.At)
			for e.At.Sub(refused[w][0]) > window {
				refused[w] = refused[w][1:]
			}
			if n := len(refused[w]); float64(n) > window.Seconds() {
				report("%s was refused %s %d times in %s", e.Actor, e.Resource, n, window)
			}
		},
		End: func() {
			const resources = 7 // Lease, events and what workers write are three; caches are more than four, and take turns
			for _, o := range f.Outages {
				if o.To.IsZero() {
					continue
				}
				if most := resources * (o.To.Sub(o.From).Seconds() + 10) * 2; float64(o.Dials) > most {
					report("%d attempts to connect in %s", o.Dials, o.To.Sub(o.From))
				}
			}
		},
	}
}

var secret = regexp.MustCompile(canary)

// secretsAreKept is I12. A run's own spec, the frozen copy of it and its results
// are where users look for them.
func secretsAreKept(f *Facts, report report) Check {
	return Check{
		See: func(e apiserver.Exchange) {
			if !e.Committed() || e.After == nil || !program(e.Actor) {
				return
			}
			switch e.Resource {
			case "events":
				if secret.Match(e.After.JSON()) {
					report("an event tells the secret: %s", e.After.JSON())
				}
			case "taskruns":
				run := apiserver.As[crds.TaskRun](e.After)
				if secret.MatchString(text(run.Status.Conditions)) || secret.MatchString(text(run.Labels)) {
					report("the status of %s tells the secret", e.Key)
				}
			case "pipelineruns":
				run := apiserver.As[crds.PipelineRun](e.After)
				if secret.MatchString(text(run.Status.Conditions)) || secret.MatchString(text(run.Labels)) {
					report("the status of %s tells the secret", e.Key)
				}
			}
		},
		End: func() {
			if i := strings.Index(f.Logs(), canary); i >= 0 {
				logs := f.Logs()
				report("the log tells the secret: %s", logs[max(0, i-200):i])
			}
			for pod, text := range f.Metrics {
				if strings.Contains(text, canary) {
					report("the metrics of %s tell the secret", pod)
				}
			}
		},
	}
}
