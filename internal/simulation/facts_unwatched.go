package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A watched tells who has worked for a PipelineRun, and who could have.
type watched struct {
	shownTo map[string]bool // processes that had the run from the server, in whatever version
	// failedAlone are tasks of it that failed with nobody there who knew of the run: the
	// process that made the task's run died of that, and the one that wrote how it ended
	// had not been shown the PipelineRun by then.
	failedAlone []string
}

// A making is who made a child, and whether it did anything for the PipelineRun after
// that.
type making struct {
	by       string
	followed bool
	unheard  bool // the answer was lost, and nobody was at the PipelineRun while the child was there
	met      bool // by another process than its maker, which was at the PipelineRun while the child was there
	// forgotten: it is gone, its maker had died before, nobody else has met it, and the
	// PipelineRun did not tell of it. It is as if it had never been.
	forgotten bool
}

// heard takes note that a process is at the run: what it has of children it can find.
func (p *PipelineRun) heard(actor string) {
	for _, c := range p.Children {
		c.unheard = c.unheard && c.Over
		c.metBy(actor)
	}
}

func (c *Child) metBy(actor string) { c.met = c.met || c.by != actor }

// untold counts the children that its status need not tell of: they went before anybody
// could have heard that they had been made, or came when nobody wrote it any more.
func (p *PipelineRun) untold(told []crds.ChildStatusReference) (n int) {
	for _, c := range p.Children {
		if c.forgotten || (c.unheard && c.Over || c.Late) && !tells(told, c) {
			n++
		}
	}
	return n
}

func tells(told []crds.ChildStatusReference, c *Child) bool {
	return slices.ContainsFunc(told, func(r crds.ChildStatusReference) bool { return r.Name == c.Key.Name })
}

// forgets takes note that a child is gone.
func (f *Facts) forgets(p *PipelineRun, c *Child) {
	told := apiserver.As[crds.PipelineRun](p.Last).Status.ChildReferences
	c.forgotten = f.dead[c.by] && !c.met && !tells(told, c)
}

// notBegun are tasks of the graph that did not begin, and rightly so: what fails stops
// those that have not begun, and between the first ones of a run and the others was
// nobody who could have begun these before. Of who was there and did not begin them, or
// of a task of finally, it says nothing.
func (p *PipelineRun) notBegun() (names []string) {
	last := apiserver.As[crds.PipelineRun](p.Last)
	spec := last.Status.PipelineSpec
	if spec == nil || !slices.ContainsFunc(spec.Tasks, p.stoppedBy) {
		return nil
	}
	made := p.made()
	for _, t := range spec.Tasks {
		if p.Expect.Runs[t.Name] > 0 && made[t.Name] == 0 {
			names = append(names, t.Name)
		}
	}
	return names
}

// stoppedBy tells that a task has failed alone, and that its failure stops others.
func (p *PipelineRun) stoppedBy(t crds.PipelineTask) bool {
	return slices.Contains(p.failedAlone, t.Name) && t.OnError != crds.PipelineTaskContinue
}

// expected is made without faults, but for those tasks.
func (p *PipelineRun) expected() map[string]int {
	expected := maps.Clone(p.Expect.Runs)
	for _, name := range p.notBegun() {
		delete(expected, name)
	}
	return expected
}

// shown takes note that a process knows of the run: the server has listed it, or given
// it, or the process writes it.
func (f *Facts) shown(e apiserver.Exchange) {
	answered := e.Verb != "watch" && e.Code == 200 && !e.Lost
	if program(e.Actor) && answered && listsChildren(e.Request) {
		f.heardIn(e.Key.Namespace, e.Actor)
	}
	if e.Resource != "pipelineruns" || !program(e.Actor) || !answered && !e.Writes() {
		return
	}
	for _, p := range f.PipelineRuns {
		if e.Verb == "list" || e.Key == p.Key {
			p.shownTo[e.Actor] = true
		}
		if e.Key == p.Key {
			p.heard(e.Actor)
		}
	}
}

// listsChildren tells that somebody asks for all children in a namespace, as those do who
// cannot trust their caches.
func listsChildren(r apiserver.Request) bool {
	return r.Verb == "list" && r.Key.Namespace != "" && r.Only == "" && slices.Contains([]string{"taskruns", "customruns", "pipelineruns"}, r.Resource)
}

func (f *Facts) heardIn(namespace, actor string) {
	for _, p := range f.PipelineRuns {
		if p.Key.Namespace == namespace {
			p.heard(actor)
		}
	}
}

// told takes note that a watch has shown a process the run, or a child.
func (f *Facts) told(e apiserver.Event) {
	if e.Object == nil {
		return
	}
	if p := f.parent(e.Object); p != nil && p.Children[e.Object.GetUID()] != nil {
		p.Children[e.Object.GetUID()].metBy(e.Watch.Actor)
	}
	if e.Watch.Resource != "pipelineruns" {
		return
	}
	if p := f.PipelineRuns[e.Object.GetUID()]; p != nil {
		p.shownTo[e.Watch.Actor] = true
	}
}

// follows takes note that a process does something for the run: what it has made before
// was not the last.
func (p *PipelineRun) follows(actor string) {
	for _, c := range p.Children {
		c.followed = c.followed || c.by == actor
	}
}

// fails takes note of how a child has ended.
func (p *PipelineRun) fails(c *Child, e apiserver.Exchange) {
	if e.After == nil || e.Resource != "taskruns" || apiserver.As[crds.TaskRun](e.After).Succeeded().Status != corev1.ConditionFalse {
		return
	}
	if !c.followed && e.Actor != c.by && program(e.Actor) && !p.shownTo[e.Actor] {
		p.failedAlone = append(p.failedAlone, c.Task)
	}
}
