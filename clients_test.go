package main

import "testing"

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
