package conversion

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// read decodes YAML as a server decodes JSON.
func read(tb testing.TB, text string) map[string]any {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		tb.Fatal(err)
	}
	return object
}

func convert(tb testing.TB, object map[string]any, to string) map[string]any {
	tb.Helper()
	converted, err := Convert(object, to)
	if err != nil {
		tb.Fatal(err)
	}
	return stored(tb, converted)
}

// stored is the object as it comes back from a server.
func stored(tb testing.TB, object map[string]any) map[string]any {
	tb.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(raw, &again); err != nil {
		tb.Fatal(err)
	}
	return again
}

func other(version string) string {
	if version == V1 {
		return V1Beta1
	}
	return V1
}

// Each file of testdata is an object of v1beta1 and, after ---, what it is in v1.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			beta, want, _ := strings.Cut(string(text), "\n---\n")
			object := read(t, beta)
			got := convert(t, object, V1)
			if *update {
				writeExample(t, file, beta, got)
				return
			}
			if diff := cmp.Diff(read(t, want), got); diff != "" {
				t.Errorf("in v1 it is (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object, convert(t, got, V1Beta1)); diff != "" {
				t.Errorf("back in v1beta1 it is (-was +is):\n%s", diff)
			}
		})
	}
}

func writeExample(t *testing.T, file, beta string, got map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(beta+"\n---\n"+string(text)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Claim 2, for whatever objects there may be, in both directions.
func TestNothingIsLost(t *testing.T) {
	for _, version := range []string{V1Beta1, V1} {
		there := 0
		for seed := range uint64(700) {
			object, name := seeded(seed, version)
			object = stored(t, object)
			dropEmptyAnnotations(object)
			converted := convert(t, object, other(version))
			back := convert(t, converted, version)
			if diff := cmp.Diff(object, back); diff != "" {
				t.Fatalf("%s of %s, by way of\n%v\n(-was +is):\n%s", name, version, converted, diff)
			}
			if _, ok := annotationOf(converted, (walk{up: version == V1Beta1}).keptThere()); ok {
				there++
			}
		}
		t.Logf("of 700 objects of %s, %d had something that %s has no field for", version, there, other(version))
		if there == 0 {
			t.Errorf("no object of %s had anything to keep: nothing was tried", version)
		}
	}
}

// What a v1 object holds as v1 has it needs no annotation in v1beta1: a client of
// v1beta1 sees an object like any other.
func TestAnOrdinaryObjectOfV1NeedsNoAnnotation(t *testing.T) {
	object := read(t, `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: x}
spec:
  timeouts: {pipeline: 1h, tasks: 30m}
  taskRunTemplate: {serviceAccountName: builder, podTemplate: {nodeSelector: {disk: fast}}}
  taskRunSpecs: [{pipelineTaskName: a, serviceAccountName: other, stepSpecs: [{name: s, computeResources: {limits: {cpu: "1"}}}]}]
  pipelineSpec:
    tasks: [{name: a, taskSpec: {steps: [{image: busybox, computeResources: {}}], sidecars: [{image: s, tty: true}]}}]
status: {results: [{name: r, value: v}], childReferences: [{name: x-a}]}
`)
	beta := convert(t, object, V1Beta1)
	want := read(t, `
apiVersion: tekton.dev/v1beta1
kind: PipelineRun
metadata: {name: x}
spec:
  timeouts: {pipeline: 1h, tasks: 30m}
  serviceAccountName: builder
  podTemplate: {nodeSelector: {disk: fast}}
  taskRunSpecs: [{pipelineTaskName: a, taskServiceAccountName: other, stepOverrides: [{name: s, resources: {limits: {cpu: "1"}}}]}]
  pipelineSpec:
    tasks: [{name: a, taskSpec: {steps: [{image: busybox, resources: {}}], sidecars: [{image: s, tty: true}]}}]
status: {pipelineResults: [{name: r, value: v}], childReferences: [{name: x-a}]}
`)
	if diff := cmp.Diff(want, beta); diff != "" {
		t.Error(diff)
	}
}

// Claim 3.
func TestAnEditWins(t *testing.T) {
	beta := read(t, `
apiVersion: tekton.dev/v1beta1
kind: TaskRun
metadata: {name: x}
spec:
  taskRef: {name: build, bundle: registry/tasks:1}
  taskSpec: {steps: [{name: a, image: i, tty: true}, {name: b, image: i, ports: [{containerPort: 80}]}]}
`)
	cases := []struct {
		name string
		edit func(spec map[string]any)
		want string // spec in v1beta1
	}{
		{"defaults are filled in", func(spec map[string]any) {
			spec["timeout"] = "1h0m0s"
			spec["taskRef"].(map[string]any)["kind"] = "Task"
		}, `
timeout: 1h0m0s
taskRef: {name: build, bundle: registry/tasks:1, kind: Task}
taskSpec: {steps: [{name: a, image: i, tty: true}, {name: b, image: i, ports: [{containerPort: 80}]}]}`},
		{"the bundle is another", func(spec map[string]any) {
			spec["taskRef"].(map[string]any)["params"].([]any)[0].(map[string]any)["value"] = "registry/tasks:2"
		}, `
taskRef: {resolver: bundles, params: [{name: bundle, value: "registry/tasks:2"}, {name: name, value: build}, {name: kind, value: Task}]}
taskSpec: {steps: [{name: a, image: i, tty: true}, {name: b, image: i, ports: [{containerPort: 80}]}]}`},
		{"a step goes", func(spec map[string]any) {
			task := spec["taskSpec"].(map[string]any)
			task["steps"] = task["steps"].([]any)[1:]
		}, `
taskRef: {name: build, bundle: registry/tasks:1}
taskSpec: {steps: [{name: b, image: i, ports: [{containerPort: 80}]}]}`},
		{"a step has another name", func(spec map[string]any) {
			spec["taskSpec"].(map[string]any)["steps"].([]any)[0].(map[string]any)["name"] = "z"
		}, `
taskRef: {name: build, bundle: registry/tasks:1}
taskSpec: {steps: [{name: z, image: i}, {name: b, image: i, ports: [{containerPort: 80}]}]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			object := convert(t, beta, V1)
			c.edit(object["spec"].(map[string]any))
			back := convert(t, object, V1Beta1)
			if diff := cmp.Diff(read(t, c.want), back["spec"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A cluster that Tekton converted in comes with Tekton's annotations. This one is as
// its code writes it: gzip, in base64.
func TestWhatTektonKeptIsPutBack(t *testing.T) {
	events := []any{map[string]any{"target": "http://sink", "status": map[string]any{"retryCount": int64(1)}}}
	text, err := pack(events)
	if err != nil {
		t.Fatal(err)
	}
	object := read(t, "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: x}, spec: {}, status: {podName: p}}")
	setAnnotation(object, "tekton.dev/v1beta1CloudEvents", text)
	back := convert(t, object, V1Beta1)
	want := read(t, "{apiVersion: tekton.dev/v1beta1, kind: TaskRun, metadata: {name: x}, spec: {}, status: {podName: p}}")
	want["status"].(map[string]any)["cloudEvents"] = events
	if diff := cmp.Diff(want, back); diff != "" {
		t.Error(diff)
	}
}

// Anybody may write annotations. What they say is put back inside spec and status
// only, and what is no record of ours is a user's text like any other.
func TestAnnotationsOfStrangers(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprintf(zip, "%q", strings.Repeat("0", unpackLimit)) //nolint:errcheck // into memory
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := base64.StdEncoding.EncodeToString(packed.Bytes())
	for name, annotations := range map[string]map[string]string{
		"no record":               {AnnotationKept: "x", "tekton.dev/v1beta1Resources": "x"},
		"a record of another":     {AnnotationKept: `{"kind":"Pipeline","fields":[{"at":["spec"],"is":{"a":1}}]}`},
		"another name":            {AnnotationKept: `{"kind":"Task","fields":[{"at":["metadata"],"was":{"name":"x"},"is":{"name":"y"}}]}`},
		"another kind":            {AnnotationKept: `{"kind":"Task","fields":[{"at":[],"was":{"kind":"Task"},"is":{"kind":"Pod"}}]}`},
		"a spec that is a number": {AnnotationKept: `{"kind":"Task","fields":[{"at":[],"was":{"spec":{}},"is":{"spec":1}}]}`},
		"a signature":             {AnnotationKept: `{"kind":"Task","fields":[{"at":["metadata","annotations"],"is":{"chains.tekton.dev/signed":"true"}}]}`},
		"a signature, all alone":  {AnnotationKept: `{"kind":"Task","fields":[{"at":["metadata"],"is":{"annotations":{"chains.tekton.dev/signed":"true"}}}]}`},
		"annotations of numbers":  {AnnotationKept: `{"kind":"Task","fields":[{"at":["metadata","annotations"],"is":{"a":1}}]}`},
		"places that are not":     {AnnotationKept: `{"kind":"Task","fields":[{"at":["spec","steps",{"index":9,"of":9}]},{"at":[1,null,{}]},{"at":["spec",{"name":"x"}]}]}`},
		"a bomb":                  {"tekton.dev/v1beta1Resources": bomb},
	} {
		t.Run(name, func(t *testing.T) {
			object := read(t, "{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: x}, spec: {}}")
			for key, text := range annotations {
				setAnnotation(object, key, text)
			}
			beta := convert(t, object, V1Beta1)
			if beta["kind"] != "Task" || beta["metadata"].(map[string]any)["name"] != "x" {
				t.Errorf("now it is %v", beta)
			}
			if err := checkFields(beta); err != nil {
				t.Errorf("the result could not be converted again: %v", err)
			}
			if _, signed := annotationOf(beta, "chains.tekton.dev/signed"); signed {
				t.Error("it is signed now, which admission has not seen")
			}
			if spec := beta["spec"].(map[string]any); len(spec) > 0 {
				t.Errorf("the spec is now %v", spec)
			}
		})
	}
}

// What could not be unpacked again is not packed.
func TestWhatIsPackedCanBeUnpacked(t *testing.T) {
	for size, fits := range map[int]bool{unpackLimit - 2: true, unpackLimit - 1: false} {
		text, err := pack(strings.Repeat("0", size))
		if (err == nil) != fits {
			t.Errorf("%d: packed, %v", size, err)
		}
		if _, err := unpack(text); (err == nil) != fits {
			t.Errorf("%d: unpacked, %v", size, err)
		}
	}
}

// Claim 5. The annotations of a Task are handed to its TaskRuns, where they say nothing
// and are annotations like any other, also beside the TaskRun's own.
func TestWhatWasKeptForAnotherKindMeansNothing(t *testing.T) {
	const ofTask = `{"kind":"Task","fields":[{"at":["spec"],"is":{"resources":{}}}]}`
	for name, spec := range map[string]string{"nothing of its own": "{taskRef: {name: a}}", "something of its own": "{taskRef: {name: a, bundle: b}}"} {
		for _, version := range []string{V1Beta1, V1} {
			object := read(t, "{apiVersion: "+version+", kind: TaskRun, metadata: {name: x}, spec: "+spec+"}")
			setAnnotation(object, AnnotationKept, ofTask)
			setAnnotation(object, AnnotationKeptV1, ofTask)
			converted := convert(t, object, other(version))
			if _, ok := converted["spec"].(map[string]any)["resources"]; ok {
				t.Errorf("%s, %s: shows a field of the Task: %v", name, version, converted)
			}
			if diff := cmp.Diff(object, convert(t, converted, version)); diff != "" {
				t.Errorf("%s, %s: came back (-was +is):\n%s", name, version, diff)
			}
		}
	}
}

// Claim 4.
func TestErrorsNameTheField(t *testing.T) {
	for field, text := range map[string]string{
		"apiVersion":           "{apiVersion: tekton.dev/v1alpha1, kind: Task, metadata: {}}",
		"kind":                 "{apiVersion: tekton.dev/v1, kind: StepAction, metadata: {}}",
		"metadata":             "{apiVersion: tekton.dev/v1, kind: Task}",
		"metadata.annotations": "{apiVersion: tekton.dev/v1, kind: Task, metadata: {annotations: {a: 1}}}",
		"spec":                 "{apiVersion: tekton.dev/v1, kind: Task, metadata: {}, spec: []}",
		"status":               "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {}, status: x}",
	} {
		_, err := Convert(read(t, text), V1Beta1)
		if err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if _, err := Convert(read(t, "{apiVersion: tekton.dev/v1, kind: Task, metadata: {}}"), "v2"); err == nil || !strings.Contains(err.Error(), `"v2"`) {
		t.Errorf("another version: %v", err)
	}
	large := read(t, "{apiVersion: tekton.dev/v1beta1, kind: Task, metadata: {}, spec: {stepTemplate: {}}}")
	large["spec"].(map[string]any)["stepTemplate"].(map[string]any)["name"] = strings.Repeat("x", annotationsLimit)
	if _, err := Convert(large, V1); err == nil || !strings.HasPrefix(err.Error(), "metadata.annotations: ") {
		t.Errorf("too much to keep: %v", err)
	}
}

// Claim 1.
func TestConvertChangesNothingThatItIsGiven(t *testing.T) {
	for seed := range uint64(500) {
		for _, to := range []string{V1, V1Beta1} {
			object, name := seeded(seed, V1Beta1)
			before := stored(t, object)
			converted, err := Convert(object, to)
			if err != nil {
				t.Fatal(err)
			}
			scribble(converted)
			if !equal(before, object) {
				t.Fatalf("%s was changed", name)
			}
		}
	}
}

// scribble changes every object in a value.
func scribble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			scribble(value[name])
		}
		value["scribble"] = true
	case []any:
		for i := range value {
			scribble(value[i])
			value[i] = "scribble"
		}
	}
}

func FuzzConversion(f *testing.F) {
	for seed := range uint64(20) {
		for _, version := range []string{V1Beta1, V1} {
			object, _ := seeded(seed, version)
			raw, err := json.Marshal(object)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Add([]byte(`{"apiVersion":"tekton.dev/v1beta1","kind":"Task","metadata":{"annotations":{"tekton.dev/v1beta1Kept":"{}","tekton.dev/v1Kept":"x"}},"spec":{"stepTemplate":{"name":"a"}}}`))
	f.Add([]byte(`{"apiVersion":"tekton.dev/v1","kind":"Task","metadata":{"annotations":{"tekton.dev/v1beta1Kept":"{\"kind\":\"Task\",\"fields\":[{\"at\":[],\"is\":{\"status\":{}}}]}"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil {
			return
		}
		from, _ := object["apiVersion"].(string)
		converted, err := Convert(object, other(from))
		if err != nil {
			if field, _, ok := strings.Cut(err.Error(), ": "); !ok || strings.ContainsAny(field, " \n") {
				t.Fatalf("no field is named: %v", err)
			}
			return
		}
		back := convert(t, stored(t, converted), from)
		if _, ok := annotationOf(object, (walk{up: from != V1}).keptHere()); ok {
			return // what was kept of an earlier version may be out of date, and goes
		}
		dropEmptyAnnotations(object)
		if !equal(object, back) {
			t.Fatalf("came back as\n%v\nwas\n%v", back, object)
		}
	})
}
