package crds

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A field of the Go types is in the schema, and a property of the schema is a
// field: an edit of the types without `make crds` fails here, before the tool
// that makes the schema is even built.
func TestSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	for file, kind := range kinds {
		root := schemaOf(t, file)
		for _, top := range []string{"spec", "status"} {
			field, ok := jsonFields(kind)[top]
			if ok {
				compareFields(t, kind.Name()+"."+top, field.Type, root.Properties[top])
			}
		}
	}
}

func compareFields(t *testing.T, path string, goType reflect.Type, s schema) {
	t.Helper()
	switch goType = element(goType); {
	case s.Preserve || s.IntOrString || scalar(s.Type):
		return
	case goType.Kind() == reflect.Slice && s.Items != nil:
		compareFields(t, path+"[]", goType.Elem(), *s.Items)
	case goType.Kind() == reflect.Map && s.AdditionalProperties != nil:
		compareFields(t, path+"{}", goType.Elem(), *s.AdditionalProperties)
	case goType.Kind() == reflect.Struct && s.Type == "object":
		compareStruct(t, path, goType, s)
	default:
		t.Errorf("%s is a %v in Go and %q in the schema", path, goType, s.Type)
	}
}

func compareStruct(t *testing.T, path string, goType reflect.Type, s schema) {
	t.Helper()
	if goType == reflect.TypeFor[metav1.ObjectMeta]() {
		return // A template's metadata is narrowed on purpose.
	}
	fields := jsonFields(goType)
	for name, field := range fields {
		property, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is in the type and not in the schema: run `make crds`", path, name)
			continue
		}
		compareFields(t, path+"."+name, field.Type, property)
	}
	for name := range s.Properties {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s.%s is in the schema and not in the type: run `make crds`", path, name)
		}
	}
}

// `kubectl explain` has a sentence for every field of ours.
func TestEveryFieldIsDescribed(t *testing.T) {
	for file, kind := range kinds {
		root := schemaOf(t, file)
		described(t, kind.Name(), kind, root)
	}
}

func described(t *testing.T, path string, goType reflect.Type, s schema) {
	t.Helper()
	switch goType = element(goType); goType.Kind() {
	case reflect.Slice:
		if s.Items != nil {
			described(t, path+"[]", goType.Elem(), *s.Items)
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			described(t, path+"{}", goType.Elem(), *s.AdditionalProperties)
		}
	case reflect.Struct:
		if ours(goType) {
			describedFields(t, path, goType, s)
		}
	}
}

func describedFields(t *testing.T, path string, goType reflect.Type, s schema) {
	t.Helper()
	for name, field := range jsonFields(goType) {
		if path == goType.Name() && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue // The API server describes these.
		}
		property, ok := s.Properties[name]
		if !ok {
			continue // Loose, or missing, which is another test's matter.
		}
		if text := property.Description; text == "" || !strings.HasSuffix(text, ".") {
			t.Errorf("%s.%s is not described in a sentence: %q", path, name, text)
		}
		described(t, path+"."+name, field.Type, property)
	}
}

// jsonFields are the fields of a struct by their names in JSON; those of structs
// embedded without a name of their own are among them, as in JSON.
func jsonFields(goType reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for field := range goType.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			maps.Copy(fields, jsonFields(field.Type))
		default:
			fields[name] = field
		}
	}
	return fields
}

func element(goType reflect.Type) reflect.Type {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	return goType
}

// ours tells whether a type is of this package, not of Kubernetes.
func ours(goType reflect.Type) bool {
	return goType.PkgPath() == reflect.TypeFor[Task]().PkgPath()
}
