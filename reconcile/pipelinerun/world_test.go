package pipelinerun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/call"
)

// A world is what a server would keep for one PipelineRun, and carries plans out at
// once and without fail. It knows nothing of graphs.
type world struct {
	t      testing.TB
	config Config
	start  time.Time
	now    time.Time

	run       *crds.PipelineRun
	pipeline  *crds.Pipeline
	request   *crds.ResolutionRequest
	tasks     map[string]*crds.TaskSpec
	children  []child
	results   map[string][]crds.TaskRunResult
	deleted   map[string]bool
	taskRuns  map[string]*crds.TaskRun
	customs   map[string]*crds.CustomRun
	pipelines map[string]*crds.PipelineRun
	claims    map[string]bool
	refuse    map[string]error
	created   []string // every creation of a child, in order
	statuses  int      // writes of the status
	cancelled map[string]string
	decoded   int // children whose results were read
}

func newWorld(tb testing.TB, run *crds.PipelineRun) *world {
	tb.Helper()
	if run.Namespace == "" {
		run.Namespace = "default"
	}
	if run.UID == "" {
		run.UID = types.UID("uid-of-" + run.Name)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	run.CreationTimestamp = metav1.NewTime(start)
	return &world{
		t: tb, start: start, now: start, run: run,
		tasks: map[string]*crds.TaskSpec{}, results: map[string][]crds.TaskRunResult{}, deleted: map[string]bool{},
		taskRuns: map[string]*crds.TaskRun{}, customs: map[string]*crds.CustomRun{}, pipelines: map[string]*crds.PipelineRun{}, claims: map[string]bool{},
		refuse: map[string]error{}, cancelled: map[string]string{},
	}
}

// observe looks anew, as a process does that was started just now: all that a plan
// knows is what the server has.
func (w *world) observe() observation {
	o := observation{
		Run: clone(w.run), Confirmed: true, Children: pointers(w.children),
		Tasks: map[string]taskAnswer{}, Gone: map[string]bool{}, Results: map[string][]crds.TaskRunResult{}, Refused: map[string]error{},
	}
	if w.request != nil {
		o.Request = clone(w.request)
	}
	if ref := w.run.Spec.PipelineRef; ref != nil && w.run.Status.PipelineSpec == nil && remote(w.run, w.config) == nil { // whoever is asked finds the one that there is
		if o.Pipeline = w.pipeline; o.Pipeline == nil {
			o.NoPipeline = fmt.Errorf("pipelines.tekton.dev %q not found", ref.Name)
		}
	}
	return o
}

// answer gives a plan what it asks for.
func (w *world) answer(o *observation, p Plan) {
	for _, name := range p.Tasks {
		o.Tasks[name] = taskAnswer{Spec: w.tasks[name]}
		if w.tasks[name] == nil {
			o.Tasks[name] = taskAnswer{None: fmt.Errorf("tasks.tekton.dev %q not found", name)}
		}
	}
	for _, name := range p.Results {
		o.Results[name] = w.results[name]
		w.decoded++
	}
	for _, name := range p.Missing {
		o.Gone[name] = w.deleted[name]
	}
	if len(p.Kinds) > 0 {
		o.ChildrenSought = true // and all were in the cache
	}
}

// reconcile plans and acts until nothing more is asked for; it returns the plans.
// A plan is made twice, to hold it to being a function.
func (w *world) reconcile() []Plan {
	w.t.Helper()
	o := w.observe()
	var plans []Plan
	for range 20 {
		before := text(o)
		p := plan(o, w.now, w.config)
		again := plan(o, w.now, w.config)
		if a, b := text(p), text(again); a != b {
			w.t.Errorf("two plans for one observation:\n%s", cmp.Diff(a, b))
		}
		if after := text(o); before != after {
			w.t.Errorf("plan has changed its arguments:\n%s", cmp.Diff(before, after))
		}
		plans = append(plans, p)
		if refused := w.act(&o, p); refused {
			continue
		}
		if !p.asks() {
			return plans
		}
		w.answer(&o, p)
	}
	w.t.Fatalf("no end of plans; the last is\n%s", plans[len(plans)-1])
	return nil
}

func (w *world) act(o *observation, p Plan) (refused bool) {
	for _, action := range p.Actions {
		if err := w.do(o, action); err != nil {
			return true
		}
	}
	return false
}

func (w *world) do(o *observation, action Action) error {
	switch a := action.(type) {
	case PatchMetadata:
		w.run.Labels, w.run.Annotations = call.Merged(w.run.Labels, a.Labels), call.Merged(w.run.Annotations, a.Annotations)
		o.Run = clone(w.run)
	case PatchStatus:
		w.statuses++
		w.run.Status = *clone(&a.Status)
		o.Run = clone(w.run)
	case CreateRequest:
		if err := w.refuse[a.Request.Name]; err != nil {
			o.Refused[a.Request.Name] = err
			return err
		}
		w.request = clone(a.Request)
		w.request.CreationTimestamp = metav1.NewTime(w.now)
	case CreateClaim:
		w.claims[a.Claim.Name] = true
	case CreateTaskRun:
		return w.create(o, crds.KindTaskRun, a.Run.ObjectMeta, func() { w.taskRuns[a.Run.Name] = clone(a.Run) })
	case CreateCustomRun:
		return w.create(o, crds.KindCustomRun, a.Run.ObjectMeta, func() { w.customs[a.Run.Name] = clone(a.Run) })
	case CreatePipelineRun:
		return w.create(o, crds.KindPipelineRun, a.Run.ObjectMeta, func() { w.pipelines[a.Run.Name] = clone(a.Run) })
	case CancelChild:
		c := w.child(a.Name)
		if c == nil || c.UID != a.UID || c.Kind != a.Kind {
			w.t.Errorf("%s: there is no such child", a)
			return nil
		}
		c.Ending = a.As
		c.Cancelled, c.TimedOut = a.As == "" || a.As == crds.PipelineRunSpecStatusCancelled, strings.HasSuffix(a.Message, timedOutSuffix)
		w.cancelled[a.Name] = a.Message
	}
	return nil
}

func (w *world) create(o *observation, kind string, meta metav1.ObjectMeta, keep func()) error {
	if err := w.refuse[meta.Name]; err != nil {
		o.Refused[meta.Name] = err
		return err
	}
	if w.child(meta.Name) != nil {
		w.t.Errorf("%s %s is created a second time", kind, meta.Name)
		return nil
	}
	if len(meta.Name) > 63 || !metav1.IsControlledBy(&meta, w.run) {
		w.t.Errorf("%s %s: its name or its owner is wrong", kind, meta.Name)
	}
	keep()
	w.created = append(w.created, meta.Name)
	w.children = append(w.children, child{
		Kind: kind, Name: meta.Name, UID: types.UID(fmt.Sprintf("uid-%d", len(w.created))), PipelineTask: meta.Labels[labelPipelineTask],
	})
	o.Children = append(o.Children, pointers(w.children[len(w.children)-1:])...)
	return nil
}

// pointers are to copies.
func pointers(children []child) []*child {
	all := make([]*child, len(children))
	for i, c := range slices.Clone(children) {
		all[i] = &c
	}
	return all
}

func (w *world) child(name string) *child {
	i := slices.IndexFunc(w.children, func(c child) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &w.children[i]
}

// end has a child end so.
func (w *world) end(name, reason string, results ...crds.TaskRunResult) {
	w.t.Helper()
	c := w.child(name)
	if c == nil {
		w.t.Fatalf("there is no child %q to end; there are %v", name, w.created)
	}
	c.Status, c.Reason = corev1.ConditionFalse, reason
	if reason == "Succeeded" {
		c.Status = corev1.ConditionTrue
	}
	w.results[name] = results
}

// vanish deletes a child.
func (w *world) vanish(name string) {
	w.children = slices.DeleteFunc(w.children, func(c child) bool { return c.Name == name })
	w.deleted[name] = true
}

func clone[T any](value *T) *T {
	out := new(T)
	if err := json.Unmarshal([]byte(text(value)), out); err != nil {
		panic(err)
	}
	return out
}

func values(children []*child) (all []child) {
	for _, c := range children {
		all = append(all, *c)
	}
	return all
}

// text is a value with all that is in it, for comparing.
func text(value any) string {
	switch v := value.(type) {
	case Plan:
		var out strings.Builder
		out.WriteString(v.String())
		for _, action := range v.Actions {
			out.WriteString("\n" + text(action))
		}
		return out.String()
	case observation:
		return text(v.Run) + text(v.Pipeline) + fmt.Sprint(values(v.Children), v.Results, slices.Sorted(maps.Keys(v.Tasks)))
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
