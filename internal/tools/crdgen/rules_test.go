package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the rules of a definition refuse, at which field; and beside it what looks
// like that and is accepted, because Tekton accepts it.
func TestRules(t *testing.T) {
	const steps = `steps: [{name: a, image: busybox}]`
	cases := map[string][]struct{ name, spec, field string }{
		"Task": {
			{"no steps", `params: []`, "spec.steps"},
			{"a list of no steps", `steps: []`, "spec.steps"},
			{"script and command", `steps: [{image: i, script: x, command: [y]}]`, "spec.steps[0].script"},
			{"script and command of a sidecar", steps + `, sidecars: [{image: i, script: x, command: [y]}]`, "spec.sidecars[0].script"},
			{"a StepAction and an image", `steps: [{image: i, ref: {name: x}}]`, "spec.steps[0]"},
			{"a StepAction and args", `steps: [{args: [i], ref: {name: x}}]`, "spec.steps[0]"},
			{"a step's name in capitals", `steps: [{name: A_b, image: i}]`, "spec.steps[0].name"},
			{"a step's name that is too long", `steps: [{name: ` + strings.Repeat("a", 64) + `, image: i}]`, "spec.steps[0].name"},
			{"a result that is no name", steps + `, results: [{name: a b}]`, "spec.results[0].name"},
			{"an object without keys", steps + `, results: [{name: a, type: object}]`, "spec.results[0].properties"},
			{"accepted: results", steps + `, results: [{name: a.b_C-1}, {name: o, type: object, properties: {k: {}}}]`, ""},
			{"accepted: empty fields", `steps: [{name: "", image: i, script: x, command: []}, {image: i, script: "", command: [x]}, {image: "", args: [], ref: {name: x}}]`, ""},
			{"accepted: a sidecar without a name", steps + `, sidecars: [{name: "", image: i}]`, ""},
		},
		"TaskRun": {
			{"neither ref nor spec", `params: []`, "spec.taskRef"},
			{"both ref and spec", `taskRef: {name: a}, taskSpec: {` + steps + `}`, "spec.taskRef"},
			{"a task without steps", `taskSpec: {}`, "spec.taskSpec.steps"},
			{"a resolver and a name", `taskRef: {resolver: git, name: a}`, "spec.taskRef.name"},
			{"parameters without a resolver", `taskRef: {name: a, params: [{name: x, value: y}]}`, "spec.taskRef.params"},
			{"a message without a status", `taskRef: {name: a}, statusMessage: x`, "spec.statusMessage"},
			{"a workspace without a volume", `taskRef: {name: a}, workspaces: [{name: w}]`, "spec.workspaces[0]"},
			{"a workspace with two", `taskRef: {name: a}, workspaces: [{name: w, emptyDir: {}, secret: {secretName: s}}]`, "spec.workspaces[0]"},
			{"a secret without a name", `taskRef: {name: a}, workspaces: [{name: w, secret: {}}]`, "spec.workspaces[0].secret.secretName"},
			{"a config map without a name", `taskRef: {name: a}, workspaces: [{name: w, configMap: {}}]`, "spec.workspaces[0].configMap.name"},
			{"accepted: a message with a status", `taskRef: {name: a}, status: TaskRunCancelled, statusMessage: x`, ""},
			{"accepted: empty fields", `taskRef: {name: a, resolver: "", params: []}, statusMessage: "", status: ""`, ""},
			{"accepted: each volume", `taskRef: {resolver: git}, workspaces: [{name: a, emptyDir: {}}, {name: b, csi: {driver: d}}, {name: c, projected: {sources: []}}, {name: d, volumeClaimTemplate: {spec: {}}}, {name: e, persistentVolumeClaim: {claimName: c}}]`, ""},
		},
		"Pipeline": {
			{"nothing", ``, "spec.tasks"},
			{"finally alone", `finally: [{name: a, taskRef: {name: t}}]`, "spec.finally"},
			{"a task without a name", `tasks: [{taskRef: {name: t}}]`, "spec.tasks[0].name"},
			{"a task's name in capitals", `tasks: [{name: T_1, taskRef: {name: t}}]`, "spec.tasks[0].name"},
			{"a task of nothing", `tasks: [{name: a}]`, "spec.tasks[0]"},
			{"a task of two", `tasks: [{name: a, taskRef: {name: t}, taskSpec: {}}]`, "spec.tasks[0]"},
			{"a resolver and a name", `tasks: [{name: a, taskRef: {resolver: git, name: t}}]`, "spec.tasks[0].taskRef.name"},
			{"a custom task without a kind", `tasks: [{name: a, taskSpec: {apiVersion: x/v1, spec: {}}}]`, "spec.tasks[0].taskSpec.kind"},
			{"retries where failure is none", `tasks: [{name: a, taskRef: {name: t}, onError: continue, retries: 1}]`, "spec.tasks[0].onError"},
			{"an order among finally", `tasks: [{name: a, taskRef: {name: t}}], finally: [{name: b, taskRef: {name: t}, runAfter: [a]}]`, "spec.finally"},
			{"accepted: a description alone", `description: x`, ""},
			{"accepted: negative retries", `tasks: [{name: a, taskRef: {name: t}, onError: continue, retries: -1}]`, ""},
			{"accepted: what a step refers to inside a pipeline", `tasks: [{name: a, taskSpec: {steps: [{image: i, ref: {name: x}}]}}]`, ""},
		},
		"PipelineRun": {
			{"neither ref nor spec", `params: []`, "spec.pipelineRef"},
			{"both ref and spec", `pipelineRef: {name: a}, pipelineSpec: {tasks: []}`, "spec.pipelineRef"},
			{"a resolver and a name", `pipelineRef: {resolver: git, name: a}`, "spec.pipelineRef.name"},
			{"parameters without a resolver", `pipelineRef: {name: a, params: [{name: x, value: y}]}`, "spec.pipelineRef.params"},
			{"tasks longer than the whole", `pipelineRef: {name: a}, timeouts: {pipeline: 1m, tasks: 2m}`, "spec.timeouts.tasks"},
			{"finally longer than the whole", `pipelineRef: {name: a}, timeouts: {pipeline: 1m, finally: 61s}`, "spec.timeouts.finally"},
			{"both together longer than the whole", `pipelineRef: {name: a}, timeouts: {pipeline: 1m, tasks: 31s, finally: 30s}`, "spec.timeouts.tasks"},
			{"no limit to a part of what has one", `pipelineRef: {name: a}, timeouts: {pipeline: 1m, tasks: "0"}`, "spec.timeouts.tasks"},
			{"limits to both parts of what has none", `pipelineRef: {name: a}, timeouts: {pipeline: "0", tasks: 1m, finally: 1m}`, "spec.timeouts.tasks"},
			{"a workspace without a volume", `pipelineRef: {name: a}, workspaces: [{name: w}]`, "spec.workspaces[0]"},
			{"a task of nothing", `pipelineSpec: {tasks: [{name: a}]}`, "spec.pipelineSpec.tasks[0]"},
			{"accepted: parts as long as the whole", `pipelineRef: {name: a}, timeouts: {pipeline: 1h0m0s, tasks: 59m, finally: 60s}`, ""},
			{"accepted: parts of what has no limit", `pipelineRef: {name: a}, timeouts: {pipeline: "0", tasks: 1h}`, ""},
			{"accepted: parts alone", `pipelineRef: {name: a}, timeouts: {tasks: 2h}`, ""},
			{"accepted: one task twice", `pipelineRef: {name: a}, taskRunSpecs: [{pipelineTaskName: t}, {pipelineTaskName: t}]`, ""},
		},
		"CustomRun": {
			{"neither ref nor spec", `params: []`, "spec.customRef"},
			{"both ref and spec", `customRef: {apiVersion: a/v1, kind: B}, customSpec: {apiVersion: a/v1, kind: B}`, "spec.customRef"},
			{"no apiVersion", `customRef: {kind: B}`, "spec.customRef.apiVersion"},
			{"no kind", `customSpec: {apiVersion: a/v1}`, "spec.customSpec.kind"},
			{"a message without a status", `customRef: {apiVersion: a/v1, kind: B}, statusMessage: x`, "spec.statusMessage"},
			{"accepted: any status", `customRef: {apiVersion: a/v1, kind: B}, status: x`, ""},
		},
		"StepAction": {
			{"no image", `script: x`, "spec.image"},
			{"script and command", `image: i, script: x, command: [y]`, "spec.script"},
		},
	}
	for kind, ofKind := range cases {
		s := newServer(t, filepath.Join(folder, "tekton.dev_"+strings.ToLower(kind)+"s.yaml"))
		for _, c := range ofKind {
			t.Run(kind+": "+c.name, func(t *testing.T) {
				wrong, unknown := s.create(objectOf(t, kind, c.spec))
				wantAt(t, wrong, c.field)
				if len(unknown) > 0 {
					t.Errorf("unknown: %v", unknown)
				}
			})
		}
	}
}

