package pipelinerun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
	"millrace/reconcile/resolution"
)

// observe collects what a plan needs, from the caches where they can be trusted.
// They cannot after a write without an answer, nor while they have not seen a write for
// long: then the server is asked for the run and for its children. That none of those
// can be made twice is not enough: a run that is cancelled would end before children
// that it does not see (seed 207873).
// known is the run, where it need not be decoded again. nil means: no such run.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName, known remembered) (*observation, error) {
	doubt := r.parts.Gate.InDoubt(key)
	o := &observation{
		config: r.configNow(), Run: known.run, Graph: known.graph, Tally: known.tally, sights: known.sights, Gone: known.gone, Confirmed: known.confirmed,
		Tasks:   map[string]taskAnswer{},
		Results: map[string][]crds.TaskRunResult{}, Refused: map[string]error{},
	}
	if o.Gone == nil {
		o.Gone = map[string]bool{}
	}
	if err := r.observeRun(ctx, key, doubt, o); err != nil || o.Run == nil {
		return nil, err
	}
	if !o.config.ours(o.Run) {
		return o, nil // not a call for what is another controller's
	}
	if err := r.observeChildren(ctx, key, doubt, o); err != nil {
		return nil, err
	}
	if o.ChildrenSought = doubt; doubt {
		r.parts.Gate.Clear(key)
	}
	return o, r.observePipeline(ctx, o)
}

func (r *Reconciler) observeRun(ctx context.Context, key types.NamespacedName, doubt bool, o *observation) error {
	if doubt {
		o.Run = nil
		return r.readRun(ctx, key, o)
	}
	if o.Run != nil {
		return nil
	}
	run, ok, err := r.parts.Caches.PipelineRun(key)
	if !ok {
		return nil
	}
	if err != nil {
		return r.observeHead(key, err, o)
	}
	o.Run = &run
	return nil
}

// readRun asks the server, and has the next reconcile wait for the cache to be
// where the server was.
func (r *Reconciler) readRun(ctx context.Context, key types.NamespacedName, o *observation) error {
	run, err := r.parts.Client.GetPipelineRun(ctx, key)
	var unreadable *call.UnreadableError
	switch {
	case apierrors.IsNotFound(err):
		r.parts.Gate.Clear(key)
		uid, _, _ := r.parts.Caches.Known(key)
		r.absent.Note(key, uid, time.Now())
		return nil
	case errors.As(err, &unreadable):
		return r.observeHead(key, err, o)
	case err != nil:
		return fmt.Errorf("get PipelineRun: %w", err)
	}
	r.absent.Found(key)
	r.parts.Gate.Wrote(key, r.parts.Caches.PipelineRuns, run.ResourceVersion)
	o.Run, o.Confirmed = run, true
	return nil
}

// confirm asks the server for the run of a plan that was made of what the cache shows.
// again is false if there is none, or another by that name: its children are others. An
// answer that cannot be read confirms nothing, and is for another try: should the run be
// so, the cache will come to that. A status may be older than the cache, if it was erased
// or restored, and then what it needs to start was not observed.
func (r *Reconciler) confirm(ctx context.Context, key types.NamespacedName, o *observation) (again bool, result reconcile.Result, err error) {
	now := *o
	now.Run = nil
	if err := r.readRun(ctx, key, &now); err != nil {
		return false, result, err
	}
	switch {
	case now.Run == nil:
		return false, reconcile.Result{RequeueAfter: call.AbsentFor}, nil
	case now.Unreadable != nil:
		return false, result, fmt.Errorf("get PipelineRun: %w", now.Unreadable)
	case now.Run.UID != o.Run.UID:
		return false, reconcile.Result{Requeue: true}, nil
	case now.Run.ResourceVersion != o.Run.ResourceVersion:
		o.Run = now.Run
		if err := r.observePipeline(ctx, o); err != nil {
			return false, result, err
		}
	}
	o.Confirmed = true
	return true, result, nil
}

