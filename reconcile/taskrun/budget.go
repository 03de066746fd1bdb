package taskrun

import (
	"encoding/json"

	"millrace/crds"
)

// maxPod is how many bytes the steps of a pod have at most because all of them have them.
// What an author writes once is meant for each; what is beyond this could not be sent
// anyway (the API server takes 3 MiB), and no run that anybody has meant comes near it.
const maxPod = 3 << 20

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
