package pipelinerun

import (
	"strings"
	"testing"

	"millrace/crds"
)

// What is wrong in itself ends before anything is made, with Tekton's reason.
func TestWrongPipelinesAreRefused(t *testing.T) {
	const ok = "taskSpec: {params: [{name: p, default: d}], results: [{name: r}], workspaces: [{name: w, optional: true}], steps: [{image: x}]}"
	tasks := map[string]*crds.TaskSpec{
		"known": {Results: []crds.TaskResult{{Name: "r"}}, Params: crds.ParamSpecs{{Name: "must"}}, Workspaces: []crds.WorkspaceDeclaration{{Name: "w"}}},
	}
	for _, c := range []struct{ name, spec, want string }{
		{"no tasks", "pipelineSpec: {}", `PipelineValidationFailed: Pipeline default/run can't be Run; it has an invalid spec: spec.tasks: Required value: a pipeline needs at least one task`},
		{"nothing to run", "params: []", `CouldntGetPipeline: Error retrieving pipeline for pipelinerun default/run: PipelineRun run not providing PipelineRef or PipelineSpec`},
		{"two pipelines", "pipelineRef: {name: x}\npipelineSpec: {}", `PipelineValidationFailed: spec.pipelineRef and spec.pipelineSpec are both given, and a run can have one of them`},
		{"no such pipeline", "pipelineRef: {name: x}", `CouldntGetPipeline: Error retrieving pipeline for pipelinerun default/run: error when listing pipelines for pipelineRun run: pipelines.tekton.dev "x" not found`},
		{"a resolver", "pipelineRef: {resolver: git}", `CouldntGetPipeline: Error retrieving pipeline for pipelinerun default/run: spec.pipelineRef.resolver: git is not allowed here: apply the Pipeline to the cluster, and refer to it by name`},
		{"no such task", "pipelineSpec: {tasks: [{name: a, taskRef: {name: gone}}]}", `CouldntGetTask: Pipeline default/run can't be Run; it contains Tasks that don't exist: Couldn't retrieve Task "gone": tasks.tekton.dev "gone" not found`},
		{"a resolver of a task", "pipelineSpec: {tasks: [{name: a, taskRef: {resolver: git}}]}", `taskRef.resolver: git is not allowed here`},
		{"a cycle", "pipelineSpec: {tasks: [{name: a, runAfter: [c], " + ok + "}, {name: b, runAfter: [a], " + ok + "}, {name: c, params: [{name: p, value: $(tasks.b.results.r)}], " + ok + "}]}",
			`PipelineInvalidGraph: PipelineRun default/run's Pipeline DAG is invalid for finally or tasks: spec.tasks: a after c, c after b, b after a: these tasks wait for each other`},
		{"itself", "pipelineSpec: {tasks: [{name: a, runAfter: [a], " + ok + "}]}", `task "a" depends on itself`},
		{"after nobody", "pipelineSpec: {tasks: [{name: a, runAfter: [b], " + ok + "}]}", `PipelineInvalidGraph: PipelineRun default/run's Pipeline DAG is invalid for finally or tasks: spec.tasks[0].runAfter[0]: b: task "a" depends on "b", which is no task of this pipeline`},
		{"results of nobody", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: $(tasks.b.results.r)}], " + ok + "}]}", `PipelineInvalidGraph`},
		{"a result inside", "pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x, script: echo $(tasks.b.results.r)}]}}]}", `spec.tasks[0].taskSpec.steps[0].script: $(tasks.b.results.r): task "a" depends on "b", which is no task of this pipeline`},
		{"finally after finally", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: f, " + ok + "}, {name: g, params: [{name: p, value: $(tasks.f.results.r)}], " + ok + "}]}", `task "g" depends on "f", which is in finally: nothing runs after that`},
		{"finally with runAfter", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: f, runAfter: [a], " + ok + "}]}", `spec.finally[0].runAfter: Forbidden`},
		{"a state too early", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.status)}], " + ok + "}]}", `spec.tasks[1].params[0].value: Invalid value: $(tasks.a.status): how tasks have ended is known when all have`},
		{"a state of nobody", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: f, params: [{name: p, value: $(tasks.b.reason)}], " + ok + "}]}", `spec.finally[0].params[0].value: Invalid value: $(tasks.b.reason): the pipeline has no task "b" among its tasks`},
		{"a name", "pipelineSpec: {tasks: [{name: A_b, " + ok + "}]}", `spec.tasks[0].name: Invalid value: "A_b"`},
		{"two of a name", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: a, " + ok + "}]}", `spec.finally[0].name: Invalid value: "a": a task before it has that name`},
		{"both", "pipelineSpec: {tasks: [{name: a, taskRef: {name: x}, " + ok + "}]}", `spec.tasks[0].taskSpec: Forbidden: a task runs one thing, and this one has taskRef and taskSpec`},
		{"neither", "pipelineSpec: {tasks: [{name: a}]}", `spec.tasks[0].taskRef: Required value: say what to run`},
		{"retries of what is ignored", "pipelineSpec: {tasks: [{name: a, onError: continue, retries: 1, " + ok + "}]}", `spec.tasks[0].onError: Forbidden: a failure that is ignored is not tried again`},
		{"an operator", "pipelineSpec: {tasks: [{name: a, when: [{input: x, operator: is, values: [x]}], " + ok + "}]}", `spec.tasks[0].when[0].operator: Unsupported value: "is": supported values: "in", "notin"`},
		{"CEL", "pipelineSpec: {tasks: [{name: a, when: [{cel: 'true'}], " + ok + "}]}", `spec.tasks[0].when[0].cel: Forbidden: it needs the feature flag enable-cel-in-whenexpression`},
		{"a pipeline without the flag", "pipelineSpec: {tasks: [{name: a, pipelineRef: {name: b}}]}", `spec.tasks[0].pipelineRef: Forbidden: it needs the feature flag enable-api-fields`},
		{"an undeclared result", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.results.none)}], " + ok + "}]}", `InvalidTaskResultReference: invalid result reference in pipeline task "b": "none" is not a result of pipeline task "a"`},
		{"an undeclared result of a Task", "pipelineSpec: {tasks: [{name: a, params: [{name: must, value: x}], taskRef: {name: known}}, {name: b, params: [{name: p, value: $(tasks.a.results.none)}], " + ok + "}]}", `InvalidTaskResultReference`},
		{"one of a matrix", "pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: [x]}]}, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.results.r)}], " + ok + "}]}", `task "a" has a run for each combination of its matrix, and each leaves a result: refer to all of them, as $(tasks.a.results.r[*])`},
		{"length of no matrix", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.matrix.length)}], " + ok + "}]}", `task "a" has no matrix`},
		{"a text as a matrix", "pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: x}]}, " + ok + "}]}", `InvalidMatrixParameterTypes: parameters of type array only are allowed, but param "p" has type "string" in pipelineTask "a"`},
		{"a result of nothing", "pipelineSpec: {tasks: [{name: a, " + ok + "}], results: [{name: o, value: $(tasks.b.results.r)}]}", `PipelineValidationFailed: Pipeline default/run can't be Run; it has an invalid spec: spec.results[0].value: Invalid value: "$(tasks.b.results.r)": the pipeline has no such task there`},
		{"an undeclared one of the pipeline", "pipelineSpec: {tasks: [{name: a, " + ok + "}], results: [{name: o, value: $(tasks.a.results.none)}]}", `InvalidPipelineResultReference: invalid pipeline result reference: "none" is not a result of pipeline task "a"`},
		{"a missing param", "pipelineSpec: {params: [{name: p}], tasks: [{name: a, " + ok + "}]}", `ParameterMissing: PipelineRun default/run is missing some parameters required by Pipeline default/run: pipelineRun missing parameters: [p]`},
		{"a type", "params: [{name: p, value: [x]}]\npipelineSpec: {params: [{name: p}], tasks: [{name: a, " + ok + "}]}", `ParameterTypeMismatch: PipelineRun default/run parameters have type mismatches with Pipeline default/run's parameters: parameters have inconsistent types : [p]`},
		{"keys", "params: [{name: p, value: {a: x}}]\npipelineSpec: {params: [{name: p, type: object, properties: {a: {}, b: {}}}], tasks: [{name: a, " + ok + "}]}", `ObjectParameterMissKeys: PipelineRun default/run is missing object keys required by Pipeline default/run's parameters: pipelineRun missing object keys for parameters: map[p:[b]]`},
		{"an index", "params: [{name: l, value: [x]}]\npipelineSpec: {params: [{name: l, type: array}], tasks: [{name: a, params: [{name: p, value: '$(params.l[1])'}], " + ok + "}]}", `ParamArrayIndexingInvalid: PipelineRun default/run's Pipeline default/run can't be Run: non-existent param references:[$(params.l[1])]`},
		{"an enum", "params: [{name: p, value: x}]\npipelineSpec: {params: [{name: p, enum: [y]}], tasks: [{name: a, " + ok + "}]}", "InvalidParamValue: PipelineRun default/run parameters have invalid value: param `p` value: x is not in the enum list"},
		{"a task's param", "pipelineSpec: {tasks: [{name: a, taskRef: {name: known}}]}", `PipelineValidationFailed: Validation failed for pipelinerun run with error invalid input params for task a: missing values for these params which have no default values: [must]`},
		{"a workspace", "pipelineSpec: {workspaces: [{name: w}], tasks: [{name: a, " + ok + "}]}", `InvalidWorkspaceBindings: PipelineRun default/run doesn't bind Pipeline default/run's Workspaces correctly: pipeline requires workspace with name "w" be provided by pipelinerun`},
		{"a workspace of nobody", "pipelineSpec: {tasks: [{name: a, workspaces: [{name: w}], " + ok + "}]}", `pipeline task "a" expects workspace with name "w" but none exists in pipeline spec`},
		{"an optional one that is needed", "pipelineSpec: {workspaces: [{name: w, optional: true}], tasks: [{name: a, params: [{name: must, value: x}], workspaces: [{name: w}], taskRef: {name: known}}]}", `RequiredWorkspaceMarkedOptional`},
		{"specs of nobody", "taskRunSpecs: [{pipelineTaskName: b}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `InvalidTaskRunSpecs: PipelineRun default/run doesn't define taskRunSpecs correctly: PipelineRun's taskrunSpecs defined wrong taskName: "b", does not exist in Pipeline`},
		{"time for tasks", "timeouts: {pipeline: 1m, tasks: 2m}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `PipelineValidationFailed: PipelineRun default/run can't be Run: spec.timeouts.tasks: Invalid value: "2m0s": it is longer than the whole run may take`},
		{"time for both", "timeouts: {pipeline: 3m, tasks: 2m, finally: 2m}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.timeouts.finally: Invalid value: "2m0s": together with tasks it is 4m0s`},

		{"an unknown param", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: $(params.zz)}], " + ok + "}]}", `it has an invalid spec: non-existent variable in [$(params.zz)]`},
		{"an unknown context", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: $(context.pipelineRun.foo)}], " + ok + "}]}", `spec.tasks[0].params[0].value: Invalid value: "$(context.pipelineRun.foo)": $(context.pipelineRun.foo) is not known`},
		{"one param twice", "params: [{name: p, value: x}]\npipelineSpec: {params: [{name: p}, {name: p}], tasks: [{name: a, " + ok + "}]}", `spec.params[1].name: Invalid value: "p": the parameter is declared before`},
		{"one param in both", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: x}], matrix: {params: [{name: p, value: [x]}]}, " + ok + "}]}", `spec.tasks[0].params[0]: Forbidden: "p" is in the matrix, too`},
		{"nothing to be among", "pipelineSpec: {tasks: [{name: a, when: [{input: x, operator: in, values: []}], " + ok + "}]}", `spec.tasks[0].when[0].values: Required value: give the values to compare the input with`},
		{"on error", "pipelineSpec: {tasks: [{name: a, onError: foo, " + ok + "}]}", `spec.tasks[0].onError: Unsupported value: "foo": supported values: "continue", "stopAndFail"`},
		{"on error, by a parameter", "params: [{name: p, value: foo}]\npipelineSpec: {tasks: [{name: a, onError: $(params.p), " + ok + "}]}", `pipeline task "a": onError: $(params.p) is "foo", and must be continue or stopAndFail`},
		{"on error, by a parameter that nobody gives", "pipelineSpec: {tasks: [{name: a, onError: $(params.p), " + ok + "}]}", `onError: $(params.p) is "$(params.p)", and must be`},
		{"retries of what a parameter says is ignored", "params: [{name: p, value: continue}]\npipelineSpec: {tasks: [{name: a, retries: 1, onError: $(params.p), " + ok + "}]}", `onError: $(params.p) is "continue", and a failure that is ignored is not tried again`},
		{"half a custom task", "pipelineSpec: {tasks: [{name: a, taskSpec: {apiVersion: x/v1, spec: {}}}]}", `spec.tasks[0].taskSpec.kind: Required value: a custom task is found by apiVersion and kind`},
		{"a workspace twice", "workspaces: [{name: w, emptyDir: {}}, {name: w, emptyDir: {}}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.workspaces[1].name: Invalid value: "w": the workspace is bound before`},
		{"a result as a value", "params: [{name: p, value: $(tasks.x.results.y)}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.params[0].value: Invalid value: $(tasks.x.results.y): what tasks leave is not known when the run begins`},

		{"artifacts", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.outputs)}], " + ok + "}]}", `$(tasks.a.outputs): artifacts are not served`},

		{"a task that is wrong itself", "pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x, script: s, command: [c]}]}}]}", `spec.tasks[0].taskSpec.steps[0].script: Forbidden`},
		{"a workspace of two volumes", "workspaces: [{name: w, emptyDir: {}, secret: {secretName: s}}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.workspaces[0].secret: Forbidden`},
		{"a pipeline and a task", "pipelineSpec: {tasks: [{name: a, pipelineRef: {name: b}, " + ok + "}]}", `a task runs one thing, and this one has taskSpec and pipelineRef`},
		{"a pipeline without a name", "pipelineSpec: {tasks: [{name: a, pipelineRef: {}}]}", `spec.tasks[0].pipelineRef`},
		{"a pipeline of a resolver", "pipelineSpec: {tasks: [{name: a, pipelineRef: {resolver: git}}]}", `pipelineRef.resolver: git is not allowed here`},
		{"a pipeline again", "pipelineSpec: {tasks: [{name: a, retries: 1, pipelineRef: {name: b}}]}", `a pipeline is not tried again: give retries to its tasks`},
		{"steps of a pipeline", "pipelineSpec: {tasks: [{name: a, pipelineRef: {name: b}}]}\ntaskRunSpecs: [{pipelineTaskName: a, stepSpecs: [{name: s}]}]", `InvalidTaskRunSpecs: taskRunSpecs of pipeline task "a"`},
		{"more faults than anybody reads", "pipelineSpec: {tasks: [{name: A}, {name: B}, {name: C}, {name: D}]}", `spec.tasks[2].name: Invalid value: "C": a task's name is part of the names of its runs: up to 63 lower-case letters, digits and -, with a letter or a digit first and last; and 3 more`},
		{"no fault", "pipelineSpec: {tasks: [{name: a, " + ok + "}]}", ``},
		{"limits of parts, and none of the whole", "timeouts: {pipeline: '0', tasks: 2h, finally: 2h}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", ``},
	} {
		run := parse(t, "metadata: {name: run}\nspec:\n  "+strings.ReplaceAll(c.spec, "\n", "\n  "))
		w := newWorld(t, run)
		w.tasks = tasks
		w.config.ParamEnum, w.config.Alpha = true, !strings.Contains(c.name, "without the flag")
		w.reconcile()
		got := ""
		if condition := w.run.Succeeded(); w.run.IsDone() {
			got = condition.Reason + ": " + condition.Message
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if c.want != "" && len(w.created) > 0 {
			t.Errorf("%s: %v were made", c.name, w.created)
		}
	}
}

// A name that would be too long for a label is refused where it is one.
func TestLongNamesOfRuns(t *testing.T) {
	w := newWorld(t, parse(t, "metadata: {name: "+strings.Repeat("a", 64)+"}\nspec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}]}}"))
	w.reconcile()
	if got := w.run.Succeeded(); !w.run.IsFailed() || !strings.Contains(got.Message, "metadata.name: Invalid value: it has 64 characters") {
		t.Error(got)
	}
}
