package simulation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

func somePlans() []Plan {
	pod := types.NamespacedName{Namespace: "blue", Name: "a-pod"}
	return []Plan{
		{Seed: 7, Workload: Storm, Chaos: 1},
		{Seed: 1<<64 - 1, Workload: Storm, Chaos: 0.25, Only: map[string]bool{}},
		{Workload: Storm, Chaos: 1, Only: map[string]bool{"another webhook's No: millrace-0.1 create pods/blue/a #1": true, `user "run": blue/a`: true}},
		{Seed: 3, Workload: "one step", Crash: &Crash{Write: 2, When: apiserver.BeforeAnswering}},
		{Seed: 3, Workload: "one step", Stale: &Stale{Resource: "pods", Seen: 1, Lost: 4}},
		{Seed: 3, Workload: "two namespaces", Unseen: &Unseen{
			Actor: "millrace-0.2", Event: Change{"pods", pod, 3}, Until: Change{"taskruns", types.NamespacedName{Namespace: "blue", Name: "a"}, 2},
		}},
	}
}

func TestAPlansTextIsThePlan(t *testing.T) {
	for _, p := range somePlans() {
		again, err := ParsePlan(p.String())
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
		if strings.ContainsAny(p.String(), "'\n") {
			t.Errorf("%s cannot stand between apostrophes", p)
		}
	}
}

func TestWhatIsNoPlanIsRefusedInWords(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    `names no workload`,
		`seed=7`:                              `names no workload`,
		`storm`:                               `name=value`,
		`seed=x workload="storm"`:             `seed of a plan`,
		`workload="storm`:                     `workload of a plan`,
		`workload="storm" chaos=NaN`:          `no multiple`,
		`workload="storm" crash=2:later`:      `none of unsent`,
		`workload="storm" stale=pods`:         `RESOURCE:SEEN:LOST`,
		`workload="storm" unseen=a:pods/x#1`:  `PROCESS:CHANGE:CHANGE`,
		`workload="storm" unseen=a:pods#1:b`:  `RESOURCE/NAMESPACE/NAME#NTH`,
		`workload="storm" weather="changing"`: `no such thing`,
	} {
		if _, err := ParsePlan(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParsePlan(f *testing.F) {
	for _, p := range somePlans() {
		f.Add(p.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlan(text)
		if err != nil {
			return
		}
		again, err := ParsePlan(p.String())
		if diff := cmp.Diff(p, again); diff != "" || err != nil {
			t.Errorf("%q is %q: %v %s", text, p, err, diff)
		}
	})
}
