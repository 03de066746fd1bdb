package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// Names that are paths, or two lines, end where names are checked.
func TestNamesAreOnlyNames(t *testing.T) {
	for _, name := range []string{"../token", "..", ".", "a/b", "/abs", "a\nb", "a\n", "a,b", "a b", "a\x00b", "$(x)", ""} {
		for what, spec := range map[string]crds.TaskSpec{
			"a result":           {Results: []crds.TaskResult{{Name: name}}, Steps: []crds.Step{{Image: "x", Script: "x"}}},
			"a result of a step": {Steps: []crds.Step{{Image: "x", Script: "x", Results: []crds.StepResult{{Name: name}}}}},
			"a step":             {Steps: []crds.Step{{Name: name + "/", Image: "x", Script: "x"}}},
			"a sidecar":          {Steps: []crds.Step{{Image: "x", Script: "x"}}, Sidecars: []crds.Sidecar{{Name: name + "/", Image: "x"}}},
		} {
			run := &crds.TaskRun{Spec: crds.TaskRunSpec{TaskSpec: &spec}}
			if _, refused := resolve(run, nil, nil, Config{}); refused == nil {
				t.Errorf("%s may be called %q", what, name)
			}
		}
	}
}

// A parameter's value is text, wherever it is put and whatever it holds.
func TestValuesAreText(t *testing.T) {
	for _, value := range []string{"$(params.secret)", "$(params.secret[*])", "$(workspaces.w.path)", "$(context.taskRun.uid)", "$(results.r.path)", "$(steps.a.results.r)", "$$(params.secret)", "$(params."} {
		run := parseRun(t, `
workspaces: [{name: w, emptyDir: {}}]
taskSpec:
  results: [{name: r}]
  steps:
  - {name: a, image: x, script: x, results: [{name: r}]}
  - {name: b, image: x, script: "$(params.sly)|$(params.sly)secret)", env: [{name: A, value: $(params.sly)}], args: [$(params.sly)]}
`)
		run.Spec.Params = crds.Params{{Name: "sly", Value: crds.NewString(value)}, {Name: "secret", Value: crds.NewString("canary")}}
		spec, refused := resolve(run, nil, nil, Config{})
		if refused != nil {
			t.Fatal(refused)
		}
		step := spec.Steps[1]
		if want := value + "|" + value + "secret)"; step.Script != want {
			t.Errorf("script %q, want %q", step.Script, want)
		}
		for _, text := range []string{step.Args[0], step.Env[0].Value} {
			pieces := variables.Split(text, []string{variables.LaterResult})
			if len(pieces) != 1 || pieces[0].Text != value {
				t.Errorf("%q became %q", value, pieces)
			}
		}
	}
}

// A termination message says for its step what results it has left, and nothing
// about the run, about other steps or about results that nobody declared.
func TestMessagesSayNothingElse(t *testing.T) {
	spec := parseRun(t, "taskSpec: {results: [{name: r}], steps: [{name: a, image: x, script: x}, {name: b, image: x, script: x, results: [{name: own}]}]}").Spec.TaskSpec
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}, {Name: "step-b"}}}}
	for _, name := range []string{"step-a", "step-b"} {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error",
			Message: `[{"key":"undeclared","value":"x","type":1},{"key":"own","value":"of ` + name + `","type":4},{"key":"step-b/own","value":"forged","type":4},{"key":"Succeeded","value":"True","type":3},{"key":"../r","value":"x","type":1},{"key":"r","value":"y","type":9},{"key":"StartedAt","value":"2000-01-01T00:00:00Z","type":3}]`,
		}}})
	}
	found := findResults(pod, nil)
	if h := gather(spec, found); len(h.results) != 0 {
		t.Errorf("results: %v", h.results)
	}
	states := found.ofSteps(spec, stepStates(pod, nil))
	if len(states[0].Results) != 0 || len(states[1].Results) != 1 || states[1].Results[0].Value.StringVal != "of step-b" {
		t.Errorf("results of steps: %v, %v", states[0].Results, states[1].Results)
	}
	if !failed(pod) {
		t.Error("a message has made a success of a failure")
	}
}

