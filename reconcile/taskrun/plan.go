package taskrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/crds/validation"
	"millrace/reconcile"
	"millrace/reconcile/call"
	"millrace/reconcile/frozen"
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

// A Plan is what one reconcile is going to do: the actions in their order, then
// what it has to find out, after which another plan is made at once; else, a pause.
type Plan struct {
	Why     string        // in words, for people
	Actions []Action      // each is safe to repeat
	Lookups []string      // images whose entrypoint must be known to go on
	ReadLog bool          // the log of the collector must be known to go on
	Inquire bool          // what events tell of the pod must be known to go on
	FindPod bool          // whether the server has the pod must be known to go on
	Requeue time.Duration // look again after that; 0: when something changes
}

// An Action is one of the API calls below.
type Action interface {
	fmt.Stringer
	action()
}

// PatchMetadata adds labels and annotations to the run.
type PatchMetadata struct {
	Labels      map[string]string
	Annotations map[string]string
}

// PatchStatus makes the status of the run this one.
type PatchStatus struct{ Status crds.TaskRunStatus }

// CreatePod creates the pod of the attempt.
type CreatePod struct{ Pod *corev1.Pod }

// CreateClaim creates a claim for a workspace of the run.
type CreateClaim struct{ Claim *corev1.PersistentVolumeClaim }

// FindClaim sees to it that a claim that was made for the run is there yet.
type FindClaim struct{ Name string }

// CreateRequest asks a resolver for the task, unless it has been asked.
type CreateRequest struct{ Request *crds.ResolutionRequest }

// DeletePod deletes a pod that still has that UID, and that resource version unless it
// is empty: one that has changed is looked at again.
type DeletePod struct {
	Name    string
	UID     types.UID
	Version string
}

// StopPod ends the containers of a pod that still has that UID, and leaves the
// pod, with its logs, where it is.
type StopPod struct {
	Name string
	UID  types.UID
}

// FallBack has new pods get the entrypoint by an init container for a while.
type FallBack struct{ Because string }

func (PatchMetadata) action() {}
func (PatchStatus) action()   {}
func (CreatePod) action()     {}
func (CreateClaim) action()   {}
func (FindClaim) action()     {}
func (CreateRequest) action() {}
func (DeletePod) action()     {}
func (StopPod) action()       {}
func (FallBack) action()      {}

func (a PatchMetadata) String() string {
	return fmt.Sprintf("patch metadata: labels %v, annotations %v", slices.Sorted(maps.Keys(a.Labels)), slices.Sorted(maps.Keys(a.Annotations)))
}

func (a PatchStatus) String() string {
	c, _ := a.Status.Conditions.Get(crds.ConditionSucceeded)
	return strings.TrimSpace(fmt.Sprintf("patch status: Succeeded %s %s: %s", c.Status, c.Reason, c.Message))
}

func (a CreatePod) String() string {
	return fmt.Sprintf("create pod %s with %d containers", a.Pod.Name, len(a.Pod.Spec.Containers))
}

func (a CreateRequest) String() string { return "create ResolutionRequest " + a.Request.Name }

func (a CreateClaim) String() string { return "create claim " + a.Claim.Name }

func (a FindClaim) String() string { return "look for claim " + a.Name }

func (a DeletePod) String() string { return fmt.Sprintf("delete pod %s, uid %s", a.Name, a.UID) }
func (a StopPod) String() string   { return fmt.Sprintf("stop pod %s, uid %s", a.Name, a.UID) }
func (a FallBack) String() string  { return "fall back to the init container: " + a.Because }

// asks tells whether the plan is only for finding something out.
func (p Plan) asks() bool { return len(p.Lookups) > 0 || p.ReadLog || p.Inquire || p.FindPod }

// String lists the plan, a line for the reason and a line for each step.
func (p Plan) String() string {
	var out strings.Builder
	out.WriteString(p.Why)
	for _, action := range p.Actions {
		out.WriteString("\n  " + action.String())
	}
	for _, image := range p.Lookups {
		out.WriteString("\n  look up image " + image)
	}
	if p.ReadLog {
		out.WriteString("\n  read the log of the results")
	}
	if p.Inquire {
		out.WriteString("\n  read the events of the pod")
	}
	if p.FindPod {
		out.WriteString("\n  look for the pod on the server")
	}
	if p.Requeue > 0 {
		out.WriteString("\n  look again in " + p.Requeue.String())
	}
	return out.String()
}

