package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What is more than this nobody reads, and the API server hands on no more warnings
// than 4096 characters of them.
const (
	maxErrors   = 50
	maxWarnings = 20
)

// A report is what has been found so far.
type report struct {
	Options

	resolved bool // references have been replaced, and expressions are decided when their turn comes

	errs     field.ErrorList
	warnings []string
	compiled int // bytes of CEL that have been checked; see maxCompiled
}

// result is what the functions of this package return.
func (r *report) result() (field.ErrorList, []string) { return r.errs, r.warnings }

// refuse adds an error, unless there are so many that nobody reads it.
func (r *report) refuse(err *field.Error) {
	if !r.full() {
		r.errs = append(r.errs, err)
	}
}

func (r *report) full() bool { return len(r.errs) >= maxErrors }

// invalid is for a value that cannot be. The message says what to do.
func (r *report) invalid(at *field.Path, value any, why string, args ...any) {
	if !r.full() {
		r.refuse(field.Invalid(at, shown(value), fmt.Sprintf(why, args...)))
	}
}

// required is for a field that is missing.
func (r *report) required(at *field.Path, why string, args ...any) {
	if !r.full() {
		r.refuse(field.Required(at, fmt.Sprintf(why, args...)))
	}
}

// forbidden is for a field that cannot be there.
func (r *report) forbidden(at *field.Path, why string, args ...any) {
	if !r.full() {
		r.refuse(field.Forbidden(at, fmt.Sprintf(why, args...)))
	}
}

// unsupported is for a value that is not among those there are.
func unsupported[T ~string](r *report, at *field.Path, value T, known []T) {
	r.refuse(field.NotSupported(at, T(cut(string(value))), known))
}

// warn is for what is accepted, and will not do what its author expects.
func (r *report) warn(at *field.Path, why string, args ...any) {
	if len(r.warnings) >= maxWarnings {
		return
	}
	warning := at.String() + ": " + fmt.Sprintf(why, args...)
	if !slices.Contains(r.warnings, warning) {
		r.warnings = append(r.warnings, warning)
	}
}

// fails is for what Tekton's admission accepts, and no run can do.
func (r *report) fails(at *field.Path, value any, why string, args ...any) {
	if r.Strict {
		r.invalid(at, value, why, args...)
		return
	}
	r.warn(at, "the run will fail: "+why, args...)
}

// shown is a value as people want to see it in an error: not a script of 64 KiB.
func shown(value any) any {
	if text, ok := value.(string); ok && len(text) > 80 {
		return field.OmitValueType{}
	}
	return value
}

// cut is a text as people want to see it in an error.
func cut(text string) string {
	if len(text) <= 80 {
		return text
	}
	return strings.ToValidUTF8(text[:80], "") + "…"
}

// twice calls found with the index of each name that an earlier one is equal to.
func twice[T any](list []T, name func(T) string, found func(i int, name string)) {
	seen := make(map[string]bool, len(list))
	for i, one := range list {
		n := name(one)
		if seen[n] {
			found(i, n)
		}
		seen[n] = true
	}
}
