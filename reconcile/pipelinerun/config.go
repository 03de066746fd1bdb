package pipelinerun

import (
	"slices"
	"time"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/reconcile/resolution"
)

// Config is what an administrator decides about all runs. Its zero value is Tekton's
// default configuration.
type Config struct {
	// ManagedBy are the values of spec.managedBy that make a run ours; a run without
	// one is ours if crds.ManagedBy is among them. Default: crds.ManagedBy.
	ManagedBy []string
	// DefaultTimeout is for runs that name none, and what a TaskRun gets that names
	// none. Default: one hour; negative: none.
	DefaultTimeout time.Duration
	// MaxMatrix is how many runs one task may fan out to. Default: 256.
	MaxMatrix int
	// ParamEnum has runs held to the enum lists of parameters. Default: a pipeline that
	// has one is refused.
	ParamEnum bool
	// Alpha allows pipelines to be tasks of others, as Tekton's feature flag
	// enable-api-fields: alpha does. Default: a pipeline that has one is refused.
	Alpha bool
	// CEL allows conditions of tasks in CEL. Default: a pipeline that has one is refused.
	CEL bool
	// Resolver tells whether pipelines may come from the resolver of that name, by a
	// ResolutionRequest, and the Tasks of pipelines too. Default: none may but the
	// cluster resolver, which is built in.
	Resolver func(name string) bool
	// Namespace is the only one whose Pipelines runs may be made of. Default: all are.
	Namespace string
	// Provenance goes into the status of every run that starts. Default: nothing.
	Provenance *crds.Provenance
}

func (c Config) maxMatrix() int {
	if c.MaxMatrix == 0 {
		return 256
	}
	return c.MaxMatrix
}

// defaultTimeout is 0 for ever.
func (c Config) defaultTimeout() time.Duration {
	return defaulting.Defaults{Timeout: c.DefaultTimeout}.RunTimeout()
}

func (c Config) mayResolve(resolver string) bool {
	return resolver == resolution.ClusterResolver || c.Resolver != nil && c.Resolver(resolver)
}

// manager is who executes the run.
func manager(run *crds.PipelineRun) string {
	if run.Spec.ManagedBy == nil || *run.Spec.ManagedBy == "" {
		return crds.ManagedBy
	}
	return *run.Spec.ManagedBy
}

// ours tells whether the run is for this controller.
func (c Config) ours(run *crds.PipelineRun) bool {
	by := manager(run)
	if len(c.ManagedBy) == 0 {
		return by == crds.ManagedBy
	}
	return slices.Contains(c.ManagedBy, by)
}
