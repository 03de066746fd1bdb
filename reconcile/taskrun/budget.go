package taskrun

import (
	"encoding/json"

	"millrace/crds"
)

// What an author writes once may be meant many times: a parameter of a megabyte that
// is named in a thousand places is more than there is memory. These are the limits;
// what is beyond them could not be stored or sent anyway (etcd takes 1.5 MiB, the API
// server 3), and no run that anybody has meant comes near them.
const (
	maxReplaced   = 4 << 20 // bytes of values that are put in for the variables of one run
	maxPod        = 3 << 20 // bytes that the steps of a pod have because all steps have them
	maxContainers = 100     // of a task: so many share 12 KiB of termination messages, which is 120 bytes for each
)

// checkNumbers comes before any work that grows with the steps.
func checkNumbers(spec *crds.TaskSpec) *refusal {
	if n := len(spec.Steps) + len(spec.Sidecars); n > maxContainers {
		return invalid("the task has %d steps and sidecars and can have %d together: the kubelet would not keep what so many have to say when they end; put several commands into one step", n, maxContainers)
	}
	return nil
}

// checkRepeated weighs what each step of the pod has because all have it.
func checkRepeated(spec *crds.TaskSpec, template crds.PodTemplate) *refusal {
	if len(spec.Steps) < 2 {
		return nil
	}
	shared, err := json.Marshal([]any{spec.StepTemplate, template.Env, spec.Results})
	if err != nil {
		return invalid("%v", err)
	}
	if all := len(shared) * len(spec.Steps); all > maxPod {
		return invalid("the pod would be too large: its %d steps all have what stepTemplate, the variables of podTemplate and the names of results say, which is %d bytes, and %d together; make that smaller, or the steps fewer", len(spec.Steps), len(shared), all)
	}
	return nil
}
