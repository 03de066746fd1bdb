package simulation

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Explain writes for people what a failing plan came to: the plan, what was
// broken, what went wrong, and a timeline of what matters for it.
func (r *Result) Explain(out io.Writer, commit string) {
	_, _ = fmt.Fprintf(out, "%s COMMIT=%s\n", r.Plan, commit)
	for _, v := range r.Violations {
		_, _ = fmt.Fprintf(out, "  broken: %s (%s): %s\n", v.Invariant, says(v.Invariant), v.What)
	}
	_, _ = fmt.Fprintln(out, "  what went wrong, and what users did:")
	for _, name := range r.Fired {
		_, _ = fmt.Fprintf(out, "    %s\n", name)
	}
	_, _ = fmt.Fprintln(out, "  timeline:")
	r.Timeline(out, r.matters())
}

func says(id string) string {
	for _, i := range Invariants() {
		if i.ID == id {
			return i.Says
		}
	}
	return "the model itself"
}

// matters selects the lines about what the violations name, faults, and the
// lives of processes.
func (r *Result) matters() func(Line) bool {
	var names []string
	for _, v := range r.Violations {
		for word := range strings.FieldsSeq(v.What) {
			if ns, name, ok := strings.Cut(strings.TrimSuffix(word, ":"), "/"); ok && ns != "pods" && ns != "taskruns" {
				names = append(names, strings.TrimSuffix(name, "-pod"))
			}
		}
	}
	return func(l Line) bool {
		if strings.Contains(l.Text, "⚡") || strings.Contains(l.Text, "✗") || !strings.Contains(l.Text, "#") {
			return true
		}
		return slices.ContainsFunc(names, func(n string) bool { return n != "" && mentions(l.Text, n) })
	}
}

// mentions tells whether a line is about an object, or its pod.
func mentions(text, name string) bool {
	for _, end := range []string{" ", "@", "/", "-pod", "."} {
		if strings.Contains(text, "/"+name+end) {
			return true
		}
	}
	return false
}