func (r *Reconciler) observeHead(key types.NamespacedName, unreadable error, o *observation) error {
	head, ok, err := r.parts.Caches.Head(key)
	if err != nil {
		return fmt.Errorf("read PipelineRun: %w", errors.Join(unreadable, err))
	}
	if !ok {
		return nil
	}
	o.Unreadable = unreadable
	o.Run = &crds.PipelineRun{
		ObjectMeta: head.ObjectMeta,
		Spec:       crds.PipelineRunSpec{ManagedBy: head.Spec.ManagedBy},
		Status:     crds.PipelineRunStatus{Conditions: head.Status.Conditions, ChildReferences: head.Status.ChildReferences},
	}
	return nil
}

func (r *Reconciler) observeChildren(ctx context.Context, key types.NamespacedName, doubt bool, o *observation) error {
	before := o.sights
	o.sights = make([]sight, len(r.parts.Caches.Children))
	for i, children := range r.parts.Caches.Children {
		var last sight
		if i < len(before) {
			last = before[i]
		}
		now, err := children.of(o.Run.UID, last)
		if err != nil {
			return err
		}
		o.sights[i] = now
		found := now.children
		if doubt {
			if found, err = r.settle(ctx, key, children, o.Run, found); err != nil {
				return err
			}
		}
		if len(o.Children) == 0 {
			o.Children = slices.Clip(found) // most runs have children of one kind
			continue
		}
		o.Children = append(o.Children, found...)
	}
	return nil
}

// settle asks the server for children of one kind, and has the next reconcile wait for
// the cache to have seen them.
func (r *Reconciler) settle(ctx context.Context, key types.NamespacedName, of Children, run *crds.PipelineRun, cached []*child) ([]*child, error) {
	settled, err := of.settle(ctx, r.parts.Client, run, cached)
	for _, one := range settled {
		r.parts.Gate.Wrote(key, of.cache, one.Version)
	}
	return settled, err
}

// observePipeline fetches the Pipeline of a run that has not resolved it yet. One
// that was created together with its run may reach its cache later than the run did,
// so the server is asked before a run fails for the want of one.
func (r *Reconciler) observePipeline(ctx context.Context, o *observation) (err error) {
	if o.Run.Status.PipelineSpec != nil || o.Run.IsDone() || o.Unreadable != nil {
		return nil //nolint:nilerr // that the run cannot be read, the plan will say
	}
	if o.Around, err = r.around(ctx, o.Run); err != nil {
		return err
	}
	if ref := remote(o.Run, o.config); ref != nil {
		return r.observeRequest(ctx, o, *ref)
	}
	key, wrong := reachable(o.Run, o.config)
	if none := wrong != nil || key.Name == ""; none {
		return nil // the plan will say so
	}
	o.Pipeline, o.NoPipeline, err = call.Find(ctx, key, r.parts.Caches.Pipeline, r.parts.Client.GetPipeline)
	if err != nil {
		return fmt.Errorf("get Pipeline: %w", err)
	}
	return nil
}

// observeRequest reads the answer of a resolver, from the server: a run asks once, and a
// cache of requests would be one for that alone.
func (r *Reconciler) observeRequest(ctx context.Context, o *observation, ref crds.ResolverRef) error {
	name := resolution.RequestName(o.Run.Namespace, o.Run.Name, ref)
	request, err := r.parts.Client.GetRequest(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get ResolutionRequest: %w", err)
	}
	if controller := metav1.GetControllerOf(request); controller != nil && controller.UID == o.Run.UID {
		o.Request = request // one of an earlier run of this name goes, and has not the answer of now
	}
	return nil
}

// find answers what a plan has asked for.
func (r *Reconciler) find(ctx context.Context, key types.NamespacedName, o *observation, p Plan) error {
	for _, name := range p.Tasks {
		task, none, err := call.Find(ctx, beside(key, name), r.parts.Caches.Task, r.parts.Client.GetTask)
		if err != nil {
			return fmt.Errorf("get Task: %w", err)
		}
		answer := taskAnswer{None: none}
		if task != nil {
			answer.Spec = &task.Spec
		}
		o.Tasks[name] = answer
	}
	for _, name := range p.Results {
		results, err := r.results(ctx, key, o.kindOf(name), name)
		if err != nil {
			return err
		}
		o.Results[name] = results
	}
	if len(p.Kinds) > 0 {
		if err := r.seek(ctx, key, o, p.Kinds); err != nil {
			return err
		}
	}
	for _, name := range p.Missing {
		if err := r.readChild(ctx, key, o, o.kindOf(name), name); err != nil {
			return err
		}
	}
	return nil
}

