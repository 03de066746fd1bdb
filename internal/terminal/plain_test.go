package terminal

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func Example() {
	fmt.Println(Plain("build\x1b[2K\rdeploy", ""))
	// Output: build\x1b[2K\rdeploy
}

func TestWhatIsKept(t *testing.T) {
	for text, want := range map[string]string{
		"größer \"als\" 3\\4 ✓": "größer \"als\" 3\\4 ✓",
		"a\tb\nc\x9b2J":         "a\tb\nc\\x9b2J",
		"\u009b2J\u202e\x00":    `\u009b2J\u202e\x00`,
		"�":                     "�", // which is a character of its own
	} {
		if got := Plain(text, "\n\t"); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
	if got := Plain("a\nb", ""); got != `a\nb` {
		t.Errorf("with nothing to keep: %s", got)
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b]0;title\x07", "\xff\xfe", "a\nb\t", "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Plain(text, "\n\t")
		hidden := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Errorf("%q becomes %q", text, got)
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) && got != text {
			t.Errorf("%q has nothing hidden, and becomes %q", text, got)
		}
	})
}
