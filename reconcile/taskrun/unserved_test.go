package taskrun

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"millrace/crds"
)

// What this version does not serve it refuses, and the message begins with the
// name of the field.
func TestUnservedIsRefusedByName(t *testing.T) {
	step := "taskSpec: {steps: [{name: a, image: busybox, script: x}]}"
	for spec, field := range map[string]string{
		step + "\ndebug: {breakpoints: {onFailure: enabled}}":                                                   "spec.debug",
		"taskSpec: {steps: [{name: a, ref: {resolver: git}}]}":                                                  "steps[a].ref.resolver: git",
		"taskSpec: {steps: [{image: x, script: 'echo > $(step.artifacts.path)'}]}":                              "$(step.artifacts.path)",
		"taskSpec: {steps: [{image: x, args: [$(steps.a.outputs), $(steps.a.inputs.x), '$(artifacts.path)']}]}": "$(steps.a.outputs), $(steps.a.inputs.x), $(artifacts.path)",
		"taskRef: {resolver: git}": "spec.taskRef.resolver: git",
	} {
		run := parseRun(t, spec)
		_, refused := source(run, Config{})
		if refused == nil {
			_, refused = resolve(run, nil, nil, Config{})
		}
		if refused == nil || refused.reason != crds.TaskRunReasonFailedValidation || !strings.HasPrefix(refused.message, field+" is not served") {
			t.Errorf("%s: %v", field, refused)
		}
	}
}

// A message may cite what the author wrote, and that may be long.
func TestMessagesHaveAnEnd(t *testing.T) {
	var script strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&script, "$(params.päram%d) ", i)
	}
	_, refused := resolve(parseRun(t, "taskSpec: {steps: [{image: x, script: '"+script.String()+"'}]}"), nil, nil, Config{})
	got := failure(refused.reason, refused.message).Message
	if len(got) > maxConditionMessage+20 || !utf8.ValidString(got) || !strings.HasPrefix(got, "non-existent variable: [$(params.päram0)") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}

// The name of the Task becomes a label, and the server would refuse a longer one.
func TestLongTaskNameIsRefused(t *testing.T) {
	for length, fine := range map[int]bool{63: true, 64: false} {
		run := parseRun(t, "taskRef: {name: "+strings.Repeat("x", length)+"}")
		task := &crds.Task{Spec: crds.TaskSpec{Steps: []crds.Step{{Image: "x", Script: "x"}}}}
		if _, refused := resolve(run, task, nil, Config{}); (refused == nil) != fine {
			t.Errorf("%d characters: %v", length, refused)
		}
	}
}

// "kind: task" is in examples of Tekton's own.
func TestKindOfTaskInAnyCase(t *testing.T) {
	for _, kind := range []string{"", "Task", "task", "TASK"} {
		ref, refused := source(parseRun(t, "taskRef: {name: x, kind: "+kind+"}"), Config{})
		if ref.Name != "x" || refused != nil {
			t.Errorf("kind %q: %q, %v", kind, ref, refused)
		}
	}
}

