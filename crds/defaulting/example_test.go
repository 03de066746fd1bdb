package defaulting_test

import (
	"fmt"
	"time"

	"millrace/crds"
	"millrace/crds/defaulting"
)

// A run that names a Task and nothing else has a kind, a time and an account.
func Example() {
	run := crds.TaskRun{Spec: crds.TaskRunSpec{TaskRef: &crds.TaskRef{Name: "build"}}}
	d := defaulting.Defaults{Timeout: 30 * time.Minute}
	d.TaskRun(&run)
	fmt.Println(run.Spec.TaskRef.Kind, run.Spec.Timeout.Duration, run.Spec.ServiceAccountName)
	// Output: Task 30m0s default
}
