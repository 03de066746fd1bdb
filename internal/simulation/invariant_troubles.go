package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// silenceIsNoticed is of fault 5: bookmarks come once a minute, so who has heard
// nothing for 90 s knows that nobody is there.
func silenceIsNoticed(f *Facts, report report) Check {
	const patience = 95 * time.Second
	return Check{End: func() {
		for _, s := range f.Silences {
			if took := s.To.Sub(s.From); took > patience {
				report("%s said nothing from %s on, and was given up after %s", s.Watch, s.From.Sub(f.Begun), took)
			}
		}
	}}
}

// waitsForOthers is of fault 17: what an administrator or time may change ends no
// run.
func waitsForOthers(_ *Facts, report report) Check {
	passes := mayPass()
	refused := map[types.NamespacedName]string{} // runs whose pod was refused last, by what
	pods := map[types.NamespacedName]int{}       // that there are, by run
	return Check{See: func(e apiserver.Exchange) {
		run := e.Key
		run.Name, _, _ = strings.Cut(run.Name, "-pod")
		switch {
		case podMade(e):
			pods[run]++
			delete(refused, run)
		case e.Resource == "pods" && e.Committed() && e.After == nil:
			pods[run]--
		case createsPod(e.Request) && passes[e.Fault] && pods[run] == 0:
			refused[run] = e.Fault
		}
		before, after, ok := changes(e)
		if !ok || refused[e.Key] == "" || before.IsDone() || !after.IsDone() {
			return
		}
		switch crds.TaskRunReason(after.Succeeded().Reason) {
		case crds.TaskRunReasonCancelled, crds.TaskRunReasonTimedOut:
		case crds.TaskRunReasonPodDeleted: // an earlier pod, which had begun
		default:
			report("%s ends with %s, and all that was wrong was %s", e.Key, after.Succeeded().Reason, refused[e.Key])
		}
	}}
}

// mayPass are the faults by which a pod is refused and may be taken later.
func mayPass() map[string]bool {
	kinds := map[string]bool{}
	for _, d := range refusals() {
		kinds[d.kind] = true
	}
	for _, f := range refusedOnce() {
		kinds[f.kind] = true
	}
	return kinds
}

// bounded is I10: what a process holds is bounded by what there is, and by what
// there was not long ago, for it may not have heard yet.
func bounded(f *Facts, report report) Check {
	gone := departures{}
	var met []meeting
	seen := 0
	look := func() {
		for ; seen < len(f.Samples); seen++ {
			met = append(met, meeting{f.Samples[seen], gone.recent(f.Samples[seen])})
		}
	}
	return Check{
		See: func(e apiserver.Exchange) { look(); gone.see(e) },
		End: func() {
			look()
			for _, m := range met {
				m.judge(f, report)
			}
			for pod, metrics := range f.Metrics {
				if metrics != "" {
					meeting{Sample{Pod: pod, At: f.Over, Metrics: metrics}, f.Held}.judge(f, report)
				}
			}
		},
	}
}

// A meeting is what a process said, and how many objects there were or had been not
// long before, by resource.
type meeting struct {
	Sample

	objects map[string]int
}

func (m meeting) judge(f *Facts, report report) {
	at := fmt.Sprintf("%s, %s after the beginning,", m.Pod, m.At.Sub(f.Begun).Round(time.Second))
	for queue, resource := range queues() {
		m.judgeQueue(at, queue, m.objects[resource], report)
	}
	for _, resource := range resourcesOf(m.Metrics) {
		of := func(name, labels string) float64 {
			return max(0, metric(m.Metrics, name+`{resource="`+resource+`"`+labels+`}`))
		}
		there := float64(m.objects[resource])
		held := of("informer_store_objects", `,tier="plain"`) + of("informer_store_objects", `,tier="packed"`)
		if held > there {
			report("%s holds %g %s, and there are %g", at, held, resource, there)
		}
		if got := of("informer_queued_items", ""); got > there {
			report("%s has %g %s that wait to be taken in, and there are %g", at, got, resource, there)
		}
		if got := of("quarantined_keys", ""); got > there {
			report("%s has %g %s in quarantine, and there are %g", at, got, resource, there)
		}
		const least, each, huge = 64 << 10, 24 << 10, 2 << 20
		size := of("informer_store_bytes", `,tier="plain"`) + of("informer_store_bytes", `,tier="packed"`)
		if most := least + each*there + huge*float64(f.Faults["object of 1.5 MB"]); size > most {
			report("%s takes %g bytes for %g %s, and not %g", at, size, held, resource, most)
		}
	}
}

func (m meeting) judgeQueue(at, queue string, runs int, report report) {
	for _, state := range []string{"waiting", "backing_off", "ready", "processing"} {
		if got := metric(m.Metrics, `workqueue_keys{name="`+queue+`",state="`+state+`"}`); got > float64(runs) {
			report("%s has %g keys that are %s, and there are %d %ss", at, got, state, runs, queue)
		}
	}
	if got := metric(m.Metrics, `workqueue_depth{name="`+queue+`"}`); got > float64(runs) {
		report("%s has %g keys in its queue, and there are %d %ss", at, got, runs, queue)
	}
}

var stored = regexp.MustCompile(`informer_store_objects\{resource="([a-z]+)",tier="plain"\}`)

func resourcesOf(metrics string) []string {
	matches := stored.FindAllStringSubmatch(metrics, -1)
	all := make([]string, 0, len(matches))
	for _, m := range matches {
		all = append(all, m[1])
	}
	return all
}

// departures are when objects went, by resource.
type departures map[string][]time.Time

func (d departures) see(e apiserver.Exchange) {
	if e.Committed() && e.After == nil {
		d[e.Resource] = append(d[e.Resource], e.At)
	}
}

// recent counts what there is, and what a process may not know the end of: a
// partition and what follows is not longer than a quarter of an hour.
func (d departures) recent(s Sample) map[string]int {
	counts := maps.Clone(s.Objects)
	for resource, times := range d {
		for i := len(times) - 1; i >= 0 && s.At.Sub(times[i]) < 15*time.Minute; i-- {
			counts[resource]++
		}
	}
	return counts
}

// metric reads one of a text; -1 if it is not there.
func metric(text, name string) float64 {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		_, rest, ok = strings.Cut(text, "\n"+name+" ")
	}
	if !ok {
		return -1
	}
	value, _, _ := strings.Cut(rest, "\n")
	if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
		return v
	}
	return -1
}
