package crds

import "strings"

// The group and version of these types, as apiVersion spells them.
const (
	Group      = "tekton.dev"
	Version    = "v1"
	APIVersion = Group + "/" + Version
)

// VersionStepActions is the version of StepActions, which have not reached v1.
const VersionStepActions = "v1beta1"

// The version of CustomRuns, which have not reached v1, and how apiVersion spells it.
const (
	VersionCustomRuns    = "v1beta1"
	APIVersionCustomRuns = Group + "/" + VersionCustomRuns
)

// The group and version of ResolutionRequests, which are not of the group of the
// others, and how apiVersion spells them.
const (
	GroupResolution      = "resolution.tekton.dev"
	VersionResolution    = "v1beta1"
	APIVersionResolution = GroupResolution + "/" + VersionResolution
)

// The kinds of this package.
const (
	KindTask              = "Task"
	KindTaskRun           = "TaskRun"
	KindPipeline          = "Pipeline"
	KindPipelineRun       = "PipelineRun"
	KindCustomRun         = "CustomRun"
	KindStepAction        = "StepAction"
	KindResolutionRequest = "ResolutionRequest"
)

// The resources of this package, as URLs spell them.
const (
	ResourceTasks              = "tasks"
	ResourceTaskRuns           = "taskruns"
	ResourcePipelines          = "pipelines"
	ResourcePipelineRuns       = "pipelineruns"
	ResourceCustomRuns         = "customruns"
	ResourceStepActions        = "stepactions"
	ResourceResolutionRequests = "resolutionrequests"
)

// ManagedBy is the value of spec.managedBy that means the same as leaving it
// empty: the run is for whoever serves tekton.dev by default.
const ManagedBy = "tekton.dev/pipeline"

// IsGroup tells whether an apiVersion is of this group, as one that is left out is.
func IsGroup(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return apiVersion == "" || group == Group
}

// LabelResolver says which resolver a ResolutionRequest is for.
const LabelResolver = "resolution.tekton.dev/type"

// IsReservedAnnotation tells the annotations that are for Tekton's Chains and Results to
// write. They say of a run that it was signed or recorded, and that there is nothing left
// to do; so nobody else may bring one along, and nothing may hand one on.
func IsReservedAnnotation(name string) bool {
	return strings.HasPrefix(name, "chains.tekton.dev/") || strings.HasPrefix(name, "results.tekton.dev/")
}
