//go:build e2e

package operate

import (
	"slices"
	"strings"
	"testing"
)

// A reader has nothing but the pages: each block is typed as it stands there, with names of
// an image for the placeholders, and crossed off.
type reader struct {
	t       *testing.T
	dir     string // a checkout; the pages' commands are run in it
	replace []string
	left    *[]block
	applies *int // how often kubectl apply was typed
}

// in is the reader with another checkout, and another image's tag.
func (r reader) in(dir, tag string) reader {
	r.dir = dir
	r.replace = append(slices.Clone(r.replace), "TAG", tag)
	return r
}

// take is the next block under a heading that begins so, crossed off, with its
// placeholders replaced.
func (r reader) take(page, heading, begins string) string {
	r.t.Helper()
	i := slices.IndexFunc(*r.left, func(b block) bool {
		return b.page == page && b.heading == heading && strings.HasPrefix(b.text, begins)
	})
	if i < 0 {
		r.t.Fatalf("%s has nothing (more) under %q that begins with %q", page, heading, begins)
	}
	text := (*r.left)[i].text
	*r.left = slices.Delete(*r.left, i, i+1)
	return text
}

// words are a block as it is typed.
func (r reader) words(text string) string { return strings.NewReplacer(r.replace...).Replace(text) }

// play types a block, line by line. No apply may draw a warning.
func (r reader) play(text string) {
	r.t.Helper()
	for line := range strings.Lines(r.words(text)) {
		line = strings.TrimSpace(line)
		sayf("$ %s", line)
		s := shell(r.t, r.dir, line)
		if s.err != nil && !(strings.HasPrefix(line, "kubectl diff") && s.code == 1) { // which says that something differs
			r.t.Fatalf("%s: %v\n%s\n%s", line, s.err, s.out, s.complaints)
		}
		if strings.HasPrefix(line, "kubectl apply") {
			*r.applies++
			if w := s.warnings(); len(w) > 0 {
				r.t.Errorf("%s: %d warnings:\n%s", line, len(w), strings.Join(w, "\n"))
			}
		}
	}
}
