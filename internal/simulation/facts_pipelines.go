package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A PipelineRun is one, what is expected of it, and the runs that were made for it.
type PipelineRun struct {
	Run

	Within   *PipelineRun // the one that it was made for; nil for a user's
	Children map[types.UID]*Child

	watched
}

// A Child is a TaskRun of a PipelineRun, or a PipelineRun within it.
type Child struct {
	Key  types.NamespacedName
	Task string // of the pipeline
	Over bool   // it has ended, or is gone
	Late bool   // it was on its way to the server when the PipelineRun ended

	making
}

// made counts a PipelineRun's runs by task, but for those of which nobody knows any more.
func (p *PipelineRun) made() map[string]int {
	made := map[string]int{}
	for _, c := range p.Children {
		if !c.forgotten {
			made[c.Task]++
		}
	}
	return made
}

// parent is the PipelineRun that a run was made for, or nil.
func (f *Facts) parent(run *apiserver.Object) *PipelineRun {
	if owner := metav1.GetControllerOf(run); owner != nil && owner.Kind == "PipelineRun" {
		return f.PipelineRuns[owner.UID]
	}
	return nil
}

// seePipelineRun follows the PipelineRuns.
func (f *Facts) seePipelineRun(e apiserver.Exchange) {
	done := isDone[crds.PipelineRun]
	if e.Before == nil {
		run := &PipelineRun{Run: newRun(e), Within: f.parent(e.After), Children: map[types.UID]*Child{}, watched: watched{shownTo: map[string]bool{}}}
		if run.Within != nil {
			run.Expect = Expect{} // what its annotations tell is of the one around it, which has handed them down
		}
		f.PipelineRuns[e.After.GetUID()] = run
	} else if run := f.PipelineRuns[e.Before.GetUID()]; run != nil {
		run.see(e, done)
		run.follows(e.Actor)
	}
	f.seeChild(e, done)
}

// seeChild follows the runs of PipelineRuns. What their label said at first holds,
// whatever becomes of the label.
func (f *Facts) seeChild(e apiserver.Exchange, done func(*apiserver.Object) bool) {
	if e.Before == nil {
		if p := f.parent(e.After); p != nil {
			p.follows(e.Actor)
			p.shownTo[e.Actor] = true
			late := !p.Ended.IsZero() && e.Sent.Before(p.Ended)
			p.Children[e.After.GetUID()] = &Child{Key: e.Key, Late: late, Task: e.After.GetLabels()["tekton.dev/pipelineTask"], making: making{by: e.Actor, unheard: e.Lost}}
		}
		return
	}
	over := e.After == nil || done(e.After)
	for _, p := range f.PipelineRuns {
		if c := p.Children[e.Before.GetUID()]; c != nil {
			if over && !c.Over {
				p.fails(c, e)
			}
			c.Over = c.Over || over
			if e.After == nil {
				f.forgets(p, c)
			}
		}
	}
}

// troubled tells whether anything happened to a PipelineRun or its runs besides their
// work.
func (f *Facts) troubled(p *PipelineRun) bool {
	troubled := len(p.Disturbed) > 0
	for uid := range p.Children {
		if within := f.PipelineRuns[uid]; within != nil {
			troubled = troubled || within.Gone || f.troubled(within)
			continue
		}
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
		if within := f.PipelineRuns[uid]; within != nil {
			own += time.Duration(len(within.Children))*startOfPod + f.allowanceOf(within)
			continue
		}
		own += f.Runs[uid].lostTime()
	}
	return own
}
