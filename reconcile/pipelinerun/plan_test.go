package pipelinerun

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

func parse(tb testing.TB, text string) *crds.PipelineRun {
	tb.Helper()
	run := &crds.PipelineRun{}
	if err := yaml.UnmarshalStrict([]byte(text), run); err != nil {
		tb.Fatal(err)
	}
	return run
}

const twoAtOnce = `
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: a, taskSpec: {steps: [{image: x}]}}
    - {name: b, taskSpec: {steps: [{image: x}]}}
`

// What is somebody else's, or on its way out, is left alone.
func TestRunsThatAreNotForUs(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	other := "somebody.else/controller"
	for name, change := range map[string]func(*crds.PipelineRun){
		"is being deleted":           func(run *crds.PipelineRun) { run.DeletionTimestamp = &deleted },
		`managed by "` + other + `"`: func(run *crds.PipelineRun) { run.Spec.ManagedBy = &other },
	} {
		w := newWorld(t, parse(t, twoAtOnce))
		change(w.run)
		plans := w.reconcile()
		if len(plans) != 1 || len(plans[0].Actions) > 0 || !strings.Contains(plans[0].Why, name) {
			t.Errorf("%s: %v", name, plans)
		}
	}
}

// A run that nobody can read ends, and so do its children.
func TestUnreadableRunEnds(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.reconcile()
	o := w.observe()
	o.Run.Spec, o.Run.Status.PipelineSpec, o.Unreadable = crds.PipelineRunSpec{}, nil, errors.New("spec.params: cannot unmarshal")
	p := plan(o, w.now, w.config)
	if len(p.Kinds) != 3 || len(p.Actions) != 0 {
		t.Errorf("of whatever kind its children are, it asks for them first: %s", p)
	}
	o.ChildrenSought = true
	p = plan(o, w.now, w.config)
	want := `the run ends: PipelineValidationFailed
  cancel TaskRun run-a, uid uid-1: TaskRun cancelled as the PipelineRun it belongs to has been cancelled.
  cancel TaskRun run-b, uid uid-2: TaskRun cancelled as the PipelineRun it belongs to has been cancelled.
  patch status: Succeeded False PipelineValidationFailed: the PipelineRun cannot be read, correct it and create it again: spec.params: cannot unmarshal`
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p, want)
	}
}

// A status that the server will not take ends the run, with one that it has taken
// before, but for the condition (issue 6076 of Tekton).
func TestTooLargeRunEnds(t *testing.T) {
	tooLarge := errors.New("etcdserver: request is too large")
	w := newWorld(t, parse(t, twoAtOnce))
	o := w.observe()
	o.Unstorable = tooLarge
	p := plan(o, w.now, w.config)
	status := p.Actions[0].(PatchStatus).Status
	if status.PipelineSpec != nil || !strings.Contains(p.String(), "with the pipeline in its status, make that smaller: etcdserver: request is too large") {
		t.Errorf("at the start: %s", p)
	}
	w.reconcile()
	w.end("run-a", "Succeeded")
	o = w.observe()
	o.Unstorable, o.ChildrenSought = tooLarge, true
	p = plan(o, w.now, w.config)
	last := p.Actions[len(p.Actions)-1].(PatchStatus).Status
	if len(p.Actions) != 2 || text(last.ChildReferences) != text(w.run.Status.ChildReferences) || !strings.Contains(p.String(), "cancel TaskRun run-b") {
		t.Errorf("later: %s", p)
	}
}

// A run that is done and whose children are not is tidied up: its controller died
// between the two writes.
func TestDoneRunStopsItsChildren(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.reconcile()
	w.run.Status.Conditions.Set(failure(crds.PipelineRunReasonFailed, ""), w.now)
	w.reconcile()
	if len(w.cancelled) != 2 {
		t.Errorf("cancelled: %v", w.cancelled)
	}
	if p := w.reconcile(); len(p) != 1 || len(p[0].Actions) > 0 {
		t.Errorf("once more: %v", p)
	}
}

// A child that this very reconcile has made has no UID yet. It is not forgotten when
// the same reconcile ends the run.
func TestChildWithoutUIDIsStoppedLater(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.reconcile()
	o := w.observe()
	o.Children[1].UID, o.Unreadable, o.ChildrenSought = "", errors.New("spoiled"), true
	p := plan(o, w.now, w.config)
	if len(p.Actions) != 2 || p.Requeue != time.Second {
		t.Errorf("got %s", p)
	}
}

