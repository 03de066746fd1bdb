package taskrun

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPiecesAreWholeAndLegal(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("ä", 1000), strings.Repeat("a€b", 700), strings.Repeat("😀", 333), strings.Repeat("x", 4096)} {
		for _, size := range []int{4, 5, 7, 64, 4096} {
			parts := pieces(text, size)
			if strings.Join(parts, "") != text {
				t.Fatalf("%d bytes in pieces of %d are not the text", len(text), size)
			}
			for _, part := range parts {
				if len(part) > size || !utf8.ValidString(part) {
					t.Errorf("piece of %d bytes, at most %d, valid %v", len(part), size, utf8.ValidString(part))
				}
			}
		}
	}
}

func TestScriptHasAnInterpreter(t *testing.T) {
	for script, want := range map[string]string{
		"echo":                        "#!/bin/sh\nset -e\necho",
		"#!/bin/bash\necho":           "#!/bin/bash\necho",
		"\n  \n#!/bin/bash\necho\n":   "#!/bin/bash\necho\n",
		"\n\n# no\n#!/bin/bash\necho": "#!/bin/sh\nset -e\n\n\n# no\n#!/bin/bash\necho",
	} {
		if got := withInterpreter(script); got != want {
			t.Errorf("%q became %q, want %q", script, got, want)
		}
	}
}

// kubelet is how Kubernetes expands $(NAME) in args: $$ is a dollar, and a
// reference to a variable that the container has not stays.
func kubelet(arg string) string {
	var out strings.Builder
	for i := 0; i < len(arg); i++ {
		if strings.HasPrefix(arg[i:], "$$") {
			out.WriteByte('$')
			i++
			continue
		}
		if strings.HasPrefix(arg[i:], "$(HOME)") {
			out.WriteString("/root")
			i += len("$(HOME)") - 1
			continue
		}
		out.WriteByte(arg[i])
	}
	return out.String()
}

func FuzzScriptSurvivesKubelet(f *testing.F) {
	for _, seed := range []string{"echo $HOME $(HOME) $$ $$$(HOME)", "$", "$$", "#!/bin/sh\necho $(date)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if got := kubelet(escape(script)); got != script {
			t.Errorf("%q arrives as %q", script, got)
		}
	})
}