// plan decides what to do about a run. It is a function of its arguments and
// changes none of them: no clock, no I/O, no memory of earlier plans.
func plan(o observation, now time.Time, c Config) Plan {
	d := decision{observation: o, now: now, config: c}
	run := o.Run
	switch {
	case run.DeletionTimestamp != nil:
		return Plan{Why: "the run is being deleted, and its pod with it"}
	case !c.ours(run):
		return Plan{Why: fmt.Sprintf("the run is managed by %q", manager(run))}
	case run.IsDone():
		return d.tidy()
	case o.Unreadable != nil:
		return d.refuse(invalid("the TaskRun cannot be read, correct it and create it again: %v", o.Unreadable))
	case o.Unstorable != nil && o.hasBegun(run):
		return d.refuse(&refusal{crds.TaskRunReasonResultLargerThanAllowedLimit, fmt.Sprintf("the run cannot be stored with the results that its steps have left, make them smaller: %v", o.Unstorable)})
	case o.Unstorable != nil:
		return d.refuse(invalid("the run cannot be stored with what it is going to run in its status, make its task smaller: %v", o.Unstorable))
	case run.IsCancelled():
		message := fmt.Sprintf("TaskRun %q was cancelled. %s", run.Name, run.Spec.StatusMessage)
		return d.end(crds.TaskRunReasonCancelled, strings.TrimSpace(message))
	case d.timedOut():
		message := fmt.Sprintf("TaskRun %q failed to finish within %q", run.Name, timeout(run, c))
		return d.end(crds.TaskRunReasonTimedOut, message)
	case run.IsPending() && !run.HasStarted():
		return d.hold()
	default:
		return d.byPod()
	}
}

// A decision is one plan in the making.
type decision struct {
	observation
	now    time.Time
	config Config
	found  *crds.RefSource // where a resolver has found the task
}

func (d decision) byPod() Plan {
	switch whose(d.Pod, d.Run) {
	case nobodys:
		return d.withoutPod()
	case ours:
		return d.follow()
	case leaving:
		return d.awaitName()
	default:
		return d.refuse(&refusal{crds.TaskRunReasonPodCreationFailed, fmt.Sprintf(
			"failed to create task run pod %q: there is a pod %q that does not belong to this run; delete it or choose another name for the run", d.Run.Name, d.Pod.Name)})
	}
}

// awaitName waits until the pod's name is free, and says so where that takes time:
// a finalizer may hold the old pod for ever.
func (d decision) awaitName() Plan {
	waited := d.now.Sub(d.Run.CreationTimestamp.Time)
	p := Plan{Why: fmt.Sprintf("pod %s is left from somebody who had the name before, and will go", d.Pod.Name)}
	if waited >= d.config.explainPendingAfter() {
		p = d.write(p.Why, d.set(d.Run.Status, ongoing(crds.TaskRunReasonPending, fmt.Sprintf(
			"a pod %q that does not belong to this run has not gone yet; the run starts when it has", d.Pod.Name))))
	}
	p.Requeue = reconcile.Pause(waited)
	return p
}

type possession int

const (
	nobodys possession = iota
	ours               // its controller is this very run
	leaving            // somebody else's, and about to go: see whose
	strangers
)

// whose goes by the UID: a name says nothing about who made a pod. One that is
// being deleted will leave its name to us, and so will the pod of a deleted run of
// our name, once the garbage collector comes to it.
func whose(pod *corev1.Pod, run *crds.TaskRun) possession {
	if pod == nil {
		return nobodys
	}
	controller := metav1.GetControllerOf(pod)
	switch {
	case controller != nil && controller.UID == run.UID:
		return ours
	case pod.DeletionTimestamp != nil:
		return leaving
	case controller != nil && controller.Kind == crds.KindTaskRun && controller.Name == run.Name:
		return leaving
	default:
		return strangers
	}
}

