package taskrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/crds"
)

// A harvest is what the steps of a pod have left as results.
type harvest struct {
	results []crds.TaskRunResult
	faults  []string // results that are not what the task declares
	missing map[string][]string
	large   []string // results that were too large to be told
}

// gather takes the declared results of a task from what its steps have left, in
// the order of the declarations; of two steps that leave the same one, the later
// counts. A name that the task does not declare is nobody's result.
func gather(spec *crds.TaskSpec, found findings) harvest {
	h := harvest{missing: map[string][]string{}, large: found.large}
	for _, declared := range spec.Results {
		value, ok := found.task[declared.Name]
		if from, is := valueOf(spec, declared); is {
			value, ok = found.steps[from.container][from.name]
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

// refusal is why the run fails though its steps did not; nil if it need not. The limit
// is how many bytes a result could have.
func (h harvest) refusal(limit string) *refusal {
	switch {
	case len(h.large) > 0:
		return &refusal{crds.TaskRunReasonResultLargerThanAllowedLimit, fmt.Sprintf("results size exceeds configured limit: result %s, and %s are allowed (max-result-size)", strings.Join(h.large, ", "), limit)}
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
