// Package defaulting fills in what an object leaves out, and what an administrator has
// decided for that.
//
//	spec:            ──Defaults.TaskRun──▶ spec:
//	  taskRef:                               taskRef: {name: build, kind: Task}
//	    name: build                          timeout: 1h0m0s
//	                                         serviceAccountName: default
//
//	webhook ──▶ defaulting ◀── crds/validation, reconcile/…: what is meant by what is not said
//
// # What it promises
//
//  1. Idempotent: to fill in twice is to fill in once (TestTwiceIsOnce).
//  2. What an object says itself is never changed (TestWhatIsSaidStays).
//  3. An object without defaults, which no webhook has seen, means the same: the
//     reconcilers ask this package what is meant.
//  4. Pure: no context, no clock, no I/O. The object given is changed, and shares nothing
//     with the Defaults afterwards that anybody changes (TestDefaultsAreNotShared).
//
// # Goroutines
//
// None.
package defaulting
