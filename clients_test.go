package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// A service mesh puts its own container beside ours, or before it.
func TestTheImageIsThatOfOurOwnContainer(t *testing.T) {
	for name, containers := range map[string]string{
		"alone":           `{"name":"controller","image":"ours"}`,
		"after a mesh's":  `{"name":"istio-proxy","image":"theirs"},{"name":"controller","image":"ours"}`,
		"named otherwise": `{"name":"millrace","image":"ours"},{"name":"istio-proxy","image":"theirs"}`,
	} {
		pod := reply{http.StatusOK, `{"kind":"Pod","apiVersion":"v1","spec":{"containers":[` + containers + `]}}`}
		nobody := refused(http.StatusNotFound, "NotFound") // of both ConfigMaps
		api, start := starting(t, &script{troubles: []http.RoundTripper{nobody, nobody, pod}}, "--pod-name=millrace-1")
		if !start.learn(t.Context()) || api.entrypointImage != "ours" {
			t.Errorf("%s: %q", name, api.entrypointImage)
		}
	}
	deployment, err := os.ReadFile("manifests/base/deployment.yaml")
	if err != nil || !strings.Contains(string(deployment), "      - name: "+ownContainer+"\n") {
		t.Errorf("the Deployment has no container %s (%v)", ownContainer, err)
	}
}

func TestTheReleaseIsTheCommitThatGitDescribes(t *testing.T) {
	for version, want := range map[string]string{
		"5b0e61e":                  "5b0e61e",
		"5b0e61e-dirty":            "5b0e61e-dirty",
		"v0.1.0-12-g5b0e61e":       "5b0e61e",
		"v0.1.0-12-g5b0e61e-dirty": "5b0e61e-dirty",
		"unknown":                  "",
		"v0.1.0":                   "",
		"v0.1.0-0-g5b0e61e-x":      "",
	} {
		if got := commit(version); got != want {
			t.Errorf("commit(%q) = %q, want %q", version, got, want)
		}
	}
}
