package taskrun

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/reconcile"
	"millrace/reconcile/call"
	"millrace/reconcile/frozen"
)

// Config is what an administrator decides about all runs. Its zero value needs
// an EntrypointImage and is otherwise Tekton's default configuration.
type Config struct {
	// EntrypointImage has the entrypoint program at /entrypoint, and is named as
	// nodes can pull it. There is no default.
	EntrypointImage string
	// EntrypointPullPolicy is for that image. Default: IfNotPresent.
	EntrypointPullPolicy corev1.PullPolicy
	// Mode says how the entrypoint gets into pods. Default: ModeAuto. On servers
	// that are known to have no image volumes, ModeInitContainer saves a refused
	// request now and then.
	Mode Mode
	// ManagedBy are the values of spec.managedBy that make a run ours; a run
	// without one is ours if crds.ManagedBy is among them. Default: crds.ManagedBy.
	ManagedBy []string
	// DefaultTimeout is for runs that name none. Default: one hour; negative: none.
	DefaultTimeout time.Duration
	// DefaultServiceAccount is for pods of runs that name none. Default: what the
	// API server takes, which is "default".
	DefaultServiceAccount string
	// ManagedByLabel is the value of app.kubernetes.io/managed-by on pods whose run
	// has none. Default: tekton-pipelines.
	ManagedByLabel string
	// Release goes into the annotation pipeline.tekton.dev/release of pods: seven
	// hexadecimal digits. Default: no annotation.
	Release string
	// ImagePullBackOffTimeout is how long a run waits for an image that cannot be
	// pulled. Default: not at all, once the kubelet backs off.
	ImagePullBackOffTimeout time.Duration
	// CreateContainerErrorTimeout likewise, for containers that cannot be created.
	CreateContainerErrorTimeout time.Duration
	// ExplainPendingAfter is how old a pod is before its run says what an ordinary
	// start is waiting for; trouble is told at once. Default: 8 s, since people are
	// to have a reason within 10 s, and a healthy start has no reader for one.
	ExplainPendingAfter time.Duration
	// ResultsFrom says how results reach the controller. Default: ResultsFromMessages.
	ResultsFrom ResultsFrom
	// MaxResultSize is how many bytes one result may have with ResultsFromLogs.
	// Default: 4096.
	MaxResultSize int
	// CompressMessages has steps compress a termination message that would be too
	// large, so that some more results fit. Default: they fail, and say why.
	CompressMessages bool
	// DisableCredentials keeps the credentials of ServiceAccounts from the steps.
	DisableCredentials bool
	// KeepPodOnCancel leaves the pod of a cancelled run, stopped, with its logs.
	// Default: it is deleted.
	KeepPodOnCancel bool
	// PodTemplate is for what the pod template of a run leaves out, field by field.
	// Default: nothing.
	PodTemplate *crds.PodTemplate
	// ContainerResources are for containers that say nothing about theirs, by the
	// container's name, by "prefix-" and what its name begins with before a "-", or
	// by "default" for the others. Default: none.
	ContainerResources map[string]corev1.ResourceRequirements
	// WorkspaceBinding is for workspaces that a task needs and a run does not bind;
	// its name is not used. Default: such a run fails.
	WorkspaceBinding *crds.WorkspaceBinding
	// ParamEnum has runs held to the enum lists of parameters. Default: a task that has
	// one is refused.
	ParamEnum bool
	// CEL allows conditions of steps in CEL. Default: a task that has one is refused.
	CEL bool
	// Resolver tells whether tasks may come from the resolver of that name, by a
	// ResolutionRequest. Default: none may but the cluster resolver, which is built in.
	Resolver func(name string) bool
	// Namespace is the only one whose Tasks runs may be made of. Default: all are.
	Namespace string
	// ForbiddenEnv are variables that a pod template cannot set. Default: none.
	ForbiddenEnv []string
	// Provenance goes into the status of every run that starts. Default: nothing.
	Provenance *crds.Provenance
}

func (c Config) entrypointPullPolicy() corev1.PullPolicy {
	if c.EntrypointPullPolicy == "" {
		return corev1.PullIfNotPresent
	}
	return c.EntrypointPullPolicy
}

func (c Config) managedByLabel() string {
	return defaulting.Defaults{ManagedBy: c.ManagedByLabel}.Manager()
}

func (c Config) maxResultSize() int {
	if c.MaxResultSize == 0 {
		return 4096
	}
	return c.MaxResultSize
}

// defaultTimeout is 0 for ever.
func (c Config) defaultTimeout() time.Duration {
	return defaulting.Defaults{Timeout: c.DefaultTimeout}.RunTimeout()
}

func (c Config) explainPendingAfter() time.Duration {
	if c.ExplainPendingAfter == 0 {
		return 8 * time.Second
	}
	return c.ExplainPendingAfter
}

// manager is who executes the run.
func manager(run *crds.TaskRun) string {
	if run.Spec.ManagedBy == nil || *run.Spec.ManagedBy == "" {
		return crds.ManagedBy
	}
	return *run.Spec.ManagedBy
}

// ours tells whether the run is for this controller.
func (c Config) ours(run *crds.TaskRun) bool {
	by := manager(run)
	if len(c.ManagedBy) == 0 {
		return by == crds.ManagedBy
	}
	return slices.Contains(c.ManagedBy, by)
}

// timeout is how long one attempt of the run may take; 0 for ever.
func timeout(run *crds.TaskRun, c Config) time.Duration {
	if run.Spec.Timeout != nil {
		return run.Spec.Timeout.Duration
	}
	return frozen.Timeout(run.Status.Annotations, run.Status.TaskSpec != nil, c.defaultTimeout())
}

