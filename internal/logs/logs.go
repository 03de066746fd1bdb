// Package logs prints what the steps of a run print, as millrace logs does.
//
//	millrace logs ──▶ TaskRun: attempt by attempt, step by step ──▶ pods/log ──▶ lines
//	             └──▶ PipelineRun: each run that it has made, as it appears
//
// What it promises:
//
//  1. Steps come in the order in which they run, attempts in theirs; of tasks that run
//     at once lines are mixed, but never cut: each has the task and the step before it.
//     (TestStepsComeInTheirOrder, TestTasksComeInTheirOrder,
//     TestTasksThatRunAtOnceDoNotCutLines)
//  2. Follow ends when the run does, and has shown every step by then: what has not
//     begun is waited for, by a watch. (TestFollowWaitsForWhatHasNotBegun)
//  3. Without Follow nothing is waited for: what is there by now is shown.
//     (TestWithoutFollowNothingIsWaitedFor)
//  4. A log that is not there any more is said to be, and the others are shown.
//     (TestAPodThatIsGoneIsSaidToBe)
//  5. Why a run has failed is the last word. (TestTheLastWordIsWhyItFailed)
//  6. Lines of a log are printed as they are, colours and all; names and messages, which
//     anybody may have written, as text that steers no terminal.
//     (TestNamesAndMessagesSteerNoTerminal)
//
// Runs that a PipelineRun has made are followed each by a goroutine of its own; Print
// starts them, and returns when all have.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A Cluster is where runs and logs are.
type Cluster interface {
	// TaskRun and PipelineRun are the runs as they are now; where there is none, the
	// error is the API's NotFound.
	TaskRun(ctx context.Context, key types.NamespacedName) (*crds.TaskRun, error)
	PipelineRun(ctx context.Context, key types.NamespacedName) (*crds.PipelineRun, error)
	// News returns when a run, of the resource in the plural, may not be any more what
	// it was at that version.
	News(ctx context.Context, resource string, key types.NamespacedName, version string) error
	// Log is what a container has printed; with follow it ends when the container does.
	Log(ctx context.Context, pod types.NamespacedName, container string, follow bool) (io.ReadCloser, error)
}

// Config says what is printed, and how. Its zero value prints what there is, plain.
type Config struct {
	// Follow waits for what has not been printed yet, until the run has ended.
	Follow bool
	// Colour gives every step one of its own.
	Colour bool
}

// Print prints the logs of the TaskRun or PipelineRun of that key to out. The error
// says that there is no such run, or two, or what of the API failed.
func Print(ctx context.Context, c Cluster, key types.NamespacedName, cfg Config, out io.Writer) error {
	p := &printer{Cluster: c, Config: cfg, paper: &paper{out: out, colour: cfg.Colour}}
	task, errTask := c.TaskRun(ctx, key)
	pipeline, errPipeline := c.PipelineRun(ctx, key)
	switch {
	case errTask == nil && errPipeline == nil:
		return fmt.Errorf("there is a TaskRun %s and a PipelineRun of that name: the logs of the TaskRun are those of its pod, %s", key, task.Status.PodName)
	case apierrors.IsNotFound(errTask) && apierrors.IsNotFound(errPipeline):
		return fmt.Errorf("there is no TaskRun and no PipelineRun %s", key)
	case errTask == nil:
		return p.taskRun(ctx, key, "")
	case errPipeline == nil:
		return p.pipelineRun(ctx, key, pipeline)
	default:
		return errors.Join(ignoring(errTask), ignoring(errPipeline))
	}
}

