package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is docs/operating.md.
func page(t *testing.T) string {
	t.Helper()
	return read(t, "docs", "operating.md")
}

// Each kustomization that the page shows can be built, as a user's would be: in a folder
// beside the one of this repository.
func TestKustomizationsOfThePageCanBeBuilt(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "millrace", "manifests"), os.DirFS(tree)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "millrace", "crds"), os.DirFS(filepath.Join(tree, "..", "crds"))); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(folder, "mine")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(page(t), -1) {
		text := regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, "")
		if !strings.Contains(text, "resources: [../millrace/") {
			continue
		}
		n++
		if err := os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		built, err := build(root)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		decoded(t, "a kustomization of the page", built)
		if !bytes.Contains(built, []byte("image: REGISTRY/millrace:TAG")) {
			t.Errorf("the image is not the one of the page:\n%s", text)
		}
		if strings.Contains(text, "managed-by") {
			besideTekton(t, built)
		}
		if strings.Contains(text, "tracing") {
			withACollector(t, built)
		}
		if strings.Contains(text, "namespaced") {
			inItsNamespace(t, built)
		}
		if strings.Contains(text, "runbooks") {
			withLinks(t, built)
		}
	}
	if n != 6 {
		t.Errorf("the page shows %d kustomizations: want 6", n)
	}
}

// withLinks is told of alerts whose link leads nowhere, and of what was needed for them
// and is nothing to install.
func withLinks(t *testing.T, built []byte) {
	t.Helper()
	all, links := bytes.Count(built, []byte(" runbook_url: ")), bytes.Count(built, []byte(" runbook_url: https://GIT/millrace/docs/operating.md#millrace"))
	if all == 0 || links != all || bytes.Contains(built, []byte("name: runbooks")) {
		t.Errorf("of %d alerts %d have a link, or something else is left over", all, links)
	}
}

// withACollector is told of what the component of tracing says in vain: variables of that
// name nobody reads, or one that was there is lost.
func withACollector(t *testing.T, built []byte) {
	t.Helper()
	options, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "TRACING_SAMPLING_RATE_PER_MILLION", "POD_NAME"} {
		if !bytes.Contains(built, []byte("- name: "+name+"\n")) || !bytes.Contains(options, []byte("`"+name+"`")) {
			t.Errorf("%s is not told, or not read", name)
		}
	}
	if !bytes.Contains(built, []byte("- --tracing-endpoint=http://tempo.tracing:4318\n")) || !bytes.Contains(options, []byte("`--tracing-endpoint`")) {
		t.Error("the argument is not told, or not read")
	}
}

// inItsNamespace is told of what stays behind when an install is given another namespace: a
// Role that is bound to nobody there, for one.
func inItsNamespace(t *testing.T, built []byte) {
	t.Helper()
	objects, there := bytes.Count(built, []byte("\nkind: ")), bytes.Count(built, []byte("\n  namespace: team-a\n"))
	if subjects := bytes.Count(built, []byte("\nsubjects:\n")); there != objects+subjects || bytes.Contains(built, []byte("tekton-pipelines")) {
		t.Errorf("of %d objects and %d subjects %d are of the namespace", objects, subjects, there)
	}
}

// besideTekton is told of what stays out of a cluster that is Tekton's, since it is there
// already, and would be gone with us.
func besideTekton(t *testing.T, built []byte) {
	t.Helper()
	for _, kind := range []string{"CustomResourceDefinition", "Namespace", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if bytes.Contains(built, []byte("\nkind: "+kind+"\n")) {
			t.Errorf("beside Tekton there is a %s", kind)
		}
	}
	for _, arg := range []string{"--managed-by=millrace.dev/controller", "--webhook-bind-address="} {
		if !bytes.Contains(built, []byte("- "+arg+"\n")) {
			t.Errorf("beside Tekton the controller is not told %s", arg)
		}
	}
}

// The formula for memory is made of what was measured last.
func TestTheFormulaHasTheMeasuredBytes(t *testing.T) {
	measured := read(t, "docs", "performance.md")
	if found := regexp.MustCompile(`(?m)^\| heap-packed-pipelinerun-new \| (\S+)`).FindStringSubmatch(measured); found == nil ||
		!strings.Contains(page(t), "they take "+found[1]+" bytes\n(`heap-packed-pipelinerun-new`)") {
		t.Errorf("heap-packed-pipelinerun-new is %v, and docs/operating.md says something else", found)
	}
	for _, row := range []string{
		"heap-plain-pod", "heap-plain-taskrun", "heap-plain-pipelinerun", "heap-packed-pod", "heap-packed-taskrun", "heap-packed-pipelinerun",
	} {
		found := regexp.MustCompile(`(?m)^\| ` + row + ` \| (\S+)`).FindStringSubmatch(measured)
		if found == nil {
			t.Fatalf("docs/performance.md has no row %s", row)
		}
		told := regexp.MustCompile(`(?m)^\| [^|]* \| ` + found[1] + " \\| `" + row + "` \\|$")
		if !told.MatchString(page(t)) {
			t.Errorf("%s is %s, and docs/operating.md goes by another number", row, found[1])
		}
	}
}

// The formula for CPU refers to rows by their titles in the table of make bench-scale, and
// to what the Deployment asks for.
func TestTheFormulaForCPUNamesRowsThatAreThere(t *testing.T) {
	_, chapter, _ := strings.Cut(page(t), "\n## How much CPU\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	chapter = strings.Join(strings.Fields(chapter), " ")
	rows := read(t, "internal", "scale", "table.go")
	for _, title := range []string{"… for each TaskRun", "TaskRuns a second", "the controller's CPU time"} {
		if !strings.Contains(rows, `"`+title+`"`) || !strings.Contains(chapter, "*"+title+"*") {
			t.Errorf("no row is called %q, or the page refers to none", title)
		}
	}
	asked := regexp.MustCompile(`requests: \{cpu: (\w+),`).FindStringSubmatch(read(t, "manifests", "base", "deployment.yaml"))
	if asked == nil || !strings.Contains(chapter, "asks for "+asked[1]+",") {
		t.Errorf("the Deployment asks for %v of CPU, and the page says something else", asked)
	}
}

// read is a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
