package audit

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
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
	file := filepath.Join(t.TempDir(), "audit.log")
	if _, err := Calls(file, "us", "ci"); err == nil {
		t.Error("no error")
	}
	if _, err := FromNow(file); err == nil {
		t.Error("followed without an error")
	}
}

// The server begins a new file when one is large: nothing is missed or seen twice, not even
// a line that was half there.
func TestALogIsFollowedIntoTheNextFile(t *testing.T) {
	const before, one, two, three = `{"stage":"ResponseComplete","verb":"before"}` + "\n",
		`{"stage":"ResponseComplete","verb":"one","requestReceivedTimestamp":"2026-11-30T12:42:44.966193Z","responseStatus":{"code":201},` +
			`"user":{"username":"us","extra":{"authentication.kubernetes.io/pod-name":["pod-1"]}},"objectRef":{"resource":"taskruns","subresource":"status","namespace":"ci","name":"a"}}` + "\n",
		`{"stage":"ResponseComplete","verb":"two"}` + "\n", `{"stage":"ResponseComplete","verb":"three"}` + "\n"
	file := filepath.Join(t.TempDir(), "audit.log")
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	add(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var got []Request
		ended := make(chan error, 1)
		tail, err := FromNow(file)
		if err != nil {
			t.Fatal(err)
		}
		add(one + two[:10]) // before anybody reads
		go func() { ended <- tail.Follow(ctx, func(r Request) { got = append(got, r) }) }()
		time.Sleep(time.Second)
		add(two[10:])
		if err := os.Rename(file, file+".1"); err != nil {
			t.Fatal(err)
		}
		add(three)
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		received := time.Date(2026, 11, 30, 12, 42, 44, 966193000, time.UTC)
		want := []Request{
			{Received: received, Code: 201, User: "us", Pod: "pod-1", Verb: "one", Resource: "taskruns/status", Namespace: "ci", Name: "a"},
			{Verb: "two"}, {Verb: "three"},
		}
		if !slices.Equal(got, want) {
			t.Errorf("followed %+v, want %+v", got, want)
		}
	})
}
