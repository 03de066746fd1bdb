package defaulting

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

func jsonOf(t *testing.T, object any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func parse[T any](t *testing.T, text string) (object T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return object
}

// becomes fills in an object, twice, and compares it with what it is to be.
func becomes[T any](t *testing.T, fill func(*T), before, after string) {
	t.Helper()
	object := parse[T](t, before)
	fill(&object)
	once := jsonOf(t, object)
	if want := jsonOf(t, parse[T](t, after)); once != want {
		t.Errorf("%s\nbecame\n%s\nwant\n%s", before, once, want)
	}
	fill(&object)
	if twice := jsonOf(t, object); twice != once {
		t.Errorf("once\n%s\ntwice\n%s", once, twice)
	}
}

func TestTwiceIsOnce(t *testing.T) {
	var tekton Defaults
	own := Defaults{Timeout: 2 * time.Hour, ServiceAccount: "builder", ManagedBy: "us", Resolver: "git", PodTemplate: &crds.PodTemplate{SchedulerName: "own"}}
	t.Run("a TaskRun that says nothing", func(t *testing.T) {
		becomes(t, tekton.TaskRun, `spec: {}`,
			`{metadata: {labels: {app.kubernetes.io/managed-by: tekton-pipelines}}, spec: {timeout: 1h, serviceAccountName: default}}`)
		becomes(t, own.TaskRun, `spec: {taskRef: {}}`,
			`{metadata: {labels: {app.kubernetes.io/managed-by: us}}, spec: {taskRef: {resolver: git}, timeout: 2h, serviceAccountName: builder, podTemplate: {schedulerName: own}}}`)
	})
	t.Run("no time limit", func(t *testing.T) {
		becomes(t, Defaults{Timeout: -1}.TaskRun, `{metadata: {labels: {app.kubernetes.io/managed-by: x}}, spec: {}}`,
			`{metadata: {labels: {app.kubernetes.io/managed-by: x}}, spec: {timeout: "0", serviceAccountName: default}}`)
	})
	t.Run("a Task", func(t *testing.T) {
		becomes(t, tekton.Task,
			`spec: {params: [{name: a}, {name: b, default: [x]}, {name: c, default: {k: v}}, {name: d, properties: {k: {}}}, {name: e, type: array}], results: [{name: r}, {name: o, properties: {k: {}}}], steps: [{image: i, results: [{name: r}]}]}`,
			`spec: {params: [{name: a, type: string}, {name: b, type: array, default: [x]}, {name: c, type: object, default: {k: v}}, {name: d, type: object, properties: {k: {type: string}}}, {name: e, type: array}], results: [{name: r, type: string}, {name: o, type: object, properties: {k: {type: string}}}], steps: [{image: i, results: [{name: r, type: string}]}]}`)
	})
	t.Run("a StepAction", func(t *testing.T) {
		becomes(t, tekton.StepAction, `spec: {image: i, params: [{name: a}], results: [{name: r}]}`, `spec: {image: i, params: [{name: a, type: string}], results: [{name: r, type: string}]}`)
	})
	t.Run("a step that refers to nothing", func(t *testing.T) {
		becomes(t, own.Task, `spec: {steps: [{ref: {}}, {ref: {name: a}}]}`, `spec: {steps: [{ref: {resolver: git}}, {ref: {name: a}}]}`)
	})
	t.Run("a Pipeline", func(t *testing.T) {
		becomes(t, tekton.Pipeline,
			`spec: {params: [{name: a}], tasks: [{name: t, taskRef: {name: a}}, {name: c, taskRef: {apiVersion: example.com/v1, name: b}}, {name: r, taskRef: {resolver: git}}], finally: [{name: e, taskSpec: {params: [{name: b}], steps: [{image: i}]}}]}`,
			`spec: {params: [{name: a, type: string}], tasks: [{name: t, taskRef: {name: a, kind: Task}}, {name: c, taskRef: {apiVersion: example.com/v1, name: b}}, {name: r, taskRef: {resolver: git}}], finally: [{name: e, taskSpec: {params: [{name: b, type: string}], steps: [{image: i}]}}]}`)
	})
	t.Run("a PipelineRun", func(t *testing.T) {
		becomes(t, tekton.PipelineRun, `spec: {pipelineRef: {name: a}}`, `spec: {pipelineRef: {name: a}, timeouts: {pipeline: 1h}, taskRunTemplate: {serviceAccountName: default}}`)
		becomes(t, own.PipelineRun, `spec: {pipelineRef: {}, timeouts: {tasks: 5m}}`, `spec: {pipelineRef: {resolver: git}, timeouts: {pipeline: 2h, tasks: 5m}, taskRunTemplate: {serviceAccountName: builder, podTemplate: {schedulerName: own}}}`)
	})
	t.Run("a pipeline within a pipeline", func(t *testing.T) {
		becomes(t, own.Pipeline, `spec: {tasks: [{name: p, pipelineRef: {}}, {name: q, pipelineSpec: {params: [{name: a}]}}]}`, `spec: {tasks: [{name: p, pipelineRef: {resolver: git}}, {name: q, pipelineSpec: {params: [{name: a, type: string}]}}]}`)
	})
	t.Run("a CustomRun", func(t *testing.T) {
		becomes(t, tekton.CustomRun, `spec: {customRef: {apiVersion: a/v1, kind: B}}`, `spec: {customRef: {apiVersion: a/v1, kind: B}, serviceAccountName: default}`)
	})
	t.Run("a ResolutionRequest", func(t *testing.T) {
		becomes(t, tekton.ResolutionRequest, `spec: {params: [{name: url, value: u}]}`, `spec: {params: [{name: url, value: u}]}`)
	})
}

func TestWhatIsSaidStays(t *testing.T) {
	said := `{metadata: {labels: {app.kubernetes.io/managed-by: ""}}, spec: {taskRef: {name: a, kind: task, apiVersion: tekton.dev/v1}, timeout: "0", serviceAccountName: mine}}`
	becomes(t, Defaults{Timeout: time.Minute, ServiceAccount: "x", ManagedBy: "y", Resolver: "z"}.TaskRun, said, said)
}

func TestPodTemplatesAreMergedFieldByField(t *testing.T) {
	under := parse[crds.PodTemplate](t, `{env: [{name: A, value: u}, {name: B, value: u}], volumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}], nodeSelector: {u: u}, schedulerName: u, tolerations: [{key: u}]}`)
	own := parse[crds.PodTemplate](t, `{env: [{name: B, value: o}], volumes: [{name: v, secret: {secretName: s}}], schedulerName: o, tolerations: []}`)
	want := parse[crds.PodTemplate](t, `{env: [{name: B, value: o}, {name: A, value: u}], volumes: [{name: v, secret: {secretName: s}}, {name: w, emptyDir: {}}], nodeSelector: {u: u}, schedulerName: o, tolerations: []}`)
	if got := MergePodTemplate(&own, &under); jsonOf(t, got) != jsonOf(t, want) || got.Tolerations == nil {
		t.Errorf("got\n%s\nwant\n%s", jsonOf(t, got), jsonOf(t, want))
	}
	if MergePodTemplate(nil, nil) != nil || MergePodTemplate(&own, nil) != &own {
		t.Error("nothing was merged into something")
	}
}

// What an object got by default is its own: who changes it changes nobody else's.
func TestDefaultsAreNotShared(t *testing.T) {
	d := Defaults{PodTemplate: &crds.PodTemplate{NodeSelector: map[string]string{"a": "b"}, Env: []corev1.EnvVar{{Name: "A"}}}}
	before := jsonOf(t, d)
	for _, own := range []*crds.PodTemplate{nil, {SchedulerName: "own"}} {
		run := crds.TaskRun{Spec: crds.TaskRunSpec{PodTemplate: own}}
		d.TaskRun(&run)
		run.Spec.PodTemplate.NodeSelector["a"] = "changed"
		run.Spec.PodTemplate.Env[0].Name = "changed"
		run.Spec.Timeout = &metav1.Duration{}
	}
	if after := jsonOf(t, d); after != before {
		t.Errorf("the defaults were %s and are %s", before, after)
	}
}

// FuzzDefaults: whatever decodes is filled in, and once is enough.
func FuzzDefaults(f *testing.F) {
	f.Add([]byte(`{"spec":{"taskRef":{"name":"a"}}}`))
	f.Add([]byte(`{"spec":{"taskSpec":{"params":[{"name":"a","properties":{"k":{}}}],"steps":[{"ref":{}}]},"podTemplate":{"env":[{"name":"A"}]}}}`))
	f.Add([]byte(`{"spec":{"pipelineSpec":{"tasks":[{"taskRef":{"kind":""}},{"pipelineSpec":{"finally":[{"taskSpec":{"results":[{"type":""}]}}]}}]},"timeouts":{"tasks":"5m"}}}`))
	d := Defaults{Timeout: time.Minute, Resolver: "git", PodTemplate: &crds.PodTemplate{HostNetwork: true, Env: []corev1.EnvVar{{Name: "A"}}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		settles(t, raw, d.Task)
		settles(t, raw, d.TaskRun)
		settles(t, raw, d.Pipeline)
		settles(t, raw, d.PipelineRun)
		settles(t, raw, d.StepAction)
		settles(t, raw, d.CustomRun)
		settles(t, raw, d.ResolutionRequest)
	})
}

func settles[T any](t *testing.T, raw []byte, fill func(*T)) {
	t.Helper()
	var object T
	if json.Unmarshal(raw, &object) != nil {
		return
	}
	if _, err := json.Marshal(object); err != nil {
		return
	}
	fill(&object)
	once := jsonOf(t, object)
	fill(&object)
	if twice := jsonOf(t, object); twice != once {
		t.Errorf("%T once\n%s\ntwice\n%s", object, once, twice)
	}
}
