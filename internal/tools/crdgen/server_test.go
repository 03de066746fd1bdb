package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"
)

// server does to an object what the API server does with it: it is made of the API
// server's own parts.
type server struct {
	structural *structuralschema.Structural
	validator  schemavalidation.SchemaValidator
	rules      *cel.Validator
}

func newServer(t *testing.T, file string) server {
	t.Helper()
	return newServerOf(t, file, 0)
}

// newServerOf is a server of the i-th version of a definition.
func newServerOf(t *testing.T, file string, i int) server {
	t.Helper()
	definition := internalDefinition(t, file)
	schema := definition.Spec.Versions[i].Schema
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
	return server{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// create returns what the schema and its rules find wrong, and which fields the schema
// does not know.
func (s server) create(object map[string]any) (wrong field.ErrorList, unknown []string) {
	wrong, unknown = s.shape(object)
	broken, _ := s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(wrong, broken...), unknown
}

// shape is create without the rules.
func (s server) shape(object map[string]any) (wrong field.ErrorList, unknown []string) {
	unknown = pruning.PruneWithOptions(object, s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	return schemavalidation.ValidateCustomResource(nil, object, s.validator), unknown
}

// update returns what is wrong with a change. What was wrong before, and has not
// changed, is let pass.
func (s server) update(now, old map[string]any) field.ErrorList {
	both := common.NewCorrelatedObject(now, old, &model.Structural{Structural: s.structural})
	wrong := schemavalidation.ValidateCustomResourceUpdate(nil, now, old, s.validator, schemavalidation.WithRatcheting(both))
	broken, _ := s.rules.Validate(context.Background(), nil, s.structural, now, old, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(both))
	return append(wrong, broken...)
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
