package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		{"parameters of each kind", `params: [{name: s, value: x}, {name: a, value: [x, y]}, {name: o, value: {k: v}}]`},
		{"parameters without quotes", `params: [{name: port, value: 5}, {name: b, value: true}, {name: e, value: ""}]`},
		{"defaults of each kind", `taskSpec: {params: [{name: s, default: x}, {name: a, type: array, default: []}, {name: o, default: {k: v}}, {name: port, default: 8080}]}`},
		{"steps without names", `taskSpec: {steps: [{image: busybox, script: "exit 0"}]}`},
		{"one environment variable twice", `taskSpec: {steps: [{env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}`},
		{"onError from a parameter", `taskSpec: {steps: [{onError: $(params.mode)}]}`},
		{"a pull policy from a parameter", `taskSpec: {steps: [{imagePullPolicy: $(params.policy)}]}`},
		{"no time limit", `timeout: "0"`},
		{"durations", `timeout: 1h30m0.5s`},
		{"words that mean nothing", `status: ""`},
		{"a template as kubectl prints it", `workspaces: [{name: w, volumeClaimTemplate: {metadata: {creationTimestamp: null, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {}}}]`},
		{"resources as numbers", `stepSpecs: [{name: a, computeResources: {requests: {cpu: 1, memory: 64Mi}}}]`},
		{"a workspace of a step without a path", `taskSpec: {steps: [{workspaces: [{name: w}]}]}`},
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

// The example that sets every field of the types loses none of them on the server.
func TestEveryFieldIsKept(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "testdata", "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	taskRuns := newServer(t, filepath.Join(folder, "tekton.dev_taskruns.yaml"))
	wrong, unknown := taskRuns.create(decode(t, string(text)))
	if len(wrong) > 0 || len(unknown) > 0 {
		t.Errorf("wrong: %v, unknown: %v", wrong.ToAggregate(), unknown)
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
		"spec":       decode(t, spec),
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