// hold keeps a run from starting, as its author asked.
func (d decision) hold() Plan {
	status := d.Run.Status
	return d.write("spec.status keeps the run from starting", d.set(status, ongoing(crds.TaskRunReasonSpecPending, fmt.Sprintf("TaskRun %q is pending", d.Run.Name))))
}

// withoutPod starts the attempt, or starts it again if its pod vanished before a
// step had begun. Half-done steps are not repeated without being asked.
func (d decision) withoutPod() Plan {
	if d.hasBegun(d.Run) {
		return d.finish(d.Run.Status, failure(crds.TaskRunReasonPodDeleted, fmt.Sprintf("pod %q was deleted before its steps had ended", podName(d.Run))), nil)
	}
	if spec := d.Run.Status.TaskSpec; spec != nil {
		// It was checked when it was written down; since then others may have written.
		// What an administrator has allowed then is allowed until it ends.
		if refused := checkTask(d.Run, spec, validation.Options{ParamEnum: true, CEL: true}); refused != nil {
			return d.refuse(refused)
		}
		return d.create("the run has no pod", nil, d.again())
	}
	d, wait := d.awaitResolver()
	if wait != nil {
		return *wait
	}
	_, refused := source(d.Run, d.config)
	if refused == nil && d.NoTask != nil {
		refused = unresolved("error when listing tasks for taskRun %s: %v", d.Run.Name, d.NoTask)
	}
	if refused != nil {
		return d.refuse(refused)
	}
	if refused := d.missingAction(); refused != nil {
		return d.refuse(refused)
	}
	spec, refused := resolve(d.Run, d.Task, d.Actions, d.config)
	if refused != nil {
		return d.refuse(refused)
	}
	return d.start(spec)
}

func (d decision) missingAction() *refusal {
	for i, step := range taskSpec(d.Run, d.Task).Steps {
		if step.Ref == nil {
			continue
		}
		if none := d.Actions[step.Ref.Name].None; none != nil {
			return unresolved("failed to resolve step ref for step %q (index %d): %v", stepName(step, i), i, none)
		}
	}
	return nil
}

// start writes down what is going to be run before it makes anything run. From
// then on a crash at any point finds the same spec, the same start and the same
// pod name; a Task that was edited meanwhile cannot get in between.
func (d decision) start(spec *crds.TaskSpec) Plan {
	first := []Action{}
	run := *d.Run
	if metadata := d.fromTask(); metadata != nil {
		first = append(first, *metadata)
		run.Labels = call.Merged(run.Labels, metadata.Labels)
		run.Annotations = call.Merged(run.Annotations, metadata.Annotations)
		d.Run = &run
	}
	status := d.freeze(d.Run.Status, spec)
	status.Provenance = d.provenance()
	return d.create("the run has not begun", first, d.begin(status))
}

// freeze writes down what the run is from then on, and what it takes from the settings
// of now to its end.
func (d decision) freeze(status crds.TaskRunStatus, spec *crds.TaskSpec) crds.TaskRunStatus {
	status.TaskSpec = spec
	if d.Run.Spec.Timeout == nil {
		status.Annotations = frozen.Keep(status.Annotations, d.config.defaultTimeout())
	}
	return status
}

func (d decision) begin(status crds.TaskRunStatus) crds.TaskRunStatus {
	status.StartTime = d.startTime()
	status.PodName = podName(d.Run)
	return d.set(status, ongoing(crds.TaskRunReasonStarted, ""))
}

// again is the status of a run whose attempt has no pod. An attempt after a failed
// one begins now; one that waits for quota does when it has its pod.
func (d decision) again() crds.TaskRunStatus {
	if d.Run.HasStarted() || d.Run.Succeeded().Reason != string(crds.TaskRunReasonToBeRetried) {
		return d.Run.Status
	}
	return d.begin(d.Run.Status)
}

func (d decision) startTime() *metav1.Time {
	return reconcile.StartTime(d.now, d.Run.CreationTimestamp)
}