// A child whose task is not in the pipeline is no task, whatever wrote the reference.
func TestReferencesToNoTaskAreKept(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.reconcile()
	stray := crds.ChildStatusReference{Kind: crds.KindTaskRun, Name: "stray", PipelineTaskName: "gone"}
	w.run.Status.ChildReferences = append(w.run.Status.ChildReferences, stray)
	w.end("run-a", "Succeeded")
	w.end("run-b", "Succeeded")
	w.reconcile()
	if !w.run.IsSuccessful() || len(w.run.Status.ChildReferences) != 3 {
		t.Error(text(w.run.Status))
	}
}

// A status that somebody has made a circle of is refused, not followed for ever.
func TestACycleInTheStatusIsRefused(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.reconcile()
	w.run.Status.PipelineSpec.Tasks = append(w.run.Status.PipelineSpec.Tasks,
		crds.PipelineTask{Name: "c", RunAfter: []string{"d"}}, crds.PipelineTask{Name: "d", RunAfter: []string{"c"}})
	w.reconcile()
	if c := w.run.Succeeded(); c.Reason != string(crds.PipelineRunReasonInvalidGraph) {
		t.Error(c)
	}
}

// What all children carry: tkn and dashboards find them by it.
func TestLabelsOfChildren(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce+"    finally: [{name: f, taskSpec: {steps: [{image: x}]}}]\n"))
	w.run.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "tekton.dev/v1beta1TaskRuns": "{}", "kept": "yes"}
	w.reconcile()
	w.end("run-a", "Succeeded")
	w.end("run-b", "Succeeded")
	w.reconcile()
	for name, memberOf := range map[string]string{"run-a": "tasks", "run-f": "finally"} {
		meta := w.taskRuns[name].ObjectMeta
		want := map[string]string{
			"tekton.dev/pipeline": "run", "tekton.dev/pipelineRun": "run", "tekton.dev/pipelineRunUID": "uid-of-run",
			"tekton.dev/pipelineTask": strings.TrimPrefix(name, "run-"), "tekton.dev/memberOf": memberOf,
		}
		if text(meta.Labels) != text(want) {
			t.Errorf("%s has %v, want %v", name, meta.Labels, want)
		}
		if text(meta.Annotations) != `{"kept":"yes"}` {
			t.Errorf("%s has %v", name, meta.Annotations)
		}
	}
}

// Thousands of tasks are planned with work that grows with them, and no faster; it is
// counted in allocations, which do not depend on how busy the machine is.
func TestLargeGraphsTakeLinearWork(t *testing.T) {
	work := map[int]float64{}
	for _, n := range []int{500, 2000} {
		run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{PipelineSpec: &crds.PipelineSpec{Tasks: shapes["chain"](n)}}}
		run.Name = "run"
		work[n] = testing.AllocsPerRun(2, func() { plan(observation{Run: run}, time.Unix(1, 0), Config{}) })
	}
	if work[2000] > 5*work[500] {
		t.Errorf("four times the tasks took %.0f allocations instead of %.0f", work[2000], work[500])
	}
}

// So it is with a question to a resolver.
func TestARefusedRequestIsToldAndWaitedFor(t *testing.T) {
	run := parse(t, "metadata: {name: run}\nspec: {pipelineRef: {resolver: git, params: [{name: url, value: x}]}}")
	w := newWorld(t, run)
	w.config.Resolver = func(string) bool { return true }
	w.reconcile()
	name := w.request.Name
	w.run, w.request = parse(t, "metadata: {name: run}\nspec: {pipelineRef: {resolver: git, params: [{name: url, value: x}]}}"), nil
	w.run.Namespace, w.run.UID = "default", "uid-of-run"
	w.refuse[name] = overQuota("resolutionrequests")
	w.reconcile()
	w.now = w.now.Add(20 * time.Second)
	plans := w.reconcile()
	if message := w.run.Succeeded().Message; !strings.Contains(message, "exceeded quota: resolutionrequests") {
		t.Errorf("the run says %q", message)
	}
	if last := plans[len(plans)-1]; last.Requeue < 10*time.Second {
		t.Errorf("after 20 s it is asked again in %s", last.Requeue)
	}
}

