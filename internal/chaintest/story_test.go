package chaintest_test

import (
	"context"
	"path/filepath"
	"strings"
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
	return func(t testing.TB, d *datadriven.TestData) string {
		t.Helper()
		out, err := w.Do(ctx, command(d))
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return out
	}
}

func command(d *datadriven.TestData) chaintest.Command {
	c := chaintest.Command{Verb: d.Cmd}
	for _, a := range d.CmdArgs {
		c.Args = append(c.Args, chaintest.Arg{Key: a.Key, Value: strings.Join(a.Vals, ",")})
	}
	return c
}
