package crds

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kinds are the definitions beside the types, and the type each is made from.
var kinds = map[string]reflect.Type{
	"tekton.dev_stepactions.yaml":                   reflect.TypeFor[StepAction](),
	"tekton.dev_tasks.yaml":                         reflect.TypeFor[Task](),
	"tekton.dev_taskruns.yaml":                      reflect.TypeFor[TaskRun](),
	"tekton.dev_pipelines.yaml":                     reflect.TypeFor[Pipeline](),
	"tekton.dev_pipelineruns.yaml":                  reflect.TypeFor[PipelineRun](),
	"tekton.dev_customruns.yaml":                    reflect.TypeFor[CustomRun](),
	"resolution.tekton.dev_resolutionrequests.yaml": reflect.TypeFor[ResolutionRequest](),
}

// definition is as much of a CustomResourceDefinition as is looked at here.
type definition struct {
	Spec struct {
		Group    string `json:"group"`
		Versions []struct {
			Name             string `json:"name"`
			SelectableFields []struct {
				JSONPath string `json:"jsonPath"`
			} `json:"selectableFields"`
			Schema struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

type schema struct {
	Type                 string            `json:"type"`
	Description          string            `json:"description"`
	Properties           map[string]schema `json:"properties"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Preserve             bool              `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString          bool              `json:"x-kubernetes-int-or-string"`
	Default              any               `json:"default"`
}

// Claim 5.
func TestDefinitionsStaySmall(t *testing.T) {
	const most = 200_000
	for file := range kinds {
		raw, err := yaml.YAMLToJSON(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes of JSON", file, len(raw))
		if len(raw) >= most {
			t.Errorf("%s has %d bytes of JSON, %d at most", file, len(raw), most)
		}
	}
}

// The API server writes defaults into what it stores; ours are the
// configuration's to give, so a schema has none.
func TestSchemaHasNoDefaults(t *testing.T) {
	for file := range kinds {
		walk(schemaOf(t, file), "", func(path string, s schema) {
			if s.Default != nil {
				t.Errorf("%s: %s has the default %v", file, path, s.Default)
			}
		})
	}
}

// Field selectors work on scalars only; the server would refuse the definition.
func TestSelectableFieldsAreScalars(t *testing.T) {
	for _, file := range []string{"tekton.dev_taskruns.yaml", "tekton.dev_pipelineruns.yaml"} {
		d := decodeDefinition(t, file)
		fields := d.Spec.Versions[0].SelectableFields
		if len(fields) == 0 {
			t.Fatalf("%s has no selectable fields", file)
		}
		for _, field := range fields {
			s := d.Spec.Versions[0].Schema.OpenAPIV3Schema
			for name := range strings.SplitSeq(strings.TrimPrefix(field.JSONPath, "."), ".") {
				s = s.Properties[name]
			}
			if !scalar(s.Type) {
				t.Errorf("%s: %s is %q", file, field.JSONPath, s.Type)
			}
		}
	}
}

func TestGroupAndVersionAreThoseOfTheDefinitions(t *testing.T) {
	others := map[string]string{
		"tekton.dev_stepactions.yaml":                   Group + "/" + VersionStepActions,
		"tekton.dev_customruns.yaml":                    APIVersionCustomRuns,
		"resolution.tekton.dev_resolutionrequests.yaml": APIVersionResolution,
	}
	for file := range kinds {
		d := decodeDefinition(t, file)
		want := cmp.Or(others[file], APIVersion)
		if got := d.Spec.Group + "/" + d.Spec.Versions[0].Name; got != want {
			t.Errorf("%s is of %s, the constants say %s", file, got, want)
		}
	}
}

func walk(s schema, path string, visit func(string, schema)) {
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		walk(s.Properties[name], path+"."+name, visit)
	}
	if s.Items != nil {
		walk(*s.Items, path+"[]", visit)
	}
	if s.AdditionalProperties != nil {
		walk(*s.AdditionalProperties, path+"{}", visit)
	}
}

func scalar(schemaType string) bool {
	return schemaType == "string" || schemaType == "integer" || schemaType == "boolean"
}

func schemaOf(t *testing.T, file string) schema {
	t.Helper()
	return decodeDefinition(t, file).Spec.Versions[0].Schema.OpenAPIV3Schema
}

func decodeDefinition(t *testing.T, file string) definition {
	t.Helper()
	var d definition
	if err := yaml.Unmarshal(read(t, file), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}
