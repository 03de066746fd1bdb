package validation

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

var update = flag.Bool("update", false, "write what was said into the tables")

// The tables in testdata are a sentence, an object, and what was said of it:
//
//	# Steps are not called the same.
//	spec: {steps: [{name: a, image: i}, {name: a, image: i}]}
//	----
//	refused spec.steps[1].name: …
//
// A table of updates has the old object and the new one, with "=>" between them. What
// an object has in options: are Options, for that object.
func TestTables(t *testing.T) {
	for file, say := range map[string]func(t *testing.T, text string) (field.ErrorList, []string){
		"task.txt":          saidOf(Task, func(o Options) func(*crds.Task) { return o.Defaults.Task }),
		"variables.txt":     saidOf(Task, func(o Options) func(*crds.Task) { return o.Defaults.Task }),
		"stepaction.txt":    saidOf(StepAction, func(o Options) func(*crds.StepAction) { return o.Defaults.StepAction }),
		"taskrun.txt":       saidOf(TaskRun, func(o Options) func(*crds.TaskRun) { return o.Defaults.TaskRun }),
		"taskrunupdate.txt": saidOfUpdate(TaskRunUpdate),
	} {
		t.Run(file, func(t *testing.T) { playTable(t, filepath.Join("testdata", file), say) })
	}
}

func playTable(t *testing.T, file string, say func(t *testing.T, text string) (field.ErrorList, []string)) {
	t.Helper()
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var played strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(string(table), "\n"), "\n\n") {
		text, _, _ := strings.Cut(block, "\n----\n")
		if played.Len() > 0 {
			played.WriteString("\n")
		}
		played.WriteString(text + "\n----\n" + printed(say(t, text)))
	}
	if *update {
		if err := os.WriteFile(file, []byte(played.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if played.String() != string(table) {
		t.Errorf("%s says something else; -update writes this:\n%s", file, played.String())
	}
}

func printed(errs field.ErrorList, warnings []string) string {
	var out strings.Builder
	for _, err := range errs {
		out.WriteString("refused " + err.Error() + "\n")
	}
	for _, warning := range warnings {
		out.WriteString("warned " + warning + "\n")
	}
	if out.Len() == 0 {
		return "accepted\n"
	}
	return out.String()
}

func optionsIn(t *testing.T, text string) Options {
	t.Helper()
	var in struct {
		Options struct {
			Alpha, ParamEnum, CEL, Strict bool
			ForbiddenEnv, Resolvers       []string
		}
	}
	parse(t, text, &in)
	o := Options{Alpha: in.Options.Alpha, ParamEnum: in.Options.ParamEnum, CEL: in.Options.CEL, Strict: in.Options.Strict, ForbiddenEnv: in.Options.ForbiddenEnv}
	if in.Options.Resolvers != nil {
		o.Resolver = func(name string) bool { return strings.Contains(strings.Join(in.Options.Resolvers, " "), name) }
	}
	return o
}

// Each error names a field and says, after what is wrong, what to do; those about a choice
// of values list them, and those about something missing say nothing else.
func TestEveryErrorSaysWhatToDo(t *testing.T) {
	tables, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`^refused (spec|metadata)[.\w\[\]/-]*: (Invalid value: .+[:,;] .+|Forbidden: .+: .+|Required value: .+|Unsupported value: .+: supported values: .+)$`)
	for _, file := range tables {
		table, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "refused ") && !said.MatchString(line) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// saidOf judges an object, and the same with its defaults filled in, of which nothing
// else may be said.
func saidOf[T any](judge func(*T, Options) (field.ErrorList, []string), fill func(Options) func(*T)) func(t *testing.T, text string) (field.ErrorList, []string) {
	return func(t *testing.T, text string) (field.ErrorList, []string) {
		t.Helper()
		o := optionsIn(t, text)
		var object T
		parse(t, text, &object)
		before := jsonOf(t, object)
		errs, warnings := judge(&object, o)
		if after := jsonOf(t, object); after != before {
			t.Errorf("judging changed\n%s\nto\n%s", before, after)
		}
		fill(o)(&object)
		if filled := printed(judge(&object, o)); filled != printed(errs, warnings) {
			t.Errorf("with defaults this is said of\n%s:\n%s", text, filled)
		}
		return errs, warnings
	}
}

func saidOfUpdate[T any](judge func(now, old *T, o Options) field.ErrorList) func(t *testing.T, text string) (field.ErrorList, []string) {
	return func(t *testing.T, text string) (field.ErrorList, []string) {
		t.Helper()
		before, after, ok := strings.Cut(text, "\n=>\n")
		if !ok {
			t.Fatalf("no => in\n%s", text)
		}
		var old, now T
		parse(t, before, &old)
		parse(t, after, &now)
		return judge(&now, &old, optionsIn(t, before)), nil
	}
}

func jsonOf(t *testing.T, object any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What a parameter stands for is judged once it is there; an expression is decided by
// who runs it.
func TestResolvedTask(t *testing.T) {
	for spec, want := range map[string]string{
		"steps: [{image: i, onError: $(params.x)}]":                           "refused spec.taskSpec.steps[0].onError: Unsupported value: \"$(params.x)\": supported values: \"continue\", \"stopAndFail\"\n",
		"steps: [{image: i, when: [{cel: \"$(context.task.retry-count)\"}]}]": "accepted\n",
		"steps: [{image: i, script: \"$(params.none)\"}]":                     "accepted\n", // it is a value that looks so
		"steps: [{image: i}], results: [{name: r, value: \"\"}]":              "refused spec.taskSpec.results[0].value: Invalid value: \"\": it is not the result of a step: write $(steps.<step>.results.<result>)\n",
	} {
		var task crds.TaskSpec
		parse(t, "{"+spec+"}", &task)
		if got := printed(ResolvedTask(&task, field.NewPath("spec", "taskSpec"), Options{CEL: true}), nil); got != want {
			t.Errorf("%s:\n got %swant %s", spec, got, want)
		}
	}
}
