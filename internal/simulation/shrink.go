package simulation

import (
	"context"
	"slices"
	"strings"
)

// Breaks says which of some plans is the first that still breaks an invariant, and
// what happened in it (Result.Fired); -1 if none does. It may play them at once.
type Breaks func([]Plan) (first int, fired []string)

// Shrink makes a failing plan smaller, as long as it breaks the same invariant:
// faults and users' doings that are not needed for it are left out, which changes
// nothing of the rest. When ctx ends, it returns the smallest that it has found.
//
// It is delta debugging (Zeller and Hildebrandt, 2002): of whole kinds of faults
// first, then of one thing after the other; after a few guesses, which often are
// all that is needed.
func Shrink(ctx context.Context, failing *Result, breach Violation, breaks Breaks) Plan {
	s := &shrinking{ctx: ctx, plan: failing.Plan, breaks: breaks, needed: slices.Clone(failing.Fired)}
	s.try(s.guesses(failing, breach))
	s.minimize(kinds(s.needed))
	s.minimize(singly(s.needed))
	return restricted(s.plan, s.needed)
}

// guesses are cases that are likely to do, the smallest first: what users did to the
// runs that the breach names, all that names these runs, and what does not name
// others, or came before the breach.
func (s *shrinking) guesses(failing *Result, breach Violation) [][]string {
	about := failing.about(breach)
	others := slices.DeleteFunc(failing.runs(), func(run string) bool { return slices.Contains(about, run) })
	if len(about) == 0 {
		others = nil // it may be about any of them
	}
	user := func(name string) bool { return strings.HasPrefix(name, "user ") }
	early := func(name string) bool { return failing.First[name] <= breach.At }
	its := func(name string) bool { return namesAny(name, about) }
	general := func(name string) bool { return !namesAny(name, others) }
	return [][]string{
		those(failing.Fired, its, user), those(failing.Fired, its),
		those(failing.Fired, general, early), those(failing.Fired, early), those(failing.Fired, general),
	}
}

// those are the names that all conditions are true for.
func those(names []string, conditions ...func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(conditions, func(is func(string) bool) bool { return !is(name) })
	})
}

func namesAny(text string, runs []string) bool {
	return slices.ContainsFunc(runs, func(run string) bool { return names(text, run) })
}

type shrinking struct {
	ctx    context.Context //nolint:containedctx // of one call
	plan   Plan
	breaks Breaks
	needed []string
}

// try plays what is left of the plan in each case, and takes the first that still
// breaks. What did not happen in it is not needed, either.
func (s *shrinking) try(cases [][]string) (first int) {
	plans := make([]Plan, len(cases))
	for i, names := range cases {
		plans[i] = restricted(s.plan, names)
	}
	first, fired := s.breaks(plans)
	if first >= 0 {
		s.needed = slices.DeleteFunc(cases[first], func(name string) bool { return !slices.Contains(fired, name) })
	}
	return first
}

// minimize leaves out as many units as it can: first halves, then smaller parts.
func (s *shrinking) minimize(units [][]string) {
	for parts := min(2, len(units)); parts > 0 && s.ctx.Err() == nil; {
		var cases [][][]string
		for part := range slices.Chunk(units, (len(units)+parts-1)/parts) {
			cases = append(cases, less(units, part))
		}
		first := s.try(flat(cases))
		switch {
		case first >= 0:
			units = s.still(cases[first])
			parts = min(max(parts-1, 2), len(units))
		case parts == len(units):
			return
		default:
			parts = min(2*parts, len(units))
		}
	}
}

// less is what there is besides a part, which is one of the units' chunks.
func less(units, part [][]string) [][]string {
	return slices.DeleteFunc(slices.Clone(units), func(unit []string) bool {
		return slices.ContainsFunc(part, func(p []string) bool { return &p[0] == &unit[0] })
	})
}

// still are units without what is not needed any more.
func (s *shrinking) still(units [][]string) [][]string {
	var left [][]string
	for _, unit := range units {
		if unit = slices.DeleteFunc(slices.Clone(unit), func(name string) bool { return !slices.Contains(s.needed, name) }); len(unit) > 0 {
			left = append(left, unit)
		}
	}
	return left
}

func flat(cases [][][]string) [][]string {
	names := make([][]string, len(cases))
	for i, units := range cases {
		names[i] = slices.Concat(units...)
	}
	return names
}

// kinds has one unit for each kind of fault.
func kinds(names []string) [][]string {
	var units [][]string
	at := map[string]int{}
	for _, name := range names {
		kind, _, _ := strings.Cut(name, ": ")
		if _, known := at[kind]; !known {
			at[kind] = len(units)
			units = append(units, nil)
		}
		units[at[kind]] = append(units[at[kind]], name)
	}
	return units
}

func singly(names []string) [][]string {
	units := make([][]string, len(names))
	for i, name := range names {
		units[i] = []string{name}
	}
	return units
}

func restricted(p Plan, to []string) Plan {
	p.Only = map[string]bool{}
	for _, name := range to {
		p.Only[name] = true
	}
	return p
}