// Caches are where a reconcile reads. The functions return private copies that
// the reconcile may change, false for what is not there, and an error for what is
// there and cannot be decoded.
type Caches struct {
	TaskRun func(types.NamespacedName) (crds.TaskRun, bool, error)
	Head    func(types.NamespacedName) (Head, bool, error)
	// Known is which version of a TaskRun there is, without decoding it.
	Known func(types.NamespacedName) (uid types.UID, resourceVersion string, ok bool)
	Task  func(types.NamespacedName) (crds.Task, bool, error)
	Pod   func(types.NamespacedName) (corev1.Pod, bool, error)
	// KnownPod is Known of pods.
	KnownPod func(types.NamespacedName) (uid types.UID, resourceVersion string, ok bool)

	StepAction func(types.NamespacedName) (crds.StepAction, bool, error)
	// LimitRanges are those of a namespace.
	LimitRanges    func(namespace string) ([]corev1.LimitRange, error)
	ServiceAccount func(types.NamespacedName) (corev1.ServiceAccount, bool, error)

	// TaskRuns and Pods are the caches that the functions read, for the gate.
	TaskRuns reconcile.Cache
	Pods     reconcile.Cache
}

// Head is as much of a TaskRun as can be decoded when the whole cannot.
type Head struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ManagedBy *string `json:"managedBy"`
	} `json:"spec"`
	Status struct {
		Conditions crds.Conditions `json:"conditions"`
	} `json:"status"`
}

// Trace is told what happens; every func may be nil. They are called by the
// worker that did it, after the API server has answered, and hold it up.
type Trace struct {
	// Started: an attempt has been written down. Not called again after a restart.
	Started func(key types.NamespacedName)
	// Done: the run has ended, and this process has written so.
	Done func(Done)
	// Planned: a plan has been made and is about to be acted on.
	Planned func(key types.NamespacedName, p Plan)
	// Noop: that plan had nothing to do.
	Noop func(key types.NamespacedName)
	// FellBack: a pod could not use the image volume.
	FellBack func(key types.NamespacedName, because string)
}

// Done is the end of a run.
type Done struct {
	Key      types.NamespacedName
	Task     string // of spec.taskRef; empty for an embedded task
	Status   corev1.ConditionStatus
	Reason   string
	Duration time.Duration // from start to completion

	PipelineRun string // that the run belongs to; empty for one on its own
}

// Parts are what a Reconciler works with; all are needed but Recorder, Trace and
// Settings.
type Parts struct {
	Caches   Caches
	Client   Client
	Gate     call.Gate
	Images   Images
	Recorder call.Recorder
	Trace    Trace
	// Settings fills in, over the Config that New was given, what an administrator may
	// have changed since. It is asked once in each reconcile, which goes by that to its
	// end. Default: nothing changes.
	Settings func(*Config)
}

// Reconciler executes TaskRuns.
type Reconciler struct {
	config    Config
	parts     Parts
	injector  injector
	settled   reconcile.Settled
	witness   witness
	recall    recall
	refusals  refusals
	inquiries inquiries
	absent    call.Absent
}

// New returns a Reconciler, which does nothing by itself.
func New(config Config, parts Parts) *Reconciler {
	return &Reconciler{config: config, parts: parts}
}

// configNow is what a reconcile that begins now goes by.
func (r *Reconciler) configNow() Config {
	c := r.config
	if r.parts.Settings != nil {
		r.parts.Settings(&c)
	}
	return c
}

// A reconcile plans at most this often: for the look-ups of images, for the
// answer to a creation, for the pod of an attempt that is to end, and for what came of
// that.
const maxPlans = 5

// Reconcile brings one run forward by as much as can be done now. It may be
// called by many workers at once, for different keys.
//
// An error is trouble with the API server or the network, and asks for the key to
// be tried again; a run that is wrong is no error but a condition of that run.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	uid, version, _ := r.parts.Caches.Known(key)
	wait, ask := r.absent.Look(key, uid, time.Now())
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if ask {
		r.parts.Gate.Doubt(key)
	}
	if r.settled.Is(key, version) && !r.podCame(key) {
		r.forget(key)
		return reconcile.Result{}, nil
	}
	o, err := r.observe(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.witness.look(key, o)
	r.recall.look(key, o)
	r.inquiries.look(key, o)
	if o == nil {
		r.refusals.forget(key)
		wait, _ = r.absent.Look(key, uid, time.Now())
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	for range maxPlans {
		p := plan(*o, time.Now(), o.config)
		if o.settles(p) {
			without, but := o.lacking()
			r.settled.AddWithout(key, o.Run.ResourceVersion, without, but)
		}
		r.tell(ctx, key, p)
		again, result, err := r.act(ctx, key, o, p)
		if !again || err != nil {
			r.refusals.note(key, o, result, time.Now())
			return result, err
		}
	}
	return reconcile.Result{Requeue: true}, nil
}

// forget lets go of what is remembered of a run that nothing is left to do for.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.witness.forget(key)
	r.recall.forget(key)
	r.refusals.forget(key)
	r.inquiries.forget(key)
}

func (r *Reconciler) tell(ctx context.Context, key types.NamespacedName, p Plan) {
	klog.FromContext(ctx).V(4).Info("Planned", "plan", p)
	if r.parts.Trace.Planned != nil {
		r.parts.Trace.Planned(key, p)
	}
	if len(p.Actions) == 0 && !p.asks() && r.parts.Trace.Noop != nil {
		r.parts.Trace.Noop(key)
	}
}
