package pipelinerun

import (
	"slices"

	"millrace/indexer"
	"millrace/wire"
)

// Facets are what a PipelineRun has to know of a run that it has made, so that it
// looks at two hundred of them without decoding one. The chain of the children's
// resource is given List. They are few, and of few values, so that children share
// what is kept of them: a time that each has for itself would cost as much as all
// else together.
type Facets struct {
	list []wire.Facet // in the order of the numbers below
}

// What each of the facets is.
const (
	atStatus  = iota // of the condition Succeeded
	atReason         // likewise
	atAsked          // spec.status
	atMessage        // and why
	atTask           // as the pipeline names it
	atDeleting
	atStarted // of a CustomRun alone, whose time nobody else keeps
	facetsAtMost
)

// TaskRunFacets are those of TaskRuns.
func TaskRunFacets() Facets {
	return Facets{[]wire.Facet{
		atStatus:   wire.NewFacet("status.conditions[type=Succeeded].status"),
		atReason:   wire.NewFacet("status.conditions[type=Succeeded].reason"),
		atAsked:    wire.NewFacet("spec.status"),
		atMessage:  wire.NewFacet("spec.statusMessage"),
		atTask:     wire.NewFacet(`metadata.labels["tekton.dev/pipelineTask"]`),
		atDeleting: wire.NewFacet("metadata.deletionTimestamp"),
	}}
}

// CustomRunFacets are those of CustomRuns.
func CustomRunFacets() Facets {
	return Facets{append(TaskRunFacets().list, wire.NewFacet("status.startTime"))}
}

// InnerFacets are those of PipelineRuns within others, which have no spec.statusMessage.
func InnerFacets() Facets {
	list := TaskRunFacets().list
	list[atMessage] = wire.NewFacet(`metadata.annotations["` + annotationMessage + `"]`)
	return Facets{list}
}

// List is for the scanner.
func (f Facets) List() []wire.Facet { return slices.Clone(f.list) }

// IsNews is a predicate: it passes changes of a child that its PipelineRun may have to
// act upon, which are that it ends, begins to go or is gone. That it was made, the
// PipelineRun knows, since it made it, unless it has ended: then see HasUnended. And what
// its steps are at is no concern of the graph: a pod's five states would be five
// reconciles of a run of two hundred tasks.
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
	var v [facetsAtMost]string
	if !o.Facets(f.list, v[:]) {
		return turn{ended: o.ResourceVersion(), clue: true} // each state may be news
	}
	t := turn{deleting: v[atDeleting] != "", started: v[atStarted]}
	if v[atStatus] == "True" || v[atStatus] == "False" {
		t.ended = v[atStatus]
	}
	return t
}
