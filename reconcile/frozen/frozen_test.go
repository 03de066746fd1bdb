package frozen_test

import (
	"fmt"
	"testing"
	"time"

	"millrace/reconcile/frozen"
)

func TestARunKeepsTheTimeoutThatItBeganWith(t *testing.T) {
	for _, began := range []time.Duration{0, time.Minute, time.Hour, 25 * time.Hour} {
		status := frozen.Keep(map[string]string{"other": "x"}, began)
		for _, later := range []time.Duration{0, time.Minute, time.Hour, 3 * time.Hour} {
			if got := frozen.Timeout(status, true, later); got != began {
				t.Errorf("began with %s, has %s when the default is %s", began, got, later)
			}
		}
		if status["other"] != "x" {
			t.Errorf("%v", status)
		}
	}
}

func TestARunThatHasNotBegunGoesByTheDefaultOfNow(t *testing.T) {
	if got := frozen.Timeout(nil, false, time.Minute); got != time.Minute {
		t.Error(got)
	}
}

func TestTheCommonDefaultIsNotWrittenDown(t *testing.T) {
	if kept := frozen.Keep(nil, frozen.Common); kept != nil {
		t.Error(kept)
	}
}

func TestWhatCannotBeReadIsNotThere(t *testing.T) {
	for _, text := range []string{"", "soon", "-1h"} {
		if got := frozen.Timeout(map[string]string{frozen.Annotation: text}, true, time.Minute); got != frozen.Common {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// A run that began with five minutes has five minutes, though the default is ten by
// now.
func Example() {
	status := frozen.Keep(nil, 5*time.Minute)
	fmt.Println(status)
	fmt.Println(frozen.Timeout(status, true, 10*time.Minute))
	// Output:
	// map[millrace.dev/default-timeout:5m0s]
	// 5m0s
}
