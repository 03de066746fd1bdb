package pipelinerun

import (
	"fmt"
	"testing"

	"millrace/crds"
	"millrace/reconcile/call"
)

// shapes of pipelines whose whole life is measured: each task refers to a result of
// the one before it, or of the first.
var shapes = map[string]func(n int) []crds.PipelineTask{
	"chain":  func(n int) []crds.PipelineTask { return tasksOf(n, func(i int) int { return i - 1 }) },
	"fanout": func(n int) []crds.PipelineTask { return tasksOf(n, func(int) int { return 0 }) },
}

func tasksOf(n int, after func(i int) int) []crds.PipelineTask {
	tasks := make([]crds.PipelineTask, n)
	for i := range tasks {
		tasks[i] = crds.PipelineTask{
			Name:   fmt.Sprintf("task-%d", i),
			Params: crds.Params{{Name: "p", Value: crds.NewString("v")}},
			TaskSpec: &crds.EmbeddedTask{TaskSpec: crds.TaskSpec{
				Params: crds.ParamSpecs{{Name: "p"}}, Results: []crds.TaskResult{{Name: "r"}},
				Steps: []crds.Step{{Image: "busybox", Script: "echo $(params.p) $(params.q) > $(results.r.path)"}},
			}},
		}
		if i > 0 {
			tasks[i].Params[0].Value = crds.NewString(fmt.Sprintf("$(tasks.task-%d.results.r)", after(i)))
		}
	}
	return tasks
}

// BenchmarkPipelineRun is the whole life of a run through plan: one plan for each
// child that is made or ends. ns/task is what a task costs.
func BenchmarkPipelineRun(b *testing.B) {
	for _, shape := range []string{"chain", "fanout"} {
		for _, n := range []int{25, 50, 100, 200} {
			b.Run(fmt.Sprintf("%s/%d", shape, n), func(b *testing.B) {
				run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{
					Params:       crds.Params{{Name: "q", Value: crds.NewString("q")}},
					PipelineSpec: &crds.PipelineSpec{Tasks: shapes[shape](n)},
				}}
				run.Name = "run"
				for b.Loop() {
					live(b, clone(run))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
			})
		}
	}
}

// live lets the children of a run end one after the other, in the order in which they
// were made; nothing is checked or copied but what a reconciler would.
func live(b *testing.B, run *crds.PipelineRun) {
	b.Helper()
	w := newWorld(b, run)
	for ended := 0; !w.run.IsDone(); ended++ {
		w.runPlain()
		if ended < len(w.created) {
			w.end(w.created[ended], "Succeeded", crds.TaskRunResult{Name: "r", Value: crds.NewString("v")})
		}
	}
}

// runPlain is reconcile without the checks.
func (w *world) runPlain() {
	o := observation{
		Run: w.run, Children: pointers(w.children),
		Tasks: map[string]taskAnswer{}, Gone: map[string]bool{}, Results: map[string][]crds.TaskRunResult{}, Refused: map[string]error{},
	}
	for {
		p := plan(o, w.now, w.config)
		for _, action := range p.Actions {
			switch a := action.(type) {
			case PatchStatus:
				w.run.Status = a.Status
			case PatchMetadata:
				w.run.Labels = call.Merged(w.run.Labels, a.Labels)
			case CreateTaskRun:
				w.created = append(w.created, a.Run.Name)
				w.children = append(w.children, child{Kind: crds.KindTaskRun, Name: a.Run.Name, PipelineTask: a.Run.Labels[labelPipelineTask]})
			}
		}
		if !p.asks() {
			return
		}
		w.answer(&o, p)
	}
}
