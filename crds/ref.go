package crds

// ResolverRef says where a definition comes from when it is not an object of
// this namespace.
type ResolverRef struct {
	// Who fetches the definition: cluster, git, http, bundles, hub or one of your own.
	Resolver string `json:"resolver,omitempty"`
	// What the resolver is to fetch; each resolver names its own parameters.
	Params Params `json:"params,omitempty"`
}

// TaskRef names the Task that a run executes: by name in the namespace of the
// run, or through a resolver, not both.
type TaskRef struct {
	// Name of a Task in the namespace of the run.
	Name string `json:"name,omitempty"`
	// Task when left out. In a Pipeline, another kind makes the task a CustomRun.
	Kind string `json:"kind,omitempty"`
	// The group and version of that kind; tekton.dev/v1 when left out.
	APIVersion string `json:"apiVersion,omitempty"`

	ResolverRef `json:",inline"`
}

// Ref names the StepAction that a step executes: by name in the namespace of
// the run, or through a resolver, not both.
type Ref struct {
	// Name of a StepAction in the namespace of the run.
	Name string `json:"name,omitempty"`

	ResolverRef `json:",inline"`
}
