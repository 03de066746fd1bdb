package validation

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/internal/intime"
)

// FuzzTaskRun: whatever decodes is judged, in time; defaults are filled in once, refuse
// nothing, and change nothing in the eyes of an update.
func FuzzTaskRun(f *testing.F) {
	seed(f, "taskrun.txt")
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict, ParamEnum: strict, CEL: strict, ForbiddenEnv: []string{"X"}}
		o.Defaults = defaulting.Defaults{PodTemplate: &crds.PodTemplate{HostNetwork: true}, Resolver: "git"}
		run, ok := judged(t, raw, TaskRun, o, o.Defaults.TaskRun)
		if !ok {
			return
		}
		if said := printed(RunningTaskRun(&run, o), nil); strings.Contains(said, "spec.taskSpec.") {
			t.Errorf("what only looks at the run says %s", said)
		}
		var plain crds.TaskRun
		_ = json.Unmarshal(raw, &plain)
		if errs := TaskRunUpdate(&run, &plain, o); len(errs) > 0 && (plain.Status.StartTime == nil || !plain.IsPending()) {
			t.Errorf("defaults are a change: %v", errs)
		}
	})
}

// FuzzTask: so it is with a Task; and what it says when it is about to run is no less.
func FuzzTask(f *testing.F) {
	seed(f, "task.txt")
	seed(f, "variables.txt")
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict, ParamEnum: strict, CEL: strict}
		task, ok := judged(t, raw, Task, o, o.Defaults.Task)
		if ok {
			ResolvedTask(&task.Spec, field.NewPath("spec"), o)
		}
	})
}

// FuzzStepAction: and with a StepAction.
func FuzzStepAction(f *testing.F) {
	seed(f, "stepaction.txt")
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict}
		judged(t, raw, StepAction, o, o.Defaults.StepAction)
	})
}

// An object of the tables that is accepted is so with any defaults filled in.
func TestDefaultsRefuseNothing(t *testing.T) {
	forbidden := corev1.EnvVar{Name: "TEKTON_TOKEN", Value: "of the administrator"}
	for _, d := range []defaulting.Defaults{
		{},
		{Timeout: -1, ServiceAccount: "builder", ManagedBy: "us", Resolver: "git"},
		{Timeout: time.Second, PodTemplate: &crds.PodTemplate{HostNetwork: true, Env: []corev1.EnvVar{forbidden}}},
	} {
		o := Options{ParamEnum: true, CEL: true, ForbiddenEnv: []string{forbidden.Name}, Defaults: d}
		accepted := acceptedOf(t, "taskrun.txt", TaskRun, o, d.TaskRun) + acceptedOf(t, "task.txt", Task, o, d.Task) +
			acceptedOf(t, "variables.txt", Task, o, d.Task) + acceptedOf(t, "stepaction.txt", StepAction, o, d.StepAction)
		if accepted < 20 {
			t.Errorf("only %d objects were accepted", accepted)
		}
	}
}

// acceptedOf is how many objects of a table are accepted, before and after.
func acceptedOf[T any](t *testing.T, file string, judge func(*T, Options) (field.ErrorList, []string), o Options, fill func(*T)) (n int) {
	t.Helper()
	for _, text := range objectsOf(t, file) {
		var object T
		parse(t, text, &object)
		if errs, _ := judge(&object, o); len(errs) > 0 {
			continue
		}
		n++
		fill(&object)
		if errs, _ := judge(&object, o); len(errs) > 0 {
			t.Errorf("with %+v it is refused: %v\n%s", o.Defaults, errs, text)
		}
	}
	return n
}

// objectsOf are those of a table.
func objectsOf(tb testing.TB, file string) (objects []string) {
	tb.Helper()
	table, err := os.ReadFile("testdata/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	for block := range strings.SplitSeq(string(table), "\n\n") {
		text, _, _ := strings.Cut(block, "\n----\n")
		objects = append(objects, text)
	}
	return objects
}

// seed adds the objects of a table.
func seed(f *testing.F, file string) {
	f.Helper()
	for _, text := range objectsOf(f, file) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, len(raw)%2 == 0)
	}
}

// judged judges an object before and after its defaults are filled in, and returns it
// with them. ok is false for what no API server would hand on.
func judged[T any](t *testing.T, raw []byte, judge func(*T, Options) (field.ErrorList, []string), o Options, fill func(*T)) (object T, ok bool) {
	t.Helper()
	if json.Unmarshal(raw, &object) != nil {
		return object, false
	}
	if _, err := json.Marshal(object); err != nil {
		return object, false
	}
	var before field.ErrorList
	var warnings []string
	intime.Within(t, 5*time.Second, "an object", func() { before, warnings = judge(&object, o) })
	if len(before) > maxErrors || len(warnings) > maxWarnings {
		t.Errorf("%d errors, %d warnings", len(before), len(warnings))
	}
	fill(&object)
	once := jsonOf(t, object)
	fill(&object)
	if twice := jsonOf(t, object); twice != once {
		t.Errorf("defaults filled in once and twice:\n%s\n%s", once, twice)
	}
	if after, _ := judge(&object, o); len(before) == 0 && len(after) > 0 {
		t.Errorf("with defaults it is refused: %v\n%s", after, once)
	}
	return object, true
}
