package pipelinerun

import (
	"fmt"

	"millrace/crds"
)

// A refusal is why a run cannot go on, final unless a person changes something and
// starts another run. Reason and message become those of the condition.
type refusal struct {
	reason  crds.PipelineRunReason
	message string
}

func (r *refusal) Error() string { return string(r.reason) + ": " + r.message }

func refused(reason crds.PipelineRunReason, format string, args ...any) *refusal {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *refusal {
	return refused(crds.PipelineRunReasonFailedValidation, format, args...)
}
