package validation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// timeouts: the parts of a run end before the whole does. A part without a limit has the
// whole have none, too.
func (r *report) timeouts(spec *crds.PipelineRunSpec, at *field.Path) {
	given := spec.Timeouts
	if given == nil {
		given = &crds.TimeoutFields{}
	}
	inside := at.Child("timeouts")
	r.timeout(given.Pipeline, inside.Child("pipeline"))
	r.timeout(given.Tasks, inside.Child("tasks"))
	r.timeout(given.Finally, inside.Child("finally"))
	whole := r.Defaults.RunTimeout()
	if given.Pipeline != nil {
		whole = given.Pipeline.Duration
	}
	r.part(given.Tasks, whole, inside.Child("tasks"))
	r.part(given.Finally, whole, inside.Child("finally"))
	if given.Tasks != nil && given.Finally != nil && given.Tasks.Duration >= 0 && given.Finally.Duration >= 0 {
		r.parts(given.Tasks.Duration, given.Finally.Duration, whole, inside)
	}
	r.timeoutsOfTasks(spec, whole, at.Child("taskRunSpecs"))
}

func (r *report) part(part *metav1.Duration, whole time.Duration, at *field.Path) {
	switch {
	case part == nil || whole <= 0 || part.Duration < 0:
	case part.Duration == 0:
		r.invalid(at, "0s", "it has no limit, and the whole run has %s: give it one, or set timeouts.pipeline to 0", whole)
	case part.Duration > whole:
		r.invalid(at, part.Duration.String(), "it is longer than the whole run may take, which is %s: make it shorter, or timeouts.pipeline longer", whole)
	}
}

// parts: two limits under a whole that has none a run can have; Tekton refuses them, too.
func (r *report) parts(tasks, finally, whole time.Duration, at *field.Path) {
	switch {
	case whole == 0 && tasks+finally > 0 && !r.Strict:
		r.forbidden(at.Child("finally"), "timeouts.pipeline is 0, and of a run without a limit only tasks or finally can have one: leave one of them out, or give timeouts.pipeline at least %s", tasks+finally)
	case whole > 0 && tasks <= whole && finally <= whole && tasks+finally > whole:
		r.invalid(at.Child("finally"), finally.String(), "together with tasks it is %s, and the whole run may take %s: make one of them shorter, or timeouts.pipeline longer", tasks+finally, whole)
	}
}

// timeoutsOfTasks: the runs of a task end before their part of the run does.
func (r *report) timeoutsOfTasks(spec *crds.PipelineRunSpec, whole time.Duration, at *field.Path) {
	most, name := whole, "timeouts.pipeline"
	if spec.Timeouts != nil && spec.Timeouts.Tasks != nil {
		most, name = spec.Timeouts.Tasks.Duration, "timeouts.tasks"
	}
	if most <= 0 {
		return
	}
	for i, one := range spec.TaskRunSpecs {
		if one.Timeout != nil && one.Timeout.Duration > most {
			r.invalid(at.Index(i).Child("timeout"), one.Timeout.Duration.String(), "it is longer than %s, which is %s: make it shorter, or that longer", name, most)
		}
	}
}
