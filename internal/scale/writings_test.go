package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// line is what the audit log has of a write by a replica.
func line(replica int, verb, namespace string) string {
	return fmt.Sprintf(`{"stage":"ResponseComplete","verb":%q,"user":{"username":"system:serviceaccount:%s:%s"},"objectRef":{"resource":"pods","namespace":%q},"responseStatus":{"code":201}}`+"\n",
		verb, installNamespace, account(replica), namespace)
}

// heard is what comes of lines that the log gets while two namespaces are written in.
func heard(t *testing.T, lines ...string) (w *writings, err error) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(log, []byte(line(3, "create", "a")), 0o600); err != nil { // before
		t.Fatal(err)
	}
	w = newWritings()
	synctest.Test(t, func(t *testing.T) {
		err = w.during(t.Context(), log, []string{"a", "b"}, func(context.Context) error {
			f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteString(strings.Join(lines, ""))
			return errors.Join(err, f.Close())
		})
	})
	return w, err
}

func TestALogThatIsNotHeardClearsNobody(t *testing.T) {
	for _, lines := range [][]string{nil, {line(0, "create", "a")}, {line(0, "create", "a"), line(1, "get", "b")}} {
		if _, err := heard(t, lines...); err == nil {
			t.Errorf("no error after %q", lines)
		}
	}
	w, err := heard(t, line(0, "create", "a"), line(1, "patch", "b"), line(0, "delete", "a"))
	if err != nil || len(w.hands) != 0 || w.n != 3 || !w.writers[account(1)]["b"] {
		t.Errorf("one writer each: %+v, %v", w, err)
	}
}

func TestANamespacePassesToAnotherReplicaOnce(t *testing.T) {
	for why, c := range map[string]struct {
		want  string
		lines []string
	}{
		"once":  {"", []string{line(0, "create", "a"), line(1, "create", "b"), line(1, "patch", "a")}},
		"never": {"no namespace passed", []string{line(0, "create", "a"), line(1, "create", "b")}},
		"back":  {"a passed from hand to hand 2 times", []string{line(0, "create", "a"), line(1, "create", "b"), line(1, "patch", "a"), line(0, "patch", "a")}},
	} {
		w, err := heard(t, c.lines...)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.passedOnce(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", why, err, c.want)
		}
	}
}
