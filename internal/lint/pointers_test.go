package lint

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// `merge` in [workqueue/state.go](workqueue/state.go): a name, and where it is. Whoever
// has never seen the code finds it by these, or does not. In the README that is where it
// is declared.
var pointed = regexp.MustCompile("`([A-Za-z]\\w*)` in \\[[^\\]]*\\]\\(([^)\\s]+\\.go)\\)")

func TestWhatPagesPointAtIsThere(t *testing.T) {
	inReadme, code := 0, sources(t, ".go")
	for name, text := range sources(t, ".md") {
		for _, at := range pointed.FindAllStringSubmatch(prose(text), -1) {
			file := path.Join(path.Dir(name), at[2])
			if !regexp.MustCompile(`\b` + at[1] + `\b`).MatchString(code[file]) {
				t.Errorf("%s: %s has no %s", name, file, at[1])
			}
			if name == "README.md" {
				inReadme++
				if !declaredIn(t, file)[at[1]] {
					t.Errorf("the README: %s does not declare %s", file, at[1])
				}
			}
		}
	}
	if inReadme < 10 {
		t.Errorf("the README points at %d places", inReadme)
	}
}

// declaredIn are the functions, methods and types of a file, a method by its bare name.
func declaredIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	whole, names := map[string]bool{}, map[string]bool{}
	for _, d := range parsed.Decls {
		declare(whole, d)
	}
	for name := range whole {
		names[name[strings.LastIndex(name, ".")+1:]] = true
	}
	return names
}

// What the README leads a newcomer to in a minute, question by question.
func TestTheReadmeAnswersWhatANewcomerAsks(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for question, answer := range map[string]string{
		"where is a 410 handled?":                       "`afterExpiry` in [reflector/state.go](reflector/state.go)",
		"where does the queue decide that a key waits?": "`merge` in [workqueue/state.go](workqueue/state.go)",
		"what is stored for one pod?":                   "`Object` in [wire/object.go](wire/object.go)",
		"why was this TaskRun reconciled?":              "`millrace why NAMESPACE/NAME`",
		"how do I add a resource?":                      "(docs/adding-a-resource.md)",
	} {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(question) + ` \|.*$`).FindString(string(readme))
		if !strings.Contains(row, answer) {
			t.Errorf("%s\nis answered by %q, want %s", question, row, answer)
		}
	}
}

func TestEachQuestionLeadsIntoCodeOrStory(t *testing.T) {
	page, err := os.ReadFile("../../docs/questions.md")
	if err != nil {
		t.Fatal(err)
	}
	questions := regexp.MustCompile(`(?ms)^\*\*([^*]+[.?])\*\*(.*?)(?:\n\n|\z)`).FindAllStringSubmatch(string(page), -1)
	for _, q := range questions {
		if !strings.Contains(q[2], "](../") {
			t.Errorf("%s\nhas an answer without a link into code or story", q[1])
		}
	}
	if len(questions) != 30 {
		t.Errorf("there are %d questions", len(questions))
	}
}

// docs/client-go.md names functions, fields and gates of client-go. Each of them is in
// the version that go.mod has, or is ours, or is one of these, of modules that it does
// not have.
var elsewhere = map[string]string{
	"EnqueueRequestForObject": "controller-runtime", "GenericEvent": "controller-runtime", "MaxConcurrentReconciles": "controller-runtime",
	"RecoverPanic": "controller-runtime", "TerminalError": "controller-runtime", "EnableReadYourWritesConsistency": "controller-runtime",
	"Predicate": "controller-runtime", "MatchEveryOwner": "controller-runtime", "EnqueueRequestForOwner": "controller-runtime",
}

func TestNamesOfClientGoAreThere(t *testing.T) {
	page, err := os.ReadFile("../../docs/client-go.md")
	if err != nil {
		t.Fatal(err)
	}
	known := words(t)
	identifier, found := regexp.MustCompile(`^(?:[A-Za-z]+\.)?([A-Za-z_]*[a-z][A-Z]\w*)(?:\[T\])?(?:\(\).*)?$`), 0
	for _, tick := range ticked.FindAllStringSubmatch(prose(string(page)), -1) {
		m := identifier.FindStringSubmatch(tick[1])
		if m == nil {
			continue
		}
		found++
		if !known[m[1]] && elsewhere[m[1]] == "" {
			t.Errorf("docs/client-go.md speaks of %s, which nobody has (any more)", m[1])
		}
	}
	if found < 60 {
		t.Errorf("only %d names were found", found)
	}
}

// words are all words of client-go's and apimachinery's sources that the page is about, and of ours.
func words(t *testing.T) map[string]bool {
	t.Helper()
	known, word := map[string]bool{}, regexp.MustCompile(`\w+`)
	learn := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			known[w] = true
		}
	}
	for _, text := range sources(t, ".go") {
		learn(text)
	}
	for module, folders := range map[string][]string{
		"k8s.io/client-go":    {"tools/cache", "tools/leaderelection", "util/workqueue", "features", "informers"},
		"k8s.io/apimachinery": {"pkg/util/wait", "pkg/apis/meta/v1"},
	} {
		dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), folder, "*.go"))
			if len(files) == 0 {
				t.Fatalf("%s has no %s", module, folder)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				learn(string(text))
			}
		}
	}
	return known
}
