package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace/internal/settings"
)

// The tables of docs/configuration.md are those of the program, row by row.
func TestTheTablesOfTheDocsAreThoseOfTheProgram(t *testing.T) {
	const page = "docs/configuration.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := inPlace(t, string(raw), "options", optionsTable())
	text = inPlace(t, text, "settings", settingsTable())
	if text == string(raw) {
		return
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s has other tables than the program (go test -update writes them)", page)
}

// inPlace puts a table between the marks of its name.
func inPlace(t *testing.T, text, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("there is no place for %s", name)
	}
	return before + begin + table + end + after
}

func optionsTable() string {
	var b strings.Builder
	b.WriteString("| flag | variable | field of the file | type | default | |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range new(config).rows() {
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s | %s | %s |\n", r.flag, r.env, code(r.field), r.to.Type(), code(r.to.String()), r.help)
	}
	return b.String()
}

func settingsTable() string {
	var b strings.Builder
	for _, name := range settings.Names() {
		fmt.Fprintf(&b, "| `%s` | type | default | what it changes | takes effect |\n| --- | --- | --- | --- | --- |\n", name)
		for _, k := range settings.Keys() {
			if k.ConfigMap == name {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.Type(), code(k.Text()), k.Help, k.Effect)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
