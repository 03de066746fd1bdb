package simulation

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// What the users of a workload do is the same with and without the program, in the
// same order.
func TestDeedsAreWhatUsersDo(t *testing.T) {
	for workload, want := range map[string]string{
		"one step":                          "0s create stepactions blue/greet; 0s create persistentvolumeclaims blue/shared; 0s create pipelines blue/release; 0s create tasks blue/build; 5s create taskruns blue/a Succeeded",
		"cancel":                            "5s create taskruns blue/a Succeeded; 9s patch taskruns blue/a",
		"pipeline: finally after a failure": "5s create pipelineruns blue/p Failed",
	} {
		synctest.Test(t, func(t *testing.T) {
			deeds, err := Deeds(Plan{Seed: 1, Workload: workload, Crash: &Crash{Write: 1}})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, d := range deeds {
				told = append(told, strings.TrimSpace(fmt.Sprintf("%ds %s %s %s/%s %s", int(d.At.Seconds()), d.Verb, d.Resource, d.Namespace, d.Name, d.Expect.Reason)))
				if len(d.Body) == 0 {
					t.Errorf("%s %s has no body", d.Verb, d.Name)
				}
			}
			for one := range strings.SplitSeq(want, "; ") {
				if !strings.Contains(strings.Join(told, "; "), one) {
					t.Errorf("%s: %q is not among %q", workload, one, told)
				}
			}
			if got := len(told); got != len(strings.Split(want, "; ")) {
				t.Errorf("%s: %q", workload, told)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := Deeds(Plan{Workload: "two replicas"}); err == nil {
			t.Error("one of two replicas can be had")
		}
	})
}
