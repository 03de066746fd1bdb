package logs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A stage is a Cluster whose runs and logs a test writes.
type stage struct {
	mu        sync.Mutex
	version   int
	taskRuns  map[string]*crds.TaskRun
	pipelines map[string]*crds.PipelineRun
	logs      map[string]io.Reader // by pod/container
	tapes     map[string]*tape     // likewise
	news      chan struct{}        // closed and made anew with each change
	waited    int
	deaf      []error // what the next watches fail with
}

func newStage() *stage {
	return &stage{taskRuns: map[string]*crds.TaskRun{}, pipelines: map[string]*crds.PipelineRun{}, logs: map[string]io.Reader{}, tapes: map[string]*tape{}, news: make(chan struct{})}
}

func (s *stage) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	how()
	close(s.news)
	s.news = make(chan struct{})
}

func (s *stage) TaskRun(_ context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.taskRuns[key.Name]; run != nil {
		c := *run
		c.ResourceVersion = fmt.Sprint(s.version)
		return &c, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (s *stage) PipelineRun(_ context.Context, key types.NamespacedName) (*crds.PipelineRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.pipelines[key.Name]; run != nil {
		c := *run
		c.ResourceVersion = fmt.Sprint(s.version)
		return &c, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (s *stage) News(ctx context.Context, _ string, _ types.NamespacedName, version string) error {
	s.mu.Lock()
	s.waited++
	if len(s.deaf) > 0 {
		defer s.mu.Unlock()
		err := s.deaf[0]
		s.deaf = s.deaf[1:]
		return err
	}
	news, now := s.news, fmt.Sprint(s.version)
	s.mu.Unlock()
	if now != version {
		return nil
	}
	select {
	case <-news:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage) Log(ctx context.Context, pod types.NamespacedName, container string, of Part) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tape := s.tapes[pod.Name+"/"+container]; tape != nil {
		return tape.play(ctx, of)
	}
	log, ok := s.logs[pod.Name+"/"+container]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Name)
	case log == nil:
		return nil, apierrors.NewBadRequest("container is waiting to start")
	default:
		return io.NopCloser(log), nil
	}
}

// run makes a TaskRun of those steps, with a pod.
func run(name string, steps ...string) *crds.TaskRun {
	r := &crds.TaskRun{}
	r.Namespace, r.Name = "ci", name
	r.Status.PodName = name + "-pod"
	r.Status.TaskSpec = &crds.TaskSpec{}
	for _, step := range steps {
		r.Status.TaskSpec.Steps = append(r.Status.TaskSpec.Steps, crds.Step{Name: step})
	}
	return r
}

func done(c *crds.Conditions, status corev1.ConditionStatus, reason, message string) {
	*c = crds.Conditions{{Type: crds.ConditionSucceeded, Status: status, Reason: reason, Message: message}}
}

// printed is what Print prints of ci/build.
func printed(t *testing.T, s *stage, cfg Config) string {
	t.Helper()
	var out strings.Builder
	if err := Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, cfg, &out); err != nil {
		t.Error(err)
	}
	return out.String()
}

// ended makes steps of a run be seen to have ended, as its status has it.
func ended(r *crds.TaskRun, steps ...string) *crds.TaskRun {
	for _, step := range steps {
		state := crds.StepState{Name: step, Container: "step-" + step}
		state.Terminated = &corev1.ContainerStateTerminated{}
		r.Status.Steps = append(r.Status.Steps, state)
	}
	return r
}

func same(t *testing.T, got string, want ...string) {
	t.Helper()
	if all := strings.Join(want, "\n") + "\n"; got != all {
		t.Errorf("printed\n%swant\n%s", got, all)
	}
}

func TestStepsComeInTheirOrder(t *testing.T) {
	s := newStage()
	r := run("build", "fetch", "", "push")
	r.Status.RetriesStatus = []crds.TaskRunStatus{{PodName: "build-pod"}}
	r.Status.PodName = "build-pod-retry1"
	done(&r.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
	s.taskRuns["build"] = r
	for name, text := range map[string]string{
		"build-pod/step-fetch": "no\n", "build-pod/step-unnamed-1": "", "build-pod/step-push": "",
		"build-pod-retry1/step-fetch": "one\ntwo\n", "build-pod-retry1/step-unnamed-1": "\n", "build-pod-retry1/step-push": "without an end",
	} {
		s.logs[name] = strings.NewReader(text)
	}
	same(t, printed(t, s, Config{}), "[fetch] no", "-- TaskRun ci/build is tried again", "[fetch] one", "[fetch] two", "[unnamed-1] ", "[push] without an end")
}

func TestTheLastWordIsWhyItFailed(t *testing.T) {
	s := newStage()
	r := run("build", "a", "b")
	done(&r.Status.Conditions, corev1.ConditionFalse, "StepFailed", `"step-a" exited with code 1`)
	s.taskRuns["build"] = r
	s.logs["build-pod/step-a"], s.logs["build-pod/step-b"] = strings.NewReader("oh\n"), nil
	same(t, printed(t, s, Config{Follow: true}), "[a] oh", `-- TaskRun ci/build has failed: StepFailed: "step-a" exited with code 1`)
}

func TestNamesAndMessagesSteerNoTerminal(t *testing.T) {
	s := newStage()
	r := run("build", "a\x1b[2K")
	done(&r.Status.Conditions, corev1.ConditionFalse, "Failed", "no\r\n[deploy : push] done\x1b[1A")
	s.taskRuns["build"] = r
	s.logs["build-pod/step-a\x1b[2K"] = strings.NewReader("\x1b[31mred\x1b[0m\n")
	same(t, printed(t, s, Config{}), "[a\\x1b[2K] \x1b[31mred\x1b[0m", `-- TaskRun ci/build has failed: Failed: no\r\n[deploy : push] done\x1b[1A`)
}

// Who may write a status can make two PipelineRuns each other's child.
func TestAPipelineRunThatMadeItselfHasAnEnd(t *testing.T) {
	s := newStage()
	for name, child := range map[string]string{"build": "other", "other": "build"} {
		r := &crds.PipelineRun{}
		r.Status.ChildReferences = []crds.ChildStatusReference{{Name: child, PipelineTaskName: "t"}}
		r.Status.ChildReferences[0].Kind = crds.KindPipelineRun
		done(&r.Status.Conditions, corev1.ConditionFalse, "Failed", "in a circle")
		s.pipelines[name] = r
	}
	same(t, printed(t, s, Config{}), "-- PipelineRun ci/other has failed: Failed: in a circle", "-- PipelineRun ci/build has failed: Failed: in a circle")
}

func TestAPodThatIsGoneIsSaidToBe(t *testing.T) {
	s := newStage()
	r := run("build", "a")
	done(&r.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
	s.taskRuns["build"] = r
	failed(t, s, "log of step a of ci/build: pod build-pod is gone")
	s.taskRuns["build"] = run("build", "a") // which nobody has seen end
	failed(t, s, "log of step a of ci/build: pod build-pod is gone")
	s.taskRuns["build"].Status.PodName = "" // not yet
	if got := printed(t, s, Config{}); got != "" {
		t.Errorf("printed\n%s", got)
	}
}

// failed prints ci/build, of which nothing can be printed.
func failed(t *testing.T, s *stage, want string) {
	t.Helper()
	var out strings.Builder
	err := Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, Config{}, &out)
	if err == nil || err.Error() != want || out.String() != "" {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

func TestATaskRunThatIsGoneIsSaidToBe(t *testing.T) {
	s := newStage()
	pipelineOf(s, "left")
	delete(s.taskRuns, "build-left")
	failed(t, s, "TaskRun ci/build-left is gone, and its logs with it")
}

// A run is stopped in its second step, and its pod is deleted: the others waited, or were
// skipped, and have printed nothing.
func TestOfAStepThatNeverBeganNothingIsLost(t *testing.T) {
	s := newStage()
	r := ended(run("build", "a", "b", "c", "d"), "a", "b", "c", "d")
	done(&r.Status.Conditions, corev1.ConditionFalse, "TaskRunCancelled", "")
	r.Status.Steps[0].TerminationReason = "Skipped"
	for i, reason := range []string{"Completed", "TaskRunCancelled", "TaskRunCancelled", "TaskRunCancelled"} {
		r.Status.Steps[i].Terminated.Reason = reason
	}
	s.taskRuns["build"] = r
	var out strings.Builder
	err := Print(t.Context(), s, types.NamespacedName{Namespace: "ci", Name: "build"}, Config{Follow: true}, &out)
	if err == nil || err.Error() != "log of step b of ci/build: pod build-pod is gone" {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

func TestWithoutFollowNothingIsWaitedFor(t *testing.T) {
	s := newStage()
	s.taskRuns["build"] = &crds.TaskRun{}
	done(&s.taskRuns["build"].Status.Conditions, corev1.ConditionUnknown, "Pending", "")
	same(t, printed(t, s, Config{}), "-- TaskRun ci/build has no steps yet (Pending); -f waits for them")
	s.taskRuns["build"] = run("build", "a", "b")
	s.logs["build-pod/step-a"], s.logs["build-pod/step-b"] = strings.NewReader("so far\n"), nil
	same(t, printed(t, s, Config{}), "[a] so far")
	if s.waited > 0 {
		t.Errorf("waited %d times", s.waited)
	}
}

// A run is followed from before it has a pod: the pod comes, its first step prints, the
// second is late, and the attempt after it is shown as well.
func TestFollowWaitsForWhatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.taskRuns["build"] = &crds.TaskRun{}
		var got string
		var reading sync.WaitGroup
		reading.Go(func() { got = printed(t, s, Config{Follow: true}) })
		second := func(how func()) { time.Sleep(time.Second); s.change(how) }
		second(func() { s.taskRuns["build"] = run("build", "a", "b") })
		second(func() { s.logs["build-pod/step-a"], s.logs["build-pod/step-b"] = strings.NewReader("1\n"), nil })
		second(func() {
			s.taskRuns["build"], s.logs["build-pod/step-b"] = ended(run("build", "a", "b"), "a"), strings.NewReader("2\n")
		})
		second(func() {
			again := *s.taskRuns["build"]
			again.Status.RetriesStatus = []crds.TaskRunStatus{{PodName: "build-pod"}}
			again.Status.PodName, again.Status.Steps = "again", nil
			s.taskRuns["build"] = &again
			s.logs["again/step-a"], s.logs["again/step-b"] = strings.NewReader("3\n"), strings.NewReader("4\n")
		})
		second(func() {
			over := *s.taskRuns["build"]
			done(&over.Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
			s.taskRuns["build"] = &over
		})
		reading.Wait()
		same(t, got, "[a] 1", "[b] 2", "-- TaskRun ci/build is tried again", "[a] 3", "[b] 4")
	})
}

// slow is a log that comes in pieces.
type slow struct{ pieces []string }

func (s *slow) Read(into []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	n := copy(into, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func TestTasksThatRunAtOnceDoNotCutLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		pipeline := &crds.PipelineRun{}
		for _, name := range []string{"left", "right"} {
			s.taskRuns["build-"+name] = run("build-"+name, "s")
			s.logs["build-"+name+"-pod/step-s"] = &slow{strings.Split("a long |line\nand an|other\n", "|")}
			done(&s.taskRuns["build-"+name].Status.Conditions, corev1.ConditionTrue, "Succeeded", "")
			child := crds.ChildStatusReference{Name: "build-" + name, PipelineTaskName: name}
			child.Kind = crds.KindTaskRun
			pipeline.Status.ChildReferences = append(pipeline.Status.ChildReferences, child)
		}
		done(&pipeline.Status.Conditions, corev1.ConditionFalse, "Failed", "of another")
		s.pipelines["build"] = pipeline
		got := printed(t, s, Config{Follow: true})
		for _, name := range []string{"left", "right"} {
			for _, line := range []string{"a long line", "and another"} {
				if strings.Count(got, "["+name+" : s] "+line+"\n") != 1 {
					t.Errorf("%s: %q is not there once:\n%s", name, line, got)
				}
			}
		}
		if !strings.HasSuffix(got, "-- PipelineRun ci/build has failed: Failed: of another\n") {
			t.Errorf("the last word is\n%s", got)
		}
	})
}

// Without Follow tasks come in their order.
func TestTasksComeInTheirOrder(t *testing.T) {
	s := newStage()
	pipeline := &crds.PipelineRun{}
	for _, name := range []string{"one", "two"} {
		s.taskRuns[name] = run(name, "s")
		s.logs[name+"-pod/step-s"] = strings.NewReader("hello\n")
		child := crds.ChildStatusReference{Name: name, PipelineTaskName: name}
		child.Kind = crds.KindTaskRun
		pipeline.Status.ChildReferences = append(pipeline.Status.ChildReferences, child)
	}
	for _, name := range []string{"build-m-0", "build-m-1"} { // of a matrix
		s.taskRuns[name] = run(name, "s")
		s.logs[name+"-pod/step-s"] = strings.NewReader("hello\n")
		child := crds.ChildStatusReference{Name: name, PipelineTaskName: "m"}
		child.Kind = crds.KindTaskRun
		pipeline.Status.ChildReferences = append(pipeline.Status.ChildReferences, child)
	}
	custom := crds.ChildStatusReference{Name: "w", PipelineTaskName: "wait"}
	custom.Kind = crds.KindCustomRun
	pipeline.Status.ChildReferences = append(pipeline.Status.ChildReferences, custom)
	s.pipelines["build"] = pipeline
	same(t, printed(t, s, Config{}), "[one : s] hello", "[two : s] hello", "[m-0 : s] hello", "[m-1 : s] hello", "-- wait is a CustomRun, which has no steps")
}

func TestEachStepHasItsColour(t *testing.T) {
	s := newStage()
	s.taskRuns["build"] = run("build", "a", "b")
	s.logs["build-pod/step-a"], s.logs["build-pod/step-b"] = strings.NewReader("x\ny\n"), strings.NewReader("z\n")
	same(t, printed(t, s, Config{Colour: true}), "\x1b[36m[a]\x1b[0m x", "\x1b[36m[a]\x1b[0m y", "\x1b[33m[b]\x1b[0m z")
}

func TestErrorsSayWhatIsNotThere(t *testing.T) {
	s := newStage()
	key := types.NamespacedName{Namespace: "ci", Name: "build"}
	err := Print(t.Context(), s, key, Config{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no TaskRun and no PipelineRun ci/build") {
		t.Error(err)
	}
	s.taskRuns["build"], s.pipelines["build"] = run("build", "a"), &crds.PipelineRun{}
	if err = Print(t.Context(), s, key, Config{}, io.Discard); err == nil || !strings.Contains(err.Error(), "build-pod") {
		t.Error(err)
	}
	broken := refusing{s}
	delete(s.pipelines, "build")
	if err = Print(t.Context(), broken, key, Config{}, io.Discard); err == nil || !strings.Contains(err.Error(), "log of step a") || !apierrors.IsForbidden(err) {
		t.Error(err)
	}
}

// refusing is a cluster that shows nobody logs.
type refusing struct{ *stage }

func (refusing) Log(context.Context, types.NamespacedName, string, Part) (io.ReadCloser, error) {
	return nil, &apierrors.StatusError{ErrStatus: apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "x", fmt.Errorf("code %d", http.StatusForbidden)).ErrStatus}
}