// fromTask are the labels and annotations that a run takes over from its Task,
// where it has none of the name; tkn finds the runs of a task by them.
func (d decision) fromTask() *PatchMetadata {
	if d.Task == nil {
		return nil
	}
	labels := call.Missing(d.Task.Labels, d.Run.Labels)
	if d.Run.Labels[labelTask] != d.Task.Name {
		labels[labelTask] = d.Task.Name
	}
	annotations := call.Missing(d.Task.Annotations, d.Run.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return staysWith(key) })
	if len(labels) == 0 && len(annotations) == 0 {
		return nil
	}
	return &PatchMetadata{Labels: labels, Annotations: annotations}
}

// create plans the pod of the attempt, after the first actions and after status
// if that is not what the run has.
func (d decision) create(why string, first []Action, status crds.TaskRunStatus) Plan {
	if d.Refused != nil {
		return d.refusedPod(status)
	}
	if d.LostClaim != "" {
		return d.refuse(d.claimLost())
	}
	if wait := d.NotBefore.Sub(d.now); wait > 0 {
		return Plan{Why: "the pod was refused a moment ago", Requeue: reconcile.Soonest(d.untilTimeout(status), wait)}
	}
	if d.NoSecret != nil {
		return d.lacking(why, first, status, d.NoSecret)
	}
	b := blueprint{run: d.Run, spec: status.TaskSpec, images: d.Images, credentials: d.Credentials, limitRanges: d.LimitRanges, mode: d.Mode, config: d.config}
	sketch, refused := b.sketch()
	if refused != nil {
		return d.refuse(refused)
	}
	if images := b.lookups(sketch.steps); len(images) > 0 {
		// The start is told first: a registry may take seconds to say nothing.
		p := d.write(why, status)
		p.Actions, p.Lookups = append(first, p.Actions...), images
		return p
	}
	if err := b.resolveCommands(sketch.steps); err != nil {
		return d.lacking(why, first, status, err)
	}
	pod, refused := b.pod(sketch)
	if refused != nil {
		return d.refuse(refused)
	}
	p := d.write(why, status)
	p.Actions = append(first, p.Actions...)
	p.Actions = append(p.Actions, d.provide(sketch.workspaces.claims(d.Run))...)
	p.Actions = append(p.Actions, CreatePod{Pod: pod})
	p.Requeue = reconcile.Soonest(d.untilTimeout(status), unseen)
	return p
}

// unseen is how long to wait for the first news of a pod that was made. They come
// within milliseconds; but of a pod that was made and deleted while the watch was
// down, the list after it shows nothing, and nobody would ever ask again.
const unseen = 10 * time.Second

// lacking is for a pod that cannot be made yet, since something about it is not
// known: what a step runs, or what a secret is for.
func (d decision) lacking(why string, first []Action, status crds.TaskRunStatus, err error) Plan {
	if refused := new(refusal); errors.As(err, &refused) {
		return d.refuse(refused)
	}
	p := d.write(why, d.set(status, ongoing(crds.TaskRunReasonPending, err.Error())))
	p.Actions = append(first, p.Actions...)
	p.Requeue = d.soon()
	return p
}

// refuse ends a run that cannot be run.
func (d decision) refuse(r *refusal) Plan {
	status := d.Run.Status
	if status.StartTime == nil {
		status.StartTime = d.startTime()
	}
	return d.conclude(status, failure(r.reason, r.message))
}

// conclude ends the run with what its status says so far.
func (d decision) conclude(status crds.TaskRunStatus, condition crds.Condition) Plan {
	if d.mayHavePod() {
		return d.findPod(condition)
	}
	return d.write("the run ends: "+condition.Reason, d.ended(status, condition))
}

// mayHavePod tells that an attempt has no pod in the cache, and nobody has asked the
// server. No attempt ends on that: its pod would go on, and the next one's beside it
// (seed 1023).
func (d decision) mayHavePod() bool {
	return d.Pod == nil && !d.PodSought && d.Run.Status.TaskSpec != nil
}

func (d decision) findPod(condition crds.Condition) Plan {
	return Plan{Why: "the attempt ends, and the cache has no pod of it: " + condition.Reason, FindPod: true}
}

