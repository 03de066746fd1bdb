package simulation

import (
	"slices"
	"strings"
	"time"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// Troubles are facts about what went wrong, and how the program stood it.
type Troubles struct {
	// Grants are what the manifests grant, nil for all there is; Used counts what
	// each was used for.
	Grants []Grant
	Used   map[Grant]int
	// Silences are watches that were given up because they said nothing.
	Silences []Silence
	// Samples are the metrics of processes in the storm.
	Samples []Sample
	// Flood is what came of the scenario of that name.
	Flood Flood
}

// A Silence is a watch that was accepted and then said nothing, until it was given
// up.
type Silence struct {
	Watch    apiserver.Request
	From, To time.Time
}

// A Sample is what a process said of itself at one time.
type Sample struct {
	Pod     string
	At      time.Time
	Metrics string
	Objects map[string]int // that the server had then, by resource
}

// withoutTask notes that no Task is there: runs that look for one now may fail.
func (f *Facts) withoutTask() {
	const kind = "its Task was not there"
	for _, run := range f.Runs {
		if run.Gone || !run.Ended.IsZero() || slices.Contains(run.Disturbed, kind) {
			continue
		}
		r := apiserver.As[crds.TaskRun](run.Last)
		if r.Spec.TaskRef != nil && r.Status.TaskSpec == nil {
			run.Disturbed = append(run.Disturbed, kind)
		}
	}
	for _, run := range f.PipelineRuns { // whatever it had found before, it may look again
		if refersToTasks := len(specOf(run).Tasks) == 0 || strings.Contains(text(specOf(run)), `"taskRef"`); refersToTasks && !run.Gone && run.Ended.IsZero() && !slices.Contains(run.Disturbed, kind) {
			run.Disturbed = append(run.Disturbed, kind)
		}
	}
}

// silent is told of a watch that was given up.
func (w *World) silent(watch apiserver.Request, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.Silences = append(w.facts.Silences, Silence{watch, since, time.Now()})
}

// sample reads metrics now and then, until the storm is over.
func (w *World) sample(until time.Duration) {
	const every = 10 * time.Minute
	for at := every / 2; at < until; at += every {
		w.Agenda.After(at+w.Plan.Seed.Between(0, time.Minute, "sample", at.String()), func() {
			there := map[string]int{}
			for _, resource := range w.Server.Resources() {
				there[resource] = len(w.Server.Objects(resource))
			}
			for pod, p := range w.alive {
				w.processes.Go(func() { w.note(Sample{pod, time.Now(), p.door.get("/metrics"), there}) })
			}
		})
	}
}

func (w *World) note(s Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Metrics != "" { // else the process was not there yet, or any more
		w.facts.Samples = append(w.facts.Samples, s)
	}
}
