package main_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"millrace/crds"
)

// A row of the table in docs/tekton.md: fields of one type, and what shows what
// becomes of them.
type row struct {
	kind    string
	fields  []string
	verdict string
	shownBy string
}

var rowPattern = regexp.MustCompile("(?m)^\\| ([A-Z]\\w+): ((?:`\\w+` ?)+) \\| ([^|]+) \\|[^|]*\\| `([^`]+)` \\|$")

func rowsOfDocs(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("docs/tekton.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, match := range rowPattern.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, row{match[1], strings.Fields(strings.ReplaceAll(match[2], "`", " ")), match[3], match[4]})
	}
	return rows
}

// Every field of the API has one row in docs/tekton.md, and a row has no field
// that is not there: the table cannot go stale.
func TestEveryFieldHasARow(t *testing.T) {
	want := map[string]bool{}
	for _, kind := range []reflect.Type{
		reflect.TypeFor[crds.Task](), reflect.TypeFor[crds.TaskRun](), reflect.TypeFor[crds.StepAction](),
		reflect.TypeFor[crds.Pipeline](), reflect.TypeFor[crds.PipelineRun](), reflect.TypeFor[crds.CustomRun](), reflect.TypeFor[crds.ResolutionRequest](),
	} {
		collectFields(kind, want)
	}
	got := map[string]bool{}
	for _, r := range rowsOfDocs(t) {
		for _, field := range r.fields {
			name := r.kind + "." + field
			switch {
			case got[name]:
				t.Errorf("%s has two rows", name)
			case !want[name]:
				t.Errorf("%s has a row and is no field", name)
			case !slices.Contains([]string{"served", "differs", "not served", "not written"}, r.verdict):
				t.Errorf("%s: %q", name, r.verdict)
			}
			got[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] {
			t.Errorf("%s has no row in docs/tekton.md", name)
		}
	}
}

// What a row says shows its fields does: the story has them in what goes in or in
// what comes out, and the test exists.
func TestRowsAreShown(t *testing.T) {
	tests := testNames(t)
	for _, r := range rowsOfDocs(t) {
		if strings.HasPrefix(r.shownBy, "Test") {
			if !tests[r.shownBy] {
				t.Errorf("%s %v: there is no %s", r.kind, r.fields, r.shownBy)
			}
			continue
		}
		story, err := readStory(r.shownBy)
		if err != nil {
			t.Errorf("%s %v: %v", r.kind, r.fields, err)
			continue
		}
		for _, field := range r.fields {
			if !regexp.MustCompile(`(?m)\b`+field+`\b:`).Match(story) && field != "status" {
				t.Errorf("%s.%s: the story %s does not have it", r.kind, field, r.shownBy)
			}
		}
	}
}

// readStory is what goes into a story and what comes out: of a TaskRun, or of a
// PipelineRun.
func readStory(name string) (text []byte, err error) {
	for _, dir := range []string{"reconcile/taskrun/testdata/stories", "reconcile/pipelinerun/testdata/plans"} {
		in, errIn := os.ReadFile(filepath.Join(dir, name+".yaml"))
		out, errOut := os.ReadFile(filepath.Join(dir, name+".golden"))
		if err = errors.Join(errIn, errOut); err == nil {
			return slices.Concat(in, out), nil
		}
	}
	return nil, err
}

func collectFields(goType reflect.Type, fields map[string]bool) {
	for goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map {
		goType = goType.Elem()
	}
	if goType.Kind() != reflect.Struct || goType.PkgPath() != reflect.TypeFor[crds.Task]().PkgPath() || goType == reflect.TypeFor[crds.ParamValue]() {
		return
	}
	collectFieldsAs(goType.Name(), goType, fields)
}

// collectFieldsAs counts the fields of embedded structs as those of the outer one.
func collectFieldsAs(name string, goType reflect.Type, fields map[string]bool) {
	for field := range goType.Fields() {
		jsonName, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if jsonName == "" && field.Anonymous {
			collectFieldsAs(name, field.Type, fields)
			continue
		}
		if fields[name+"."+jsonName] {
			continue
		}
		fields[name+"."+jsonName] = true
		collectFields(field.Type, fields)
	}
}

// testNames are the tests by which fields are shown.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{".", "entrypoint", "crds", "reconcile/taskrun", "reconcile/pipelinerun", "reconcile/resolution", "internal/settings"} {
		files, err := filepath.Glob(dir + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				names[match[1]] = true
			}
		}
	}
	return names
}
