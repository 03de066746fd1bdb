package taskrun

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// An observation is what one reconcile knows. Nothing else enters a plan but the
// time and the configuration.
type observation struct {
	// Run is the TaskRun; of one that cannot be decoded, metadata and conditions.
	Run *crds.TaskRun
	// Unreadable is why Run could not be decoded whole; nil as a rule.
	Unreadable error
	// Task is the Task of spec.taskRef. It is looked at until status.taskSpec is
	// there, and only until then.
	Task *crds.Task
	// Request is the ResolutionRequest of spec.taskRef, if there is one; looked at as
	// long as Task is.
	Request *crds.ResolutionRequest
	// NoTask is why there is no Task to run, for good; nil as a rule.
	NoTask error
	// Actions are the StepActions that the steps of the task refer to, by name; they
	// are looked at for as long as Task is.
	Actions map[string]actionAnswer
	// LimitRanges are those of the namespace; like Credentials they are looked for when
	// there is no pod yet.
	LimitRanges []corev1.LimitRange
	// Credentials are those that a new pod's steps get.
	Credentials []credential
	// NoSecret is why the secrets that say so could not be read, for now; nil as a rule.
	NoSecret error
	// Pod is the pod that has the name of the attempt's pod, whoever made it.
	Pod *corev1.Pod
	// PodSought is true if the server was asked for it, and not the cache alone: there
	// a pod that has lost its label looks as if it had been deleted.
	PodSought bool
	// Witnessed is true if this process has seen the attempt's first step begin.
	Witnessed bool
	// PodUncached is true for a pod that the server has and the cache has not,
	// because its labels were damaged: no event will come of it.
	PodUncached bool
	// Images are the answers to the look-ups that a plan has asked for.
	Images map[string]imageAnswer
	// Refused is the server's answer to the creation of the pod, or of a claim that it
	// needs, in this reconcile.
	Refused error
	// LostClaim is a claim that was made for the run, or for its pipeline, that a plan had
	// looked for, and that the server has no more; empty as a rule.
	LostClaim string
	// NotBefore is when a pod that was refused in an earlier reconcile may be tried
	// again.
	NotBefore time.Time
	// Unstorable is the server's answer to a write of the run, in this reconcile,
	// that it will never take.
	Unstorable error
	// ResultsLog is the log of the pod's collector, once a plan has asked for it.
	ResultsLog []byte
	// NoLog is why that log could not be read, for good; nil as a rule.
	NoLog error
	// Told is what events have told when they were last asked what is the matter with the
	// run's pod, which may have been another one; zero before.
	Told inquiry
	// Mode is how the entrypoint gets into a new pod, never ModeAuto.
	Mode Mode
	// MayFallBack allows to replace a pod whose image volume cannot be mounted.
	MayFallBack bool

	// config is what the observation, and the plan that is made of it, go by.
	config Config
}
