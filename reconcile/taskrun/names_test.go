package taskrun

import (
	"strings"
	"testing"

	"millrace/crds"
)

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
