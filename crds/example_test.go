package crds_test

import (
	"encoding/json"
	"fmt"
	"time"

	"millrace/crds"

	corev1 "k8s.io/api/core/v1"
)

// A run arrives as bytes, is decoded into a value of one's own, and its status
// is told by one condition.
func Example() {
	raw := []byte(`{
		"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "metadata": {"name": "build"},
		"spec": {
			"taskRef": {"name": "go-build"},
			"params": [{"name": "flags", "value": ["-v", "-race"]}, {"name": "depth", "value": 1}]
		}
	}`)
	var tr crds.TaskRun
	if err := json.Unmarshal(raw, &tr); err != nil {
		fmt.Println(err)
		return
	}
	for _, param := range tr.Spec.Params {
		fmt.Printf("%s is a %s: %q %q\n", param.Name, param.Value.Type, param.Value.StringVal, param.Value.ArrayVal)
	}

	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	succeeded := crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: "Started"}
	fmt.Println(tr.IsDone(), tr.Status.Conditions.Set(succeeded, noon))

	succeeded.Reason = crds.TaskRunReasonRunning.String()
	fmt.Println(tr.IsDone(), tr.Status.Conditions.Set(succeeded, noon.Add(time.Second)))

	succeeded.Status, succeeded.Reason = corev1.ConditionTrue, crds.TaskRunReasonSuccessful.String()
	fmt.Println(tr.IsDone(), tr.Status.Conditions.Set(succeeded, noon.Add(time.Minute)))

	status, err := json.Marshal(tr.Status)
	fmt.Println(tr.IsDone(), string(status), err)
	// Output:
	// flags is a array: "" ["-v" "-race"]
	// depth is a string: "1" []
	// false true
	// false true
	// false true
	// true {"conditions":[{"type":"Succeeded","status":"True","lastTransitionTime":"2026-01-02T12:01:00Z","reason":"Succeeded"}]} <nil>
}
