package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/internal/intime"
)

// paramsOfSize is a task whose parameters are so many bytes, each of which each of ten
// steps refers to.
func paramsOfSize(bytes int) *crds.Task {
	task := &crds.Task{}
	for n := 0; n < bytes; {
		p := crds.ParamSpec{Name: fmt.Sprintf("parameter-%d", len(task.Spec.Params)), Description: strings.Repeat("d", 40)}
		p.Default = &crds.ParamValue{Type: crds.ParamTypeString, StringVal: strings.Repeat("v", 40)}
		n += len(p.Name) + len(p.Description) + len(p.Default.StringVal)
		task.Spec.Params = append(task.Spec.Params, p)
	}
	for range 10 {
		step := crds.Step{Image: "busybox"}
		for _, p := range task.Spec.Params {
			step.Args = append(step.Args, "$(params."+p.Name+")")
		}
		task.Spec.Steps = append(task.Spec.Steps, step)
	}
	return task
}

// runOf is a run with a task of so many steps, each of which has results, a workspace of
// its own, and refers to what the step before it and the first one have found out.
func runOf(n int) *crds.TaskRun {
	run := &crds.TaskRun{}
	run.Spec.Params = crds.Params{{Name: "x", Value: crds.NewString("y")}}
	spec := &crds.TaskSpec{}
	for i := range n {
		w := fmt.Sprintf("w-%d", i)
		spec.Workspaces = append(spec.Workspaces, crds.WorkspaceDeclaration{Name: w})
		step := crds.Step{
			Name: fmt.Sprintf("step-%d", i), Image: "busybox", Script: "echo $(params.x) > $(step.results.r.path)",
			Results: []crds.StepResult{{Name: "r"}}, Workspaces: []crds.WorkspaceUsage{{Name: w}},
		}
		if i > 0 {
			step.Script, step.Args = "", []string{fmt.Sprintf("$(steps.step-%d.results.r)", i-1), "$(steps.step-0.results.r)"}
		}
		spec.Steps = append(spec.Steps, step)
	}
	run.Spec.TaskSpec = spec
	return run
}

func BenchmarkTask(b *testing.B) {
	for _, kib := range []int{4, 16, 64} {
		task := paramsOfSize(kib << 10)
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			for b.Loop() {
				if errs, _ := Task(task, Options{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

func BenchmarkTaskRun(b *testing.B) {
	for _, n := range []int{5, 50, 500} {
		run := runOf(n)
		b.Run(fmt.Sprintf("%dsteps", n), func(b *testing.B) {
			for b.Loop() {
				if errs, _ := TaskRun(run, Options{}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// What is made to be slow, and would be if anything were searched for and not looked up.
func TestHostileTasksAreJudgedInTime(t *testing.T) {
	const size = 1 << 20
	many := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	spec := &crds.TaskSpec{Steps: []crds.Step{{Image: "i"}}}
	for name, spec := range map[string]*crds.TaskSpec{
		"a script of references":    {Steps: []crds.Step{{Image: "i", Script: many("$(params.x)")}}},
		"a script of half ones":     {Steps: []crds.Step{{Image: "i", Script: many("$(params.")}}},
		"one long name":             {Steps: []crds.Step{{Image: "i", Script: "$(params." + many("x") + ")"}}},
		"one of many dots":          {Steps: []crds.Step{{Image: "i", Args: []string{"$(steps.a.results." + many(".a") + ")"}}}},
		"many steps":                runOf(5_000).Spec.TaskSpec,
		"many steps of one name":    {Steps: make([]crds.Step, 30_000)},
		"many workspaces":           {Steps: spec.Steps, Workspaces: make([]crds.WorkspaceDeclaration, 30_000)},
		"many workspaces to a step": {Steps: []crds.Step{{Image: "i", Workspaces: make([]crds.WorkspaceUsage, 30_000)}}, Workspaces: make([]crds.WorkspaceDeclaration, 30_000)},
	} {
		task := &crds.Task{Spec: *spec}
		var errs field.ErrorList
		var warnings []string
		intime.Within(t, 5*time.Second, name, func() { errs, warnings = Task(task, Options{}) })
		if said := printed(errs, warnings); len(said) > 100<<10 {
			t.Errorf("%s: %d bytes are said about it, beginning with %.300s", name, len(said), said)
		}
		ResolvedTask(spec, field.NewPath("spec"), Options{})
	}
}
