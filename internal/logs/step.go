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
// read is when that was seen. Where that cannot be, as the pod is gone, what came of a line
// without its end is printed as it is.
func (p *printer) step(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string, c container) (*crds.TaskRun, error) {
	from, tries, quiet := position{}, p.tries(), pause(0)
	label += c.label
	defer p.rest(label, &from)
	for {
		over := run.IsDone() || len(run.Status.RetriesStatus) > attempt
		last := over || !p.Follow || c.ended(run)
		pod := types.NamespacedName{Namespace: key.Namespace, Name: podOf(run, attempt)}
		if pod.Name == "" && over { // it never had one
			return run, nil
		}
		lasted, err := p.read(ctx, pod, c.name, label, &from, !last)
		if lasted {
			tries, quiet = p.tries(), 0
		}
		switch {
		case ctx.Err() != nil:
			return run, context.Cause(ctx)
		case err == nil && last:
			return run, nil
		case err == nil:
			run, err = p.soon(ctx, key, run, quiet.next(mostQuiet))
		case apierrors.IsNotFound(err) && last && pod.Name != "":
			p.gone(pod.Name, c, label, &from)
			return run, nil
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

// gone prints what is left of the log of a pod that is gone, and tells what is not.
func (p *printer) gone(pod string, c container, label string, from *position) {
	begun := !from.second.IsZero() || from.said != "" || from.held != ""
	p.rest(label, from)
	switch {
	case from.whole: // it was read to its end before
	case begun:
		p.paper.notef("pod %s is gone, and the rest of the log of %s with it", pod, c)
	default:
		p.paper.notef("pod %s is gone, and the log of %s with it", pod, c)
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
