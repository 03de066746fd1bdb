package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares a text with a file.
func golden(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if got != string(want) {
		tb.Errorf("differs from %s (go test -update writes it):\n%s", path, got)
	}
}

func (r *rig) report(key types.NamespacedName) string {
	r.t.Helper()
	report, known := r.inspector.Explain(r.control, key)
	if !known {
		r.t.Fatalf("%s is not known", key)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		r.t.Fatal(err)
	}
	return text.String()
}

// Claim 1: a run is created, fails once, hears of its pod while it backs off, is
// looked at again, and asks for a look in an hour.
func TestAReportTellsWhatEachStageDidAndWhen(t *testing.T) {
	bubble(t, func(r *rig) {
		runs := 0
		r.fn = func(context.Context, types.NamespacedName) (reconcile.Result, error) {
			time.Sleep(20 * time.Millisecond)
			if runs++; runs == 1 {
				return reconcile.Result{}, errors.New(`pods is forbidden: exceeded quota`)
			}
			return reconcile.Result{RequeueAfter: time.Hour}, nil
		}
		r.says("taskruns", "build", 101, 1, "none")
		time.Sleep(100 * time.Millisecond)
		for version := 102; version < 105; version++ {
			r.says("pods", "build-pod", version, 0, "build")
			time.Sleep(10 * time.Millisecond)
		}
		r.says("taskruns", "build", 105, 1, "none") // its status
		time.Sleep(2 * time.Second)
		synctest.Wait()
		golden(r.t, "report.txt", r.report(build))
	})
}

// Claim 2: what is at work now, and what is to come.
func TestAReportTellsOfARunAtWorkAndTheNextOne(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fn = func(context.Context, types.NamespacedName) (reconcile.Result, error) {
			time.Sleep(time.Minute)
			panic("index out of range")
		}
		r.says("taskruns", "build", 101, 1, "none")
		time.Sleep(time.Second)
		r.says("pods", "build-pod", 102, 0, "build")
		synctest.Wait()
		report, _ := r.inspector.Explain(r.control, build)
		if report.Queue.State != "processing and dirty" || len(report.Queue.Running) != 1 || len(report.Queue.Next) != 1 {
			r.t.Errorf("queue: %+v", report.Queue)
		}
		if got, want := report.Queue.Running[0].String(), "taskruns create →101"; got != want {
			r.t.Errorf("it runs for %q, want %q", got, want)
		}
		last := report.Events[len(report.Events)-1]
		if want := "pods create build-pod →102: processing → processing and dirty"; last.Text != want {
			r.t.Errorf("the last event is %q, want %q", last.Text, want)
		}
		if text := report.Events[len(report.Events)-2].Text; text != "taken after 0s, at work" {
			r.t.Errorf("the run at work is %q", text)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		report, _ = r.inspector.Explain(r.control, build)
		if report.Alarm == nil || report.Alarm.Kind != "panics" || !strings.Contains(report.Alarm.Error, "index out of range") {
			r.t.Errorf("alarm: %+v", report.Alarm)
		}
		r.fn = func(context.Context, types.NamespacedName) (reconcile.Result, error) { return reconcile.Result{}, nil }
	})
}

// A key that is asked for urgently while it waits says that it goes before others.
func TestAReportTellsOfAKeyThatGoesAhead(t *testing.T) {
	bubble(t, func(r *rig) {
		r.fn = func(context.Context, types.NamespacedName) (reconcile.Result, error) {
			time.Sleep(time.Second)
			return reconcile.Result{}, nil
		}
		r.queue.Add(build, workqueue.Cause{Source: "test", Event: "update"})
		synctest.Wait()
		const ahead = "ready for 0s, ahead of what is not urgent in its namespace"
		for _, urgent := range []bool{false, true} {
			ask := r.queue.Add
			if urgent {
				ask = r.queue.AddUrgent
			}
			ask(build, workqueue.Cause{Source: "test", Event: "update"})
			report, _ := r.inspector.Explain(r.control, build)
			var text strings.Builder
			if err := report.WriteText(&text); err != nil {
				r.t.Fatal(err)
			}
			if report.Queue.Ahead != urgent || strings.Contains(text.String(), ahead) != urgent {
				r.t.Errorf("urgent %t:\n%s", urgent, text.String())
			}
		}
	})
}

// Claim 3: a key that is known to nobody is told from one that has only not run.
func TestAKeyThatNobodyKnows(t *testing.T) {
	bubble(t, func(r *rig) {
		if _, known := r.inspector.Explain(r.control, types.NamespacedName{Namespace: "ci", Name: "none"}); known {
			r.t.Error("a key is known that there never was")
		}
		r.queue.AddAfter(build, time.Hour, workqueue.Cause{Source: "test", Event: "later"})
		report, known := r.inspector.Explain(r.control, build)
		if !known || report.Object.Cached || report.Queue.State != "waiting" {
			r.t.Errorf("known: %t, %+v", known, report)
		}
	})
}
