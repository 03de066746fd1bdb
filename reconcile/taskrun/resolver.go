package taskrun

import (
	"errors"
	"fmt"
	"time"

	"millrace/crds"
	"millrace/reconcile/resolution"
)

// foreign is the reference of a run to a task that somebody's resolver is to fetch; nil
// if there is none, or if that is not allowed here.
func foreign(run *crds.TaskRun, c Config) *crds.ResolverRef {
	ref := run.Spec.TaskRef
	if ref == nil || ref.Name != "" || ref.Resolver == "" || ref.Resolver == resolution.ClusterResolver || c.Resolver == nil || !c.Resolver(ref.Resolver) {
		return nil
	}
	return &ref.ResolverRef
}

// awaitResolver asks a resolver for the task, and waits for what it says; nil when it
// has said it, which is then in the decision, or is not needed.
func (d decision) awaitResolver() (decision, *Plan) {
	ref := foreign(d.Run, d.config)
	if ref == nil || d.Run.Spec.TaskSpec != nil {
		return d, nil
	}
	if d.Request == nil && d.Refused != nil {
		p := d.refusedPod(d.Run.Status)
		return d, &p
	}
	p := d.write("a resolver fetches the task", d.set(d.Run.Status, ongoing(crds.TaskRunReasonResolvingTaskRef,
		fmt.Sprintf("TaskRun %s/%s awaiting remote resource", d.Run.Namespace, d.Run.Name))))
	if d.Request == nil {
		p.Actions = append(p.Actions, CreateRequest{resolution.Request(d.Run.Namespace, d.Run.Name, owner(d.Run), *ref)})
		p.Requeue = time.Second
		return d, &p
	}
	task, source, err := resolution.Read[crds.Task](d.Request, crds.KindTask, d.now)
	switch {
	case errors.Is(err, resolution.ErrPending):
		p.Requeue = d.soon()
		return d, &p
	case err != nil:
		d.NoTask = err
	default:
		d.Task, d.found = task, source
	}
	return d, nil
}
