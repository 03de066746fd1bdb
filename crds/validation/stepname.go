package validation

import (
	"fmt"
	"strings"

	"millrace/crds"
)

// steps are those of a task by their names, as references to what they find out name
// them: by the name of the step or by that of its container, "step-" and the name.
type steps map[string]named

// A named step is one that later steps can refer to.
type named struct {
	at      int
	results map[string]bool // nil if only a StepAction knows them
}

func stepsOf(list []crds.Step) steps {
	all := make(steps, len(list))
	for i, step := range list {
		n := named{at: i}
		if step.Ref == nil {
			n.results = names(step.Results)
		}
		all[stepName(step, i)] = n
	}
	return all
}

func stepName(step crds.Step, i int) string {
	if step.Name == "" {
		return fmt.Sprintf("unnamed-%d", i)
	}
	return step.Name
}

// declare tells whether the step of that name declares the result, and all of it is meant.
func (s steps) declare(step, result string) bool {
	n, ok := s.named(step)
	return ok && (n.results == nil || n.results[result])
}

func (s steps) named(step string) (named, bool) {
	n, ok := s[step]
	if !ok {
		n, ok = s[strings.TrimPrefix(step, "step-")]
	}
	return n, ok
}

// leave tells whether the step of that name is before one, and declares the result, of
// which a part may be meant. A step that refers to a StepAction may declare anything.
func (s steps) leave(step, result string, before int) bool {
	n, ok := s.named(step)
	if !ok || n.at >= before {
		return false
	}
	for end := len(result); end > 0; end = max(strings.LastIndexByte(result[:end], '['), strings.LastIndexByte(result[:end], '.')) {
		if n.results[result[:end]] {
			return true
		}
	}
	return n.results == nil
}
