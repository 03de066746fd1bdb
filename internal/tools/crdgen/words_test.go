package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// `kubectl explain` has words for every field, Kubernetes' own too. Of a PipelineRun
// not all fit: there, all have them that lie outside the pipeline given in it, down to
// those of volumes and affinities.
func TestEveryFieldHasWords(t *testing.T) {
	for _, file := range definitionFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		root := *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		for name, top := range root.Properties {
			if name == "metadata" {
				continue // The API server describes it.
			}
			wantWords(t, filepath.Base(file), "."+name, top)
		}
	}
}

func wantWords(t *testing.T, file, path string, props apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if strings.ContainsAny(props.Description, mark) {
		t.Errorf("%s: %s is marked: %q", file, path, props.Description)
	}
	large := file == "tekton.dev_pipelineruns.yaml" && (strings.HasPrefix(path, ".spec.pipelineSpec.") || strings.Count(path, ".") > 4)
	if props.Description == "" && !large {
		t.Errorf("%s: nothing is said of %s", file, path)
	}
	for name, property := range props.Properties {
		wantWords(t, file, path+"."+name, property)
	}
	if props.Items == nil {
		return
	}
	for name, property := range props.Items.Schema.Properties {
		wantWords(t, file, path+"[]."+name, property)
	}
}

func TestWordsOfATypeWinOverThoseOfTheField(t *testing.T) {
	w, err := readWords("# about it\n*\nname The name.\n\nVolume\nname What mounts call it.\n")
	if err != nil {
		t.Fatal(err)
	}
	for typeName, want := range map[string]string{"Volume": "What mounts call it.", "EnvVar": "The name."} {
		if got, _ := w.of(typeName, "name"); got != want {
			t.Errorf("%s: %q", typeName, got)
		}
	}
	if got, _ := w.of("Volume", "other"); got != "" {
		t.Errorf("of a field that is not there: %q", got)
	}
}

func TestWordsThatAreThereTwiceAreAnError(t *testing.T) {
	if _, err := readWords("Volume\nname One.\nname Two.\n"); err == nil {
		t.Error("the second won")
	}
}

func TestAFieldWithoutWordsIsAnError(t *testing.T) {
	props := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"new": {}}}
	if err := (words{}).describe("Volume", &props, map[string]bool{}); err == nil || !strings.Contains(err.Error(), "Volume.new") {
		t.Errorf("got %v", err)
	}
}
