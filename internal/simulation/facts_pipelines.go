package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A PipelineRun is one, what is expected of it, and the TaskRuns that were made for it.
type PipelineRun struct {
	Run

	Children map[types.UID]*Child
}

// A Child is a TaskRun of a PipelineRun.
type Child struct {
	Key  types.NamespacedName
	Task string // of the pipeline
	Over bool   // it has ended, or is gone
}

// made counts a PipelineRun's TaskRuns by task.
func (p *PipelineRun) made() map[string]int {
	made := map[string]int{}
	for _, c := range p.Children {
		made[c.Task]++
	}
	return made
}

// parent is the PipelineRun that a TaskRun was made for, or nil.
func (f *Facts) parent(taskRun *apiserver.Object) *PipelineRun {
	if owner := metav1.GetControllerOf(taskRun); owner != nil && owner.Kind == "PipelineRun" {
		return f.PipelineRuns[owner.UID]
	}
	return nil
}

// seePipelineRun follows the PipelineRuns.
func (f *Facts) seePipelineRun(e apiserver.Exchange) {
	if e.Before == nil {
		f.PipelineRuns[e.After.GetUID()] = &PipelineRun{Run: newRun(e), Children: map[types.UID]*Child{}}
		return
	}
	if run := f.PipelineRuns[e.Before.GetUID()]; run != nil {
		run.see(e, func(o *apiserver.Object) bool { return apiserver.Into[crds.PipelineRun](o).IsDone() })
	}
}

// seeChild follows the TaskRuns of PipelineRuns. What their label said at first
// holds, whatever becomes of the label.
func (f *Facts) seeChild(e apiserver.Exchange) {
	if e.Before == nil {
		if p := f.parent(e.After); p != nil {
			p.Children[e.After.GetUID()] = &Child{Key: e.Key, Task: e.After.GetLabels()["tekton.dev/pipelineTask"]}
		}
		return
	}
	over := e.After == nil || apiserver.Into[crds.TaskRun](e.After).IsDone()
	for _, p := range f.PipelineRuns {
		if c := p.Children[e.Before.GetUID()]; c != nil {
			c.Over = c.Over || over
		}
	}
}

// troubled tells whether anything happened to a PipelineRun or its TaskRuns besides
// their work.
func (f *Facts) troubled(p *PipelineRun) bool {
	troubled := len(p.Disturbed) > 0
	for uid := range p.Children {
		child := f.Runs[uid]
		troubled = troubled || child.Gone || len(child.Disturbed) > 0
	}
	return troubled
}

// allowanceOf is the own time of a PipelineRun: its work, and the starts of its
// containers, one task after the other, with what was lost with nodes.
func (f *Facts) allowanceOf(p *PipelineRun) time.Duration {
	own := p.Expect.Work
	for _, n := range p.Expect.Runs {
		own += time.Duration(n) * startOfPod
	}
	for uid := range p.Children {
		own += f.Runs[uid].lostTime()
	}
	return own
}
