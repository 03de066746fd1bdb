package lint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The page that shows how a resource is added shows it as a diff. It applies to the
// main.go of today, and what comes of it compiles.
func TestTheDiffThatAddsAResourceCompiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-a-resource.md")
	if err != nil {
		t.Fatal(err)
	}
	var diff string
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		if block[1] == "diff" {
			diff = block[2]
		}
	}
	added := 0
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			added++
		}
	}
	if added == 0 || added >= 30 {
		t.Errorf("the diff adds %d lines: want some, and fewer than 30", added)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	was, err := os.ReadFile(filepath.Join(root, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), was, 0o600); err != nil {
		t.Fatal(err)
	}
	apply := exec.CommandContext(t.Context(), "git", "apply", "--recount", "-")
	apply.Dir, apply.Stdin = dir, strings.NewReader(diff)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "main.go"): filepath.Join(dir, "main.go")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "-overlay", filepath.Join(dir, "overlay.json"), ".") // which compiles, and does not link
	vet.Dir = root
	if out, err := vet.CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
}
