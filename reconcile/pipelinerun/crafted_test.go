package pipelinerun

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// crafted are runs of many parts of two kinds, whose product would keep a worker for
// minutes.
var crafted = map[string]func(n int, run *crds.PipelineRun, spec *crds.PipelineSpec){
	"taskRunSpecs and tasks": func(n int, run *crds.PipelineRun, spec *crds.PipelineSpec) {
		for i := range n {
			name := fmt.Sprintf("t%d", i)
			spec.Tasks = append(spec.Tasks, crds.PipelineTask{Name: name, TaskRef: &crds.TaskRef{Name: "x"}})
			run.Spec.TaskRunSpecs = append(run.Spec.TaskRunSpecs, crds.PipelineTaskRunSpec{PipelineTaskName: name})
		}
	},
	"workspaces of the pipeline and of a task": func(n int, run *crds.PipelineRun, spec *crds.PipelineSpec) {
		task := crds.PipelineTask{Name: "a", TaskRef: &crds.TaskRef{Name: "x"}}
		for i := range n {
			name := fmt.Sprintf("w%d", i)
			run.Spec.Workspaces = append(run.Spec.Workspaces, crds.WorkspaceBinding{Name: name, EmptyDir: &corev1.EmptyDirVolumeSource{}})
			spec.Workspaces = append(spec.Workspaces, crds.PipelineWorkspaceDeclaration{Name: name})
			task.Workspaces = append(task.Workspaces, crds.WorkspacePipelineTaskBinding{Name: name})
		}
		spec.Tasks = append(spec.Tasks, task)
	},
	"parameters and embedded tasks": func(n int, run *crds.PipelineRun, spec *crds.PipelineSpec) {
		for i := range n {
			run.Spec.Params = append(run.Spec.Params, crds.Param{Name: fmt.Sprintf("p%d", i), Value: crds.NewString("v")})
			task := crds.PipelineTask{Name: fmt.Sprintf("t%d", i), TaskSpec: &crds.EmbeddedTask{}}
			task.TaskSpec.Steps = []crds.Step{{Image: "x", Script: "echo $(params.p1)"}}
			spec.Tasks = append(spec.Tasks, task)
		}
	},
}

// Whatever a run is made of, its first plan takes work that grows with its size. It is
// the work of the thread that is measured, so that a busy machine does not matter.
func TestACraftedRunDoesNotKeepAWorker(t *testing.T) {
	for name, craft := range crafted {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			took := func(n int) time.Duration {
				run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{PipelineSpec: &crds.PipelineSpec{}}}
				run.Name = "run"
				craft(n, run, run.Spec.PipelineSpec)
				o := observation{Run: run, Tasks: map[string]taskAnswer{"x": {Spec: &crds.TaskSpec{Steps: []crds.Step{{Image: "x"}}}}}}
				best := time.Hour
				for range 3 {
					from := threadTime()
					if p := plan(o, time.Unix(1, 0), Config{}); !strings.Contains(p.String(), "create TaskRun") {
						t.Fatal(p)
					}
					best = min(best, threadTime()-from)
				}
				return best
			}
			small, large := took(1000), took(6000)
			if large > 15*small+20*time.Millisecond {
				t.Errorf("1000 take %s, and 6000 take %s", small, large)
			}
		})
	}
}

// What a matrix gives all its runs together is limited as all that is put in for values.
func TestAMatrixThatDoesNotFitIntoMemoryIsRefused(t *testing.T) {
	wide := &crds.Matrix{Params: crds.Params{{Name: "p", Value: crds.NewArray(strings.Split(strings.Repeat("a,", 255)+"a", ",")...)}}}
	included := &crds.Matrix{Params: wide.Params}
	product := &crds.Matrix{Params: slices.Clone(wide.Params)}
	for i := range 40000 {
		param := crds.Param{Name: fmt.Sprintf("q%d", i), Value: crds.NewString("v")}
		included.Include = append(included.Include, crds.MatrixInclude{Params: crds.Params{param}})
		param.Value = crds.NewArray("v")
		product.Params = append(product.Params, param)
	}
	embedded := &crds.EmbeddedTask{TaskSpec: crds.TaskSpec{Steps: []crds.Step{{Image: "x"}}}}
	for name, matrix := range map[string]*crds.Matrix{"include": included, "product": product} {
		run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{PipelineSpec: &crds.PipelineSpec{Tasks: []crds.PipelineTask{{Name: "a", TaskSpec: embedded, Matrix: matrix}}}}}
		run.Name = "run"
		if p := plan(observation{Run: run}, time.Unix(1, 0), Config{}); !strings.Contains(p.String(), "too large") {
			t.Errorf("%s: %s", name, p)
		}
	}
}
