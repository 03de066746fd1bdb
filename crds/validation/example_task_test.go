package validation_test

import (
	"fmt"

	"millrace/crds"
	"millrace/crds/validation"
)

// A task that puts a parameter into a script is accepted, and its author warned; one that
// puts in a parameter that nobody has declared is not.
func Example() {
	task := crds.Task{Spec: crds.TaskSpec{
		Params: crds.ParamSpecs{{Name: "branch"}},
		Steps: []crds.Step{
			{Image: "busybox", Script: "git checkout $(params.branch)"},
			{Image: "busybox", Args: []string{"$(params.brunch)"}},
		},
	}}
	errs, warnings := validation.Task(&task, validation.Options{})
	fmt.Println(errs.ToAggregate())
	fmt.Println(len(warnings), "warning")
	// Output:
	// spec.steps[1].args[0]: Invalid value: $(params.brunch): there is no such parameter: declare it in params, or correct the name
	// 1 warning
}
