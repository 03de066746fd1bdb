// Package intime holds work in tests to a bound that no busy machine breaks.
//
//	what is hostile ──▶ Within(t, 2 s, what, do) ──▶ do ──▶ as few seconds of a processor?
//
// That something takes linear time is a promise of the code; that it is over by some moment
// is one of the machine. A test that asks a clock has both, and fails for the other.
//
//  1. What counts is the processors' time that the process has had, not what others on the
//     machine have had meanwhile, nor how long it stood still. (TestWaitingIsNoWork)
//  2. Work that takes too long has two more tries, and the least counts: a virtual machine
//     may have been charged for others. (TestTheLeastOfThreeCounts)
//
// It has no goroutine.
package intime

import (
	"syscall"
	"testing"
	"time"
)

// tries are how many there are for work that takes too long.
const tries = 3

// Within fails the test if do takes more of the processors' time than bound, each time. The
// time of all threads counts, the garbage collector's too: what other goroutines do should
// be nothing. A do that takes no longer is called once.
func Within(tb testing.TB, bound time.Duration, what string, do func()) {
	tb.Helper()
	least := time.Duration(1<<63 - 1)
	for range tries {
		before := spent(tb)
		do()
		if least = min(least, spent(tb)-before); least <= bound {
			return
		}
	}
	tb.Errorf("%s: takes %v of the processors' time, and may take %v", what, least, bound)
}

// spent is the processors' time that the process has had so far.
func spent(tb testing.TB) time.Duration {
	tb.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
