package settings

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/transform"
)

// Values are all settings, parsed. They are made whole and not changed any more, so
// that many may read them at once.
type Values struct {
	// Of feature-flags.
	APIFields          APIFields
	ResultsFrom        taskrun.ResultsFrom
	MaxResultSize      int
	CompressMessages   bool
	KeepPodOnCancel    bool
	DisableCredentials bool
	ParamEnum          bool
	CEL                bool
	ProvenanceInStatus bool
	CacheTransforms    bool

	// Of config-defaults.
	DefaultTimeout              time.Duration // negative: none
	DefaultServiceAccount       string
	ManagedByLabel              string
	MaxMatrix                   int
	DefaultResolver             string
	ImagePullBackOffTimeout     time.Duration
	CreateContainerErrorTimeout time.Duration
	ForbiddenEnv                []string
	PodTemplate                 *crds.PodTemplate
	ContainerResources          map[string]corev1.ResourceRequirements
	WorkspaceBinding            *crds.WorkspaceBinding
}

// APIFields are which fields of Tekton's API may be used.
type APIFields string

// Beta are all but pipelines as tasks of pipelines, whatever Tekton calls alpha; Alpha
// are those, too.
const (
	Beta  APIFields = "beta"
	Alpha APIFields = "alpha"
)

// TaskRuns fills in what the settings say about TaskRuns.
func (v *Values) TaskRuns(c *taskrun.Config) {
	c.ResultsFrom = v.ResultsFrom
	c.MaxResultSize = v.MaxResultSize
	c.CompressMessages = v.CompressMessages
	c.KeepPodOnCancel = v.KeepPodOnCancel
	c.DisableCredentials = v.DisableCredentials
	c.ParamEnum = v.ParamEnum
	c.CEL = v.CEL
	c.Provenance = v.provenance()
	c.DefaultTimeout = v.DefaultTimeout
	c.DefaultServiceAccount = v.DefaultServiceAccount
	c.ManagedByLabel = v.ManagedByLabel
	c.ImagePullBackOffTimeout = v.ImagePullBackOffTimeout
	c.CreateContainerErrorTimeout = v.CreateContainerErrorTimeout
	c.ForbiddenEnv = v.ForbiddenEnv
	c.PodTemplate = v.PodTemplate
	c.ContainerResources = v.ContainerResources
	c.WorkspaceBinding = v.WorkspaceBinding
}

// PipelineRuns fills in what they say about PipelineRuns.
func (v *Values) PipelineRuns(c *pipelinerun.Config) {
	c.Alpha = v.APIFields == Alpha
	c.ParamEnum = v.ParamEnum
	c.CEL = v.CEL
	c.Provenance = v.provenance()
	c.DefaultTimeout = v.DefaultTimeout
	c.MaxMatrix = v.MaxMatrix
}

// Transform is what is cut from objects before they are kept.
func (v *Values) Transform() transform.Func {
	if v.CacheTransforms {
		return transform.Default()
	}
	return transform.Chain()
}

// provenance is what the status of a run says it was made with: Tekton's flags, by the
// names that they have there, as far as they are served; nil where it is to say nothing.
func (v *Values) provenance() *crds.Provenance {
	if !v.ProvenanceInStatus {
		return nil
	}
	return &crds.Provenance{FeatureFlags: map[string]any{
		"enableProvenanceInStatus":  true,
		"maxResultSize":             v.MaxResultSize,
		"resultExtractionMethod":    string(v.ResultsFrom),
		"disableCredsInit":          v.DisableCredentials,
		"keepPodOnCancel":           v.KeepPodOnCancel,
		"enableParamEnum":           v.ParamEnum,
		"enableCELInWhenExpression": v.CEL,
	}}
}
