package pipelinerun

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// A state is where a task stands. Words and order are those in which Tekton counts.
type state int

const (
	waiting    state = iota // for others, or its turn
	ready                   // may begin now
	running                 // has a run that has not ended
	succeeded               // all of its runs have
	failed                  // one of its runs has
	ignored                 // likewise, and the pipeline goes on regardless
	cancelled               // one of its runs was, by somebody
	outOfTime               // one of its runs was, by the timeouts of the pipeline
	skipped                 // it will not run
	ineligible              // it can never run: what it refers to is not there
)

func (s state) done() bool { return s >= succeeded }

// ended tells that it has run, and runs no more.
func (s state) ended() bool { return s >= succeeded && s <= outOfTime }

// fell tells that it has run, and not well.
func (s state) fell() bool { return s >= failed && s <= outOfTime }

// saysCancelled tells that the child has ended because somebody cancelled it, by the
// reason that its kind has for that.
func (c *child) saysCancelled() bool {
	switch c.Reason {
	case string(crds.TaskRunReasonCancelled), "CustomRunCancelled":
		return true
	case string(crds.PipelineRunReasonCancelled):
		return c.Kind == crds.KindPipelineRun
	default:
		return false
	}
}

// assess tells the state of a task that has runs.
func (t *task) assess() state {
	worst := succeeded
	for _, r := range t.runs {
		switch one := t.assessRun(r.child); {
		case one == running:
			return running
		case one > worst:
			worst = one
		}
	}
	return worst
}

func (t *task) assessRun(c *child) state {
	switch {
	case c == nil: // deleted: what has come of it nobody knows
		return t.failure()
	case !c.done():
		return running
	case c.Status == corev1.ConditionTrue:
		return succeeded
	case c.saysCancelled() && c.TimedOut:
		return outOfTime
	case c.saysCancelled():
		return cancelled
	default:
		return t.failure()
	}
}

func (t *task) failure() state {
	if t.ignores() {
		return ignored
	}
	return failed
}

// stops tells that no more tasks of the graph begin because of this one.
func (t *task) stops() bool {
	return !t.Final && (t.state.fell() && !t.ignores() || t.state == ineligible)
}

// tally settles the state of each task that has runs, or was skipped, as far as that
// does not depend on others. missing are runs that status tells of, and of which nobody
// knows yet whether the server has them.
func (d *decision) tally() (missing []string) {
	for at, c := range d.Tally.ties {
		if name := d.Tally.refs[at].Name; c == nil && !d.Gone[name] && d.Tally.taskOf(at) != nil {
			missing = append(missing, name)
		}
	}
	for _, skip := range d.Run.Status.SkippedTasks {
		if t := d.task(skip.Name); t != nil && !t.recorded {
			t.state, t.reason, t.shown = skipped, skip.Reason, skip.WhenExpressions
		}
	}
	if slices.Contains(d.Tally.refOf, -1) {
		d.adopt()
	}
	return missing
}

// adopt finds runs that were made and not written down, and so tied to no reference:
// the writer has died between the two. A task whose matrix is not all made yet is ready
// once more. Those of a task that was written down without them, or as passed over, were
// in no cache then, and are its runs all the same.
func (d *decision) adopt() {
	s := d.strays()
	for _, t := range d.tasks {
		made := s.of(t, d.Run, d.mostRuns)
		if len(made) == 0 {
			continue
		}
		t.runs = slices.Clone(t.runs)
		for _, c := range made {
			t.runs = append(t.runs, run{ChildStatusReference: t.reference(c.Kind, c.Name), child: c})
		}
		slices.SortStableFunc(t.runs, byNumber)
		switch {
		case t.recorded:
			t.state = t.assess()
		case t.state == skipped:
			t.state, t.reason, t.shown = waiting, "", nil
		}
	}
}

// strays are the children that are tied to no reference: by their own names, and by
// those of the tasks that they say they are of.
type strays struct {
	byName map[kindAndName]*child
	byTask map[kindAndName][]*child
}

func (d *decision) strays() strays {
	s := strays{map[kindAndName]*child{}, map[kindAndName][]*child{}}
	for i, c := range d.Children {
		if d.Tally.refOf[i] < 0 {
			of := kindAndName{c.Kind, c.PipelineTask}
			s.byName[c.called()] = c
			s.byTask[of] = append(s.byTask[of], c)
		}
	}
	return s
}

// of are the runs of a task among them. As long as nothing was written down of the task
// that is whoever says so, whatever it is called, unless it has but one run, and that is
// there. Later it is only what has a name that we give: a copy that somebody makes of a run
// has its label and its owner, too, and a task that was done failed by it, or went on.
func (s strays) of(t *task, run *crds.PipelineRun, most func(*task) int) []*child {
	labelled, unlabelled := s.byTask[kindAndName{t.kind(), t.Name}], s.byTask[kindAndName{t.kind(), ""}]
	if len(labelled)+len(unlabelled) == 0 {
		return nil
	}
	if t.recorded && t.runs[0].Name == childName(run, t.Name, 0, 1) {
		return nil // it has no other
	}
	n := most(t)
	made := s.named(t, run, n)
	if len(made) == 0 && !t.recorded && t.DynamicMatrix {
		made = s.named(t, run, 1) // and n is only the most that there may be
	}
	if t.recorded || t.state == skipped || n == 1 && len(made) > 0 {
		return made
	}
	for _, c := range labelled {
		if !slices.Contains(made, c) {
			made = append(made, c)
		}
	}
	return made
}

// named are those that are called as the n runs of the task, and may be these. Who has
// lost its label is what it is called (seed 1546).
func (s strays) named(t *task, run *crds.PipelineRun, n int) (found []*child) {
	for i := range n {
		if c := s.byName[kindAndName{t.kind(), childName(run, t.Name, i, n)}]; c != nil && c.mayBeOf(t.Name) {
			found = append(found, c)
		}
	}
	return found
}

// byNumber sorts names that end in numbers, "-2" before "-10".
func byNumber(a, b run) int { return compareNumbered(a.Name, b.Name) }

func compareNumbered(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func (t *task) reference(kind, name string) *crds.ChildStatusReference {
	version := crds.APIVersion
	if kind == crds.KindCustomRun {
		version = crds.APIVersionCustomRuns
	}
	return &crds.ChildStatusReference{APIVersion: version, Kind: kind, Name: name, PipelineTaskName: t.Name}
}
