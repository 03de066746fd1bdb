package pipelinerun

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// maxRefused is after how many refusals in one reconcile nothing more is tried: what
// they have in common, a quota or a webhook, stands in the way of the others, too. One
// or two may be in the way of their own.
const maxRefused = 3

// begin makes the runs of a task that is ready, those that are not there yet. Once
// all are there, or about to be, the task runs, and the status will say so.
func (d *decision) begin(t *task) ([]Action, *refusal) {
	if len(t.runs) > 0 { // some were made, and not written down
		if !d.loadResults(t.WhenRefs) || !d.loadResults(t.Refs) {
			return nil, nil
		}
		if _, shown, r := d.evaluate(t); r == nil {
			t.shown = shown
		}
	}
	v := d.of(t)
	all, r := combinations(v, t, d.config.maxMatrix())
	if r != nil {
		return nil, r
	}
	made := map[string]*child{}
	for _, one := range t.runs {
		made[one.Name] = one.child
	}
	var actions []Action
	runs := make([]run, 0, len(all))
	whole := true
	for i, c := range all {
		name := childName(d.Run, t.Name, i, len(all))
		if t.Matrix == nil && len(t.runs) > 0 {
			name = t.runs[0].Name // whatever it is called: it was made for the task
		}
		ref := t.reference(t.kind(), name)
		ref.DisplayName, ref.WhenExpressions = displayName(v, t, c), t.shown
		runs = append(runs, run{ChildStatusReference: ref, child: made[name]})
		switch {
		case made[name] != nil:
		case d.Refused[name] != nil, len(d.Refused) >= maxRefused, d.lacksClaim():
			whole = false
		default:
			action, err := d.create(t, name, c)
			if err != nil {
				return nil, refused(crds.PipelineRunReasonCreateRunFailed, "pipeline task %q: %v", t.Name, err)
			}
			actions = append(actions, action)
		}
	}
	if err := d.vars.Overspent(); err != nil {
		return nil, invalid("%v", err)
	}
	if len(actions) > 0 && len(d.Run.Status.ChildReferences) == 0 && !d.claimed {
		d.claimed = true
		actions = append(d.claims(), actions...)
	}
	if whole {
		t.runs, t.recorded, t.state = runs, true, running
		if !slices.ContainsFunc(runs, func(r run) bool { return r.child == nil }) {
			t.state = t.assess()
		}
	}
	return actions, nil
}

// kind is what the runs of the task are.
func (t *task) kind() string {
	switch {
	case nested(t.PipelineTask):
		return crds.KindPipelineRun
	case custom(t.PipelineTask):
		return crds.KindCustomRun
	default:
		return crds.KindTaskRun
	}
}

// custom tells tasks that are somebody else's to run.
func custom(t *crds.PipelineTask) bool {
	if t.TaskSpec != nil {
		return t.TaskSpec.IsCustom()
	}
	ref := t.TaskRef
	return ref != nil && ref.APIVersion != "" && ref.Kind != "" && !strings.HasPrefix(ref.APIVersion, crds.Group+"/")
}

func (d *decision) create(t *task, name string, c combination) (Action, error) {
	switch t.kind() {
	case crds.KindPipelineRun:
		run, err := d.pipelineRun(t, name, c)
		return CreatePipelineRun{run}, err
	case crds.KindCustomRun:
		return d.customRun(t, name, c), nil
	default:
		run, err := d.taskRun(t, name, c)
		return CreateTaskRun{run}, err
	}
}

func (d *decision) taskRun(t *task, name string, c combination) (*crds.TaskRun, error) {
	v := d.of(t)
	own := d.specOf(t.Name)
	tr := &crds.TaskRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersion, Kind: crds.KindTaskRun},
		ObjectMeta: d.metadata(t, name, own),
		Spec: crds.TaskRunSpec{
			Params:             taskParams(v, t.Params, c.params),
			Retries:            max(t.Retries, 0),
			Timeout:            d.runTimeout(t, own),
			ServiceAccountName: own.ServiceAccountName,
			PodTemplate:        own.PodTemplate,
			Workspaces:         d.workspaces(v, t),
			StepSpecs:          own.StepSpecs,
			SidecarSpecs:       own.SidecarSpecs,
			ComputeResources:   own.ComputeResources,
			ManagedBy:          d.Run.Spec.ManagedBy,
		},
	}
	d.tellClaims(tr.Annotations, tr.Spec.Workspaces)
	if t.TaskRef != nil {
		ref := *t.TaskRef
		ref.Name = v.Text(ref.Name)
		ref.Params = taskParams(v, ref.Params, nil)
		tr.Spec.TaskRef = &ref
		return tr, nil
	}
	spec, given, err := d.propagate(t, tr.Spec.Params)
	tr.Spec.TaskSpec = spec
	tr.Spec.Params = append(tr.Spec.Params, given...)
	return tr, err
}

func (d *decision) customRun(t *task, name string, c combination) Action {
	v := d.of(t)
	own := d.specOf(t.Name)
	cr := &crds.CustomRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: crds.APIVersionCustomRuns, Kind: crds.KindCustomRun},
		ObjectMeta: d.metadata(t, name, own),
		Spec: crds.CustomRunSpec{
			Params:             taskParams(v, t.Params, c.params),
			Retries:            max(t.Retries, 0),
			Timeout:            d.runTimeout(t, own),
			ServiceAccountName: own.ServiceAccountName,
			Workspaces:         d.workspaces(v, t),
		},
	}
	if t.TaskRef != nil {
		ref := *t.TaskRef
		ref.Name = v.Text(ref.Name)
		cr.Spec.CustomRef = &ref
	} else {
		cr.Spec.CustomSpec = &crds.EmbeddedCustomRunSpec{
			APIVersion: t.TaskSpec.APIVersion, Kind: t.TaskSpec.Kind, Metadata: t.TaskSpec.Metadata, Spec: t.TaskSpec.Spec,
		}
	}
	return CreateCustomRun{cr}
}

// metadata is that of a run of the task. Of labels and annotations with one name
// those of taskRunSpecs win, then those of the run of the pipeline, then those of an
// embedded task.
func (d *decision) metadata(t *task, name string, own crds.PipelineTaskRunSpec) metav1.ObjectMeta {
	labels, annotations := map[string]string{}, map[string]string{}
	if t.TaskSpec != nil {
		maps.Copy(labels, t.TaskSpec.Metadata.Labels)
		maps.Copy(annotations, t.TaskSpec.Metadata.Annotations)
	}
	maps.Copy(labels, d.Run.Labels)
	maps.Copy(annotations, d.Run.Annotations)
	if own.Metadata != nil {
		maps.Copy(labels, own.Metadata.Labels)
		maps.Copy(annotations, own.Metadata.Annotations)
	}
	// Whoever said so: what we create passes by admission, which drops the same.
	maps.DeleteFunc(annotations, func(name, _ string) bool { return staysWithRun(name) })
	labels[labelPipeline] = pipelineName(d.Run)
	labels[labelPipelineRun] = d.Run.Name
	labels[labelPipelineRunUID] = string(d.Run.UID)
	labels[labelPipelineTask] = t.Name
	labels[labelMemberOf] = memberOfTasks
	if t.Final {
		labels[labelMemberOf] = memberOfFinally
	}
	if t.ignores() {
		annotations[annotationOnError] = string(crds.PipelineTaskContinue)
	}
	return metav1.ObjectMeta{
		Namespace: d.Run.Namespace, Name: name,
		Labels: labels, Annotations: annotations,
		OwnerReferences: []metav1.OwnerReference{owner(d.Run)},
	}
}
