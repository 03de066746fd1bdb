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
// while nobody has seen the container end may have been cut, too: so the last time it is
// read is when that was seen.
func (p *printer) step(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string, c container) (*crds.TaskRun, error) {
	from, tries, quiet := position{}, p.tries(), pause(0)
	for {
		over := run.IsDone() || len(run.Status.RetriesStatus) > attempt
		ended := over || c.ended(run)
		pod := types.NamespacedName{Namespace: key.Namespace, Name: podOf(run, attempt)}
		if pod.Name == "" && over { // it never had one
			return run, nil
		}
		lasted, err := p.read(ctx, pod, c.name, label+c.label, &from, p.Follow && !ended)
		if lasted {
			tries, quiet = p.tries(), 0
		}
		switch {
		case ctx.Err() != nil:
			return run, context.Cause(ctx)
		case err == nil && (ended || !p.Follow):
			return run, nil
		case err == nil:
			run, err = p.soon(ctx, key, run, quiet.next(mostQuiet))
		case over && apierrors.IsNotFound(err):
			p.paper.notef("pod %s is gone, and the log of %s with it", pod.Name, c)
			return run, nil
		case apierrors.IsNotFound(err) || apierrors.IsBadRequest(err):
			if ended || !p.Follow { // it never began, or has not
				return run, nil
			}
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

// podOf is the pod of an attempt: of an earlier one, what was kept of it says so.
func podOf(run *crds.TaskRun, attempt int) string {
	if attempt < len(run.Status.RetriesStatus) {
		return run.Status.RetriesStatus[attempt].PodName
	}
	return run.Status.PodName
}

// A container of a pod, and what is printed before its lines.
type container struct{ kind, label, name string }

func (c container) String() string { return c.kind + " " + c.label }

// ended tells whether the status of the run has it that the container has ended.
func (c container) ended(run *crds.TaskRun) bool {
	return slices.ContainsFunc(run.Status.Steps, func(s crds.StepState) bool { return s.Container == c.name && s.Terminated != nil })
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
