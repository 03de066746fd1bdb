package simulation

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// A right to one name allows to watch that name, and neither another nor all, as on a
// real server.
func TestARightToANameIsOneToWatchIt(t *testing.T) {
	grant := Grant{Verb: "watch", Resource: "configmaps", Namespace: "here", Name: "mine"}
	for only, want := range map[string]bool{"mine": true, "yours": false, "": false} {
		r := apiserver.Request{Verb: "watch", Resource: "configmaps", Key: types.NamespacedName{Namespace: "here"}, Only: only}
		if got := grant.Allows(r); got != want {
			t.Errorf("watch of %q: %v", only, got)
		}
	}
}
