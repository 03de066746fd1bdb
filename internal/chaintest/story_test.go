package chaintest_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/chaintest"
)

// Each story is played, and is to come out as it is written down.
func TestStoriesAreTrue(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(stories) < 20 {
		t.Fatalf("%d stories, %v", len(stories), err)
	}
	for _, story := range stories {
		t.Run(filepath.Base(story), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				w := chaintest.New(synctest.Wait)
				over := make(chan error)
				go func() { over <- w.Run(ctx) }()
				defer func() {
					stop()
					if err := <-over; err != nil {
						t.Error(err)
					}
				}()
				datadriven.RunTestAny(t, story, player(ctx, w))
			})
		})
	}
}

// player does each command of a story.
func player(ctx context.Context, w *chaintest.World) func(testing.TB, *datadriven.TestData) string {
	return func(tb testing.TB, d *datadriven.TestData) string {
		tb.Helper()
		out, err := w.Do(ctx, chaintest.CommandOf(d.Cmd, d.CmdArgs))
		if err != nil {
			d.Fatalf(tb, "%v", err)
		}
		return out
	}
}