// What is in secrets, and in what a run takes from them, is in no log at any
// verbosity, no event, no plan and no call but the creation of the pod.
func TestSecretsAreInNoLogEventOrStatus(t *testing.T) {
	const canary = "canary-"
	synctest.Test(t, func(t *testing.T) {
		run := &crds.TaskRun{}
		check(yaml.Unmarshal([]byte(`
metadata: {name: run}
spec:
  serviceAccountName: builder
  podTemplate: {imagePullSecrets: [{name: pull}]}
  taskSpec:
    steps:
    - {name: a, image: unknown, env: [{name: A, valueFrom: {secretKeyRef: {name: git, key: password}}}]}
`), run))
		s := newServer(run)
		s.accounts = map[string]*corev1.ServiceAccount{"builder": {Secrets: []corev1.ObjectReference{{Name: "git"}, {Name: "pull"}}}}
		s.secrets = map[string]*corev1.Secret{
			"git":  {Type: corev1.SecretTypeBasicAuth, Data: map[string][]byte{"username": []byte(canary + "1"), "password": []byte(canary + "2")}},
			"pull": {Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(canary + "3")}},
		}
		s.secrets["git"].Annotations = map[string]string{"tekton.dev/git-0": "https://git.example"}
		for name, secret := range s.secrets {
			secret.Name = name
		}
		var told strings.Builder
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(&told)))
		ctx := klog.NewContext(context.Background(), logger)
		rec := New(Config{EntrypointImage: "entry"}, Parts{
			Caches: s.caches(), Client: s, Gate: openGate{}, Recorder: listener{&told},
			Images: storyConfig{Images: map[string]storyImage{"unknown": {Entrypoint: []string{"run"}}}},
			Trace:  Trace{Planned: func(_ types.NamespacedName, p Plan) { fmt.Fprintf(&told, "%s %+v\n", p, p) }},
		})
		for range 3 {
			result, err := rec.Reconcile(ctx, types.NamespacedName{Namespace: "default", Name: "run"})
			fmt.Fprintln(&told, result, err)
		}
		for _, c := range s.calls {
			fmt.Fprintf(&told, "%s %s\n", c.verb, must(yaml.Marshal(c.body)))
		}
		told.Write(s.raw)
		if !strings.Contains(told.String(), "get secret pull") || !strings.Contains(told.String(), "-basic-git") {
			t.Fatalf("the secrets were not looked at:\n%s", told.String())
		}
		if at := strings.Index(told.String(), canary); at >= 0 {
			t.Errorf("a secret is told: %q", told.String()[max(0, at-200):at+20])
		}
	})
}

type listener struct{ out *strings.Builder }

func (l listener) Event(_ runtime.Object, eventType, reason, message string) {
	fmt.Fprintln(l.out, eventType, reason, message)
}

// A script as large as an object can be comes to the step in arguments that the
// kernel takes. (One that is there twice, in spec and status, is another test's.)
func TestLargeScriptComesInPieces(t *testing.T) {
	run := parseRun(t, "taskSpec: {steps: [{image: x, script: x}]}")
	run.Spec.TaskSpec.Steps[0].Script = strings.Repeat("echo $(params.x) ü\n", 1<<20/14)
	run.Spec.TaskSpec.Steps[0].When = crds.WhenExpressions{{Input: strings.Repeat("$x", 100<<10), Operator: "in", Values: []string{"y"}}}
	run.Spec.Params = crds.Params{{Name: "x", Value: crds.NewString("y")}}
	spec, refused := resolve(run, nil, nil, Config{})
	if refused != nil {
		t.Fatal(refused)
	}
	b := blueprint{run: run, spec: spec, mode: ModeImageVolume, config: Config{EntrypointImage: "entry"}}
	sketch, refused := b.sketch()
	if refused != nil {
		t.Fatal(refused)
	}
	pod, refused := b.pod(sketch)
	if refused != nil {
		t.Fatal(refused)
	}
	for _, argument := range pod.Spec.Containers[0].Args {
		if len(argument) > 2*maxArgument { // the dollar signs are doubled in the pod, not in the container
			t.Errorf("an argument of %d bytes", len(argument))
		}
	}
}

