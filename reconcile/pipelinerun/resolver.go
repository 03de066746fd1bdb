package pipelinerun

import (
	"errors"
	"fmt"
	"time"

	"millrace/crds"
	"millrace/reconcile/resolution"
)

// remote is the reference of a run to a pipeline that somebody's resolver is to fetch;
// nil if there is none, or if that is not allowed here.
func remote(pr *crds.PipelineRun, c Config) *crds.ResolverRef {
	ref := pr.Spec.PipelineRef
	if ref == nil || ref.Name != "" || ref.Resolver == "" || ref.Resolver == resolution.ClusterResolver || !c.mayResolve(ref.Resolver) {
		return nil
	}
	return &ref.ResolverRef
}

// awaitResolver asks a resolver for the pipeline, and waits for what it says; nil when
// it has said it, or is not needed.
func (d *decision) awaitResolver() *Plan {
	ref := remote(d.Run, d.config)
	if ref == nil || d.Run.Spec.PipelineSpec != nil {
		return nil
	}
	p := d.write("a resolver fetches the pipeline", d.set(d.Run.Status, ongoing(crds.PipelineRunReasonResolvingPipelineRef,
		fmt.Sprintf("PipelineRun %s/%s awaiting remote resource", d.Run.Namespace, d.Run.Name))))
	if d.Request == nil {
		if r := d.answers(); r != nil {
			p = d.refuse(r)
			return &p
		}
		if len(d.Refused) == 0 {
			p.Actions = append(p.Actions, CreateRequest{resolution.Request(d.Run.Namespace, d.Run.Name, owner(d.Run), *ref)})
		}
		p.Requeue = soonest(time.Second, d.retry)
		return &p
	}
	pipeline, source, err := resolution.Read[crds.Pipeline](d.Request, crds.KindPipeline, d.now)
	switch {
	case errors.Is(err, resolution.ErrPending):
		p.Requeue = d.soon()
		return &p
	case err != nil:
		d.NoPipeline = err
	default:
		d.Pipeline, d.found = pipeline, source
	}
	return nil
}
