// Package verdicts plays the tables of crds/validation to somebody else who judges the
// same objects: a reconciler, which never trusts that admission ran.
//
//	crds/validation/testdata/*.txt ──object, verdict──▶ a reconciler's test ──▶ the same?
package verdicts

import (
	"os"
	"strings"
	"testing"
)

// A Verdict is what admission says of an object, as far as a run can tell.
type Verdict string

// The three: it is refused; it is accepted, and a warning says that its run will fail; it
// is accepted, and its run begins.
const (
	Refused Verdict = "refused"
	Fails   Verdict = "fails"
	Begins  Verdict = "begins"
)

// enough of each verdict have to be tried, or the tables have gone.
const enough = 10

// Play calls judge with each object of some tables, as YAML, and what admission says of
// it. except has the beginnings of those on which the two may differ, with the reason;
// one that begins no object is an error.
func Play(t *testing.T, tables []string, except map[string]string, judge func(t *testing.T, object string, says Verdict)) {
	t.Helper()
	tried, used := map[Verdict]int{}, map[string]bool{}
	for _, name := range tables {
		table, err := os.ReadFile("../../crds/validation/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(table), "\n\n") {
			object, said, _ := strings.Cut(block, "\n----\n")
			if beginning := excepted(object, except); beginning != "" {
				used[beginning] = true
				continue
			}
			says := verdictOf(said)
			tried[says]++
			judge(t, object, says)
		}
	}
	for _, v := range []Verdict{Refused, Fails, Begins} {
		if tried[v] < enough {
			t.Errorf("only %d objects were tried of which admission says: %s", tried[v], v)
		}
	}
	for beginning := range except {
		if !used[beginning] {
			t.Errorf("no object begins so, and needs an exception: %s", beginning)
		}
	}
}

func excepted(object string, except map[string]string) string {
	for beginning := range except {
		if strings.HasPrefix(object, beginning) {
			return beginning
		}
	}
	return ""
}

func verdictOf(said string) Verdict {
	switch {
	case strings.Contains(said, "refused "):
		return Refused
	case strings.Contains(said, "the run will fail"):
		return Fails
	default:
		return Begins
	}
}
