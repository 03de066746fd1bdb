package main

import (
	"context"
	"encoding/hex"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"millrace/internal/simulation"
	"millrace/internal/tracing/tracetest"
)

// traced plays a workload with a collector of traces beside the program.
func traced(t *testing.T, workload string, more ...string) (*tracetest.Collector, *simulation.Result) {
	t.Helper()
	collector := tracetest.New()
	t.Cleanup(collector.Close)
	program := func(ctx context.Context, on simulation.Machine) error {
		cfg, err := parseConfig(append([]string{
			"--pod-name=" + on.PodName, "--entrypoint-image=registry.example.com/millrace", "--debug-bind-address=", "--webhook-bind-address=",
			"--leader-elect-lease-duration=45s", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=7s",
			"--tracing-endpoint=http://collector:4318",
		}, more...), none)
		if err != nil {
			return err
		}
		return run(ctx, cfg, on.RestConfig, machine{
			listen:    func(context.Context, string, string) (net.Listener, error) { return on.Listener, nil },
			random:    on.Random,
			collector: collector,
		})
	}
	hush(t)
	var r *simulation.Result
	synctest.Test(t, func(*testing.T) {
		r = simulation.Play(simulation.Plan{Seed: 1, Workload: workload}, simulation.Setting{
			Program: program, Grants: granted(t), RenewDeadline: 30 * time.Second, RetryPeriod: 7 * time.Second,
		})
	})
	for _, v := range r.Violations {
		t.Errorf("with tracing on: %v", v)
	}
	return collector, r
}

// spans are those of a collector, by their ids.
type spans map[string]*tracepb.Span

func spansOf(c *tracetest.Collector) spans {
	all := spans{}
	for _, s := range c.Spans() {
		all[hex.EncodeToString(s.GetSpanId())] = s
	}
	return all
}

// parent is the name of a span's parent, without the kind of run or resource; "-" if it
// has none, and "?" if it is not here.
func (all spans) parent(s *tracepb.Span) string {
	if len(s.GetParentSpanId()) == 0 {
		return "-"
	}
	p, ok := all[hex.EncodeToString(s.GetParentSpanId())]
	if !ok {
		return "?"
	}
	return stage(p)
}

// stage is the stage that a span is of.
func stage(s *tracepb.Span) string {
	name, _, _ := strings.Cut(s.GetName(), " ")
	switch name {
	case "taskrun", "pipelinerun":
		return "run"
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return "request"
	default:
		return name
	}
}

