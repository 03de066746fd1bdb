package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"millrace/crds"
)

// attempt prints step after step, and returns the run as it was seen last. What failed of
// one step is no reason not to print the next.
func (p *printer) attempt(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string) (*crds.TaskRun, error) {
	if attempt > 0 {
		p.paper.notef("TaskRun %s is tried again", key)
	}
	for p.Follow && !run.IsDone() && run.Status.TaskSpec == nil {
		var err error
		if run, err = later(ctx, p, crds.ResourceTaskRuns, key, run, p.TaskRun); err != nil {
			return run, err
		}
	}
	if run.Status.TaskSpec == nil && !run.IsDone() {
		p.paper.notef("TaskRun %s has no steps yet (%s); -f waits for them", key, run.Succeeded().Reason)
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	show := func(run *crds.TaskRun, c container) *crds.TaskRun {
		run, err := p.step(ctx, key, run, attempt, label, c)
		p.fails(ctx, err)
		return run
	}
	if p.Follow && p.Sidecars {
		was := run // the steps give it anew, beside them
		for _, c := range sidecars(was) {
			beside.Go(func() { show(was, c) })
		}
	}
	for _, c := range steps(run) {
		run = show(run, c)
	}
	if !p.Follow && p.Sidecars {
		for _, c := range sidecars(run) {
			show(run, c)
		}
	}
	return run, context.Cause(ctx)
}

// step prints the log of one container, once it is there, and to its end. A log that ends
// while nobody has seen the container end may have been cut, too: an API server that loses
// the kubelet, which restarts or whose node is lost, ends what it passes on as if that were
// all. So the last time it is read is when the container was seen to have ended. That the
// pod may be gone by then is why a log that ends is asked for again at once: of a container
// that runs a kubelet waits for more, so where this ends, too, and nothing came, all was
// read. Where that is not known, what came of a line without its end is printed as it is,
// and the error says that there may have been more.
func (p *printer) step(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string, c container) (*crds.TaskRun, error) {
	from, tries, quiet := position{}, p.tries(), pause(0)
	again, whole := false, false // is it asked for at once after an end; was all of it read
	label += c.label
	defer p.rest(label, &from)
	for {
		over := run.IsDone() || len(run.Status.RetriesStatus) > attempt
		last := over || !p.Follow || c.ended(run)
		pod := types.NamespacedName{Namespace: key.Namespace, Name: statusOf(run, attempt).PodName}
		if pod.Name == "" && over { // it never had one
			return run, nil
		}
		lasted, err := p.read(ctx, pod, c.name, label, &from, !last)
		if lasted {
			tries, quiet, whole = p.tries(), 0, false
		}
		switch {
		case ctx.Err() != nil:
			return run, context.Cause(ctx)
		case err == nil && last:
			return run, nil
		case err == nil && !again && !whole:
			again = true
		case err == nil:
			again, whole = false, !lasted
			run, err = p.soon(ctx, key, run, quiet.next(mostQuiet))
		case last && (whole || c.neverBegan(run, attempt)):
			return run, nil
		case apierrors.IsNotFound(err) && last && pod.Name != "":
			return run, c.lost(key, &from, fmt.Errorf("pod %s is gone", pod.Name))
		case apierrors.IsBadRequest(err) && last && from.begun(): // its kubelet has lost it
			return run, c.lost(key, &from, err)
		case (apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)) && last: // it never began, or has not
			return run, nil
		case apierrors.IsNotFound(err) || apierrors.IsBadRequest(err):
			run, err = later(ctx, p, crds.ResourceTaskRuns, key, run, p.TaskRun)
		default:
			if err = tries.again(ctx, err); err != nil {
				err = fmt.Errorf("log of %s of %s: %w", c, key, err)
			}
		}
		if err != nil {
			return run, err
		}
	}
}

// rest prints what is held of a last line.
func (p *printer) rest(label string, from *position) {
	if text := from.rest(); text != "" {
		_ = p.print(label, text) // which has ended all of it, and says why
	}
}

// lost tells why what there may have been of a log, and was not printed, is not to be had.
func (c container) lost(key types.NamespacedName, from *position, why error) error {
	if from.begun() {
		return fmt.Errorf("log of %s of %s: there may have been more: %w", c, key, why)
	}
	return fmt.Errorf("log of %s of %s: %w", c, key, why)
}

// soon is the run when there is news of it, or some time has passed.
func (p *printer) soon(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, wait time.Duration) (*crds.TaskRun, error) {
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if after, err := later(short, p, crds.ResourceTaskRuns, key, run, p.TaskRun); err == nil {
		return after, nil
	}
	<-short.Done()
	return now(ctx, p, key, p.TaskRun)
}

// statusOf is that of an attempt: of an earlier one, what was kept of it.
func statusOf(run *crds.TaskRun, attempt int) crds.TaskRunStatus {
	if attempt < len(run.Status.RetriesStatus) {
		return run.Status.RetriesStatus[attempt]
	}
	return run.Status
}

// A container of a pod, and what is printed before its lines.
type container struct{ kind, label, name string }

func (c container) String() string { return c.kind + " " + c.label }

// ended tells whether the status of the run has it that the container has ended.
func (c container) ended(run *crds.TaskRun) bool {
	return slices.ContainsFunc(run.Status.Steps, func(s crds.StepState) bool { return s.Container == c.name && s.Terminated != nil })
}

// neverBegan tells whether the attempt was over before the step had its turn: it was
// skipped, or one before it was still at work when the run was ended, which is its reason
// then. Its container may have run, and waited; it has printed nothing.
func (c container) neverBegan(run *crds.TaskRun, attempt int) bool {
	over := crds.TaskRun{Status: statusOf(run, attempt)}
	reason, stopped := over.Succeeded().Reason, false
	for _, state := range over.Status.Steps {
		if state.Container == c.name {
			return stopped || state.TerminationReason == "Skipped"
		}
		stopped = stopped || over.IsFailed() && state.Terminated != nil && state.Terminated.Reason == reason
	}
	return false
}

// steps are known as soon as the run has begun.
func steps(run *crds.TaskRun) (all []container) {
	if run.Status.TaskSpec == nil {
		return nil
	}
	for i, step := range run.Status.TaskSpec.Steps {
		name := orNumber(step.Name, i)
		all = append(all, container{"step", name, within("step-", name)})
	}
	return all
}

func sidecars(run *crds.TaskRun) (all []container) {
	if run.Status.TaskSpec == nil {
		return nil
	}
	for i, sidecar := range run.Status.TaskSpec.Sidecars {
		name := within("sidecar-", orNumber(sidecar.Name, i))
		all = append(all, container{"container", name, name})
	}
	return all
}

func orNumber(name string, i int) string {
	if name == "" {
		return fmt.Sprintf("unnamed-%d", i)
	}
	return name
}

// within is the name of a container, which is cut where it would be too long.
func within(prefix, name string) string {
	if room := validation.DNS1123LabelMaxLength - len(prefix); len(name) > room {
		name = strings.TrimRight(name[:room], "-")
	}
	return prefix + name
}
