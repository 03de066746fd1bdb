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
		"taskSpec: {steps: [{name: a, ref: {resolver: git}}]}":                                                  "spec.taskSpec.steps[0].ref.resolver",
		"taskSpec: {steps: [{image: x, script: 'echo > $(step.artifacts.path)'}]}":                              "$(step.artifacts.path)",
		"taskSpec: {steps: [{image: x, args: [$(steps.a.outputs), $(steps.a.inputs.x), '$(artifacts.path)']}]}": "$(steps.a.outputs), $(steps.a.inputs.x), $(artifacts.path)",
		"taskRef: {resolver: git}": "spec.taskRef.resolver: git",
	} {
		run := parseRun(t, spec)
		_, refused := source(run, Config{})
		if refused == nil {
			_, refused = resolve(run, nil, nil, Config{})
		}
		if refused == nil || refused.reason != crds.TaskRunReasonFailedValidation || !strings.HasPrefix(refused.message, field) || !strings.Contains(refused.message, "not served") {
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
		"taskSpec: {results: [{name: ../token}], steps: [{image: x, script: x}]}":             `TaskRunValidationFailed: spec.taskSpec.results[0].name: Invalid value: "../token": it becomes the name of a file, and can have letters, digits, -, _ and ., with a letter or digit at both ends: choose another`,
		"taskSpec: {results: [{name: 'a,b'}], steps: [{image: x, script: x}]}":                `TaskRunValidationFailed: spec.taskSpec.results[0].name: Invalid value: "a,b": it becomes the name of a file, and can have letters, digits, -, _ and ., with a letter or digit at both ends: choose another`,
		"taskSpec: {steps: [{name: a, image: x, script: x}, {name: a, image: x, script: x}]}": `TaskRunValidationFailed: spec.taskSpec.steps[1].name: Invalid value: "a": another step has the name: choose another`,
		"taskSpec: {steps: [{name: unnamed-1, image: x, script: x}, {image: x, script: x}]}":  `TaskRunValidationFailed: spec.taskSpec.steps[1].name: Invalid value: "unnamed-1": another step's container has the name, which begins with the same 9 characters: choose another`,
		"taskSpec: {steps: [{name: A_b, image: x, script: x}]}":                               `TaskRunValidationFailed: spec.taskSpec.steps[0].name: Invalid value: "A_b": it becomes the name of a container, and can have small letters, digits and -, a letter or digit at both ends, and 63 characters: choose another`,
		"taskSpec: {steps: [{name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1, image: x, script: x}, {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2, image: x, script: x}]}": `TaskRunValidationFailed: spec.taskSpec.steps[1].name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2": another step's container has the name, which begins with the same 58 characters: choose another`,
		"taskSpec: {steps: [{name: a, image: x, script: x, volumeMounts: [{name: v, mountPath: /x/../tekton/run}]}]}":                                                                                             `TaskRunValidationFailed: spec.taskSpec.steps[0].volumeMounts[0].mountPath: Invalid value: "/x/../tekton/run": what is under /tekton is for the controller's own files, but for /tekton/home: choose another mountPath`,
		"taskSpec: {stepTemplate: {volumeMounts: [{name: v, mountPath: /tekton/homes}]}, steps: [{name: a, image: x, script: x}]}":                                                                                `TaskRunValidationFailed: spec.taskSpec.stepTemplate.volumeMounts[0].mountPath: Invalid value: "/tekton/homes": what is under /tekton is for the controller's own files, but for /tekton/home: choose another mountPath`,
		"taskSpec: {steps: [{name: a, image: x, script: x, volumeMounts: [{name: tekton-internal-run, mountPath: /x}]}]}":                                                                                         `TaskRunValidationFailed: spec.taskSpec.steps[0].volumeMounts[0].name: Invalid value: "tekton-internal-run": volumes of that name are the controller's own: name one of the task's volumes`,
		"taskSpec: {steps: [{name: a, image: x, script: x, workspaces: [{name: w}]}]}":                                                                                                                            `TaskRunValidationFailed: spec.taskSpec.steps[0].workspaces[0].name: Invalid value: "w": the task declares no such workspace: declare it in its workspaces`,
		"taskSpec: {steps: [{name: a, image: x, script: x, params: [{name: p, value: v}]}]}":                                                                                                                      `TaskRunValidationFailed: spec.taskSpec.steps[0].params: Forbidden: they are for a StepAction, and the step refers to none: name it in ref, or use the params of the task`,
		"taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: ../x}]}]}":                                                                                                                            `TaskRunValidationFailed: spec.taskSpec.steps[0].results[0].name: Invalid value: "../x": it becomes the name of a file, and can have letters, digits, -, _ and ., with a letter or digit at both ends: choose another`,
		"taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: r}, {name: r}]}]}":                                                                                                                    `TaskRunValidationFailed: spec.taskSpec.steps[0].results[1].name: Invalid value: "r": another result of the step has the name: choose another`,
		"taskSpec: {steps: [{name: a, image: x, script: x, when: [{input: x, operator: exists, values: [x]}]}]}":                                                                                                  `TaskRunValidationFailed: spec.taskSpec.steps[0].when[0].operator: Unsupported value: "exists": supported values: "in", "notin"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, when: [{input: x, operator: in}]}]}":                                                                                                                   `TaskRunValidationFailed: spec.taskSpec.steps[0].when[0].values: Required value: give the values to compare the input with`,
		"taskSpec: {steps: [{name: a, image: x, script: '$(steps.a.results.r)'}]}":                                                                                                                                "TaskRunValidationFailed: stepResult substitutions are only allowed in env, command and args: [$(steps.a.results.r)]",
		"taskSpec: {steps: [{name: a, image: x, args: ['$(steps.a.results.r)'], results: [{name: r}]}]}":                                                                                                          `TaskRunValidationFailed: step "a" refers to $(steps.a.results.r), and no step before it declares such a result`,
		"taskSpec: {results: [{name: r, value: x}], steps: [{name: a, image: x, script: x}]}":                                                                                                                     `TaskRunValidationFailed: spec.taskSpec.results[0].value: Invalid value: "x": it is not the result of a step: write $(steps.<step>.results.<result>)`,
		"taskSpec: {results: [{name: r, value: $(steps.a.results.x)}], steps: [{name: a, image: x, script: x}]}":                                                                                                  `TaskRunValidationFailed: spec.taskSpec.results[0].value: Invalid value: "$(steps.a.results.x)": no step declares such a result: declare it in the results of that step, or correct the name`,
		"taskSpec: {sidecars: [{name: s}], steps: [{name: a, image: x, script: x}]}":                                                                                                                              `TaskRunValidationFailed: spec.taskSpec.sidecars[0].image: Required value: name the image to run`,
		"taskSpec: {sidecars: [{name: S, image: x}], steps: [{name: a, image: x, script: x}]}":                                                                                                                    `TaskRunValidationFailed: spec.taskSpec.sidecars[0].name: Invalid value: "S": it becomes the name of a container, and can have small letters, digits and -, with a letter or digit at both ends: choose another`,
		"taskSpec: {sidecars: [{name: s, image: x}, {name: s, image: x}], steps: [{name: a, image: x, script: x}]}":                                                                                               `TaskRunValidationFailed: spec.taskSpec.sidecars[1].name: Invalid value: "s": another sidecar's container has the name: choose another`,
		"taskSpec: {sidecars: [{name: s, image: x, script: x, command: [x]}], steps: [{name: a, image: x, script: x}]}":                                                                                           `TaskRunValidationFailed: spec.taskSpec.sidecars[0].script: Forbidden: a sidecar runs a script or a command, and this one has both: leave one of them`,
		"taskSpec: {sidecars: [{name: s, image: x, volumeMounts: [{name: v, mountPath: /tekton/run}]}], steps: [{name: a, image: x, script: x}]}":                                                                 `TaskRunValidationFailed: spec.taskSpec.sidecars[0].volumeMounts[0].mountPath: Invalid value: "/tekton/run": what is under /tekton is for the controller's own files, but for /tekton/home: choose another mountPath`,
		"taskSpec: {sidecars: [{name: s, image: x, workspaces: [{name: w}]}], steps: [{name: a, image: x, script: x}]}":                                                                                           `TaskRunValidationFailed: spec.taskSpec.sidecars[0].workspaces[0].name: Invalid value: "w": the task declares no such workspace: declare it in its workspaces`,
		"stepSpecs: [{name: b}]\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                                                                                             `TaskRunValidationFailed: spec.stepSpecs: the task has no step "b"`,
		"sidecarSpecs: [{name: b}]\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                                                                                          `TaskRunValidationFailed: spec.sidecarSpecs: the task has no sidecar "b"`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w, volumeClaimTemplate: {}, persistentVolumeClaim: {claimName: c}}]":                                                                     `TaskRunValidationFailed: spec.workspaces[0].persistentVolumeClaim: Forbidden: a workspace has one volume, and this one has volumeClaimTemplate and persistentVolumeClaim: leave one of them`,
		"taskSpec: {sidecars: [{name: s, image: x, restartPolicy: Never}], steps: [{name: a, image: x, script: x}]}":                                                                                              `TaskRunValidationFailed: spec.taskSpec.sidecars[0].restartPolicy: Invalid value: "Never": a sidecar is started again when it ends: write Always, or leave it out`,
		"taskSpec: {}": `TaskRunValidationFailed: spec.taskSpec.steps: Required value: a task does what its steps do: give it at least one`,
		"taskSpec: {steps: [{name: a, script: x}]}":                                                                                       `TaskRunValidationFailed: spec.taskSpec.steps[0].image: Required value: name the image to run, here or in stepTemplate`,
		"taskSpec: {steps: [{name: a, image: x, script: x, command: [y]}]}":                                                               `TaskRunValidationFailed: spec.taskSpec.steps[0].script: Forbidden: a step runs a script or a command, and this one has both: leave one of them`,
		"taskSpec: {steps: [{name: a, image: x, script: x, onError: maybe}]}":                                                             `TaskRunValidationFailed: spec.taskSpec.steps[0].onError: Unsupported value: "maybe": supported values: "continue", "stopAndFail"`,
		"taskSpec: {steps: [{name: a, image: x, script: x, timeout: -1s}]}":                                                               `TaskRunValidationFailed: spec.taskSpec.steps[0].timeout: Invalid value: "-1s": it is negative: give a time such as 90s or 1h30m, or 0 for no limit`,
		"timeout: -1s\ntaskSpec: {steps: [{name: a, image: x, script: x}]}":                                                               `TaskRunValidationFailed: spec.timeout: Invalid value: "-1s": it is negative: give a time such as 90s or 1h30m, or 0 for no limit`,
		"taskSpec: {steps: [{name: a, image: x, script: x, computeResources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}":                   `TaskRunValidationFailed: spec.taskSpec.steps[0].computeResources.requests[cpu]: Invalid value: "2": it is more than the limit of 1: make it less, or the limit more`,
		"taskSpec: {params: [{name: p, type: array}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: s}]":                     "TaskRunValidationFailed: invalid input params for task run: param types don't match the user-specified type: [p]",
		"taskSpec: {params: [{name: p}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: [s]}]":                                "TaskRunValidationFailed: invalid input params for task run: param types don't match the user-specified type: [p]",
		"taskSpec: {params: [{name: p, properties: {a: {}, b: {}}}], steps: [{image: x, script: x}]}\nparams: [{name: p, value: {a: x}}]": "TaskRunValidationFailed: invalid input params for task run: missing keys for these params which are required in ParamSpec's properties map[p:[b]]",
		"taskSpec: {params: [{name: p, default: [a]}], steps: [{image: x, script: '$(params.p[1])'}]}":                                    "TaskRunValidationFailed: non-existent param references:[$(params.p[1])]",
		"taskSpec: {params: [{name: p, default: [a]}], steps: [{image: x, script: '$(params.p[*])'}]}":                                    "TaskRunValidationFailed: variable is not properly isolated: [$(params.p[*])]: an array can only be a whole element of command or args",
		"taskSpec: {steps: [{image: x, script: '$(params.p)'}]}":                                                                          "TaskRunValidationFailed: non-existent variable: [$(params.p)]: neither does the task declare it nor the run give it",
		"taskSpec: {workspaces: [{name: w}], steps: [{image: x, script: x}]}":                                                             `TaskRunValidationFailed: declared workspace "w" is required but has not been bound`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w}]":                                                             `TaskRunValidationFailed: spec.workspaces[0]: Required value: give the workspace a volume: emptyDir, persistentVolumeClaim, volumeClaimTemplate, configMap, secret, projected or csi`,
		"taskSpec: {steps: [{image: x, script: x}]}\nworkspaces: [{name: w, emptyDir: {}, secret: {secretName: s}}]":                      `TaskRunValidationFailed: spec.workspaces[0].secret: Forbidden: a workspace has one volume, and this one has emptyDir and secret: leave one of them`,
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
	if _, refused := resolve(run, nil, nil, Config{}); refused == nil || !strings.Contains(refused.message, "metadata.name: Invalid value: it has 64 characters") {
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