// A Task can be as large as the server lets an object be, 1.5 MiB, and its run has a
// copy of it. Where the copy fits the run goes on; else it ends, and says so in a
// status that fits. Nothing is tried again and again.
func TestTaskOf1500KB(t *testing.T) {
	const limit = 1536 << 10 // etcd's --max-request-bytes
	for size, fits := range map[int]bool{1_500_000: true, limit - 300: false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, "metadata: {name: run}\nspec: {taskRef: {name: large}, params: [{name: x, value: as-long-as-}]}")
			c.server.room = limit
			task := &crds.Task{Spec: crds.TaskSpec{Params: crds.ParamSpecs{{Name: "x"}}, Steps: []crds.Step{{Name: "a", Image: "x"}}}}
			task.Name = "large"
			const line = "echo $(params.x) $HOME # and so on and on\n"
			task.Spec.Steps[0].Script = strings.Repeat(line, size/(len(line)+1)) // a line's end is two bytes of JSON
			c.server.tasks["large"] = task
			c.settle(nil)
			condition := c.server.run.Succeeded()
			if fits {
				if c.server.uids != 1 || condition.Reason != string(crds.TaskRunReasonStarted) {
					t.Errorf("%d bytes: %d pods, %s %s", size, c.server.uids, condition.Reason, condition.Message)
				}
				return
			}
			if condition.Reason != string(crds.TaskRunReasonFailedValidation) || !strings.Contains(condition.Message, "too large") || c.server.run.Status.TaskSpec != nil {
				t.Errorf("%d bytes: %s %s", size, condition.Reason, condition.Message)
			}
			if c.server.uids != 0 || len(c.server.calls) > 3 {
				t.Errorf("%d bytes: %d pods, %d calls", size, c.server.uids, len(c.server.calls))
			}
		})
	}
}

// What people and containers say may have line ends in it. Told in a log, it begins
// no line, so that nobody can say something in our name; told in a condition, it is
// what was said.
func TestANewlineInAMessageForgesNoLineOfTheLog(t *testing.T) {
	const forged = "I0101 00:00:00.000000       1 forged.go:1] \"All is well\""
	const said = "so\n" + forged + "\r\n" + forged + "\u2028" + forged
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		var told strings.Builder
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(&told)))
		ctx := klog.NewContext(context.Background(), logger)
		reconcileOnce := func() {
			if _, err := c.rec.Reconcile(ctx, c.key()); err != nil {
				logger.Error(err, "Reconcile failed")
			}
		}
		c.server.refuse = statusError(403, "Forbidden", said)
		reconcileOnce()
		refused := c.server.run.Succeeded().Message
		c.server.refuse = nil
		reconcileOnce()
		waiting := unpullable()
		waiting.ContainerStatuses[0].State.Waiting.Message = said
		waiting.ContainerStatuses[0].State.Waiting.Reason = "ErrImagePull"
		c.kubelet(waiting)
		reconcileOnce()
		c.server.user(must(json.Marshal(map[string]any{"spec": map[string]any{"status": "TaskRunCancelled", "statusMessage": said}})))
		reconcileOnce()
		cancelled := c.server.run.Succeeded().Message
		if !strings.Contains(refused, said) || !strings.Contains(cancelled, said) {
			t.Errorf("the conditions were %q and %q", refused, cancelled)
		}
		if !strings.Contains(told.String(), "forged") {
			t.Fatalf("nothing of it was logged:\n%s", told.String())
		}
		for line := range strings.Lines(strings.ReplaceAll(told.String(), "\r", "\n")) {
			if strings.HasPrefix(line, forged) {
				t.Errorf("forged: %s", line)
			}
		}
	})
}
