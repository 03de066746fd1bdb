package taskrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// A harvest is what the steps of a pod have left as results.
type harvest struct {
	results []crds.TaskRunResult
	faults  []string // results that are not what the task declares
	missing map[string][]string
}

// gather takes the declared results of a task from the messages of its steps, in
// the order of the declarations; of two steps that leave the same one, the later
// counts. A name that the task does not declare is nobody's result.
func gather(spec *crds.TaskSpec, pod *corev1.Pod) harvest {
	written, ofSteps := map[string]string{}, map[string]string{}
	for _, status := range stepStatuses(pod) {
		if status.State.Terminated == nil {
			continue
		}
		told := readReport(status.State.Terminated.Message)
		for _, result := range told.results {
			written[result.Key] = result.Value
		}
		for _, result := range told.stepResults {
			ofSteps[status.Name+"/"+result.Key] = result.Value
		}
	}
	h := harvest{missing: map[string][]string{}}
	for _, declared := range spec.Results {
		value, ok := written[declared.Name]
		if from, is := valueOf(spec, declared); is {
			value, ok = ofSteps[from.container+"/"+from.name]
		}
		if ok {
			h.take(declared, value)
		}
	}
	return h
}

// take adds a result if it is what it was declared to be.
func (h *harvest) take(declared crds.TaskResult, text string) {
	want := resultType(declared.Type, declared.Properties)
	value := readValue(want, text)
	if value.Type != want {
		h.faults = append(h.faults, fmt.Sprintf("%q: task result is expected to be %q type but was initialized to a different type %q", declared.Name, want, value.Type))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(declared.Properties)) {
		if _, ok := value.ObjectVal[key]; want == crds.ParamTypeObject && !ok {
			h.missing[declared.Name] = append(h.missing[declared.Name], key)
		}
	}
	h.results = append(h.results, crds.TaskRunResult{Name: declared.Name, Type: want, Value: value})
}

// refusal is why the run fails though its steps did not; nil if it need not.
func (h harvest) refusal() *refusal {
	switch {
	case len(h.faults) > 0:
		return &refusal{crds.TaskRunReasonInvalidResult, "Provided results don't match declared results; may be invalid JSON or missing result declaration: " + strings.Join(h.faults, ", ")}
	case len(h.missing) > 0:
		return &refusal{crds.TaskRunReasonInvalidResult, fmt.Sprintf("missing keys for these results which are required in TaskResult's properties %v", h.missing)}
	default:
		return nil
	}
}

func resultType(declared crds.ParamType, properties map[string]crds.PropertySpec) crds.ParamType {
	switch {
	case declared != "":
		return declared
	case len(properties) > 0:
		return crds.ParamTypeObject
	default:
		return crds.ParamTypeString
	}
}

// readValue reads what a step has written. A text is taken as it is, whatever it
// looks like; only where an array or an object is wanted it is read as JSON.
func readValue(want crds.ParamType, text string) crds.ParamValue {
	var value crds.ParamValue
	if want == crds.ParamTypeString || json.Unmarshal([]byte(text), &value) != nil {
		return crds.NewString(text)
	}
	return value
}

// ownResults are the results of one step, as it declares them; one of another
// type stays the text that it is.
func ownResults(declared []crds.StepResult, told report) []crds.TaskRunResult {
	var results []crds.TaskRunResult
	for _, d := range declared {
		for _, result := range told.stepResults {
			if result.Key == d.Name {
				value := readValue(resultType(d.Type, d.Properties), result.Value)
				results = append(results, crds.TaskRunResult{Name: d.Name, Type: value.Type, Value: value})
			}
		}
	}
	return results
}
