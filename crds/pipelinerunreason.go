package crds

// PipelineRunReason is the reason of a PipelineRun's condition Succeeded. The
// words are Tekton's: scripts and dashboards compare them.
type PipelineRunReason string

// Reasons of a run that goes on (Succeeded is Unknown).
const (
	// PipelineRunReasonStarted: the controller has seen the run.
	PipelineRunReasonStarted PipelineRunReason = "Started"
	// PipelineRunReasonRunning: tasks are being run.
	PipelineRunReasonRunning PipelineRunReason = "Running"
	// PipelineRunReasonPending: a user keeps the run from starting (spec.status).
	PipelineRunReasonPending PipelineRunReason = "PipelineRunPending"
	// PipelineRunReasonStopping: a task has failed; those that run are waited for.
	PipelineRunReasonStopping PipelineRunReason = "PipelineRunStopping"
	// PipelineRunReasonCancelledRunningFinally: a user cancelled the tasks; those of finally run.
	PipelineRunReasonCancelledRunningFinally PipelineRunReason = "CancelledRunningFinally"
	// PipelineRunReasonStoppedRunningFinally: a user stopped the run; those of finally run.
	PipelineRunReasonStoppedRunningFinally PipelineRunReason = "StoppedRunningFinally"
	// PipelineRunReasonTimeoutRunningFinally: the tasks took too long; those of finally run.
	PipelineRunReasonTimeoutRunningFinally PipelineRunReason = "PipelineRunTimeoutRunningFinally"
	// PipelineRunReasonResolvingPipelineRef: a resolver fetches the pipeline.
	PipelineRunReasonResolvingPipelineRef PipelineRunReason = "ResolvingPipelineRef"
	// PipelineRunReasonResolvingTaskRef: a resolver fetches a task.
	PipelineRunReasonResolvingTaskRef PipelineRunReason = "ResolvingTaskRef"
)

// Reasons of a run that ended well (Succeeded is True).
const (
	// PipelineRunReasonSuccessful: every task has run, and none failed the run.
	PipelineRunReasonSuccessful PipelineRunReason = "Succeeded"
	// PipelineRunReasonCompleted: no task failed the run, and some were skipped.
	PipelineRunReasonCompleted PipelineRunReason = "Completed"
)

// Reasons of a run that ended otherwise (Succeeded is False).
const (
	// PipelineRunReasonFailed: a task failed, or something for no reason more exact.
	PipelineRunReasonFailed PipelineRunReason = "Failed"
	// PipelineRunReasonCancelled: a user stopped the run.
	PipelineRunReasonCancelled PipelineRunReason = "Cancelled"
	// PipelineRunReasonTimedOut: the run took longer than its time.
	PipelineRunReasonTimedOut PipelineRunReason = "PipelineRunTimeout"
	// PipelineRunReasonCouldntGetPipeline: the pipeline cannot be had.
	PipelineRunReasonCouldntGetPipeline PipelineRunReason = "CouldntGetPipeline"
	// PipelineRunReasonCouldntGetTask: a task of the pipeline cannot be had.
	PipelineRunReasonCouldntGetTask PipelineRunReason = "CouldntGetTask"
	// PipelineRunReasonCouldntCancel: a child could not be cancelled.
	PipelineRunReasonCouldntCancel PipelineRunReason = "PipelineRunCouldntCancel"
	// PipelineRunReasonCouldntTimeOut: a child could not be stopped after its time.
	PipelineRunReasonCouldntTimeOut PipelineRunReason = "PipelineRunCouldntTimeOut"
	// PipelineRunReasonCreateRunFailed: the server refuses the run of a task.
	PipelineRunReasonCreateRunFailed PipelineRunReason = "CreateRunFailed"
	// PipelineRunReasonFailedValidation: the pipeline or the run is wrong in itself.
	PipelineRunReasonFailedValidation PipelineRunReason = "PipelineValidationFailed"
	// PipelineRunReasonInvalidGraph: the tasks do not make a graph that ends.
	PipelineRunReasonInvalidGraph PipelineRunReason = "PipelineInvalidGraph"
	// PipelineRunReasonInvalidWorkspaceBinding: the run does not give the workspaces that the pipeline declares.
	PipelineRunReasonInvalidWorkspaceBinding PipelineRunReason = "InvalidWorkspaceBindings"
	// PipelineRunReasonRequiredWorkspaceMarkedOptional: a task needs what its pipeline lets a run leave out.
	PipelineRunReasonRequiredWorkspaceMarkedOptional PipelineRunReason = "RequiredWorkspaceMarkedOptional"
	// PipelineRunReasonInvalidTaskRunSpec: taskRunSpecs names a task that is not there.
	PipelineRunReasonInvalidTaskRunSpec PipelineRunReason = "InvalidTaskRunSpecs"
	// PipelineRunReasonParameterMissing: a parameter without default was not given.
	PipelineRunReasonParameterMissing PipelineRunReason = "ParameterMissing"
	// PipelineRunReasonParameterTypeMismatch: a parameter was given a value of another type.
	PipelineRunReasonParameterTypeMismatch PipelineRunReason = "ParameterTypeMismatch"
	// PipelineRunReasonObjectParameterMissKeys: an object parameter lacks declared keys.
	PipelineRunReasonObjectParameterMissKeys PipelineRunReason = "ObjectParameterMissKeys"
	// PipelineRunReasonParamArrayIndexingInvalid: an index is beyond the end of an array.
	PipelineRunReasonParamArrayIndexingInvalid PipelineRunReason = "ParamArrayIndexingInvalid"
	// PipelineRunReasonInvalidParamValue: a parameter's value is not among those allowed.
	PipelineRunReasonInvalidParamValue PipelineRunReason = "InvalidParamValue"
	// PipelineRunReasonInvalidMatrixParameterTypes: a parameter of a matrix is no array, or too many combinations.
	PipelineRunReasonInvalidMatrixParameterTypes PipelineRunReason = "InvalidMatrixParameterTypes"
	// PipelineRunReasonInvalidTaskResultReference: a task refers to a result that its source does not declare or leave.
	PipelineRunReasonInvalidTaskResultReference PipelineRunReason = "InvalidTaskResultReference"
	// PipelineRunReasonInvalidPipelineResultReference: a result of the pipeline refers to what no task declares.
	PipelineRunReasonInvalidPipelineResultReference PipelineRunReason = "InvalidPipelineResultReference"
	// PipelineRunReasonCouldntGetPipelineResult: a result of the pipeline cannot be made of those of its tasks.
	PipelineRunReasonCouldntGetPipelineResult PipelineRunReason = "CouldntGetPipelineResult"
	// PipelineRunReasonCELEvaluationFailed: a CEL expression cannot be evaluated.
	PipelineRunReasonCELEvaluationFailed PipelineRunReason = "CELEvaluationFailed"
	// PipelineRunReasonResourceVerificationFailed: a signature is missing or wrong.
	PipelineRunReasonResourceVerificationFailed PipelineRunReason = "ResourceVerificationFailed"
)

// String returns the word itself.
func (r PipelineRunReason) String() string { return string(r) }
