package pipelinerun

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/variables"
)

// An observation is what one reconcile knows. Nothing else enters a plan but the
// time and the configuration.
type observation struct {
	// Run is the PipelineRun; of one that cannot be decoded, metadata and conditions.
	Run *crds.PipelineRun
	// Unreadable is why Run could not be decoded whole; nil as a rule.
	Unreadable error
	// Pipeline is the Pipeline of spec.pipelineRef. It is looked at until
	// status.pipelineSpec is there, and only until then.
	Pipeline *crds.Pipeline
	// NoPipeline is why there is no pipeline to run, for good; nil as a rule.
	NoPipeline error
	// Around are the pipelines of the PipelineRuns that this one is within, the next one
	// first; looked at as long as Pipeline is.
	Around []types.NamespacedName
	// Request is the ResolutionRequest of spec.pipelineRef, if there is one; looked at
	// as long as Pipeline is.
	Request *crds.ResolutionRequest
	// Tasks are the Tasks that the pipeline refers to by name, as far as a plan has
	// asked for them.
	Tasks map[string]taskAnswer
	// Children are the runs whose controller has the run's UID, whatever they are
	// called; as summaries, which nobody changes, in no order.
	Children []*child
	// ChildrenSought is true if the server was asked for them, and not the cache alone: it
	// may be behind what a process wrote that ran before this one, and has not what could
	// not be read of a list.
	ChildrenSought bool
	// Confirmed is true if Run is as this process has written it, or had it from the
	// server, and not from the cache alone: that may be behind what a process wrote that
	// ran before this one, which may have ended the run.
	Confirmed bool
	// Graph is that of status.pipelineSpec, if one has been drawn, and Tally what an
	// earlier look found of its runs. They only save time.
	Graph *drawing
	Tally *tally
	// sights are what Children was made of, for the next observation.
	sights []sight
	// Gone are children that a plan has missed, and the server has not, by name.
	Gone map[string]bool
	// Results are those of children that a plan has asked for, by the child's name. A
	// child that left none, or is gone, has an empty entry.
	Results map[string][]crds.TaskRunResult
	// Refused are the server's answers to creations of this reconcile, by the name of
	// what was to be created, if it was refused.
	Refused map[string]error
	// Unstorable is the server's answer to a write of the run, in this reconcile,
	// that it will never take.
	Unstorable error

	// config is what the observation, and the plan that is made of it, go by.
	config Config
}

// taskAnswer is what became of the look for a Task.
type taskAnswer struct {
	Spec *crds.TaskSpec
	None error // why there is none, for good
}

// A child is as much of a TaskRun, a CustomRun or a nested PipelineRun as a plan
// needs: what a cache can tell without decoding it.
type child struct {
	Kind         string
	Name         string
	UID          types.UID
	Version      string                 // its resourceVersion, when it was looked at
	PipelineTask string                 // by its label tekton.dev/pipelineTask
	Status       corev1.ConditionStatus // of Succeeded; empty or Unknown: not done
	Reason       string                 // of Succeeded
	Cancelled    bool                   // spec.status asks it to stop
	TimedOut     bool                   // and spec.statusMessage says that our time was up
	Deleting     bool                   // it has a deletionTimestamp
	// Ending is how a PipelineRun is asked to end; of other kinds there is one way.
	Ending  crds.PipelineRunSpecStatus
	Started time.Time // of a CustomRun alone: when the attempt began
}

func (c *child) done() bool {
	return c.Status == corev1.ConditionTrue || c.Status == corev1.ConditionFalse
}

// mayBeOf tells whether a child of the right name is that task's: the one that ends a
// matrix's name with its number can have the name of a task that is called so. One that
// has lost its label is what it is called.
func (c *child) mayBeOf(task string) bool { return c.PipelineTask == "" || c.PipelineTask == task }

// A Plan is what one reconcile is going to do: the actions in their order, then
// what it has to find out, after which another plan is made at once; else, a pause.
type Plan struct {
	Why     string        // in words, for people
	Actions []Action      // each is safe to repeat
	Tasks   []string      // Tasks that must be looked for to go on
	Results []string      // children whose results must be known to go on
	Missing []string      // children that must be looked for on the server to go on
	Kinds   []string      // kinds of children of which those on the server must be known to go on
	Confirm bool          // the run must be looked for on the server to go on
	Requeue time.Duration // look again after that; 0: when something changes
}

