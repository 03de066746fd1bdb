package turnstile_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/simulation/turnstile"
)

func ExampleSeed() {
	seed := turnstile.Seed(7)
	a := seed.Between(time.Millisecond, time.Second, "millrace-0", "patch", "taskruns/a", "1")
	b := seed.Between(time.Millisecond, time.Second, "millrace-0", "patch", "taskruns/a", "1")
	c := seed.Between(time.Millisecond, time.Second, "millrace-0", "patch", "taskruns/a", "2")
	fmt.Println(a == b, a == c)
	// Output: true false
}

func TestWordsAreNotRunTogether(t *testing.T) {
	if turnstile.Seed(1).Draw("ab", "c") == turnstile.Seed(1).Draw("a", "bc") {
		t.Error(`("ab", "c") and ("a", "bc") give the same draw`)
	}
}

func TestDrawsAreSpreadEvenly(t *testing.T) {
	const n, draws = 16, 16000
	var counts [n]int
	for i := range draws {
		counts[turnstile.Seed(1).Below(n, "request", fmt.Sprint(i))]++
	}
	for i, c := range counts {
		if c < draws/n*8/10 || c > draws/n*12/10 {
			t.Errorf("%d of %d draws were %d of %d", c, draws, i, n)
		}
	}
	happened := 0
	for i := range draws {
		if turnstile.Seed(2).Happens(0.03, "fault", fmt.Sprint(i)) {
			happened++
		}
	}
	if happened < 400 || happened > 560 {
		t.Errorf("what has a chance of 3%% happened %d of %d times", happened, draws)
	}
}

func TestAnAgendaIsDoneInTheOrderOfTheTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := turnstile.NewAgenda()
		var done []string
		note := func(what string) func() { return func() { done = append(done, what) } }
		a.After(3*time.Second, note("third"))
		a.After(time.Second, func() {
			note("first")()
			a.After(time.Second, note("second"))
			a.After(2*time.Second, note("fourth"))
		})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		a.After(time.Minute, note("never"))
		a.Run(ctx)
		if want := []string{"first", "second", "third", "fourth"}; !slices.Equal(done, want) {
			t.Errorf("%q, want %q", done, want)
		}
	})
}

func TestAnAgendaHearsOfWhatComesBeforeAllElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := turnstile.NewAgenda()
		begun, at := time.Now(), time.Time{}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		a.After(time.Minute, func() {})
		time.AfterFunc(time.Second, func() { a.After(time.Second, func() { at = time.Now() }) })
		a.Run(ctx)
		if got := at.Sub(begun); got != 2*time.Second {
			t.Errorf("done after %s, want 2s", got)
		}
	})
}
