package crds

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Claim 2, from the side of a user: YAML with every field decodes with nothing
// left over, uses every field of ours, and comes out as it went in.
func TestEverythingDecodesAndComesBack(t *testing.T) {
	examples := map[string]any{
		"everything.yaml":                   &TaskRun{},
		"everything-pipelinerun.yaml":       &PipelineRun{},
		"everything-customrun.yaml":         &CustomRun{},
		"everything-resolutionrequest.yaml": &ResolutionRequest{},
	}
	seen := map[reflect.Type]map[string]bool{}
	for file, into := range examples {
		text := read(t, filepath.Join("testdata", file))
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		written, err := json.Marshal(into)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(generic(t, text), generic(t, written)); diff != "" {
			t.Errorf("%s came back changed (-in +out):\n%s", file, diff)
		}
		note(reflect.ValueOf(into), seen)
	}
	wantAllUsed(t, seen)
}

// wantAllUsed complains about fields of our types that no example sets: a new
// field belongs into one.
func wantAllUsed(t *testing.T, seen map[reflect.Type]map[string]bool) {
	t.Helper()
	for goType, fields := range seen {
		for name, set := range fields {
			if !set {
				t.Errorf("nothing in the examples sets %v.%s", goType, name)
			}
		}
	}
}

// note records, for each type of ours in v, which fields some value sets.
func note(v reflect.Value, seen map[reflect.Type]map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			note(v.Elem(), seen)
		}
	case reflect.Slice:
		for i := range v.Len() {
			note(v.Index(i), seen)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			note(v.MapIndex(key), seen)
		}
	case reflect.Struct:
		noteFields(v, seen)
	}
}

func noteFields(v reflect.Value, seen map[reflect.Type]map[string]bool) {
	if !ours(v.Type()) {
		return
	}
	fields := seen[v.Type()]
	if fields == nil {
		fields = map[string]bool{}
		seen[v.Type()] = fields
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		fields[name] = fields[name] || !v.Field(i).IsZero()
		note(v.Field(i), seen)
	}
}

func generic(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
