package pipelinerun

import (
	"fmt"
	"strconv"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// loadResults makes the results that these references name known, or asks for them.
// It tells whether all that there are are known.
func (d *decision) loadResults(refs []reference.Task) bool {
	all := true
	for _, r := range refs {
		from := d.task(r.Task)
		if from == nil || r.Kind == reference.State || r.Kind == reference.Output {
			continue
		}
		all = d.loadTask(from, r.Kind) && all
	}
	return all
}

// loadTask reads what a task has left. Of one that has not run there is nothing.
func (d *decision) loadTask(t *task, kind reference.Kind) bool {
	if !t.state.ended() {
		return true
	}
	if kind == reference.MatrixLength {
		d.vars.Strings["tasks."+t.Name+".matrix.length"] = strconv.Itoa(len(t.runs))
		return true
	}
	if t.loaded {
		return true
	}
	all := true
	for _, r := range t.runs {
		if _, known := d.Results[r.Name]; !known && r.child != nil {
			d.need[r.Name] = true
			all = false
		}
	}
	if all {
		t.loaded = true
		d.setResults(t)
	}
	return all
}

// setResults makes the results of a task known under all their spellings; those of a
// matrix as arrays, in the order of its runs.
func (d *decision) setResults(t *task) {
	if t.Matrix == nil {
		for _, r := range t.runs {
			for _, result := range d.Results[r.Name] {
				setResult(d.vars, t.Name, result.Name, result.Value)
			}
		}
		return
	}
	gathered := map[string][]string{}
	for _, r := range t.runs {
		for _, result := range d.Results[r.Name] {
			gathered[result.Name] = append(gathered[result.Name], asText(result.Value))
		}
	}
	for name, values := range gathered {
		setResult(d.vars, t.Name, name, crds.NewArray(values...))
		d.vars.Strings["tasks."+t.Name+".matrix."+name+".length"] = strconv.Itoa(len(values))
	}
}

func setResult(v variables.Set, task, result string, value crds.ParamValue) {
	for _, spelling := range reference.Spellings("tasks."+task+".results", result) {
		v.SetParam(spelling, value)
	}
}

// asText is the value in an array of others like it; only strings can be there.
func asText(value crds.ParamValue) string {
	if value.Type == crds.ParamTypeString || value.Type == "" {
		return value.StringVal
	}
	raw, err := value.MarshalJSON()
	if err != nil {
		panic(err) // of strings only
	}
	return string(raw)
}

// unknown are the references for which there is no value, or not that part of one.
func (d *decision) unknown(refs []reference.Task) []reference.Task {
	var unknown []reference.Task
	for _, r := range refs {
		if r.Kind != reference.Output && !d.vars.Known(r.Name) {
			unknown = append(unknown, r)
		}
	}
	return unknown
}

// setStates makes known how the tasks of the graph ended, which only finally may ask.
func (d *decision) setStates() {
	if d.statesSet {
		return
	}
	d.statesSet = true
	all := crds.PipelineRunReasonSuccessful
	for _, t := range d.order {
		state, reason := "None", ""
		if len(t.runs) > 0 {
			reason = t.reasonOfRuns()
		}
		switch {
		case t.state == succeeded:
			state = string(crds.TaskRunReasonSuccessful)
		case t.state.fell():
			state = string(crds.TaskRunReasonFailed)
			all = crds.PipelineRunReasonFailed
		case t.state == skipped && all == crds.PipelineRunReasonSuccessful:
			all = crds.PipelineRunReasonCompleted
		}
		d.vars.Strings["tasks."+t.Name+".status"] = state
		d.vars.Strings["tasks."+t.Name+".reason"] = reason
	}
	d.vars.Strings["tasks.status"] = string(all)
}

// reasonOfRuns is that of the run which decided the state of the task.
func (t *task) reasonOfRuns() string {
	for _, r := range t.runs {
		switch {
		case t.assessRun(r.child) != t.state || r.child == nil:
		case t.state == ignored:
			return string(crds.TaskRunReasonFailureIgnored)
		default:
			return r.child.Reason
		}
	}
	return string(crds.TaskRunReasonFailed)
}

// results are those of the pipeline. One that refers to what a task did not leave
// because it did not succeed is left out; one that refers to what a task that did
// succeed has not left is a fault.
func (d *decision) results() (results []crds.PipelineRunResult, r *refusal) {
	var faults []string
	for _, declared := range d.spec.Results {
		var refs []reference.Task
		referencesOfValue(ofTasks(declared.Value), func(one reference.Task) { refs = append(refs, one) })
		if !d.loadResults(refs) {
			continue
		}
		switch d.available(refs) {
		case present:
			value := d.vars.Param(ofTasks(declared.Value))
			results = append(results, crds.PipelineRunResult{Name: declared.Name, Value: value})
		case absent:
			faults = append(faults, declared.Name)
		case excused:
		}
	}
	if len(faults) > 0 {
		return results, refused(crds.PipelineRunReasonCouldntGetPipelineResult, "Failed to get PipelineResult from TaskRun Results for PipelineRun %s: %v", d.Run.Name,
			fmt.Errorf("invalid pipelineresults %v, the referenced results don't exist", faults))
	}
	return results, nil
}

type availability int

const (
	present availability = iota
	excused              // not there, since a task has not succeeded
	absent               // not there, and nobody has told why
)

func (d *decision) available(refs []reference.Task) availability {
	found := present
	for _, r := range refs {
		from := d.task(r.Task)
		switch {
		case from == nil:
			found = max(found, absent)
		case from.state != succeeded:
			return excused
		case !d.vars.Known(r.Name):
			found = absent
		}
	}
	return found
}

// ofTasks reads $(finally.t.results.r), which only results of pipelines may have, as
// what it means: no task of the graph has the name of one of finally.
func ofTasks(value crds.ParamValue) crds.ParamValue {
	rewrite := func(text string) string { return strings.ReplaceAll(text, "$(finally.", "$(tasks.") }
	switch value.Type {
	case crds.ParamTypeArray:
		elements := make([]string, len(value.ArrayVal))
		for i, element := range value.ArrayVal {
			elements[i] = rewrite(element)
		}
		return crds.NewArray(elements...)
	case crds.ParamTypeObject:
		keys := make(map[string]string, len(value.ObjectVal))
		for key, one := range value.ObjectVal {
			keys[key] = rewrite(one)
		}
		return crds.NewObject(keys)
	default:
		return crds.NewString(rewrite(value.StringVal))
	}
}