func ignoring(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

type printer struct {
	Cluster
	Config

	paper *paper
	begun sync.Map // the names of the PipelineRuns that are printed, or were
}

// pipelineRun prints the logs of the runs that a PipelineRun has made.
func (p *printer) pipelineRun(ctx context.Context, key types.NamespacedName, run *crds.PipelineRun) (err error) {
	if _, again := p.begun.LoadOrStore(key.Name, true); again { // its status can say that it made itself
		return nil
	}
	children, inTime := errgroup.WithContext(ctx)
	if !p.Follow {
		children.SetLimit(1) // one after the other, in their order
	}
	begun := map[string]bool{}
	for {
		for _, child := range run.Status.ChildReferences {
			if !begun[child.Name] {
				begun[child.Name] = true
				label := labelOf(run, key.Name, child)
				children.Go(func() error { return p.child(inTime, key.Namespace, child, label) })
			}
		}
		if !p.Follow || run.IsDone() {
			break
		}
		if err = p.News(inTime, crds.ResourcePipelineRuns, key, run.ResourceVersion); err != nil {
			break
		}
		if run, err = p.PipelineRun(inTime, key); err != nil {
			break
		}
	}
	if failed := children.Wait(); failed != nil {
		return failed
	}
	if err == nil {
		p.lastWord("PipelineRun", key, run.Succeeded())
	}
	return err
}

// labelOf is the task of a run; of one that has made several, which of them it is.
func labelOf(run *crds.PipelineRun, name string, child crds.ChildStatusReference) string {
	for _, other := range run.Status.ChildReferences {
		if other.PipelineTaskName == child.PipelineTaskName && other.Name != child.Name {
			return strings.TrimPrefix(child.Name, name+"-")
		}
	}
	return child.PipelineTaskName
}

func (p *printer) child(ctx context.Context, namespace string, child crds.ChildStatusReference, label string) error {
	key := types.NamespacedName{Namespace: namespace, Name: child.Name}
	switch child.Kind {
	case crds.KindTaskRun:
		return p.taskRun(ctx, key, label+" : ")
	case crds.KindPipelineRun:
		run, err := p.PipelineRun(ctx, key)
		if err != nil {
			return err
		}
		return p.pipelineRun(ctx, key, run)
	default:
		p.paper.notef("%s is a %s, which has no steps", label, child.Kind)
		return nil
	}
}

// taskRun prints attempt after attempt.
func (p *printer) taskRun(ctx context.Context, key types.NamespacedName, label string) error {
	run, err := p.TaskRun(ctx, key)
	if apierrors.IsNotFound(err) {
		p.paper.notef("TaskRun %s is gone, and its logs with it", key)
		return nil
	}
	for attempt := 0; err == nil; attempt++ {
		if run, err = p.attempt(ctx, key, run, attempt, label); err != nil {
			break
		}
		for p.Follow && !run.IsDone() && len(run.Status.RetriesStatus) <= attempt && err == nil {
			run, err = p.later(ctx, key, run)
		}
		if err == nil && len(run.Status.RetriesStatus) <= attempt {
			p.lastWord("TaskRun", key, run.Succeeded())
			return nil
		}
	}
	return err
}

// attempt prints step after step, and returns the run as it was seen last.
func (p *printer) attempt(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string) (*crds.TaskRun, error) {
	if attempt > 0 {
		p.paper.notef("TaskRun %s is tried again", key)
	}
	for p.Follow && !run.IsDone() && len(containers(run)) == 0 {
		var err error
		if run, err = p.later(ctx, key, run); err != nil {
			return run, err
		}
	}
	if len(containers(run)) == 0 && !run.IsDone() {
		p.paper.notef("TaskRun %s has no steps yet (%s); -f waits for them", key, run.Succeeded().Reason)
	}
	for _, container := range containers(run) {
		var err error
		if run, err = p.step(ctx, key, run, attempt, label, container); err != nil {
			return run, err
		}
	}
	return run, nil
}

// step prints the log of one container, once it is there.
func (p *printer) step(ctx context.Context, key types.NamespacedName, run *crds.TaskRun, attempt int, label string, c container) (*crds.TaskRun, error) {
	for {
		over := run.IsDone() || len(run.Status.RetriesStatus) > attempt
		pod := types.NamespacedName{Namespace: key.Namespace, Name: podOf(run, attempt)}
		log, err := p.Log(ctx, pod, c.container, p.Follow && !over)
		switch {
		case err == nil:
			err = p.paper.write(log, label+c.step)
			return run, errors.Join(err, log.Close())
		case !apierrors.IsNotFound(err) && !apierrors.IsBadRequest(err):
			return run, fmt.Errorf("log of step %s: %w", c.step, err)
		case over && apierrors.IsNotFound(err):
			p.paper.notef("pod %s is gone, and the log of step %s with it", pod.Name, c.step)
			return run, nil
		case over || !p.Follow: // it never began, or has not
			return run, nil
		}
		if run, err = p.later(ctx, key, run); err != nil {
			return run, err
		}
	}
}

// later is the run when there is news of it.
func (p *printer) later(ctx context.Context, key types.NamespacedName, run *crds.TaskRun) (*crds.TaskRun, error) {
	if err := p.News(ctx, crds.ResourceTaskRuns, key, run.ResourceVersion); err != nil {
		return run, err
	}
	return p.TaskRun(ctx, key)
}

func (p *printer) lastWord(kind string, key types.NamespacedName, c crds.Condition) {
	if c.Status == corev1.ConditionFalse {
		p.paper.notef("%s %s has failed: %s: %s", kind, key, c.Reason, c.Message)
	}
}

// podOf is the pod of an attempt: of an earlier one, what was kept of it says so.
func podOf(run *crds.TaskRun, attempt int) string {
	if attempt < len(run.Status.RetriesStatus) {
		return run.Status.RetriesStatus[attempt].PodName
	}
	return run.Status.PodName
}

type container struct{ step, container string }

// containers are those of the steps, which are known as soon as the run has begun.
func containers(run *crds.TaskRun) (all []container) {
	if run.Status.TaskSpec == nil {
		return nil
	}
	for i, step := range run.Status.TaskSpec.Steps {
		name := step.Name
		if name == "" {
			name = fmt.Sprintf("unnamed-%d", i)
		}
		all = append(all, container{name, "step-" + name})
	}
	return all
}
