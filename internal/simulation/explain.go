package simulation

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Explain writes for people what a failing plan came to: the plan, what was
// broken, what went wrong, and a timeline of what matters for it.
func (r *Result) Explain(out io.Writer, commit string) {
	_, _ = fmt.Fprintf(out, "SEED=%d COMMIT=%s\n%s\n", r.Plan.Seed, commit, r.Plan.InWords())
	for _, v := range r.Violations {
		_, _ = fmt.Fprintf(out, "  broken: %s (%s), after %s: %s\n", v.Invariant, says(v.Invariant), v.At, v.What)
	}
	_, _ = fmt.Fprintf(out, "  again: %s\n  what went wrong, and what users did:\n", r.Plan.Command())
	for _, name := range r.inOrder() {
		_, _ = fmt.Fprintf(out, "    %s\n", name)
	}
	_, _ = fmt.Fprintln(out, "  timeline:")
	r.Timeline(out, r.matters())
}

// inOrder is what happened, as it happened first.
func (r *Result) inOrder() []string {
	fired := slices.Clone(r.Fired)
	slices.SortStableFunc(fired, func(a, b string) int { return cmp.Compare(r.First[a], r.First[b]) })
	return fired
}

// Command is what plays the plan again.
func (p Plan) Command() string { return fmt.Sprintf("PLAN='%s' make sim", p) }

func says(id string) string {
	for _, i := range Invariants() {
		if i.ID == id {
			return i.Says
		}
	}
	return "the model itself"
}

// matters selects the lines about the runs that the violations name, faults, and
// the lives of processes.
func (r *Result) matters() func(Line) bool {
	about := r.about(r.Violations...)
	return func(l Line) bool {
		return l.Fault() || l.Breach() || l.aside() || slices.Contains(about, l.Run)
	}
}

// aside is a line that is neither a request nor an event.
func (l Line) aside() bool { return !strings.Contains(l.Text, "#") }

// runs are those that there are lines about, sorted.
func (r *Result) runs() []string {
	var runs []string
	for _, l := range r.Lines {
		if l.Run != "" {
			runs = append(runs, l.Run)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// about are the runs that violations name, and the TaskRuns of PipelineRuns that
// they name.
func (r *Result) about(violations ...Violation) []string {
	about := slices.DeleteFunc(r.runs(), func(run string) bool {
		return !slices.ContainsFunc(violations, func(v Violation) bool { return names(v.What, run) })
	})
	for _, l := range r.Lines {
		if l.Of != "" && slices.Contains(about, l.Of) {
			about = append(about, l.Run)
		}
	}
	slices.Sort(about)
	return slices.Compact(about)
}

// names tells whether a text has a run's name in it, or that of its pod.
func names(text, run string) bool {
	for rest, found := text, true; found; {
		if _, rest, found = strings.Cut(rest, run); found {
			next := strings.TrimPrefix(rest, "-pod") + " "
			if strings.ContainsRune(" :@/,;.\n\"'`", rune(next[0])) {
				return true
			}
		}
	}
	return false
}
