package taskrun

import (
	"strings"
	"testing"

	"millrace/crds"
)

// The middle of a shortened name is the MD5 sum of the parent, here of sixty letters.
func TestChildName(t *testing.T) {
	for parent, want := range map[string]string{
		"short":                 "short-pod",
		strings.Repeat("a", 59): strings.Repeat("a", 59) + "-pod",
		strings.Repeat("a", 60): strings.Repeat("a", 27) + "cc7ed669cf88f201c3297c6a91e1d18d-pod",
	} {
		if got := childName(parent, "-pod"); got != want || len(got) > maxNameLength {
			t.Errorf("%s: %s, want %s", parent, got, want)
		}
	}
}

func TestLongParentsDiffer(t *testing.T) {
	a, b := strings.Repeat("a", 70)+"1", strings.Repeat("a", 70)+"2"
	if childName(a, "-pod") == childName(b, "-pod") {
		t.Error("two runs have one pod name")
	}
}

// A container's name is cut to a label's length, and stays a label.
func TestContainerNameIsALabel(t *testing.T) {
	for step, want := range map[string]string{
		"":                                "step-unnamed-3",
		"a":                               "step-a",
		strings.Repeat("a", 63):           "step-" + strings.Repeat("a", 58),
		strings.Repeat("a", 56) + "--bcd": "step-" + strings.Repeat("a", 56),
	} {
		if got := containerName(crds.Step{Name: step}, 3); got != want {
			t.Errorf("%q: %s, want %s", step, got, want)
		}
	}
}