// ended is the status of an attempt that has ended so.
func (d decision) ended(status crds.TaskRunStatus, condition crds.Condition) crds.TaskRunStatus {
	status = d.set(status, condition)
	if status.StartTime == nil {
		status.StartTime = d.startTime()
	}
	at := metav1.NewTime(d.now.Truncate(time.Second))
	if at.Before(status.StartTime) {
		at = *status.StartTime
	}
	status.CompletionTime = &at
	if condition.Status == corev1.ConditionFalse {
		status.Steps = endSteps(status.Steps, condition.Reason, at)
	}
	status.Sidecars = endSidecars(status.Sidecars, condition.Reason, at)
	return status
}

// finish ends the attempt, and the run with it unless that is to be tried again.
// stop, if not nil, is what has to be done about the pod. For the end of a run it
// comes last, for were the pod gone first a crash in between would have it made
// again. Before another attempt it comes first, because afterwards nobody looks at
// the pods of earlier ones.
func (d decision) finish(status crds.TaskRunStatus, condition crds.Condition, stop Action) Plan {
	retried := condition.Status == corev1.ConditionFalse && d.Run.IsRetriable()
	var p Plan
	if retried {
		p = d.retry(status, condition)
	} else {
		p = d.conclude(status, condition)
	}
	switch {
	case stop == nil:
	case retried:
		p.Actions = append([]Action{stop}, p.Actions...)
	default:
		p.Actions = append(p.Actions, stop)
	}
	return p
}

// maxFiled is how many bytes copies of the task may take in the status: an object
// has room for 1.5 MiB, and its spec and results are in there too.
const maxFiled = 512 << 10

// retry files the attempt away, whole, and begins another, which has its own time
// and its own pod, and the same task. A task so large that the copies in all the
// attempts might make the run too large to be stored is not filed with them: it is
// the same in all, and stays in the status.
func (d decision) retry(status crds.TaskRunStatus, condition crds.Condition) Plan {
	if d.mayHavePod() {
		return d.findPod(condition)
	}
	earlier := d.ended(status, condition)
	earlier.RetriesStatus = nil
	if d.Run.Spec.Retries*sizeOf(earlier.TaskSpec) > maxFiled {
		earlier.TaskSpec = nil
	}
	earlier.ObservedGeneration = d.Run.Generation
	status.RetriesStatus = append(slices.Clip(status.RetriesStatus), earlier)
	if begun(earlier.Steps) || d.hasBegun(d.Run) {
		status.Annotations = d.claimsUsed()
	}
	status.StartTime, status.CompletionTime, status.PodName = nil, nil, ""
	status.Steps, status.Sidecars, status.Results = nil, nil, nil
	p := d.write("the attempt failed and another follows: "+condition.Reason, d.set(status, ongoing(crds.TaskRunReasonToBeRetried, condition.Message)))
	p.Requeue = time.Millisecond
	return p
}

func sizeOf(spec *crds.TaskSpec) int {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return len(raw)
}

// end stops an attempt from outside: by the user of the run, which is its end, or
// by its time-out. The pod goes first; both causes last, so that a crash in between
// is made good.
func (d decision) end(reason crds.TaskRunReason, message string) Plan {
	finish := d.conclude
	if reason != crds.TaskRunReasonCancelled {
		finish = func(status crds.TaskRunStatus, condition crds.Condition) Plan {
			return d.finish(status, condition, nil)
		}
	}
	if whose(d.Pod, d.Run) != ours {
		return finish(d.Run.Status, failure(reason, message))
	}
	if d.mayHaveBegun(reason) {
		return Plan{Why: "the pod that is to be kept has not begun, as the cache has it", FindPod: true}
	}
	status := d.adopt()
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	if status.TaskSpec != nil {
		found := findResults(d.Pod, d.ResultsLog)
		status.Steps = found.ofSteps(status.TaskSpec, status.Steps)
		status.Results = gather(status.TaskSpec, found).results
	}
	p := finish(status, failure(reason, message))
	if alive(d.Pod) {
		p.Actions = append([]Action{d.remove(reason)}, p.Actions...)
	}
	return p
}