// asks tells whether the plan is only for finding something out.
func (p Plan) asks() bool {
	return p.Confirm || len(p.Tasks)+len(p.Results)+len(p.Missing)+len(p.Kinds) > 0
}

// begins tells whether the plan makes a child.
func (p Plan) begins() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool {
		switch a.(type) {
		case CreateTaskRun, CreateCustomRun, CreatePipelineRun:
			return true
		default:
			return false
		}
	})
}

// String lists the plan, a line for the reason and a line for each step.
func (p Plan) String() string {
	var out strings.Builder
	out.WriteString(p.Why)
	for _, action := range p.Actions {
		out.WriteString("\n  " + action.String())
	}
	for _, name := range p.Tasks {
		out.WriteString("\n  look for Task " + name)
	}
	for _, name := range p.Results {
		out.WriteString("\n  read the results of " + name)
	}
	for _, name := range p.Missing {
		out.WriteString("\n  look for " + name + " on the server")
	}
	for _, kind := range p.Kinds {
		out.WriteString("\n  look for the run's " + kind + "s on the server")
	}
	if p.Confirm {
		out.WriteString("\n  look for the run on the server")
	}
	if p.Requeue > 0 {
		out.WriteString("\n  look again in " + p.Requeue.String())
	}
	return out.String()
}

// plan decides what to do about a run. It is a function of its arguments and
// changes none of them: no clock, no I/O, no memory of earlier plans.
func plan(o observation, now time.Time, c Config) Plan {
	d := &decision{observation: o, now: now, config: c}
	run := o.Run
	switch {
	case run.DeletionTimestamp != nil:
		return Plan{Why: "the run is being deleted, and its children with it"}
	case !c.ours(run):
		return Plan{Why: fmt.Sprintf("the run is managed by %q", manager(run))}
	case run.IsDone():
		return d.tidy()
	case o.Unreadable != nil:
		return d.fail(invalid("the PipelineRun cannot be read, correct it and create it again: %v", o.Unreadable))
	case o.Unstorable != nil:
		return d.tooLarge()
	case run.IsCancelled() && !run.HasStarted():
		return d.refuse(&refusal{crds.PipelineRunReasonCancelled, wasCancelled(run)})
	case run.IsPending() && !run.HasStarted():
		return d.hold()
	case run.Status.PipelineSpec == nil:
		return d.start()
	default:
		return d.follow()
	}
}

// A decision is one plan in the making.
type decision struct {
	observation
	now    time.Time
	config Config

	spec     *crds.PipelineSpec // status.pipelineSpec
	graph    *drawing
	tasks    []*task                                      // all: those of the graph, then those of finally
	order    []*task                                      // those of the graph, each after what it needs
	bindings map[string]crds.WorkspaceBinding             // see bindingOf
	declared map[string]crds.PipelineWorkspaceDeclaration // the workspaces of the pipeline
	own      map[string]crds.PipelineTaskRunSpec          // see specOf
	merged   map[string]crds.PipelineTaskRunSpec          // likewise; by no name, that of the other tasks
	values   map[string]crds.ParamValue                   // of the parameters of the pipeline
	vars     variables.Set
	need     map[string]bool // children whose results must be known to go on

	found *crds.RefSource // where a resolver has found the pipeline

	late, tasksLate, finallyLate bool          // the time of the run, its graph or its finally is over
	stopping                     bool          // a task of the graph has failed the run
	statesSet                    bool          // how tasks ended is among the variables
	claimed                      bool          // the claims are among the actions
	waitsFor                     string        // what keeps a child from being made, for people
	retry                        time.Duration // when to try that again
}

// hold keeps a run from starting, as its author asked.
func (d *decision) hold() Plan {
	status := d.set(d.Run.Status, ongoing(crds.PipelineRunReasonPending, fmt.Sprintf("PipelineRun %q is pending", d.Run.Name)))
	return d.write("spec.status keeps the run from starting", status)
}

func (d *decision) startTime() *metav1.Time {
	return reconcile.StartTime(d.now, d.Run.CreationTimestamp)
}
