package pipelinerun

import (
	"millrace/indexer"
	"millrace/wire"
)

// Facets are what a PipelineRun has to know of a run that it has made, so that it
// looks at two hundred of them without decoding one. The chain of the children's
// resource is given List. They are few, and of few values, so that children share
// what is kept of them: a time that each has for itself would cost as much as all
// else together.
type Facets struct {
	status, reason  wire.Facet // of the condition Succeeded
	asked, message  wire.Facet // spec.status and why
	task            wire.Facet // the task, as the pipeline names it
	deleting        wire.Facet
	started         wire.Facet // of a CustomRun alone, whose time nobody else keeps
	ofCustomRunOnly bool
}

// TaskRunFacets are those of TaskRuns.
func TaskRunFacets() Facets {
	return Facets{
		status:   wire.NewFacet("status.conditions[type=Succeeded].status"),
		reason:   wire.NewFacet("status.conditions[type=Succeeded].reason"),
		asked:    wire.NewFacet("spec.status"),
		message:  wire.NewFacet("spec.statusMessage"),
		task:     wire.NewFacet(`metadata.labels["tekton.dev/pipelineTask"]`),
		deleting: wire.NewFacet("metadata.deletionTimestamp"),
	}
}

// CustomRunFacets are those of CustomRuns.
func CustomRunFacets() Facets {
	f := TaskRunFacets()
	f.started = wire.NewFacet("status.startTime")
	f.ofCustomRunOnly = true
	return f
}

// List is for the scanner.
func (f Facets) List() []wire.Facet {
	list := []wire.Facet{f.status, f.reason, f.asked, f.message, f.task, f.deleting}
	if f.ofCustomRunOnly {
		list = append(list, f.started)
	}
	return list
}

// IsNews is a predicate: it passes changes of a child that its PipelineRun may have to
// act upon, which are that it ends, begins to go or is gone. That it was made, the
// PipelineRun knows, since it made it; and what its steps are at is no concern of the
// graph: a pod's five states would be five reconciles of a run of two hundred tasks.
func (f Facets) IsNews(c indexer.Change) bool {
	if c.New == nil {
		return true
	}
	if c.Old == nil {
		return f.of(c.New) != turn{}
	}
	return f.of(c.Old) != f.of(c.New)
}

// turn is what a graph turns on.
type turn struct {
	ended          string
	deleting, clue bool // clue: the facets are not known
	started        string
}

func (f Facets) of(o *wire.Object) turn {
	status, known := o.Facet(f.status)
	if !known {
		return turn{ended: o.ResourceVersion(), clue: true} // each state may be news
	}
	var t turn
	if status == "True" || status == "False" {
		t.ended = status
	}
	deleted, _ := o.Facet(f.deleting)
	t.deleting = deleted != ""
	if f.ofCustomRunOnly {
		t.started, _ = o.Facet(f.started)
	}
	return t
}