// remove takes away the pod of a run that was stopped from outside, or leaves it
// with its logs where the administrator wants that for cancelled ones.
func (d decision) remove(reason crds.TaskRunReason) Action {
	over := d.Run.IsCancelled() || d.Run.IsDone()
	switch {
	case d.keeps(reason) && podBegun(d.Pod):
		return StopPod{d.Pod.Name, d.Pod.UID}
	case podBegun(d.Pod) || !d.keeps(reason) && (over || !d.Run.IsRetriable()):
		return DeletePod{Name: d.Pod.Name, UID: d.Pod.UID}
	default:
		return d.removeUnbegun()
	}
}

// keeps tells that a pod stays with its logs, once it has begun, when its run ends like
// that.
func (d decision) keeps(reason crds.TaskRunReason) bool {
	switch reason {
	case crds.TaskRunReasonCancelled:
		return d.config.KeepPodOnCancel
	case crds.TaskRunReasonTimedOut:
		return false
	default:
		return true
	}
}

// mayHaveBegun tells of a pod that is kept if it has begun, and has not as the cache has
// it. That is not believed: the cache may be behind, or have an object that was damaged.
func (d decision) mayHaveBegun(reason crds.TaskRunReason) bool {
	return d.keeps(reason) && alive(d.Pod) && !podBegun(d.Pod) && !d.PodSought
}

// removeUnbegun takes a pod away that has not begun, as it was looked at: it may have
// begun since. Its logs would be lost then, and, before another attempt, that it has
// written to the run's claims.
func (d decision) removeUnbegun() DeletePod {
	return DeletePod{d.Pod.Name, d.Pod.UID, d.Pod.ResourceVersion}
}

// timedOut leaves a pod that had ended in time to be judged by how it ended:
// nobody is to blame for the time that the controller was away.
func (d decision) timedOut() bool {
	limit := timeout(d.Run, d.config)
	if limit == 0 {
		return false
	}
	// A run that waited for quota may not have been told yet that it has begun.
	if whose(d.Pod, d.Run) == ours && ranOut(d.Pod, limit) {
		return true
	}
	if !d.Run.HasStarted() {
		return false
	}
	deadline := d.Run.Status.StartTime.Add(limit)
	if d.now.Before(deadline) {
		return false
	}
	if whose(d.Pod, d.Run) != ours || !complete(d.Pod) {
		return true
	}
	// Times of pods are in whole seconds, and a pod that we ended, ended in the
	// second of the deadline at the earliest.
	finished := finishedAt(d.Pod)
	return finished.IsZero() || !finished.Before(deadline)
}

// ranOut tells a pod that failed because the kubelet held it to the deadline that
// it was made with, which is later than the run's: the node's clock may tell
// another time, and need not be believed for that.
func ranOut(pod *corev1.Pod, limit time.Duration) bool {
	made := pod.Spec.ActiveDeadlineSeconds
	return pod.Status.Reason == "DeadlineExceeded" && made != nil && *made == activeDeadline(limit) && failed(pod)
}

// untilTimeout is how long the attempt may still take; 0 for ever.
func (d decision) untilTimeout(status crds.TaskRunStatus) time.Duration {
	limit := timeout(d.Run, d.config)
	if limit == 0 || status.StartTime == nil {
		return 0
	}
	return max(time.Millisecond, status.StartTime.Add(limit).Sub(d.now))
}

// follow brings the status of the run up to that of its pod.
func (d decision) follow() Plan {
	pod := d.Pod
	if because := imageVolumeTrouble(pod, d.config); because != "" && d.MayFallBack && pod.DeletionTimestamp == nil {
		return d.fallBack(because)
	}
	status := d.adopt()
	unbegun := !podBegun(pod) && !begun(status.Steps)
	switch {
	case pod.DeletionTimestamp != nil && unbegun:
		return Plan{Why: "the pod is being deleted", Requeue: d.poll(d.untilTimeout(status))}
	case complete(pod):
		return d.judge(status)
	case pod.DeletionTimestamp != nil:
		// Written down now, since the pod may vanish before it is looked at again,
		// and would then be taken for one that had not begun.
		return d.running("the pod is being deleted", status)
	}
	if broken := brokenSidecar(pod); broken != nil {
		return d.giveUp(status, broken)
	}
	straw, until := lastStraw(pod, d.now, d.config)
	if straw != nil {
		return d.giveUp(status, straw.refusal(d.Run))
	}
	if isPending(pod) && !podBegun(pod) {
		return d.awaitClaims(status, d.await(status, until))
	}
	return d.running("steps are running", status)
}

