package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/internal/intime"
)

// pipelineOf has so many tasks in rows of ten, of which each needs five of the row
// before, is given ten of the pipeline's parameters, compares two of them, and is shown a
// workspace; every second is written in the pipeline. Parameters are as many as make 64
// KiB, whatever the tasks are.
func pipelineOf(tasks int) *crds.PipelineSpec {
	spec := &crds.PipelineSpec{Workspaces: []crds.PipelineWorkspaceDeclaration{{Name: "w"}}}
	params := paramsOfSize(64 << 10).Spec.Params
	spec.Params = params
	name := func(i int) string { return params[i%len(params)].Name }
	for i := range tasks {
		t := crds.PipelineTask{Name: fmt.Sprint("t", i), Workspaces: []crds.WorkspacePipelineTaskBinding{{Name: "w"}}}
		for j := range 10 {
			t.Params = append(t.Params, crds.Param{Name: fmt.Sprint("p", j), Value: crds.NewString("x $(params." + name(10*i+j) + ")")})
		}
		for j := range 5 {
			if i < 10 {
				break
			}
			before := fmt.Sprint("t", i/10*10-10+(i+j)%10)
			if j%2 == 0 {
				t.RunAfter = append(t.RunAfter, before)
			} else {
				t.Params = append(t.Params, crds.Param{Name: fmt.Sprint("r", j), Value: crds.NewString("$(tasks." + before + ".results.r)")})
			}
		}
		t.When = crds.WhenExpressions{{Input: "$(params." + name(i) + ")", Operator: crds.WhenIn, Values: []string{"x", "$(params." + name(i+1) + ")"}}}
		if i%2 == 0 {
			t.TaskRef = &crds.TaskRef{Name: "task"}
		} else {
			t.TaskSpec = embeddedTask(name(i))
		}
		spec.Tasks = append(spec.Tasks, t)
	}
	return spec
}

func embeddedTask(param string) *crds.EmbeddedTask {
	t := &crds.EmbeddedTask{}
	t.Params = crds.ParamSpecs{{Name: "own"}}
	t.Results = []crds.TaskResult{{Name: "r"}}
	t.Steps = []crds.Step{{Name: "s", Image: "busybox", Args: []string{"$(params." + param + ")", "$(params.own)"}, Script: "echo $(params.own) > $(results.r.path)"}}
	return t
}

// withMatrix gives a task 256 combinations, and a lot to add to them.
func withMatrix(t *crds.PipelineTask) {
	var values []string
	for i := range 16 {
		values = append(values, fmt.Sprint("v", i))
	}
	t.Matrix = &crds.Matrix{Params: crds.Params{{Name: "m", Value: crds.NewArray(values...)}, {Name: "n", Value: crds.NewArray(values...)}}}
	for i := range 256 {
		t.Matrix.Include = append(t.Matrix.Include, crds.MatrixInclude{Params: crds.Params{{Name: "m", Value: crds.NewString(values[i%16])}, {Name: "o", Value: crds.NewString("x")}}})
	}
}

