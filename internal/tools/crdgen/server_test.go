package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// server does to an object what the API server does with it on a create: it is
// made of the API server's own parts.
type server struct {
	structural *structuralschema.Structural
	validator  schemavalidation.SchemaValidator
}

func newServer(t *testing.T, file string) server {
	t.Helper()
	definition := internalDefinition(t, file)
	schema := definition.Spec.Versions[0].Schema
	if schema == nil {
		schema = definition.Spec.Validation
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := schemavalidation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return server{structural, validator}
}

// create returns what the schema finds wrong, which fields it does not know, and
// whether it changed the object by filling in defaults.
func (s server) create(object map[string]any) (wrong field.ErrorList, unknown []string) {
	unknown = pruning.PruneWithOptions(object, s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	return schemavalidation.ValidateCustomResource(nil, object, s.validator), unknown
}

// The API server itself takes the definitions.
func TestServerAcceptsTheDefinitions(t *testing.T) {
	for _, file := range definitionFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			definition := internalDefinition(t, file)
			// What the server fills in before it looks.
			for _, version := range definition.Spec.Versions {
				if version.Storage {
					definition.Status.StoredVersions = []string{version.Name}
				}
			}
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), definition) {
				t.Error(err)
			}
		})
	}
}

func definitionFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*tekton.dev_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	return files
}

func internalDefinition(t *testing.T, file string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &external); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, &internal, nil); err != nil {
		t.Fatal(fmt.Errorf("convert %s: %w", file, err))
	}
	return &internal
}
