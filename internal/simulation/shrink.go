package simulation

import (
	"slices"
)

// Shrink makes a failing plan smaller, while play still finds the same invariant
// broken: faults and users' doings that are not needed for it are left out. It
// plays at most that many plans.
func Shrink(failing *Result, invariant string, atMost int, play func(Plan) *Result) *Result {
	best := failing
	needed := slices.Clone(failing.Fired)
	// First a quarter at once, then less and less: the faults are independent of
	// each other, so what is left out changes nothing of the rest.
	for size := (len(needed) + 3) / 4; size > 0 && atMost > 0; {
		shrunk := false
		for from := 0; from < len(needed) && atMost > 0; {
			rest := slices.Concat(needed[:from], needed[min(from+size, len(needed)):])
			atMost--
			if r := play(restricted(failing.Plan, rest)); breaks(r, invariant) {
				best, needed, shrunk = r, rest, true
			} else {
				from += size
			}
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !shrunk:
			size = 0
		}
	}
	return best
}

func restricted(p Plan, to []string) Plan {
	p.Only = map[string]bool{}
	for _, name := range to {
		p.Only[name] = true
	}
	return p
}

func breaks(r *Result, invariant string) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == invariant })
}