// A rule is no help to who cannot read it: each says in words what to do.
func wantAt(t *testing.T, wrong field.ErrorList, path string) {
	t.Helper()
	for _, err := range wrong {
		if strings.Contains(err.Detail, "failed rule") || strings.Contains(err.Detail, "self.") {
			t.Errorf("in the words of the rule: %v", err)
		}
	}
	named := slices.ContainsFunc(wrong, func(err *field.Error) bool { return err.Field == path })
	if accepted := path == ""; accepted != (len(wrong) == 0) || !accepted && !named {
		t.Errorf("want an error at %q, have: %v", path, wrong.ToAggregate())
	}
}

// Who executes a run is settled when it is made.
func TestManagedByDoesNotChange(t *testing.T) {
	for kind, ref := range map[string]string{"TaskRun": "taskRef", "PipelineRun": "pipelineRef"} {
		s := newServer(t, filepath.Join(folder, "tekton.dev_"+strings.ToLower(kind)+"s.yaml"))
		of := func(managedBy string) map[string]any {
			return objectOf(t, kind, ref+`: {name: a}`+managedBy)
		}
		for name, c := range map[string]struct{ old, now, field string }{
			"another":        {`, managedBy: a`, `, managedBy: b`, "spec.managedBy"},
			"one where none": {``, `, managedBy: b`, "spec.managedBy"},
			"none any more":  {`, managedBy: a`, ``, "spec.managedBy"},
			"the same":       {`, managedBy: a`, `, managedBy: a, status: ""`, ""},
			"still none":     {``, `, status: ""`, ""},
		} {
			t.Run(kind+": "+name, func(t *testing.T) { wantAt(t, s.update(of(c.now), of(c.old)), c.field) })
		}
	}
}

