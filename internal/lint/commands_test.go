package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a page says to type can be typed: in a block, or in a line of text. Targets of make
// in a line of text are looked at in TestNamesInPagesAreThere.
var (
	block      = regexp.MustCompile(`(?m)^ {4,}(\S.*)$`)
	target     = regexp.MustCompile(`(?:^|&& |… |[A-Z_]+=\S+ )make(?: +[A-Z_]+=\S+)* +([a-z][a-z0-9-]*)`)
	folder     = regexp.MustCompile(`\bgo (?:(?:run|test|build|vet) )?-C (\S+)|\bgo (?:run|test|build|vet) (?:-\S+ )*\./(\S+)`)
	applied    = regexp.MustCompile(`\bkubectl (?:apply|create|delete|diff) -[fk] ([^\s.][^\s:]*)(?:\s|$)`)
	subcommand = regexp.MustCompile(`(?:^|&& )millrace ([a-z]+)(?:\s|$)`)
	defined    = regexp.MustCompile(`Use:\s+"([a-z]+)`)
)

func TestCommandsInPagesAreThere(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	subcommands := map[string]bool{"completion": true, "help": true} // cobra's own
	for name, text := range sources(t, ".go") {
		if filepath.Dir(name) == "." {
			for _, m := range defined.FindAllStringSubmatch(text, -1) {
				subcommands[m[1]] = true
			}
		}
	}
	found := map[string]int{}
	for name, text := range sources(t, ".md") {
		for _, line := range typed(text) {
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				found["make"]++
				if !strings.Contains(string(makefile), "\n"+m[1]+":") {
					t.Errorf("%s: make has no %s", name, m[1])
				}
			}
			for _, m := range folder.FindAllStringSubmatch(line, -1) {
				found["go"]++
				there(t, name, strings.TrimSuffix(m[1]+m[2], "/..."))
			}
			for _, m := range applied.FindAllStringSubmatch(line, -1) {
				found["kubectl"]++
				there(t, name, m[1])
			}
			for _, m := range subcommand.FindAllStringSubmatch(line, -1) {
				found["millrace"]++
				if !subcommands[m[1]] {
					t.Errorf("%s: millrace has no command %s", name, m[1])
				}
			}
		}
	}
	for _, program := range []string{"make", "go", "kubectl", "millrace"} {
		if found[program] == 0 {
			t.Errorf("no command of %s was found", program)
		}
	}
}

// typed are the lines of a page that somebody may type: of blocks, and code in text.
func typed(page string) []string {
	var lines []string
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		lines = append(lines, m[1])
	}
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		if kind := strings.TrimSpace(m[1]); kind == "" || kind == "sh" || kind == "console" {
			lines = append(lines, strings.Split(m[2], "\n")...)
		}
	}
	for _, m := range ticked.FindAllStringSubmatch(prose(page), -1) {
		lines = append(lines, m[1])
	}
	return lines
}

// there reports a path of this repository that is not.
func there(t *testing.T, page, path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
		t.Errorf("%s: there is no %s", page, path)
	}
}

// A pattern that finds nothing would pass.
func TestCommandsAreFound(t *testing.T) {
	page := "Type `millrace why ci/x`:\n\n    KUBECONFIG=… make demo IMAGE=x\n    make image && go -C internal/image run . push\n\n" +
		"```sh\ngo test ./examples/foo/...\nkubectl apply -k crds\n```\n"
	for pattern, want := range map[*regexp.Regexp]string{
		target: "demo image", folder: "internal/image examples/foo/...", applied: "crds", subcommand: "why",
	} {
		var got []string
		for _, line := range typed(page) {
			for _, m := range pattern.FindAllStringSubmatch(line, -1) {
				got = append(got, strings.Join(m[1:], ""))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s finds %q, want %q", pattern, got, want)
		}
	}
}
