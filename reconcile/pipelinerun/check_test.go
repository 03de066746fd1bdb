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
		{"no tasks", "pipelineSpec: {}", `PipelineValidationFailed: Pipeline default/run can't be Run; it has an invalid spec: missing field(s): spec.tasks`},
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
		{"finally with runAfter", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: f, runAfter: [a], " + ok + "}]}", `no runAfter allowed under spec.finally, final task f has runAfter specified`},
		{"a state too early", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.status)}], " + ok + "}]}", `pipeline task "b" can not refer to execution status of any other pipeline task`},
		{"a state of nobody", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: f, params: [{name: p, value: $(tasks.b.reason)}], " + ok + "}]}", `there is no task "b" of the graph`},
		{"a name", "pipelineSpec: {tasks: [{name: A_b, " + ok + "}]}", `invalid value "A_b"`},
		{"two of a name", "pipelineSpec: {tasks: [{name: a, " + ok + "}], finally: [{name: a, " + ok + "}]}", `there are two pipeline tasks "a"`},
		{"both", "pipelineSpec: {tasks: [{name: a, taskRef: {name: x}, " + ok + "}]}", `pipeline task "a" has taskRef and taskSpec`},
		{"neither", "pipelineSpec: {tasks: [{name: a}]}", `pipeline task "a" has no taskRef and no taskSpec`},
		{"a pipeline as a task", "pipelineSpec: {tasks: [{name: a, pipelineRef: {name: b}}]}", `pipelineRef and pipelineSpec are not served`},
		{"retries of what is ignored", "pipelineSpec: {tasks: [{name: a, onError: continue, retries: 1, " + ok + "}]}", `PipelineTask OnError cannot be set to "continue" when Retries is greater than 0`},
		{"an operator", "pipelineSpec: {tasks: [{name: a, when: [{input: x, operator: is, values: [x]}], " + ok + "}]}", `operator "is" is not recognized. valid operators: in,notin`},
		{"CEL", "pipelineSpec: {tasks: [{name: a, when: [{cel: 'true'}], " + ok + "}]}", `feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in WhenExpression`},
		{"an undeclared result", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.results.none)}], " + ok + "}]}", `InvalidTaskResultReference: invalid result reference in pipeline task "b": "none" is not a result of pipeline task "a"`},
		{"an undeclared result of a Task", "pipelineSpec: {tasks: [{name: a, params: [{name: must, value: x}], taskRef: {name: known}}, {name: b, params: [{name: p, value: $(tasks.a.results.none)}], " + ok + "}]}", `InvalidTaskResultReference`},
		{"one of a matrix", "pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: [x]}]}, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.results.r)}], " + ok + "}]}", `A matrixed pipelineTask can only be consumed in aggregate using [*] notation, but is currently set to tasks.a.results.r`},
		{"length of no matrix", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.matrix.length)}], " + ok + "}]}", `task "a" has no matrix`},
		{"a text as a matrix", "pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: x}]}, " + ok + "}]}", `InvalidMatrixParameterTypes: parameters of type array only are allowed, but param "p" has type "string" in pipelineTask "a"`},
		{"a result of nothing", "pipelineSpec: {tasks: [{name: a, " + ok + "}], results: [{name: o, value: $(tasks.b.results.r)}]}", `InvalidPipelineResultReference: invalid pipeline result reference: pipeline result "o" refers to task "b", which is not in the pipeline`},
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
		{"time for tasks", "timeouts: {pipeline: 1m, tasks: 2m}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.timeouts.tasks 2m0s should be <= pipeline duration 1m0s`},
		{"time for both", "timeouts: {pipeline: 3m, tasks: 2m, finally: 2m}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.timeouts.tasks + spec.timeouts.finally 4m0s should be <= pipeline duration 3m0s`},

		{"an unknown param", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: $(params.zz)}], " + ok + "}]}", `it has an invalid spec: non-existent variable in [$(params.zz)]`},
		{"an unknown context", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: $(context.pipelineRun.foo)}], " + ok + "}]}", `non-existent variable in [$(context.pipelineRun.foo)]`},
		{"one param twice", "params: [{name: p, value: x}]\npipelineSpec: {params: [{name: p}, {name: p}], tasks: [{name: a, " + ok + "}]}", `parameter appears more than once: params[p]`},
		{"one param in both", "pipelineSpec: {tasks: [{name: a, params: [{name: p, value: x}], matrix: {params: [{name: p, value: [x]}]}, " + ok + "}]}", `pipeline task "a" has param "p" in matrix and in params`},
		{"nothing to be among", "pipelineSpec: {tasks: [{name: a, when: [{input: x, operator: in, values: []}], " + ok + "}]}", `expecting non-empty values field`},
		{"on error", "pipelineSpec: {tasks: [{name: a, onError: foo, " + ok + "}]}", `PipelineTask OnError must be either "continue" or "stopAndFail": pipeline task "a" has "foo"`},
		{"half a custom task", "pipelineSpec: {tasks: [{name: a, taskSpec: {apiVersion: x/v1, spec: {}}}]}", `a custom task spec must have both taskSpec.apiVersion and taskSpec.kind`},
		{"a workspace twice", "workspaces: [{name: w, emptyDir: {}}, {name: w, emptyDir: {}}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `spec.workspaces has two of the name "w"`},
		{"a result as a value", "params: [{name: p, value: $(tasks.x.results.y)}]\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", `cannot use result expressions in p as PipelineRun parameter values`},

		{"artifacts", "pipelineSpec: {tasks: [{name: a, " + ok + "}, {name: b, params: [{name: p, value: $(tasks.a.outputs)}], " + ok + "}]}", `artifacts ($(tasks.a.outputs)) are not served by this version of the controller`},

		{"no fault", "pipelineSpec: {tasks: [{name: a, " + ok + "}]}", ``},
		{"limits of parts, and none of the whole", "timeouts: {pipeline: '0', tasks: 2h, finally: 2h}\npipelineSpec: {tasks: [{name: a, " + ok + "}]}", ``},
	} {
		run := parse(t, "metadata: {name: run}\nspec:\n  "+strings.ReplaceAll(c.spec, "\n", "\n  "))
		w := newWorld(t, run)
		w.tasks = tasks
		w.config.ParamEnum = true
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
	if got := w.run.Succeeded(); !w.run.IsFailed() || !strings.Contains(got.Message, "64 characters and can have 63") {
		t.Error(got)
	}
}
