package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// A wrong type in the YAML is refused, and the message names the field: the
// user of kubectl needs no controller to be told.
func TestWrongTypesAreRefusedByName(t *testing.T) {
	cases := []struct{ name, spec, field string }{
		{"steps is text", `taskSpec: {steps: "x"}`, "spec.taskSpec.steps"},
		{"a step is text", `taskSpec: {steps: ["x"]}`, "spec.taskSpec.steps[0]"},
		{"image is a number", `taskSpec: {steps: [{image: 5}]}`, "spec.taskSpec.steps[0].image"},
		{"args is text", `taskSpec: {steps: [{args: "-v"}]}`, "spec.taskSpec.steps[0].args"},
		{"an argument is a number", `taskSpec: {steps: [{args: [1]}]}`, "spec.taskSpec.steps[0].args[0]"},
		{"an environment variable is a number", `taskSpec: {steps: [{env: [{name: A, value: 1}]}]}`, "spec.taskSpec.steps[0].env[0].value"},
		{"step timeout is no duration", `taskSpec: {steps: [{timeout: soon}]}`, "spec.taskSpec.steps[0].timeout"},
		{"onError is neither word nor parameter", `taskSpec: {steps: [{onError: ignore}]}`, "spec.taskSpec.steps[0].onError"},
		{"timeout is a number", `timeout: 5`, "spec.timeout"},
		{"timeout has no unit", `timeout: "5"`, "spec.timeout"},
		{"timeout is negative", `timeout: -1m`, "spec.timeout"},
		{"timeout in words", `timeout: 5 minutes`, "spec.timeout"},
		{"retries is text", `retries: "1"`, "spec.retries"},
		{"retries is negative", `retries: -1`, "spec.retries"},
		{"status is a word it has not", `status: Cancelled`, "spec.status"},
		{"params is an object", `params: {a: b}`, "spec.params"},
		{"a parameter has no name", `params: [{value: b}]`, "spec.params[0].name"},
		{"a parameter has no value", `params: [{name: a}]`, "spec.params[0].value"},
		{"param type is a word it has not", `taskSpec: {params: [{name: a, type: int}]}`, "spec.taskSpec.params[0].type"},
		{"property type is not string", `taskSpec: {params: [{name: a, properties: {k: {type: array}}}]}`, "spec.taskSpec.params[0].properties"},
		{"operator is a word it has not", `taskSpec: {steps: [{when: [{operator: exists}]}]}`, "spec.taskSpec.steps[0].when[0].operator"},
		{"a breakpoint is a word it has not", `debug: {breakpoints: {onFailure: "yes"}}`, "spec.debug.breakpoints.onFailure"},
		{"a claim has no name", `workspaces: [{name: w, persistentVolumeClaim: {}}]`, "spec.workspaces[0].persistentVolumeClaim.claimName"},
		{"a quantity is none", `computeResources: {requests: {cpu: lots}}`, "spec.computeResources.requests"},
	}
	taskRuns := newServer(t, filepath.Join(folder, "tekton.dev_taskruns.yaml"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wrong, _ := taskRuns.create(taskRun(t, c.spec))
			if len(wrong) == 0 {
				t.Fatal("accepted")
			}
			for _, err := range wrong {
				if strings.HasPrefix(err.Field, c.field) {
					return
				}
			}
			t.Errorf("no error at %s, but: %v", c.field, wrong.ToAggregate())
		})
	}
}

// What users write is accepted, and no field of it is unknown.
func TestWhatUsersWriteIsAccepted(t *testing.T) {
	cases := []struct{ name, spec string }{
		{"parameters of each kind", `taskRef: {name: t}, params: [{name: s, value: x}, {name: a, value: [x, y]}, {name: o, value: {k: v}}]`},
		{"parameters without quotes", `taskRef: {name: t}, params: [{name: port, value: 5}, {name: b, value: true}, {name: e, value: ""}]`},
		{"defaults of each kind", `taskSpec: {steps: [{image: i}], params: [{name: s, default: x}, {name: a, type: array, default: []}, {name: o, default: {k: v}}, {name: port, default: 8080}]}`},
		{"steps without names", `taskSpec: {steps: [{image: busybox, script: "exit 0"}]}`},
		{"one environment variable twice", `taskSpec: {steps: [{env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}`},
		{"onError from a parameter", `taskSpec: {steps: [{onError: $(params.mode)}]}`},
		{"a pull policy from a parameter", `taskSpec: {steps: [{imagePullPolicy: $(params.policy)}]}`},
		{"no time limit", `taskRef: {name: t}, timeout: "0"`},
		{"durations", `taskRef: {name: t}, timeout: 1h30m0.5s`},
		{"words that mean nothing", `taskRef: {name: t}, status: ""`},
		{"a template as kubectl prints it", `taskRef: {name: t}, workspaces: [{name: w, volumeClaimTemplate: {metadata: {creationTimestamp: null, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {}}}]`},
		{"resources as numbers", `taskRef: {name: t}, stepSpecs: [{name: a, computeResources: {requests: {cpu: 1, memory: 64Mi}}}]`},
		{"a workspace of a step without a path", `taskSpec: {steps: [{workspaces: [{name: w}]}]}`},
		{"a mount path as people spell it", `taskSpec: {steps: [{workspaces: [{name: w, mountpath: /w}]}]}`},
		{"a resolver", `taskRef: {resolver: git, params: [{name: url, value: https://example.com}, {name: depth, value: 1}]}`},
	}
	taskRuns := newServer(t, filepath.Join(folder, "tekton.dev_taskruns.yaml"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wrong, unknown := taskRuns.create(taskRun(t, c.spec))
			if len(wrong) > 0 {
				t.Error(wrong.ToAggregate())
			}
			if len(unknown) > 0 {
				t.Errorf("unknown: %v", unknown)
			}
		})
	}
}