// fallBack replaces a pod that cannot mount the entrypoint's image. All new pods are made
// otherwise then, which is not done on the word of a cache: the pod may have begun.
func (d decision) fallBack(because string) Plan {
	if !d.PodSought {
		return Plan{Why: "the pod cannot mount the entrypoint's image, as the cache has it", FindPod: true}
	}
	return Plan{
		Why:     "the pod cannot mount the entrypoint's image",
		Actions: []Action{FallBack{because}, d.removeUnbegun()},
		Requeue: time.Second,
	}
}

// running tells what the steps are at.
func (d decision) running(why string, status crds.TaskRunStatus) Plan {
	status.Steps = stepStates(d.Pod, status.Steps)
	if status.TaskSpec != nil {
		status.Steps = findResults(d.Pod, nil).ofSteps(status.TaskSpec, status.Steps)
	}
	status.Sidecars = sidecarStates(d.Pod)
	status = d.set(status, ongoing(crds.TaskRunReasonRunning, "Not all Steps in the Task have finished executing"))
	p := d.write(why, status)
	p.Requeue = d.poll(d.untilTimeout(status))
	return p
}

// adopt fills in what the status should say of a pod that exists. The start is
// missing after a wait for quota, which does not count; the spec is missing only
// if somebody has erased the status, and stays so if its Task is gone, too.
func (d decision) adopt() crds.TaskRunStatus {
	status := d.Run.Status
	status.PodName = d.Pod.Name
	if status.StartTime == nil {
		status.StartTime = d.madeAt()
	}
	if status.TaskSpec == nil && taskSpec(d.Run, d.Task) != nil {
		if spec, refused := resolve(d.Run, d.Task, d.Actions, d.config); refused == nil {
			status = d.freeze(status, spec)
		}
	}
	return status
}

// madeAt is when the pod was made, by the server's clock, as far as that can be by
// this machine's: not before the run was first said to be under way or an earlier
// attempt had ended, and not in the future. A server that is an hour behind would have the run timed out.
func (d decision) madeAt() *metav1.Time {
	at := d.Pod.CreationTimestamp
	if c, ok := d.Run.Status.Conditions.Get(crds.ConditionSucceeded); ok && at.Before(&c.LastTransitionTime) {
		at = c.LastTransitionTime
	}
	if n := len(d.Run.Status.RetriesStatus); n > 0 {
		if before := d.Run.Status.RetriesStatus[n-1].CompletionTime; before != nil && at.Before(before) {
			at = *before
		}
	}
	if at.After(d.now) {
		at = metav1.NewTime(d.now.Truncate(time.Second))
	}
	return &at
}

// judge ends a run whose pod is complete.
func (d decision) judge(status crds.TaskRunStatus) Plan {
	if hasCollector(d.Pod) && d.ResultsLog == nil {
		return Plan{Why: "the results are in a log", ReadLog: true}
	}
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	condition := ignoredByPipeline(d.Run, outcome(d.Pod))
	if lost := lostResults(d.Pod, d.NoLog); lost != nil && condition.Status == corev1.ConditionTrue {
		condition = failure(lost.reason, lost.message)
	}
	if status.TaskSpec != nil {
		found := findResults(d.Pod, d.ResultsLog)
		status.Steps = found.ofSteps(status.TaskSpec, status.Steps)
		harvest := gather(status.TaskSpec, found)
		status.Results = harvest.results
		if wrong := harvest.refusal(maxSize(d.Pod)); wrong != nil && condition.Status == corev1.ConditionTrue {
			condition = failure(wrong.reason, wrong.message)
		}
	}
	if alive(d.Pod) {
		return d.finish(status, condition, StopPod{d.Pod.Name, d.Pod.UID})
	}
	return d.finish(status, condition, nil)
}

