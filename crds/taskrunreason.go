package crds

// TaskRunReason is the reason of a TaskRun's condition Succeeded. The words are
// Tekton's: scripts and dashboards compare them.
type TaskRunReason string

// Reasons of a run that goes on (Succeeded is Unknown).
const (
	// TaskRunReasonStarted: the controller has seen the run.
	TaskRunReasonStarted TaskRunReason = "Started"
	// TaskRunReasonPending: the pod exists and has not started.
	TaskRunReasonPending TaskRunReason = "Pending"
	// TaskRunReasonRunning: steps are being run.
	TaskRunReasonRunning TaskRunReason = "Running"
	// TaskRunReasonToBeRetried: an attempt has failed and another follows.
	TaskRunReasonToBeRetried TaskRunReason = "ToBeRetried"
	// TaskRunReasonSpecPending: a user keeps the run from starting (spec.status).
	TaskRunReasonSpecPending TaskRunReason = "TaskRunPending"
	// TaskRunReasonResolvingTaskRef: a resolver fetches the task.
	TaskRunReasonResolvingTaskRef TaskRunReason = "ResolvingTaskRef"
	// TaskRunReasonResolvingStepActionRef: a resolver fetches a StepAction.
	TaskRunReasonResolvingStepActionRef TaskRunReason = "ResolvingStepActionRef"
	// TaskRunReasonExceededResourceQuota: the pod does not fit the namespace's quota now.
	TaskRunReasonExceededResourceQuota TaskRunReason = "ExceededResourceQuota"
	// TaskRunReasonExceededNodeResources: no node has room for the pod now.
	TaskRunReasonExceededNodeResources TaskRunReason = "ExceededNodeResources"
	// TaskRunReasonPullImageFailed: an image cannot be pulled yet; the kubelet goes on trying.
	TaskRunReasonPullImageFailed TaskRunReason = "PullImageFailed"
	// TaskRunReasonCreateContainerConfigError: a container lacks something (a Secret, a ConfigMap)
	// that it names. Also the reason when that lasts and fails the run.
	TaskRunReasonCreateContainerConfigError TaskRunReason = "CreateContainerConfigError"
)

// Reason of a run that ended well (Succeeded is True).
const (
	// TaskRunReasonSuccessful: every step has ended, and none failed the run.
	TaskRunReasonSuccessful TaskRunReason = "Succeeded"
)

// Reasons of a run that ended otherwise (Succeeded is False).
const (
	// TaskRunReasonFailed: a step or the pod failed, for no reason more exact.
	TaskRunReasonFailed TaskRunReason = "Failed"
	// TaskRunReasonCancelled: a user stopped the run.
	TaskRunReasonCancelled TaskRunReason = "TaskRunCancelled"
	// TaskRunReasonTimedOut: an attempt took longer than spec.timeout.
	TaskRunReasonTimedOut TaskRunReason = "TaskRunTimeout"
	// TaskRunReasonImagePullFailed: an image cannot be pulled, and that is final.
	TaskRunReasonImagePullFailed TaskRunReason = "TaskRunImagePullFailed"
	// TaskRunReasonPodCreationFailed: the pod, or a container of it, could not be made.
	TaskRunReasonPodCreationFailed TaskRunReason = "PodCreationFailed"
	// TaskRunReasonPodAdmissionFailed: the API server or the node refused the pod.
	TaskRunReasonPodAdmissionFailed TaskRunReason = "PodAdmissionFailed"
	// TaskRunReasonPodEvicted: the node put the pod out.
	TaskRunReasonPodEvicted TaskRunReason = "PodEvicted"
	// TaskRunReasonPodDeleted: somebody deleted the pod after a step had begun. A
	// word of ours: Tekton runs the steps again.
	TaskRunReasonPodDeleted TaskRunReason = "PodDeleted"
	// TaskRunReasonClaimLost: a claim that was made for a workspace of the run is gone. A
	// word of ours: Tekton goes on with an empty one.
	TaskRunReasonClaimLost TaskRunReason = "WorkspaceClaimLost"
	// TaskRunReasonStepOOM: a step was killed for want of memory.
	TaskRunReasonStepOOM TaskRunReason = "StepOOM"
	// TaskRunReasonStepFailed: a step ended with an error, or could not start.
	TaskRunReasonStepFailed TaskRunReason = "StepFailed"
	// TaskRunReasonSidecarOOM: a sidecar was killed for want of memory.
	TaskRunReasonSidecarOOM TaskRunReason = "SidecarOOM"
	// TaskRunReasonSidecarFailed: a sidecar ended with an error.
	TaskRunReasonSidecarFailed TaskRunReason = "SidecarFailed"
	// TaskRunReasonInitContainerOOM: an init container was killed for want of memory.
	TaskRunReasonInitContainerOOM TaskRunReason = "InitContainerOOM"
	// TaskRunReasonInitContainerFailed: an init container ended with an error.
	TaskRunReasonInitContainerFailed TaskRunReason = "InitContainerFailed"
	// TaskRunReasonStopSidecarFailed: a sidecar could not be stopped.
	TaskRunReasonStopSidecarFailed TaskRunReason = "TaskRunStopSidecarFailed"
	// TaskRunReasonFailedResolution: the task, or something it refers to, could not be had.
	TaskRunReasonFailedResolution TaskRunReason = "TaskRunResolutionFailed"
	// TaskRunReasonFailedValidation: the run does not fit its task, or is wrong in itself.
	TaskRunReasonFailedValidation TaskRunReason = "TaskRunValidationFailed"
	// TaskRunReasonTaskFailedValidation: the task is wrong in itself.
	TaskRunReasonTaskFailedValidation TaskRunReason = "TaskValidationFailed"
	// TaskRunReasonInvalidParamValue: a parameter's value is not among those allowed.
	TaskRunReasonInvalidParamValue TaskRunReason = "InvalidParamValue"
	// TaskRunReasonInvalidResult: a result is not of its declared type.
	TaskRunReasonInvalidResult TaskRunReason = "InvalidResult"
	// TaskRunReasonResultLargerThanAllowedLimit: the results do not fit where they are kept.
	TaskRunReasonResultLargerThanAllowedLimit TaskRunReason = "TaskRunResultLargerThanAllowedLimit"
	// TaskRunReasonResourceVerificationFailed: the task's signature is missing or wrong.
	TaskRunReasonResourceVerificationFailed TaskRunReason = "ResourceVerificationFailed"
	// TaskRunReasonFailureIgnored: the run failed, and its Pipeline goes on regardless.
	TaskRunReasonFailureIgnored TaskRunReason = "FailureIgnored"
)

// String returns the word itself.
func (r TaskRunReason) String() string { return string(r) }
