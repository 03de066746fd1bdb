//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// What is installed, once more, as it would be applied by hand: a real server knows every
// field, admits the pods to a namespace that is restricted, and has nothing to warn of.
func TestOverlaysAreAppliedWithoutAWarning(t *testing.T) {
	for _, overlay := range []string{"single", "ha"} {
		out, err := kubectl("", "apply", "-k", "../../manifests/overlays/"+overlay,
			"--dry-run=server", "--validate=strict", "--warnings-as-errors")
		if err != nil {
			t.Errorf("%s: %v", overlay, err)
		}
		for _, want := range []string{"deployment.apps/millrace-controller", "networkpolicy.networking.k8s.io/millrace-controller", "customresourcedefinition.apiextensions.k8s.io/taskruns.tekton.dev"} {
			if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return strings.HasPrefix(line, want+" ") }) {
				t.Errorf("%s: the server said nothing of %s:\n%s", overlay, want, out)
			}
		}
	}
}
