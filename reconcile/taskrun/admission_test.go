package taskrun

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/internal/verdicts"
)

// What admission refuses ends when it comes here all the same; what it warns of, that the
// run will fail, comes true; and what it accepts begins. The objects, and what is said of
// them, are admission's own tables.
func TestAdmissionAndTheRunAgree(t *testing.T) {
	verdicts.Play(t, []string{"task", "variables", "taskrun"}, map[string]string{
		"# In the dotted way a name ends at the dot.": "a run can do it",
		"# So it is with results of the step.":        "it stays as it is written",
		"# A word about that comes with it.":          "it does no harm",
		"# Some variables an administrator keeps.":    "the pod goes without them",
		"# Nor are there other names within quotes.":  "it stays as it is written",
		"# What is given beside a task is named":      "a run can do it",
	}, playVerdict)
}

func playVerdict(t *testing.T, text string, verdict verdicts.Verdict) {
	t.Helper()
	run, task, config := runOf(t, text)
	_, refused := source(run, config)
	if refused == nil {
		_, refused = resolve(run, task, someActions(), config)
	}
	if (refused != nil) != (verdict != verdicts.Begins) {
		t.Errorf("admission says that it is to be %s, and the run says %v\n%s", verdict, refused, text)
	}
}

// runOf is the run of a table, or one of its Task that gives all that this wants.
func runOf(t *testing.T, text string) (*crds.TaskRun, *crds.Task, Config) {
	t.Helper()
	var in struct{ Options struct{ ParamEnum, CEL bool } }
	var task crds.Task
	check(yaml.Unmarshal([]byte(text), &in))
	config := Config{ParamEnum: in.Options.ParamEnum, CEL: in.Options.CEL}
	var run crds.TaskRun
	check(yaml.Unmarshal([]byte(text), &run))
	if run.Name == "" {
		run.Name = "run"
	}
	if run.Spec.TaskSpec != nil {
		return &run, nil, config
	}
	if run.Spec.TaskRef != nil {
		return &run, &crds.Task{Spec: crds.TaskSpec{Steps: []crds.Step{{Name: "a", Image: "i"}}}}, config
	}
	check(yaml.Unmarshal([]byte(text), &task))
	run.Spec = crds.TaskRunSpec{TaskRef: &crds.TaskRef{Name: "task"}}
	for _, p := range task.Spec.Params {
		run.Spec.Params = append(run.Spec.Params, crds.Param{Name: p.Name, Value: someValue(p)})
	}
	for _, w := range task.Spec.Workspaces {
		run.Spec.Workspaces = append(run.Spec.Workspaces, crds.WorkspaceBinding{Name: w.Name, EmptyDir: &corev1.EmptyDirVolumeSource{}})
	}
	return &run, &task, config
}

func someValue(p crds.ParamSpec) crds.ParamValue {
	switch defaulting.ParamType(p) {
	case crds.ParamTypeArray:
		return crds.NewArray("x", "y")
	case crds.ParamTypeObject:
		keys := map[string]string{}
		for key := range p.Properties {
			keys[key] = "x"
		}
		return crds.NewObject(keys)
	default:
		if len(p.Enum) > 0 {
			return crds.NewString(p.Enum[0])
		}
		return crds.NewString("continue")
	}
}

func someActions() map[string]actionAnswer {
	nothing, none := crds.NewString(""), crds.NewArray()
	keys := crds.NewObject(map[string]string{"k": ""})
	action := &crds.StepAction{Spec: crds.StepActionSpec{Image: "i", Results: []crds.StepResult{{Name: "r"}}, Params: crds.ParamSpecs{
		{Name: "p", Default: &nothing}, {Name: "a", Default: &none}, {Name: "o", Default: &keys},
	}}}
	action.Name = "action"
	return map[string]actionAnswer{"action": {Action: action}}
}
