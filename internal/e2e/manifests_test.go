//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is installed, once more, as it would be applied by hand: a real server knows every
// field, admits the pods to a namespace that is restricted, and has nothing to warn of.
func TestOverlaysAreAppliedWithoutAWarning(t *testing.T) {
	folders, err := filepath.Glob("../../manifests/overlays/*")
	if err != nil || len(folders) < 3 {
		t.Fatalf("there are the overlays %q: %v", folders, err)
	}
	const crd = "customresourcedefinition.apiextensions.k8s.io/taskruns.tekton.dev"
	for _, folder := range append(folders, "../../crds") {
		out, err := kubectl("", "apply", "-k", folder, "--dry-run=server", "--validate=strict", "--warnings-as-errors")
		if err != nil {
			t.Errorf("%s: %v", folder, err)
		}
		wants := []string{"deployment.apps/millrace-controller", "networkpolicy.networking.k8s.io/millrace-controller"}
		switch filepath.Base(folder) {
		case "crds":
			wants = []string{crd}
		case "namespaced": // which is without them
		default:
			wants = append(wants, crd)
		}
		for _, want := range wants {
			if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return strings.HasPrefix(line, want+" ") }) {
				t.Errorf("%s: the server said nothing of %s:\n%s", folder, want, out)
			}
		}
	}
}
