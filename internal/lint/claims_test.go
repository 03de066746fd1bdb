package lint

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Package docs number their claims and name a test for each, and so do the pages
// in docs. A name that leads nowhere is a claim that nobody tests any more.

var (
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
	// A claim names a test of its own package, or package.TestName, where the
	// package is a path below the module.
	claimed = regexp.MustCompile(`(?:\b([a-z][a-z/-]*)\.)?\b((?:Test|Fuzz|Benchmark)[A-Z]\w*|Example[A-Z_]\w*)`)
)

// sources are the files of this repository whose names end so, by their paths.
func sources(t *testing.T, suffix string) map[string]string {
	t.Helper()
	repository := os.DirFS("../..")
	found := map[string]string{}
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, suffix):
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tests are those of each package.
func tests(t *testing.T) map[string]map[string]bool {
	t.Helper()
	of := map[string]map[string]bool{}
	for name, text := range sources(t, "_test.go") {
		in := path.Dir(name)
		if of[in] == nil {
			of[in] = map[string]bool{}
		}
		for _, f := range declared.FindAllStringSubmatch(text, -1) {
			of[in][f[1]] = true
		}
	}
	return of
}

func TestPackageDocsNameTestsOfTheirPackage(t *testing.T) {
	of := tests(t)
	for name, text := range sources(t, "doc.go") {
		for _, claim := range claimed.FindAllStringSubmatch(text, -1) {
			in := path.Dir(name)
			switch claim[1] {
			case "":
			case "main":
				in = "."
			default:
				in = claim[1]
			}
			if !of[in][claim[2]] {
				t.Errorf("%s: there is no %s in %s", name, claim[2], in)
			}
		}
	}
}

func TestPagesNameTestsThatAreThere(t *testing.T) {
	of := tests(t)
	anywhere := map[string]bool{}
	for _, in := range of {
		for test := range in {
			anywhere[test] = true
		}
	}
	for name, text := range sources(t, ".md") {
		for _, claim := range claimed.FindAllStringSubmatch(text, -1) {
			in, test := claim[1], claim[2]
			if in == "" && !anywhere[test] || in != "" && !of[in][test] {
				t.Errorf("%s: there is no %s", name, claim[0])
			}
		}
	}
}

// A pattern that finds nothing would pass.
func TestClaimsAreFound(t *testing.T) {
	of := tests(t)
	n := 0
	for _, text := range sources(t, "doc.go") {
		n += len(claimed.FindAllString(text, -1))
	}
	if n < 100 || !of["internal/lint"]["TestClaimsAreFound"] {
		t.Errorf("package docs name %d tests, of %d packages with tests", n, len(of))
	}
	for text, want := range map[string]string{
		"(TestOne, FuzzTwo)": "TestOne FuzzTwo", "`a/b-c.TestThree`": "a/b-c.TestThree",
		"Test… is a test; Testing; testing.T": "", "ExampleQueue_Drain": "ExampleQueue_Drain", "one Example": "",
	} {
		if got := strings.Join(claimed.FindAllString(text, -1), " "); got != want {
			t.Errorf("%q claims %q, want %q", text, got, want)
		}
	}
}
