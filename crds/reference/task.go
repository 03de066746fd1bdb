package reference

import "strings"

// A Task is what a name of the scope "tasks" means: a result of a task, one of the
// numbers of its matrix, or how it ended.
type Task struct {
	Task   string // empty for $(tasks.status)
	Kind   Kind
	Result string // of a result, or of the length of an aggregated one
	Whole  bool   // all elements, or all keys: [*]
	Name   string // as it is written
}

// A Kind says what of a task is meant.
type Kind int

// What of a task can be meant.
const (
	Result       Kind = iota // $(tasks.t.results.r), with [*], [i] or .key
	Output                   // $(tasks.t.outputs), an artifact: orders, and is not replaced
	MatrixLength             // $(tasks.t.matrix.length)
	ResultLength             // $(tasks.t.matrix.r.length)
	State                    // $(tasks.t.status), $(tasks.t.reason) or $(tasks.status)
)

// OfTask takes a name apart. ok is false for what is no name of the scope "tasks".
func OfTask(name string) (r Task, ok bool) {
	rest, inTasks := strings.CutPrefix(name, "tasks.")
	if !inTasks {
		return r, false
	}
	r.Name = name
	if rest == "status" {
		r.Kind = State
		return r, true
	}
	task, rest, found := strings.Cut(rest, ".")
	if !found || !plain(task) || strings.ContainsAny(task, "[]") {
		return r, false
	}
	r.Task = task
	switch {
	case rest == "status" || rest == "reason":
		r.Kind = State
	case rest == "outputs" || strings.HasPrefix(rest, "outputs."):
		r.Kind = Output
	case rest == "matrix.length":
		r.Kind = MatrixLength
	case strings.HasPrefix(rest, "matrix.") && strings.HasSuffix(rest, ".length"):
		r.Kind, r.Result = ResultLength, strings.TrimSuffix(strings.TrimPrefix(rest, "matrix."), ".length")
	default:
		var result Variable
		result, ok = Of("results", rest)
		r.Kind, r.Result, r.Whole = Result, result.Name, result.Whole()
		return r, ok && plain(r.Result)
	}
	return r, true
}

// EachTask calls found with each reference of a text to a task, in their order.
func EachTask(text string, found func(Task)) {
	if !strings.Contains(text, "$(tasks.") {
		return
	}
	Each(text, func(name string) {
		if r, ok := OfTask(name); ok {
			found(r)
		}
	})
}