// The examples that set every field of the types lose none of them on the server.
func TestEveryFieldIsKept(t *testing.T) {
	for example, definition := range map[string]string{
		"everything.yaml":                   "tekton.dev_taskruns.yaml",
		"everything-pipelinerun.yaml":       "tekton.dev_pipelineruns.yaml",
		"everything-customrun.yaml":         "tekton.dev_customruns.yaml",
		"everything-resolutionrequest.yaml": "resolution.tekton.dev_resolutionrequests.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(folder, "testdata", example))
		if err != nil {
			t.Fatal(err)
		}
		wrong, unknown := newServer(t, filepath.Join(folder, definition)).shape(decode(t, string(text)))
		if len(wrong) > 0 || len(unknown) > 0 {
			t.Errorf("%s: wrong: %v, unknown: %v", example, wrong.ToAggregate(), unknown)
		}
	}
}

// What is wrong in a PipelineRun is refused by name, too, and what Tekton takes is
// taken.
func TestPipelineRunsAreHeldToTheirTypes(t *testing.T) {
	cases := []struct{ name, spec, field string }{
		{"tasks is an object", `pipelineSpec: {tasks: {a: b}}`, "spec.pipelineSpec.tasks"},
		{"a step of a task is text", `pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [x]}}]}`, "spec.pipelineSpec.tasks[0].taskSpec.steps[0]"},
		{"retries is text", `pipelineSpec: {tasks: [{name: a, retries: "1"}]}`, "spec.pipelineSpec.tasks[0].retries"},
		{"onError is a word it has not", `pipelineSpec: {finally: [{name: a, onError: ignore}]}`, "spec.pipelineSpec.finally[0].onError"},
		{"status is a TaskRun's", `status: TaskRunCancelled`, "spec.status"},
		{"a timeout is negative", `timeouts: {pipeline: -1m}`, "spec.timeouts.pipeline"},
		{"a timeout has no unit", `timeouts: {tasks: "5"}`, "spec.timeouts.tasks"},
		{"a result has no value", `pipelineSpec: {results: [{name: a}]}`, "spec.pipelineSpec.results[0].value"},
		{"a matrix is a list", `pipelineSpec: {tasks: [{name: a, matrix: [1]}]}`, "spec.pipelineSpec.tasks[0].matrix"},
		{"accepted: a custom task", `pipelineSpec: {tasks: [{name: a, taskSpec: {apiVersion: x/v1, kind: W, spec: {any: [thing]}}}]}`, ""},
		{"accepted: a negative timeout of a task", `pipelineSpec: {tasks: [{name: a, taskRef: {name: t}, timeout: -1m, retries: -1}]}`, ""},
		{"accepted: a matrix given a string", `pipelineSpec: {tasks: [{name: a, taskRef: {name: t}, matrix: {params: [{name: p, value: x}]}}]}`, ""},
		{"accepted: a pipeline in a pipeline", `pipelineSpec: {tasks: [{name: a, pipelineSpec: {tasks: [{name: b, pipelineSpec: {tasks: []}}]}}]}`, ""},
	}
	pipelineRuns := newServer(t, filepath.Join(folder, "tekton.dev_pipelineruns.yaml"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := taskRun(t, c.spec)
			run["kind"] = "PipelineRun"
			wrong, unknown := pipelineRuns.create(run)
			if len(unknown) > 0 && c.field == "" {
				t.Errorf("unknown: %v", unknown)
			}
			named := slices.ContainsFunc(wrong, func(err *field.Error) bool { return strings.HasPrefix(err.Field, c.field) })
			if accepted := c.field == ""; accepted != (len(wrong) == 0) || !accepted && !named {
				t.Errorf("want an error at %q, have: %v", c.field, wrong.ToAggregate())
			}
		})
	}
}

// A mistyped field is unknown by its whole path, which is what kubectl prints.
func TestUnknownFieldsAreNamed(t *testing.T) {
	taskRuns := newServer(t, filepath.Join(folder, "tekton.dev_taskruns.yaml"))
	_, unknown := taskRuns.create(taskRun(t, `taskSpec: {steps: [{iamge: busybox}]}`))
	if want := []string{"spec.taskSpec.steps[0].iamge"}; !slices.Equal(unknown, want) {
		t.Errorf("unknown: %v, want %v", unknown, want)
	}
}

// A status keeps copies of specs whole, with fields that this version of the
// types does not know.
func TestCopiesInStatusAreKeptWhole(t *testing.T) {
	taskRuns := newServer(t, filepath.Join(folder, "tekton.dev_taskruns.yaml"))
	object := taskRun(t, `taskRef: {name: x}`)
	status := decode(t, `{
		taskSpec: {steps: [{name: a, fromTheFuture: 1}]},
		retriesStatus: [{podName: p, fromTheFuture: {a: [1]}}],
		provenance: {featureFlags: {resultExtractionMethod: termination-message, maxResultSize: 4096}}
	}`)
	object["status"] = status
	wrong, unknown := taskRuns.create(object)
	if len(wrong) > 0 || len(unknown) > 0 {
		t.Errorf("wrong: %v, unknown: %v", wrong.ToAggregate(), unknown)
	}
}

func taskRun(t *testing.T, spec string) map[string]any {
	t.Helper()
	return map[string]any{
		"apiVersion": "tekton.dev/v1",
		"kind":       "TaskRun",
		"metadata":   map[string]any{"name": "x"},
		"spec":       decode(t, "{"+spec+"}"),
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil { // whole numbers stay whole, as on a server
		t.Fatal(err)
	}
	return object
}
