package taskrun

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// A stepResult is where a result of a step is kept, and which part of it is meant.
type stepResult struct {
	container string
	name      string
	part      string // "", "[*]", "[0]" or "[key]"
}

func (r stepResult) String() string { return r.container + "/" + r.name + r.part }

// resultsOfStep is where a step leaves its results.
func resultsOfStep(container string) string { return path.Join(stepsDir, container, "results") }

// findStepResult reads steps.<step>.results.<result>, maybe with an index or a
// key, as a result that one of these steps declares.
func findStepResult(steps []crds.Step, reference string) (stepResult, bool) {
	step, rest, _ := strings.Cut(strings.TrimPrefix(reference, "steps."), ".results.")
	for i := range steps {
		container := containerName(steps[i], i)
		if container != step && container != stepPrefix+step {
			continue
		}
		for _, declared := range steps[i].Results {
			if part, ok := strings.CutPrefix(rest, declared.Name); ok && (part == "" || part[0] == '[' || part[0] == '.') {
				return stepResult{container, declared.Name, bracketed(part)}, true
			}
		}
	}
	return stepResult{}, false
}

// bracketed writes .key, ["key"] and ['key'] as [key].
func bracketed(part string) string {
	if key, ok := strings.CutPrefix(part, "."); ok {
		return "[" + key + "]"
	}
	return strings.NewReplacer(`["`, "[", `"]`, "]", "['", "[", "']", "]").Replace(part)
}

// checkStepResults refuses references to results that no earlier step declares.
func checkStepResults(spec *crds.TaskSpec) *refusal {
	for i, step := range spec.Steps {
		for _, text := range laterTexts(spec.StepTemplate, step) {
			for _, p := range variables.SplitForKubelet(text, []string{variables.LaterResult}) {
				if _, ok := findStepResult(spec.Steps[:i], p.Ref); p.Ref != "" && !ok {
					return invalid("step %q refers to $(%s), and no step before it declares such a result", stepName(step, i), p.Ref)
				}
			}
		}
	}
	return nil
}

// laterTexts are the texts of a step that may refer to results of steps.
func laterTexts(template *crds.StepTemplate, step crds.Step) []string {
	texts := slices.Concat(step.Command, step.Args)
	for _, env := range step.Env {
		texts = append(texts, env.Value)
	}
	if template != nil {
		texts = slices.Concat(texts, template.Command, template.Args)
		for _, env := range template.Env {
			texts = append(texts, env.Value)
		}
	}
	for _, when := range step.When {
		texts = append(append(texts, when.Input), when.Values...)
	}
	return texts
}

var stepResultValue = regexp.MustCompile(`^\$\((steps\.[^.]+\.results\..+)\)$`)

// valueOf is the result of a step that a result of the task takes its value from;
// ok is false for one that steps write themselves.
func valueOf(spec *crds.TaskSpec, result crds.TaskResult) (from stepResult, ok bool) {
	if result.Value == nil {
		return stepResult{}, false
	}
	match := stepResultValue.FindStringSubmatch(result.Value.StringVal)
	if match == nil {
		return stepResult{}, false
	}
	from, ok = findStepResult(spec.Steps, match[1])
	return from, ok && (from.part == "" || from.part == "[*]")
}
