package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/chaintest"
)

// What is written down is what the stages say (-rewrite writes it anew).
func TestTheStoryIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var w *chaintest.World
		w = chaintest.New(func() { wait(ctx, w.CaughtUp); synctest.Wait() })
		over := make(chan error)
		go func() { over <- w.Run(ctx) }()
		datadriven.RunTestAny(t, "life.txt", func(tb testing.TB, d *datadriven.TestData) string {
			tb.Helper()
			said, err := w.Do(ctx, chaintest.CommandOf(d.Cmd, d.CmdArgs))
			if err != nil {
				d.Fatalf(tb, "%v", err)
			}
			return said
		})
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// And they say the same where nobody but the clock waits for the stages: wait asks whether
// they have caught up.
func TestTheTourSaysWhatIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, written := played(t, life), textOf(t)
		if said != written {
			t.Errorf("the tour:\n%s\nwritten down:\n%s", said, written)
		}
	})
}

// In real time, over the same pipes, wait has to be as patient as synctest is. From where the
// server is away the reflector goes by the clock, and so would the test.
func TestInRealTimeItSaysTheSameWhileTheServerIsThere(t *testing.T) {
	begins, _, away := strings.Cut(life, "server down\n----\n")
	begins = begins[:strings.LastIndex(begins, "\n\n")]
	if said := played(t, begins); !away || !strings.HasPrefix(textOf(t), said) {
		t.Errorf("the tour:\n%s\nwritten down:\n%s", said, textOf(t))
	}
}

// played is what the tour says of a story.
func played(t *testing.T, story string) string {
	t.Helper()
	var out strings.Builder
	if err := (stage{out: &out}).play(t.Context(), story); err != nil {
		t.Fatal(err)
	}
	return words(out.String())
}

// textOf is what is written down.
func textOf(t *testing.T) string {
	t.Helper()
	written, err := os.ReadFile("life.txt")
	if err != nil {
		t.Fatal(err)
	}
	return words(string(written))
}

// Who steps through it may think as long as he likes: there is no stop where the clock
// would go on with the story.
func TestWhoeverStepsHearsTheSame(t *testing.T) {
	var out strings.Builder
	thinking := &thoughtful{out: &out}
	if err := (stage{out: &out, enter: bufio.NewReaderSize(thinking, 16)}).play(t.Context(), life); err != nil {
		t.Fatal(err)
	}
	for _, seen := range thinking.seen {
		if strings.Contains(seen[strings.LastIndex(seen, "›"):], "server down") {
			t.Error("it stops while the server is away")
		}
	}
	scenes, err := read(life)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(thinking.seen); n < 10 || n >= len(scenes)-1 {
		t.Errorf("it stopped %d times in %d scenes", n, len(scenes))
	}
}

// thoughtful presses Enter, and keeps what there was to see when he did.
type thoughtful struct {
	out  *strings.Builder
	seen []string
}

func (r *thoughtful) Read(p []byte) (int, error) {
	r.seen = append(r.seen, r.out.String())
	p[0] = '\n'
	return 1, nil
}

// words are those of a story, without what only one of the two forms has.
func words(story string) string {
	story = strings.NewReplacer("# ", "", "› ", "", "----\n", "").Replace(story)
	return strings.Join(strings.Fields(story), " ")
}

func TestAStoryThatCannotBeReadIsAnError(t *testing.T) {
	for _, story := range []string{"", "# only words\n", "show queue=(a\n----\n"} {
		if _, err := read(story); err == nil {
			t.Errorf("%q was read", story)
		}
	}
	if err := (stage{out: new(strings.Builder)}).play(t.Context(), "dance taskrun/a\n----\n"); err == nil || !strings.Contains(err.Error(), `no command "dance"`) {
		t.Errorf("%v", err)
	}
}