// The time for one task does not grow with their number: ns/task is printed. 500tasks is
// as large as a pipeline can be that a request must be judged for in 100 ms.
func BenchmarkPipeline(b *testing.B) {
	for _, n := range []int{50, 500, 5000} {
		pipeline := &crds.Pipeline{Spec: *pipelineOf(n)}
		pipeline.Spec.Finally = []crds.PipelineTask{{Name: "last", TaskRef: &crds.TaskRef{Name: "task"}}}
		withMatrix(&pipeline.Spec.Finally[0])
		b.Run(fmt.Sprintf("%dtasks", n), func(b *testing.B) {
			for b.Loop() {
				if errs, _ := Pipeline(pipeline, Options{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

func BenchmarkPipelineRun(b *testing.B) {
	for _, n := range []int{50, 500, 5000} {
		run := &crds.PipelineRun{}
		run.Spec.PipelineSpec = pipelineOf(n)
		run.Spec.Workspaces = []crds.WorkspaceBinding{{Name: "w", EmptyDir: &corev1.EmptyDirVolumeSource{}}}
		b.Run(fmt.Sprintf("%dtasks", n), func(b *testing.B) {
			for b.Loop() {
				if errs, _ := PipelineRun(run, Options{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// As it is written, a spec is compared fast; where one of two clients has left out the
// defaults, both are filled in.
func BenchmarkPipelineRunUpdate(b *testing.B) {
	for name, change := range map[string]func(*crds.PipelineRun){
		"metadata": func(run *crds.PipelineRun) { run.Finalizers = []string{"a"} },
		"status":   func(run *crds.PipelineRun) { run.Spec.Status = crds.PipelineRunSpecStatusCancelled },
		"defaults": Options{}.Defaults.PipelineRun,
	} {
		b.Run(name, func(b *testing.B) {
			now, old := &crds.PipelineRun{}, &crds.PipelineRun{}
			now.Spec.PipelineSpec, old.Spec.PipelineSpec = pipelineOf(500), pipelineOf(500)
			change(now)
			for b.Loop() {
				if errs := PipelineRunUpdate(now, old, Options{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
		})
	}
}

// What fits into a request, and is made to be slow, is judged in time.
func TestHostilePipelinesAreJudgedInTime(t *testing.T) {
	const size = 3 << 20
	many := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	task := func(change func(*crds.PipelineTask)) *crds.PipelineSpec {
		one := crds.PipelineTask{Name: "a", TaskRef: &crds.TaskRef{Name: "t"}}
		change(&one)
		return &crds.PipelineSpec{Tasks: []crds.PipelineTask{one}}
	}
	chain := &crds.PipelineSpec{}
	for i := range 50_000 {
		chain.Tasks = append(chain.Tasks, crds.PipelineTask{Name: fmt.Sprint("t", i), RunAfter: []string{fmt.Sprint("t", (i+1)%50_000)}})
	}
	deep := &crds.PipelineSpec{}
	for range 3000 {
		deep = &crds.PipelineSpec{Tasks: []crds.PipelineTask{{Name: "a", PipelineSpec: deep}}}
	}
	for name, spec := range map[string]*crds.PipelineSpec{
		"a circle of many":       chain,
		"pipelines in pipelines": deep,
		"many tasks of one name": {Tasks: make([]crds.PipelineTask, 50_000)},
		"many results":           {Tasks: make([]crds.PipelineTask, 1), Results: make([]crds.PipelineResult, 100_000)},
		"a result of many":       {Tasks: make([]crds.PipelineTask, 1), Results: []crds.PipelineResult{{Value: crds.NewString(many("$(tasks.a.results.b)"))}}},
		"references to nobody": task(func(t *crds.PipelineTask) {
			t.Params = crds.Params{{Value: crds.NewString(many("$(tasks.b.results.c)"))}}
		}),
		"after many":      task(func(t *crds.PipelineTask) { t.RunAfter = make([]string, 500_000) }),
		"half references": task(func(t *crds.PipelineTask) { t.DisplayName = many("$(tasks.") }),
		"CEL": task(func(t *crds.PipelineTask) {
			for range size / 4096 {
				t.When = append(t.When, crds.WhenExpression{CEL: "'a' in [" + strings.Repeat("'a',", 1000) + "'a']"})
			}
		}),
		"a matrix of many": task(func(t *crds.PipelineTask) {
			t.Matrix = &crds.Matrix{Include: make([]crds.MatrixInclude, 50_000)}
			for range 50 {
				t.Matrix.Params = append(t.Matrix.Params, crds.Param{Value: crds.NewArray(make([]string, 10_000)...)})
			}
			for i := range t.Matrix.Include {
				t.Matrix.Include[i].Params = crds.Params{{Value: crds.NewString("x")}}
			}
		}),
	} {
		for _, o := range []Options{{CEL: true, Alpha: true}, {CEL: true, Alpha: true, Strict: true}} {
			var errs field.ErrorList
			var warnings []string
			intime.Within(t, 5*time.Second, name, func() { errs, warnings = Pipeline(&crds.Pipeline{Spec: *spec}, o) })
			if said := printed(errs, warnings); len(said) > 1<<20 {
				t.Errorf("%s: %d bytes are said about it, beginning with %.300s", name, len(said), said)
			}
			PipelineSpec(spec, field.NewPath("spec"), o)
		}
	}
}