// From the event to the write: one TaskRun, as the collector has it.
func TestATaskRunIsATrace(t *testing.T) {
	onlyIf(t)
	collector, _ := traced(t, "one step")
	all := spansOf(collector)
	tree := collector.Tree()
	begins := `taskrun
  deltafifo taskruns
    queue taskrun
      reconcile taskrun ← deltafifo taskruns
        `
	if !strings.Contains(tree, begins) {
		t.Errorf("the run does not begin with\n%s", begins)
	}
	for _, want := range []string{"POST pods\n", "PATCH taskruns/status\n", "← deltafifo pods", "list taskruns\n", "watch taskruns\n"} {
		if !strings.Contains(tree, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if runs := collector.Named("taskrun"); len(runs) != 1 {
		t.Errorf("%d runs are told to have ended, want 1", len(runs))
	}
	hold(t, all)
	if t.Failed() {
		t.Log(tree)
	}
}

// Pipelines, and a pipeline within one: all that was made for a run is in its trace, and
// below the run that made it.
func TestAPipelineRunAndAllThatItMakesIsATrace(t *testing.T) {
	onlyIf(t)
	collector, r := traced(t, "pipeline: a pipeline within")
	all := spansOf(collector)
	if got, want := len(collector.Named("taskrun")), len(r.Facts.Runs); got != want || want < 4 {
		t.Errorf("%d TaskRuns are told to have ended, of %d", got, want)
	}
	roots := 0
	for _, s := range slices.Concat(collector.Named("taskrun"), collector.Named("pipelinerun")) {
		switch all.parent(s) {
		case "-":
			roots++
		case "run":
		default:
			t.Errorf("%s is below %s", tracetest.Attribute(s, "millrace.key"), all.parent(s))
		}
	}
	if roots != 1 {
		t.Errorf("%d runs are nobody's, want the user's alone", roots)
	}
	hold(t, all)
	if t.Failed() {
		t.Log(collector.Tree())
	}
}

// hold is what is true of all spans of a calm world whose runs have ended.
func hold(t *testing.T, all spans) {
	t.Helper()
	below := map[string][]string{
		"run": {"-", "run"}, "deltafifo": {"run"}, "queue": {"deltafifo", "run"}, "reconcile": {"queue"},
		"request": {"reconcile"}, "list": {"-"}, "watch": {"-"},
	}
	causes := 0
	for _, s := range all {
		linked, told := map[string]bool{}, map[string]int{} // spans; events by cause
		if p := all.parent(s); !slices.Contains(below[stage(s)], p) {
			t.Errorf("%s %s is below %s", s.GetName(), tracetest.Attribute(s, "millrace.key"), p)
		}
		if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("%s ends before it begins", s.GetName())
		}
		for _, l := range s.GetLinks() {
			to := all[hex.EncodeToString(l.GetSpanId())]
			if to == nil {
				t.Errorf("%s has a link to what is not here", s.GetName())
				continue
			}
			if linked[string(l.GetSpanId())] {
				t.Errorf("%s has two links to one %s", s.GetName(), to.GetName())
			}
			linked[string(l.GetSpanId())] = true
			if stage(s) == "reconcile" {
				causes++
				told[causeOf(l)] += 1 + number(t, tracetest.Attribute(to, "millrace.merged"))
				if kind := stage(to); kind != "deltafifo" && kind != "reconcile" {
					t.Errorf("a cause of %s is %s", s.GetName(), to.GetName())
				}
				if to.GetStartTimeUnixNano() > s.GetStartTimeUnixNano() {
					t.Errorf("%s is later than what it has caused", to.GetName())
				}
			}
		}
		if stage(s) == "reconcile" {
			if want := eventsOf(t, s); !maps.Equal(told, want) {
				t.Errorf("%s of %s has links to %v, and was for %v", s.GetName(), tracetest.Attribute(s, "millrace.key"), told, want)
			}
		}
	}
	if causes == 0 {
		t.Error("no reconcile has a cause")
	}
}

// causeOf is the cause that a link of a reconcile is for: source and event.
func causeOf(l *tracepb.Span_Link) string {
	for _, a := range l.GetAttributes() {
		if a.GetKey() == "millrace.cause" {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// eventsOf is how many events of each cause a reconcile says that it was for.
func eventsOf(t *testing.T, s *tracepb.Span) map[string]int {
	t.Helper()
	events := map[string]int{}
	for cause := range strings.SplitSeq(tracetest.Attribute(s, "millrace.causes"), ", ") {
		words := strings.Fields(cause)
		if len(words) < 2 {
			t.Errorf("%s was for %q", s.GetName(), cause)
			continue
		}
		n := 1
		if times, is := strings.CutPrefix(words[len(words)-1], "×"); is {
			n = number(t, times)
		}
		events[words[0]+" "+words[1]] += n
	}
	return events
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil && text != "" { // a reconcile that asked for another stands for itself alone
		t.Error(err)
	}
	return n
}

// With a rate of zero, nothing but what somebody has asked for.
func TestNothingIsTracedThatNobodyHasAskedFor(t *testing.T) {
	onlyIf(t)
	collector, _ := traced(t, "one step", "--tracing-sampling-rate-per-million=0")
	if tree := collector.Tree(); tree != "" {
		t.Errorf("the collector has\n%s", tree)
	}
}
