package crds

// The group and version of these types, as apiVersion spells them.
const (
	Group      = "tekton.dev"
	Version    = "v1"
	APIVersion = Group + "/" + Version
)

// VersionStepActions is the version of StepActions, which have not reached v1.
const VersionStepActions = "v1beta1"

// The kinds of this package.
const (
	KindTask       = "Task"
	KindTaskRun    = "TaskRun"
	KindStepAction = "StepAction"
)

// The resources of this package, as URLs spell them.
const (
	ResourceTasks       = "tasks"
	ResourceTaskRuns    = "taskruns"
	ResourceStepActions = "stepactions"
)

// ManagedBy is the value of spec.managedBy that means the same as leaving it
// empty: the run is for whoever serves tekton.dev by default.
const ManagedBy = "tekton.dev/pipeline"
