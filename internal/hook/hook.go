// Package hook puts the hooks of two who watch a stage into one: the Traces of stages are
// made of optional funcs, and each has a Then that is made of these.
//
//	stage ──Trace.OnGet──▶ Two(f, g) ──▶ f, of whoever was there first
//	                           └───────▶ g
//
// What it promises (TestTwoWatchAndNothingIsInBetweenForOne):
//
//  1. f is called before g, with the same arguments, by whoever calls.
//  2. Where only one is there, it is what comes back: nothing is in between. Where none
//     is, nil comes back, so that a stage that asks whether anybody watches hears no.
//
// It has no goroutine of its own.
package hook

// Zero is for hooks without arguments.
func Zero(f, g func()) func() {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func() { f(); g() }
}

// One is for hooks with one argument.
func One[A any](f, g func(A)) func(A) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A) { f(a); g(a) }
}

// Two is for hooks with two.
func Two[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

// Three is for hooks with three.
func Three[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil {
		return g
	}
	if g == nil {
		return f
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}
