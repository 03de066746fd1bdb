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
//  3. With Follow, what is cut goes on where it was cut, for as long as Patience, and no
//     line is printed twice or left out: a log is read again from the second before the
//     last that was seen, and what was printed of these is known
//     (TestALogThatIsCutGoesOnWhereItWas, TestALineThatIsLateIsNotLeftOut,
//     FuzzALogThatIsCut). A log that has ended is over when the step was known to be before
//     it was read (TestALogThatEndsBeforeItsStepGoesOn).
//  4. What fails for good ends itself alone, and is told at the end
//     (TestOneLogThatFailsEndsNoOther). Only where the logs may not be read at all, or
//     nobody reads what is printed, all of it ends
//     (TestWhatNobodyMayReadEndsAtOnce, TestWhoHasGoneIsPrintedNothing).
//  5. Without Follow nothing is waited for, or tried again: what is there by now is shown.
//     (TestWithoutFollowNothingIsWaitedFor)
//  6. A log that is not there any more, or of which more may have been, is one that has
//     failed for good (TestAPodThatIsGoneIsSaidToBe), also where its stream had ended as if
//     all were well (TestAStreamThatEndsIsNoEndOfALog); one of a step that never had its
//     turn is empty (TestOfAStepThatNeverBeganNothingIsLost). What came of it before is
//     printed, to the last letter
//     (TestWhatCameOfALogIsPrintedWhenItsPodIsGone, TestWhatCameOfALogIsPrintedWhenItFails).
//  7. Why a run has failed is the last word. (TestTheLastWordIsWhyItFailed)
//  8. Lines of a log are printed as they are, colours and all; names and messages, which
//     anybody may have written, as text that steers no terminal.
//     (TestNamesAndMessagesSteerNoTerminal)
//
// Runs that a PipelineRun has made are followed each by a goroutine of its own, and so are
// sidecars; Print starts them, and returns when all have.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

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
	// Log is what a container has printed: lines, each with its time before it (RFC 3339)
	// and a space.
	Log(ctx context.Context, pod types.NamespacedName, container string, of Part) (io.ReadCloser, error)
}

// Part is how much of a log is asked for. Its zero value is what there is.
type Part struct {
	// Follow goes on until the container has ended.
	Follow bool
	// Since leaves out what was printed before it, in whole seconds. Default: nothing.
	Since time.Time
}

// Config says what is printed, and how. Its zero value prints what there is, plain.
type Config struct {
	// Follow waits for what has not been printed yet, until the run has ended.
	Follow bool
	// Colour gives every step one of its own.
	Colour bool
	// Sidecars are printed, too: with Follow beside the steps, and else after them.
	Sidecars bool
	// Patience is how long, with Follow, a server that does not answer is tried again.
	// Default: 5 minutes.
	Patience time.Duration
}

// Print prints the logs of the TaskRun or PipelineRun of that key to out. The error
// says that there is no such run, or two, or all that failed for good.
func Print(ctx context.Context, c Cluster, key types.NamespacedName, cfg Config, out io.Writer) error {
	if cfg.Patience <= 0 {
		cfg.Patience = 5 * time.Minute
	}
	task, errTask := c.TaskRun(ctx, key)
	pipeline, errPipeline := c.PipelineRun(ctx, key)
	switch {
	case errTask == nil && errPipeline == nil:
		return fmt.Errorf("there is a TaskRun %s and a PipelineRun of that name: the logs of the TaskRun are those of its pod, %s", key, task.Status.PodName)
	case apierrors.IsNotFound(errTask) && apierrors.IsNotFound(errPipeline):
		return fmt.Errorf("there is no TaskRun and no PipelineRun %s", key)
	case errTask != nil && errPipeline != nil:
		return errors.Join(ignoring(errTask), ignoring(errPipeline))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &printer{Cluster: c, Config: cfg, paper: &paper{out: out, colour: cfg.Colour}, stop: stop}
	if errTask == nil {
		p.fails(ctx, p.taskRun(ctx, key, ""))
	} else {
		p.pipelineRun(ctx, key, pipeline)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(p.failures...)
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
	begun sync.Map                // the names of the PipelineRuns that are printed, or were
	stop  context.CancelCauseFunc // ends all of it

	mu       sync.Mutex
	failures []error // of what has ended for good
}

// fails notes what is told at the end. What may not be read, may not be read of any.
func (p *printer) fails(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if apierrors.IsForbidden(err) {
		p.stop(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, err)
}

// pipelineRun prints the logs of the runs that a PipelineRun has made.
func (p *printer) pipelineRun(ctx context.Context, key types.NamespacedName, run *crds.PipelineRun) {
	if _, again := p.begun.LoadOrStore(key.Name, true); again { // its status can say that it made itself
		return
	}
	var children errgroup.Group
	if !p.Follow {
		children.SetLimit(1) // one after the other, in their order
	}
	begun := map[string]bool{}
	var err error
	for {
		for _, child := range run.Status.ChildReferences {
			if !begun[child.Name] {
				begun[child.Name] = true
				label := labelOf(run, key.Name, child)
				children.Go(func() error {
					p.fails(ctx, p.child(ctx, key.Namespace, child, label))
					return nil
				})
			}
		}
		if !p.Follow || run.IsDone() {
			break
		}
		if run, err = later(ctx, p, crds.ResourcePipelineRuns, key, run, p.PipelineRun); err != nil {
			break
		}
	}
	_ = children.Wait() // what has failed is noted
	if p.fails(ctx, err); err == nil {
		p.lastWord("PipelineRun", key, run.Succeeded())
	}
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
		run, err := now(ctx, p, key, p.PipelineRun)
		if err == nil {
			p.pipelineRun(ctx, key, run)
		}
		return err
	default:
		p.paper.notef("%s is a %s, which has no steps", label, child.Kind)
		return nil
	}
}

// taskRun prints attempt after attempt.
func (p *printer) taskRun(ctx context.Context, key types.NamespacedName, label string) error {
	run, err := now(ctx, p, key, p.TaskRun)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("TaskRun %s is gone, and its logs with it", key)
	}
	for attempt := 0; err == nil; attempt++ {
		if run, err = p.attempt(ctx, key, run, attempt, label); err != nil {
			break
		}
		for p.Follow && !run.IsDone() && len(run.Status.RetriesStatus) <= attempt && err == nil {
			run, err = later(ctx, p, crds.ResourceTaskRuns, key, run, p.TaskRun)
		}
		if err == nil && len(run.Status.RetriesStatus) <= attempt {
			p.lastWord("TaskRun", key, run.Succeeded())
			return nil
		}
	}
	return err
}

func (p *printer) lastWord(kind string, key types.NamespacedName, c crds.Condition) {
	if c.Status == corev1.ConditionFalse {
		p.paper.notef("%s %s has failed: %s: %s", kind, key, c.Reason, c.Message)
	}
}
