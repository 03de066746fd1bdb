package audit

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

const log = `{"stage":"RequestReceived","verb":"create","user":{"username":"us"},"objectRef":{"resource":"pods","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"us"},"objectRef":{"resource":"pods","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"us"},"objectRef":{"resource":"taskruns","subresource":"status","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"us"},"objectRef":{"resource":"taskruns","subresource":"status","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"us"},"objectRef":{"resource":"events","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"them"},"objectRef":{"resource":"pods","namespace":"ci"}}
{"stage":"ResponseComplete","verb":"create","user":{"username":"us"},"objectRef":{"resource":"pods","namespace":"other"}}
{"stage":"ResponseComplete","verb":"get","user":{"username":"us"},"requestURI":"/version"}
{"stage":"ResponseComp`

func TestCallsAreThoseOfOneUserInOneNamespaceWithoutEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Calls(file, "us", "ci")
	if want := map[string]int{"create pods": 1, "patch taskruns/status": 2}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestWithoutALogThereIsNoCount(t *testing.T) {
	if _, err := Calls(filepath.Join(t.TempDir(), "audit.log"), "us", "ci"); err == nil {
		t.Error("no error")
	}
}