// giveUp ends an attempt whose pod will never start. The cache alone is not believed: its
// watch may stand still, and the pod have begun.
func (d decision) giveUp(status crds.TaskRunStatus, r *refusal) Plan {
	if !d.PodSought {
		return Plan{Why: "the pod will not start, as the cache has it: " + string(r.reason), FindPod: true}
	}
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	return d.finish(status, failure(r.reason, r.message), d.removeUnbegun())
}

// await says what a pod waits for, unless it is too early to say.
func (d decision) await(status crds.TaskRunStatus, until time.Time) Plan {
	condition, sure := pending(d.Pod)
	explain := d.explainAt()
	if !sure && d.now.Before(explain) {
		if d.Run.HasStarted() && d.Run.Succeeded().Reason == string(crds.TaskRunReasonStarted) {
			return Plan{Why: "the pod is starting", Requeue: d.poll(explain.Sub(d.now))}
		}
		condition = ongoing(crds.TaskRunReasonPending, "Pending")
	}
	quiet := !sure && !d.now.Before(explain) && silent(d.Pod)
	switch {
	case quiet && !d.Told.holds(d.Pod.UID, d.now):
		return Plan{Why: "the pod does not say why it has not started", Inquire: true}
	case quiet && d.Told.trouble != "":
		condition = ongoing(crds.TaskRunReasonPending, fmt.Sprintf("pod %q has not started: %s", d.Pod.Name, d.Told.trouble))
	}
	p := d.write("the pod has not started", d.set(status, condition))
	p.Requeue = d.untilTimeout(status)
	if quiet { // no change of the pod will tell of another trouble
		p.Requeue = reconcile.Soonest(p.Requeue, d.Told.left(d.now))
	}
	if !until.IsZero() {
		p.Requeue = reconcile.Soonest(p.Requeue, until.Sub(d.now))
	}
	if d.now.Before(explain) {
		p.Requeue = reconcile.Soonest(p.Requeue, explain.Sub(d.now))
	}
	p.Requeue = d.poll(p.Requeue)
	return p
}

// tidy is all that is left to do for a run that is done: its pod may have
// outlived it if the controller died at the wrong moment.
func (d decision) tidy() Plan {
	if whose(d.Pod, d.Run) != ours || !alive(d.Pod) {
		return Plan{Why: "the run is done"}
	}
	reason := crds.TaskRunReason(d.Run.Succeeded().Reason)
	if d.mayHaveBegun(reason) {
		return Plan{Why: "the run is done, and its pod has not begun, as the cache has it", FindPod: true}
	}
	return Plan{Why: "the run is done and its pod is not", Actions: []Action{d.remove(reason)}}
}

// set returns the status with that condition.
func (d decision) set(status crds.TaskRunStatus, condition crds.Condition) crds.TaskRunStatus {
	status.Conditions = slices.Clone(status.Conditions)
	status.Conditions.Set(condition, d.now)
	return status
}

// write plans to store the status, unless the run has it already.
func (d decision) write(why string, status crds.TaskRunStatus) Plan {
	status.ObservedGeneration = d.Run.Status.ObservedGeneration // a spec that changed without consequence is no reason to write
	if call.Same(d.Run.Status, status) {
		return Plan{Why: why}
	}
	status.ObservedGeneration = d.Run.Generation
	return Plan{Why: why, Actions: []Action{PatchStatus{status}}}
}

// soon is when to try again what was refused for now.
func (d decision) soon() time.Duration {
	since := d.Run.CreationTimestamp.Time
	if condition := d.Run.Succeeded(); !condition.LastTransitionTime.IsZero() {
		since = condition.LastTransitionTime.Time
	}
	if start := d.Run.Status.StartTime; start != nil && start.After(since) { // of an attempt that is not the first
		since = start.Time
	}
	return reconcile.Pause(d.now.Sub(since))
}

// poll shortens a wait where no event will end it.
func (d decision) poll(wait time.Duration) time.Duration {
	if d.PodUncached {
		return reconcile.Soonest(wait, 10*time.Second)
	}
	return wait
}