// What is wrong ends with words about what is wrong.
func TestInvalidIsRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{}":                            "TaskRunResolutionFailed: taskRun run not providing TaskRef or TaskSpec",
		"taskRef: {kind: Task}":         "TaskRunResolutionFailed: taskRun run not providing TaskRef or TaskSpec: spec.taskRef has no name",
		"taskRef: {name: x, kind: Foo}": "TaskRunResolutionFailed: spec.taskRef.kind: Foo is not served: a TaskRun executes a Task",
		"taskRef: {name: x}\ntaskSpec: {steps: []}":                                           "TaskRunValidationFailed: spec.taskRef and spec.taskSpec are both given, and a run can have one of them",
		"taskSpec: {results: [{name: ../token}], steps: [{image: x, script: x}]}":             `TaskRunValidationFailed: result "../token": its name becomes the name of a file, and can have letters, digits, -, _ and . with a letter or digit at both ends`,
		"taskSpec: {results: [{name: 'a,b'}], steps: [{image: x, script: x}]}":                `TaskRunValidationFailed: result "a,b": its name becomes the name of a file, and can have letters, digits, -, _ and . with a letter or digit at both ends`,
		"taskSpec: {steps: [{name: a, image: x, script: x}, {name: a, image: x, script: x}]}": `TaskRunValidationFailed: step "a": there is more than one step of that name`,
		"taskSpec: {steps: [{name: unnamed-1, image: x, script: x}, {image: x, script: x}]}":  `TaskRunValidationFailed: step "unnamed-1": there is more than one step of that name`,
		"taskSpec: {steps: [{name: A_b, image: x, script: x}]}":                               `TaskRunValidationFailed: step "A_b": its name becomes the name of a container, and can have small letters, digits and -, with a letter or digit at both ends`,
		"taskSpec: {steps: [{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1, image: x, script: x}, {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2, image: x, script: x}]}": `TaskRunValidationFailed: step "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2": another step's name begins with the same 58 characters, and no more of it goes into the name of a container`,
		"taskSpec: {steps: [{name: a, image: x, script: x, volumeMounts: [{name: v, mountPath: /x/../tekton/run}]}]}":                                                                                             `TaskRunValidationFailed: step "a": volumeMount cannot be mounted under /tekton/ (volumeMount "v" mounted at "/x/../tekton/run")`,
		"taskSpec: {stepTemplate: {volumeMounts: [{name: v, mountPath: /tekton/homes}]}, steps: [{name: a, image: x, script: x}]}":                                                                                `TaskRunValidationFailed: step "a": volumeMount cannot be mounted under /tekton/ (volumeMount "v" mounted at "/tekton/homes")`,
		"taskSpec: {steps: [{name: a, image: x, script: x, volumeMounts: [{name: tekton-internal-run, mountPath: /x}]}]}":                                                                                         `TaskRunValidationFailed: step "a": volumeMount name "tekton-internal-run" cannot start with "tekton-internal-"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, workspaces: [{name: w}]}]}":                                                                                                                            `TaskRunValidationFailed: step "a": undefined workspace "w"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, params: [{name: p, value: v}]}]}":                                                                                                                      `TaskRunValidationFailed: step "a" has params, and only a StepAction takes them: it has no ref`,
		"taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: ../x}]}]}":                                                                                                                            `TaskRunValidationFailed: step "a": result "../x": its name becomes the name of a file, and can have letters, digits, -, _ and . with a letter or digit at both ends`,
		"taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: r}, {name: r}]}]}":                                                                                                                    `TaskRunValidationFailed: step "a": there is more than one result "r"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, when: [{input: x, operator: exists, values: [x]}]}]}":                                                                                                  `TaskRunValidationFailed: step "a": when: operator "exists" is not recognized. valid operators: in,notin`,
		"taskSpec: {steps: [{name: a, image: x, script: x, when: [{input: x, operator: in}]}]}":                                                                                                                   `TaskRunValidationFailed: step "a": when: expecting non-empty values field`,
		"taskSpec: {steps: [{name: a, image: x, script: '$(steps.a.results.r)'}]}":                                                                                                                                "TaskRunValidationFailed: stepResult substitutions are only allowed in env, command and args: [$(steps.a.results.r)]",
		"taskSpec: {steps: [{name: a, image: x, args: ['$(steps.a.results.r)'], results: [{name: r}]}]}":                                                                                                          `TaskRunValidationFailed: step "a" refers to $(steps.a.results.r), and no step before it declares such a result`,
		"taskSpec: {results: [{name: r, value: x}], steps: [{name: a, image: x, script: x}]}":                                                                                                                     `TaskRunValidationFailed: result "r": its value "x" is not the result of a step: write $(steps.<step>.results.<result>)`,
		"taskSpec: {results: [{name: r, value: $(steps.a.results.x)}], steps: [{name: a, image: x, script: x}]}":                                                                                                  `TaskRunValidationFailed: result "r": its value "$(steps.a.results.x)" is not the result of a step: write $(steps.<step>.results.<result>)`,
		"taskSpec: {sidecars: [{name: s}], steps: [{name: a, image: x, script: x}]}":                                                                                                                              `TaskRunValidationFailed: sidecar "s" has no image`,
		"taskSpec: {sidecars: [{name: S, image: x}], steps: [{name: a, image: x, script: x}]}":                                                                                                                    `TaskRunValidationFailed: sidecar "S": its name becomes the name of a container, and can have small letters, digits and -, with a letter or digit at both ends`,
		"taskSpec: {sidecars: [{name: s, image: x}, {name: s, image: x}], steps: [{name: a, image: x, script: x}]}":                                                                                               `TaskRunValidationFailed: sidecar "s": there is more than one sidecar of that name`,
		"taskSpec: {sidecars: [{name: s, image: x, script: x, command: [x]}], steps: [{name: a, image: x, script: x}]}":                                                                                           `TaskRunValidationFailed: sidecar "s" has both a script and a command, and can have one of them`,
		"taskSpec: {sidecars: [{name: s, image: x, volumeMounts: [{name: v, mountPath: /tekton/run}]}], steps: [{name: a, image: x, script: x}]}":                                                                 `TaskRunValidationFailed: sidecar "s": volumeMount cannot be mounted under /tekton/ (volumeMount "v" mounted at "/tekton/run")`,
		"taskSpec: {sidecars: [{name: s, image: x, workspaces: [{name: w}]}], steps: [{name: a, image: x, script: x}]}":                                                                                           `TaskRunValidationFailed: sidecar "s": undefined workspace "w"`,
		"stepSpecs: [{name: b}]\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                                                                                             `TaskRunValidationFailed: spec.stepSpecs: the task has no step "b"`,
		"sidecarSpecs: [{name: b}]\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                                                                                          `TaskRunValidationFailed: spec.sidecarSpecs: the task has no sidecar "b"`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w, volumeClaimTemplate: {}, persistentVolumeClaim: {claimName: c}}]":                                                                     `TaskRunValidationFailed: binding "w" is invalid: it needs exactly one kind of volume and has 2 [volumeClaimTemplate persistentVolumeClaim]`,
		"taskSpec: {sidecars: [{name: s, image: x, restartPolicy: Never}], steps: [{name: a, image: x, script: x}]}":                                                                                              `TaskRunValidationFailed: sidecar "s": restartPolicy is "Never", and can be "Always"`,
		"taskSpec: {}": "TaskRunValidationFailed: the task has no steps",
		"taskSpec: {steps: [{name: a, script: x}]}":                                                                                       `TaskRunValidationFailed: step "a" has no image`,
		"taskSpec: {steps: [{name: a, image: x, script: x, command: [y]}]}":                                                               `TaskRunValidationFailed: step "a" has both a script and a command, and can have one of them`,
		"taskSpec: {steps: [{name: a, image: x, script: x, onError: maybe}]}":                                                             `TaskRunValidationFailed: step "a": onError is "maybe", and can be "continue" or "stopAndFail"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, timeout: -1s}]}":                                                               `TaskRunValidationFailed: step "a": timeout -1s is negative`,
		"timeout: -1s\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                               "TaskRunValidationFailed: spec.timeout -1s is negative",
		"taskSpec: {steps: [{name: a, image: x, script: x, computeResources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}":                   `TaskRunValidationFailed: step "a": Invalid request resource value: 2 must be less or equal to limit 1`,
		"taskSpec: {params: [{name: p, type: array}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: s}]":                     "TaskRunValidationFailed: invalid input params for task run: param types don't match the user-specified type: [p]",
		"taskSpec: {params: [{name: p}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: [s]}]":                                "TaskRunValidationFailed: invalid input params for task run: param types don't match the user-specified type: [p]",
		"taskSpec: {params: [{name: p, properties: {a: {}, b: {}}}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: {a: x}}]": "TaskRunValidationFailed: invalid input params for task run: missing keys for these params which are required in ParamSpec's properties map[p:[b]]",
		"taskSpec: {params: [{name: p, default: [a]}], steps: [{image: x, script: '$(params.p[1])'}]}":                                    "TaskRunValidationFailed: non-existent param references:[$(params.p[1])]",
		"taskSpec: {params: [{name: p, default: [a]}], steps: [{image: x, script: '$(params.p[*])'}]}":                                    "TaskRunValidationFailed: variable is not properly isolated: [$(params.p[*])]: an array can only be a whole element of command or args",
		"taskSpec: {steps: [{image: x, script: '$(params.p)'}]}":                                                                          "TaskRunValidationFailed: non-existent variable: [$(params.p)]: neither does the task declare it nor the run give it",
		"taskSpec: {workspaces: [{name: w}], steps: [{image: x, script: x}]}":                                                             `TaskRunValidationFailed: declared workspace "w" is required but has not been bound`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w}]":                                                             `TaskRunValidationFailed: binding "w" is invalid: it needs exactly one kind of volume and has 0 []`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w, emptyDir: {}, secret: {secretName: s}}]":                      `TaskRunValidationFailed: binding "w" is invalid: it needs exactly one kind of volume and has 2 [emptyDir secret]`,
	} {
		run := parseRun(t, spec)
		_, refused := source(run, Config{})
		if refused == nil {
			_, refused = resolve(run, nil, nil, Config{})
		}
		if refused == nil || refused.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", spec, refused, want)
		}
	}
}

// A binding must be declared, unless the task is part of the run.
func TestBindingOfReferredTaskMustBeDeclared(t *testing.T) {
	run := parseRun(t, "taskRef: {name: t}\nworkspaces: [{name: w, emptyDir: {}}]")
	task := &crds.Task{Spec: *parseRun(t, "taskSpec: {steps: [{image: x, script: x}]}").Spec.TaskSpec}
	_, refused := resolve(run, task, nil, Config{})
	if refused == nil || refused.message != `workspace binding "w" does not match any declared workspace` {
		t.Errorf("got %v", refused)
	}
}

func TestLongNamesAreRefused(t *testing.T) {
	run := parseRun(t, "taskSpec: {steps: [{image: x, script: x}]}")
	run.Name = strings.Repeat("a", 64)
	if _, refused := resolve(run, nil, nil, Config{}); refused == nil || !strings.Contains(refused.message, "metadata.name has 64 characters") {
		t.Errorf("got %v", refused)
	}
}

func parseRun(t *testing.T, spec string) *crds.TaskRun {
	t.Helper()
	run := &crds.TaskRun{}
	run.Name = "run"
	if err := yaml.UnmarshalStrict([]byte(spec), &run.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return run
}
