package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile/pipelinerun"
)

type runKey struct{}

// withRun puts the span of a run into the ctx of its reconcile.
func withRun(ctx context.Context, span trace.SpanContext) context.Context {
	return context.WithValue(ctx, runKey{}, span)
}

// Children is a client that gives the runs that a PipelineRun makes its own trace, by the
// annotation that Tekton has for it, so that they are in it whoever reconciles them. That
// of a nil Tracer is the client itself.
//
// An annotation is made of a run that is not sampled, too: it says that its children are
// not either.
func (t *Tracer) Children(client pipelinerun.Client) pipelinerun.Client {
	if t == nil {
		return client
	}
	return children{client}
}

type children struct{ pipelinerun.Client }

// CreateTaskRun is the client's.
func (c children) CreateTaskRun(ctx context.Context, run *crds.TaskRun) (string, error) {
	bequeath(ctx, &run.ObjectMeta, "taskrun")
	return c.Client.CreateTaskRun(ctx, run)
}

// CreatePipelineRun is the client's.
func (c children) CreatePipelineRun(ctx context.Context, run *crds.PipelineRun) (string, error) {
	bequeath(ctx, &run.ObjectMeta, "pipelinerun")
	return c.Client.CreatePipelineRun(ctx, run)
}

func bequeath(ctx context.Context, child *metav1.ObjectMeta, kind string) {
	span, _ := ctx.Value(runKey{}).(trace.SpanContext)
	text, ok := annotation(span)
	if !ok {
		return
	}
	if child.Annotations == nil {
		child.Annotations = map[string]string{}
	}
	child.Annotations[annotationOf(kind)] = text
}