const tooManyLater = `
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: first, taskSpec: {results: [{name: r, type: array}], steps: [{image: x}]}}
    - {name: b, runAfter: [first], taskSpec: {steps: [{image: x}]}}
    - name: c
      matrix: {params: [{name: p, value: "$(tasks.first.results.r[*])"}]}
      taskSpec: {params: [{name: p}], steps: [{image: x}]}
`

// The children that a run names are those that were made: not those that were about to
// be, when it turned out that the run cannot go on.
func TestAFailedRunNamesNoChildThatWasNotMade(t *testing.T) {
	w := newWorld(t, parse(t, tooManyLater))
	w.config.MaxMatrix = 2
	w.reconcile()
	w.end("run-first", "Succeeded", crds.TaskRunResult{Name: "r", Value: crds.NewArray("1", "2", "3")})
	w.reconcile()
	if !w.run.IsFailed() {
		t.Fatalf("the run is at %+v", w.run.Succeeded())
	}
	for _, ref := range w.run.Status.ChildReferences {
		if w.child(ref.Name) == nil {
			t.Errorf("%s is named, and was not made", ref.Name)
		}
	}
}

// How many runs a matrix has may be known only when other tasks have ended. The bound
// holds all the same, before the first of them is made, and for tasks that are tried beside
// it, and the run says what was too much.
func TestAMatrixThatTurnsOutTooLargeIsRefusedWhole(t *testing.T) {
	for _, values := range []int{2, 3, 10_000} {
		w := newWorld(t, parse(t, tooManyLater))
		w.config.MaxMatrix = 2
		w.reconcile()
		w.end("run-first", "Succeeded", crds.TaskRunResult{Name: "r", Value: crds.NewArray(strings.Split(strings.Repeat("v,", values-1)+"v", ",")...)})
		w.reconcile()
		if values <= 2 {
			if w.child("run-c-0") == nil || w.child("run-c-1") == nil || w.run.IsDone() {
				t.Errorf("of %d values: %+v, and the run is at %+v", values, w.children, w.run.Succeeded())
			}
			continue
		}
		if len(w.children) != 1 {
			t.Errorf("of %d values: something was made: %+v", values, w.children)
		}
		end := w.run.Succeeded()
		if end.Status != corev1.ConditionFalse || end.Reason != string(crds.PipelineRunReasonInvalidMatrixParameterTypes) ||
			!strings.Contains(end.Message, `expected 0 <= combinations of the matrix of pipelineTask "c" <= 2, and there are more`) {
			t.Errorf("of %d values: the run ends with %+v", values, end)
		}
	}
}

// What Tekton's other programs note on a PipelineRun is of that run: a child that had
// the note of Chains would pass for signed, and that of Results for recorded.
func TestReservedAnnotationsStayWithTheRun(t *testing.T) {
	w := newWorld(t, parse(t, twoAtOnce))
	w.run.Annotations = map[string]string{"chains.tekton.dev/signed": "true", "results.tekton.dev/record": "a/b", "kept": "yes"}
	w.reconcile()
	if got := text(w.taskRuns["run-a"].Annotations); got != `{"kept":"yes"}` {
		t.Errorf("the child has %s", got)
	}
}

// A child is created past admission, which drops those from other runs.
func TestNobodyHandsAReservedAnnotationToAChild(t *testing.T) {
	run := parse(t, twoAtOnce)
	reserved := map[string]string{"chains.tekton.dev/signed": "true", "results.tekton.dev/record": "a/b", "kept": "yes"}
	run.Spec.TaskRunSpecs = []crds.PipelineTaskRunSpec{{PipelineTaskName: "a", Metadata: &crds.PipelineTaskMetadata{Annotations: reserved}}}
	run.Spec.PipelineSpec.Tasks[1].TaskSpec.Metadata.Annotations = reserved
	w := newWorld(t, run)
	w.reconcile()
	for _, child := range []string{"run-a", "run-b"} {
		if got := text(w.taskRuns[child].Annotations); got != `{"kept":"yes"}` {
			t.Errorf("%s has %s", child, got)
		}
	}
}
