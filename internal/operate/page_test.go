package operate

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A block is code that a page shows, under a heading.
type block struct{ page, heading, text string }

// blocks are those of a page, in order: lines between fences, or indented by four after an
// empty line. What is indented within a list is no block of ours.
func blocks(page, text string) (found []block) {
	var heading string
	var code []string
	fenced, after := false, true
	end := func() {
		if text := strings.TrimRight(strings.Join(code, "\n"), "\n"); text != "" {
			found = append(found, block{page, heading, text})
		}
		code = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		inner, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
		case fenced:
			code = append(code, line)
		case indented && (after || len(code) > 0):
			code = append(code, inner)
		case line == "" && len(code) > 0:
			code = append(code, "") // it may go on after it
		default:
			end()
			if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
				heading = title
			}
		}
		after = line == ""
	}
	end()
	return found
}

func TestBlocksOfAPage(t *testing.T) {
	got := blocks("p", "# One\n\ntext\n\n    a\n\n      b\n\nmore\n    not code, but a line that goes on\n\n## Two\n```sh\nc\n```\n")
	want := []block{{"p", "One", "a\n\n  b"}, {"p", "Two", "c"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// chapters are the headings under which everything is played.
var chapters = map[string][]string{
	"README.md":         {"Try it", "Install it"},
	"docs/operating.md": {"Install", "Upgrade", "Remove", "Sharing the work"},
}

// commands are the blocks of those chapters.
func commands(t *testing.T) (all []block) {
	t.Helper()
	for _, page := range []string{"README.md", "docs/operating.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(page, string(text)) {
			if slices.Contains(chapters[page], b.heading) {
				all = append(all, b)
			}
		}
	}
	return all
}

func TestEachChapterHasCommands(t *testing.T) {
	all := commands(t)
	for page, headings := range chapters {
		for _, heading := range headings {
			if !slices.ContainsFunc(all, func(b block) bool { return b.page == page && b.heading == heading }) {
				t.Errorf("%s: there is nothing to be played under %q", page, heading)
			}
		}
	}
}
