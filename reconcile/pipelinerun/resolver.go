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
	if d.Request == nil {
		p := d.askResolver(*ref)
		return &p
	}
	p := d.resolving("")
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

// askResolver makes the request. One that is refused for now is made again later, and
// the run says why it waits.
func (d *decision) askResolver(ref crds.ResolverRef) Plan {
	if r := d.answers(); r != nil {
		return d.refuse(r)
	}
	if d.waitsFor != "" {
		p := d.resolving("; " + d.waitsFor)
		p.Requeue = d.retry
		return p
	}
	p := d.resolving("")
	p.Actions = append(p.Actions, CreateRequest{resolution.Request(d.Run.Namespace, d.Run.Name, owner(d.Run), ref)})
	p.Requeue = time.Second
	return p
}

func (d *decision) resolving(detail string) Plan {
	return d.write("a resolver fetches the pipeline", d.set(d.Run.Status, ongoing(crds.PipelineRunReasonResolvingPipelineRef,
		fmt.Sprintf("PipelineRun %s/%s awaiting remote resource%s", d.Run.Namespace, d.Run.Name, detail))))
}