// seek asks the server for all children of these kinds.
func (r *Reconciler) seek(ctx context.Context, key types.NamespacedName, o *observation, kinds []string) error {
	for _, of := range r.parts.Caches.Children {
		if !slices.Contains(kinds, of.kind) {
			continue
		}
		isOne := func(c *child) bool { return c.Kind == of.kind }
		others := slices.DeleteFunc(slices.Clone(o.Children), isOne)
		known := slices.DeleteFunc(slices.Clone(o.Children), func(c *child) bool { return !isOne(c) })
		settled, err := r.settle(ctx, key, of, o.Run, known)
		if err != nil {
			return err
		}
		o.Children = slices.Concat(others, settled)
	}
	o.ChildrenSought = true
	return nil
}

// kindOf is the kind of a child, by what the run's status says where the cache says
// nothing.
func (o *observation) kindOf(name string) string {
	for _, c := range o.Children {
		if c.Name == name {
			return c.Kind
		}
	}
	for _, ref := range o.Run.Status.ChildReferences {
		if ref.Name == name {
			return ref.Kind
		}
	}
	return crds.KindTaskRun
}

// readChild asks the server for a child that the cache has not: it may have been made
// by a program that ran before this one, or an instant ago. One that is somebody
// else's is not there, for this run.
func (r *Reconciler) readChild(ctx context.Context, key types.NamespacedName, o *observation, kind, name string) error {
	there, err := r.getChild(ctx, beside(key, name), kind)
	switch {
	case apierrors.IsNotFound(err):
		o.Gone[name] = true
		return nil
	case err != nil:
		return fmt.Errorf("get %s: %w", kind, err)
	}
	if controller := metav1.GetControllerOf(there.object); controller == nil || controller.UID != o.Run.UID {
		o.Gone[name] = true
		return nil
	}
	r.found(key, o, there)
	return nil
}

// found takes note of a child that the cache does not show yet, and of what one that
// has ended has left: when the plan asks for it, the cache may have come to a state of
// the child before its end.
func (r *Reconciler) found(key types.NamespacedName, o *observation, there wholeChild) {
	r.parts.Gate.Wrote(key, r.cacheOf(there.Kind), there.object.GetResourceVersion())
	o.Children = append(o.Children, &there.child)
	if there.done() {
		o.Results[there.Name] = there.results
	}
}

// A wholeChild is a child as the server has it.
type wholeChild struct {
	child

	object  metav1.Object
	results []crds.TaskRunResult
}

func (r *Reconciler) getChild(ctx context.Context, key types.NamespacedName, kind string) (wholeChild, error) {
	switch kind {
	case crds.KindCustomRun:
		run, err := r.parts.Client.GetCustomRun(ctx, key)
		if err != nil {
			return wholeChild{}, err
		}
		return wholeChild{ofCustomRun(run), run, customResults(run)}, nil
	case crds.KindPipelineRun:
		run, err := r.parts.Client.GetPipelineRun(ctx, key)
		if err != nil {
			return wholeChild{}, err
		}
		return wholeChild{ofPipelineRun(run), run, pipelineResults(run)}, nil
	default:
		run, err := r.parts.Client.GetTaskRun(ctx, key)
		if err != nil {
			return wholeChild{}, err
		}
		return wholeChild{ofTaskRun(run), run, run.Status.Results}, nil
	}
}

// cacheOf is where a child of that kind will be seen.
func (r *Reconciler) cacheOf(kind string) reconcile.Cache {
	switch kind {
	case crds.KindCustomRun:
		return r.parts.Caches.CustomRuns
	case crds.KindPipelineRun:
		return r.parts.Caches.PipelineRuns
	default:
		return r.parts.Caches.TaskRuns
	}
}

// beside is the key of another object in the same namespace.
func beside(key types.NamespacedName, name string) types.NamespacedName {
	key.Name = name
	return key
}
