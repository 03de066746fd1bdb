package crds

// Provenance tells where a definition came from and with which settings it was
// run, for tools that attest to how something was built.
type Provenance struct {
	// Where a resolver found the definition.
	RefSource *RefSource `json:"refSource,omitempty"`
	// The feature flags at the time of the run, by name.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	FeatureFlags map[string]any `json:"featureFlags,omitempty"`
}

// RefSource is the place that a definition was fetched from.
type RefSource struct {
	// The repository, registry or address.
	URI string `json:"uri,omitempty"`
	// Its digests, by algorithm.
	Digest map[string]string `json:"digest,omitempty"`
	// The file or object inside it.
	EntryPoint string `json:"entryPoint,omitempty"`
}

// Artifacts are what a task took and made.
type Artifacts struct {
	// What the task took.
	Inputs []Artifact `json:"inputs,omitempty"`
	// What the task made.
	Outputs []Artifact `json:"outputs,omitempty"`
}

// Artifact is a thing that a step took or made: under one name, one or several
// places where it can be found.
type Artifact struct {
	// What the thing is called.
	Name string `json:"name,omitempty"`
	// Where it can be found.
	Values []ArtifactValue `json:"values,omitempty"`
	// Whether this is what the build was for.
	BuildOutput bool `json:"buildOutput,omitempty"`
}

// ArtifactValue is one place where an artifact can be found.
type ArtifactValue struct {
	// Its digests, by algorithm.
	Digest map[string]string `json:"digest,omitempty"`
	// Its address.
	URI string `json:"uri,omitempty"`
}
