//go:build !race

// The race detector takes many times as long, and says nothing of how long it takes.

package webhook

import (
	"testing"
	"time"
)

// What BenchmarkAdmissionAtTheCaps measures is bounded here, by what a user would notice:
// a second. Of several the fastest counts, since a machine may have something else to do.
func TestAdmissionAtTheCapsTakesNoSecond(t *testing.T) {
	h := NewHandler(Config{})
	for _, path := range []string{PathDefault, PathValidate} {
		fastest := time.Hour
		for range 5 {
			began := time.Now()
			if r := ask(t, h, path, review{kind: "PipelineRun", object: caps()}); !r.Allowed {
				t.Fatalf("%s: %+v", path, r.Result)
			}
			fastest = min(fastest, time.Since(began))
		}
		if fastest > time.Second {
			t.Errorf("%s took %s", path, fastest)
		}
	}
}