// An object that is stored already, by an older version of these definitions or out
// of a backup, breaks every rule and can be worked with all the same: the controller
// writes its status, to say what is wrong, and a user its labels and finalizers.
func TestAStoredObjectStaysUpdatable(t *testing.T) {
	for kind, spec := range map[string]string{
		"TaskRun": `taskRef: {name: a, resolver: git, params: []}, taskSpec: {steps: [{name: A_B, script: x, command: [y], ref: {name: r}, image: i}]},
			statusMessage: x, retries: -1, timeout: -1m, status: x, workspaces: [{name: w}]`,
		"PipelineRun": `pipelineRef: {name: a, resolver: git}, pipelineSpec: {tasks: [{}], finally: [{name: b, runAfter: [a]}]},
			timeouts: {pipeline: 1m, tasks: 2m, finally: 3m}, status: x, workspaces: [{name: w, secret: {}}]`,
		"CustomRun": `customRef: {}, customSpec: {}, statusMessage: x`,
	} {
		t.Run(kind, func(t *testing.T) {
			s := newServer(t, filepath.Join(folder, "tekton.dev_"+strings.ToLower(kind)+"s.yaml"))
			old, now := objectOf(t, kind, spec), objectOf(t, kind, spec)
			if wrong, _ := s.create(objectOf(t, kind, spec)); len(wrong) < 2 {
				t.Fatalf("as a new object it would be taken: %v", wrong.ToAggregate())
			}
			now["status"] = decode(t, `{conditions: [{type: Succeeded, status: "False", reason: Failed}]}`)
			now["metadata"] = map[string]any{"name": "x", "labels": map[string]any{"a": "b"}, "finalizers": []any{"example.com/f"}}
			if wrong := s.update(now, old); len(wrong) > 0 {
				t.Error(wrong.ToAggregate())
			}
			delete(old, "spec")
			delete(now, "spec")
			if wrong := s.update(now, old); len(wrong) > 0 {
				t.Errorf("without a spec: %v", wrong.ToAggregate())
			}
		})
	}
}

// v1beta1 takes what the catalog has, with fields that v1 has not, and refuses what is
// of the wrong type where the two agree.
func TestV1Beta1IsLoose(t *testing.T) {
	cases := map[string][]struct{ name, spec, field string }{
		"Task": {
			{"accepted: resources of old", `resources: {inputs: [{name: s, type: git}]}, steps: [{image: i, resources: {limits: {cpu: 1}}, ports: [{containerPort: 1}]}]`, ""},
			{"steps is text", `steps: x`, "spec.steps"},
			{"an image is a number", `steps: [{image: 5}]`, "spec.steps[0].image"},
		},
		"TaskRun": {
			{"accepted: a bundle", `taskRef: {name: a, bundle: b}, stepOverrides: [{name: a, resources: {}}]`, ""},
			{"an argument is a number", `taskSpec: {steps: [{args: [5]}]}`, "spec.taskSpec.steps[0].args[0]"},
		},
		"Pipeline": {
			{"accepted: resources of old", `resources: [{name: s, type: git}], tasks: [{name: a, taskRef: {name: t}, resources: {}, conditions: []}]`, ""},
			{"runAfter is text", `tasks: [{name: a, runAfter: b}]`, "spec.tasks[0].runAfter"},
		},
		"PipelineRun": {
			{"accepted: what moved", `serviceAccountName: s, podTemplate: {}, timeout: 1h, taskRunSpecs: [{taskServiceAccountName: s}]`, ""},
			{"params is an object", `params: {a: b}`, "spec.params"},
		},
	}
	for kind, ofKind := range cases {
		s := newServerOf(t, filepath.Join(folder, "tekton.dev_"+strings.ToLower(kind)+"s.yaml"), 1)
		for _, c := range ofKind {
			t.Run(kind+": "+c.name, func(t *testing.T) {
				wrong, unknown := s.create(objectOf(t, kind, c.spec))
				wantAt(t, wrong, c.field)
				if c.field == "" && len(unknown) > 0 {
					t.Errorf("would be cut: %v", unknown)
				}
			})
		}
	}
}

func objectOf(t *testing.T, kind, spec string) map[string]any {
	t.Helper()
	object := taskRun(t, spec)
	object["kind"] = kind
	return object
}
