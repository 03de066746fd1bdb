package pipelinerun

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// Caches are where a reconcile reads. The functions that return an object return a
// private copy that the reconcile may change, false for what is not there, and an
// error for what is there and cannot be decoded.
type Caches struct {
	PipelineRun func(types.NamespacedName) (crds.PipelineRun, bool, error)
	Head        func(types.NamespacedName) (Head, bool, error)
	// Known is which version of a PipelineRun there is, without decoding it.
	Known     func(types.NamespacedName) (uid types.UID, resourceVersion string, ok bool)
	Pipeline  func(types.NamespacedName) (crds.Pipeline, bool, error)
	Task      func(types.NamespacedName) (crds.Task, bool, error)
	TaskRun   func(types.NamespacedName) (crds.TaskRun, bool, error)
	CustomRun func(types.NamespacedName) (crds.CustomRun, bool, error)
	// Children are the runs that PipelineRuns have made, by the kind of the children.
	Children []Children

	// PipelineRuns, TaskRuns and CustomRuns are the caches that all this is read from,
	// for the gate.
	PipelineRuns reconcile.Cache
	TaskRuns     reconcile.Cache
	CustomRuns   reconcile.Cache
}

// Head is as much of a PipelineRun as can be decoded when the whole cannot.
type Head struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ManagedBy *string `json:"managedBy"`
	} `json:"spec"`
	Status struct {
		Conditions      crds.Conditions             `json:"conditions"`
		ChildReferences []crds.ChildStatusReference `json:"childReferences"`
	} `json:"status"`
}

// Trace is told what happens; every func may be nil. They are called by the
// worker that did it, after the API server has answered, and hold it up.
type Trace struct {
	// Started: the run has begun, and that has been written down.
	Started func(key types.NamespacedName)
	// Done: the run has ended, and this process has written so.
	Done func(Done)
	// Planned: a plan has been made and is about to be acted on.
	Planned func(key types.NamespacedName, p Plan)
	// Noop: that plan had nothing to do.
	Noop func(key types.NamespacedName)
}

// Done is the end of a run.
type Done struct {
	Key      types.NamespacedName
	Pipeline string // of spec.pipelineRef; empty for an embedded pipeline
	Status   corev1.ConditionStatus
	Reason   string
	Duration time.Duration // from start to completion
}

// Parts are what a Reconciler works with; all are needed but Recorder, Trace and
// Settings.
type Parts struct {
	Caches   Caches
	Client   Client
	Gate     call.Gate
	Recorder call.Recorder
	Trace    Trace
	// Settings fills in, over the Config that New was given, what an administrator may
	// have changed since. It is asked once in each reconcile, which goes by that to its
	// end. Default: nothing changes.
	Settings func(*Config)
}

// Reconciler executes PipelineRuns.
type Reconciler struct {
	config  Config
	parts   Parts
	settled reconcile.Settled
	memory  memory
	absent  call.Absent
}

// New returns a Reconciler, which does nothing by itself.
func New(config Config, parts Parts) *Reconciler {
	return &Reconciler{config: config, parts: parts}
}

// configNow is what a reconcile that begins now goes by.
func (r *Reconciler) configNow() Config {
	c := r.config
	if r.parts.Settings != nil {
		r.parts.Settings(&c)
	}
	return c
}

// A reconcile plans at most this often: for the Tasks of the pipeline, for children
// that are missed, for those that no cache shows, for the run itself, for results of
// conditions, of parameters and of the pipeline, for the answers to creations (see
// maxRefused), and for what came of all that.
const maxPlans = 10

// Reconcile brings one run forward by as much as can be done now. It may be
// called by many workers at once, for different keys.
//
// An error is trouble with the API server or the network, and asks for the key to
// be tried again; a run that is wrong is no error but a condition of that run.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	uid, version, _ := r.parts.Caches.Known(key)
	if r.settled.Is(key, version) && !r.HasUnended(uid) {
		return reconcile.Result{}, nil
	}
	wait, ask := r.absent.Look(key, uid, time.Now())
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if ask {
		r.parts.Gate.Doubt(key)
	}
	o, err := r.observe(ctx, key, r.memory.take(key, uid, version))
	if o == nil || err != nil {
		wait, _ = r.absent.Look(key, uid, time.Now())
		return reconcile.Result{RequeueAfter: wait}, err
	}
	if o.config.ours(o.Run) { // of others' runs no reconcile would see the end, which is to forget them
		defer r.memory.keep(key, o)
	}
	for range maxPlans {
		o.draw()
		p := plan(*o, time.Now(), o.config)
		if o.settles(p) {
			r.settled.Add(key, o.Run.ResourceVersion)
		}
		r.tell(ctx, key, p)
		again, result, err := r.act(ctx, key, o, p)
		if !again || err != nil {
			return result, err
		}
	}
	return reconcile.Result{Requeue: true}, nil
}

func (r *Reconciler) tell(ctx context.Context, key types.NamespacedName, p Plan) {
	klog.FromContext(ctx).V(4).Info("Planned", "plan", p)
	if r.parts.Trace.Planned != nil {
		r.parts.Trace.Planned(key, p)
	}
	if len(p.Actions) == 0 && !p.asks() && r.parts.Trace.Noop != nil {
		r.parts.Trace.Noop(key)
	}
}

// draw takes the pipeline of a run that has begun apart, once for all of its plans, and
// ties its runs to it. One that cannot be is for the plan to tell.
func (o *observation) draw() {
	spec := o.Run.Status.PipelineSpec
	if spec == nil || o.Run.IsDone() {
		return
	}
	if o.Graph == nil || o.Graph.of != spec {
		o.Graph, _ = draw(spec)
	}
	if o.Graph != nil {
		o.Tally = o.Tally.upToDate(o.Graph, o.Run.Status.ChildReferences, o.Children)
	}
}

// HasUnended tells whether the caches have a child of the PipelineRun of that UID that has
// not ended. Of one that is settled it has come since: who made it died of that, and the
// server acted when the run had ended. It looks at each child, decodes none, and may be
// called from anywhere.
func (r *Reconciler) HasUnended(run types.UID) bool {
	return slices.ContainsFunc(r.parts.Caches.Children, func(c Children) bool { return c.someGoOn(run) })
}

// settles tells whether a plan is the last one for its run: it has ended, and so
// have its children.
func (o *observation) settles(p Plan) bool {
	return o.Run.IsDone() && len(p.Actions) == 0 && !p.asks() && p.Requeue == 0 && !o.awaitsChildren()
}

func (o *observation) awaitsChildren() bool {
	for _, c := range o.Children {
		if !c.done() {
			return true
		}
	}
	return false
}
