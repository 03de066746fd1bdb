package pipelinerun

import (
	"testing"
	"time"
)

// What a run and its parts may take, and what a TaskRun of each part gets: nothing
// where the default of TaskRuns is enough.
func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		given        string
		want         limits
		task, finals string // spec.timeout of the TaskRuns
	}{
		{"", limits{pipeline: time.Hour}, "-", "-"},
		{"timeouts: {pipeline: 30m}", limits{pipeline: 30 * time.Minute}, "-", "-"},
		{"timeouts: {pipeline: 2h}", limits{pipeline: 2 * time.Hour}, "2h0m0s", "2h0m0s"},
		{"timeouts: {pipeline: 3h, tasks: 2h}", limits{3 * time.Hour, 2 * time.Hour, time.Hour}, "2h0m0s", "-"},
		{"timeouts: {pipeline: 3h, finally: 30m}", limits{3 * time.Hour, 150 * time.Minute, 30 * time.Minute}, "2h30m0s", "-"},
		{"timeouts: {pipeline: '0'}", limits{}, "0s", "0s"},
		{"timeouts: {pipeline: '0', tasks: 2h, finally: 5m}", limits{0, 2 * time.Hour, 5 * time.Minute}, "2h0m0s", "-"},
		{"timeouts: {tasks: 20m}", limits{time.Hour, 20 * time.Minute, 40 * time.Minute}, "-", "-"},
	} {
		run := parse(t, "metadata: {name: run}\nspec:\n  pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}], finally: [{name: f, taskSpec: {steps: [{image: x}]}}]}\n  "+c.given)
		w := newWorld(t, run)
		if got := limitsOf(w.run, w.config); got != c.want {
			t.Errorf("%s: %v, want %v", c.given, got, c.want)
		}
		w.reconcile()
		w.end("run-a", "Succeeded")
		w.reconcile()
		for name, want := range map[string]string{"run-a": c.task, "run-f": c.finals} {
			got := "-"
			if timeout := w.taskRuns[name].Spec.Timeout; timeout != nil {
				got = timeout.Duration.String()
			}
			if got != want {
				t.Errorf("%s: %s gets %s, want %s", c.given, name, got, want)
			}
		}
	}
}

// A server that is an hour ahead has made the run: its time is over when it is by the
// clock that the program goes by, and not an hour later.
func TestAServersClockDoesNotMakeTheTimeOfARun(t *testing.T) {
	run := parse(t, "metadata: {name: run}\nspec:\n  pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}]}\n  timeouts: {pipeline: 5s}")
	w := newWorld(t, run)
	w.run.CreationTimestamp.Time = w.now.Add(time.Hour)
	w.reconcile()
	w.now = w.now.Add(6 * time.Second)
	w.reconcile()
	if got := w.cancelled["run-a"]; got == "" {
		t.Errorf("six seconds after it began, a run of five seconds, which starts at %s, has cancelled %v", w.run.Status.StartTime, w.cancelled)
	}
}
