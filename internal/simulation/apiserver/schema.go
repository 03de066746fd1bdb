package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A shape is what a schema that is made from a Go type says of a value. What
// decodes itself may be anything.
type shape struct {
	kind     string // object, array, string, boolean, integer, number; empty: anything
	fields   map[string]*shape
	required []string // fields without which there is no object
	elements *shape   // of a list, or of an object whose fields are not named
}

type shapes map[reflect.Type]*shape

// of finds the shape of a type. A type that holds itself finds itself.
func (known shapes) of(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s := known[t]; s != nil {
		return s
	}
	s := &shape{}
	known[t] = s
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = "string"
	case reflect.Bool:
		s.kind = "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		s.kind = "integer"
	case reflect.Float64:
		s.kind = "number"
	case reflect.Slice:
		s.kind, s.elements = "array", known.of(t.Elem())
		if t.Elem().Kind() == reflect.Uint8 {
			s.kind, s.elements = "string", nil
		}
	case reflect.Map:
		s.kind, s.elements = "object", known.of(t.Elem())
	case reflect.Struct:
		s.kind, s.fields = "object", map[string]*shape{}
		known.addFields(s, t)
	default:
	}
	return s
}

func (known shapes) addFields(s *shape, t reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			of := f.Type
			for of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			known.addFields(s, of)
		case name != "":
			s.fields[name] = known.of(f.Type)
			if !strings.Contains(options, "omit") && s.fields[name].kind == "string" {
				s.required = append(s.required, name)
			}
		}
	}
}

// prune takes out of a value what its schema does not know, and says what that
// was, and what of the rest is not as it should be.
func (s *shape) prune(value any, at *field.Path) (unknown []string, errs field.ErrorList) {
	if is := kindOf(value); s.kind != "" && is != "null" && is != s.kind && (s.kind != "number" || is != "integer") {
		return nil, field.ErrorList{field.TypeInvalid(at, is, fmt.Sprintf("%s in body must be of type %s: %q", at, s.kind, is))}
	}
	visit := func(of *shape, value any, at *field.Path) {
		more, bad := of.prune(value, at)
		unknown, errs = append(unknown, more...), append(errs, bad...)
	}
	switch x := value.(type) {
	case map[string]any:
		for _, name := range sortedKeys(x) {
			switch of, known := s.fields[name]; {
			case known:
				visit(of, x[name], at.Child(name))
			case s.elements != nil:
				visit(s.elements, x[name], at.Key(name))
			case s.fields != nil:
				unknown = append(unknown, at.Child(name).String())
				delete(x, name)
			}
		}
		for _, name := range s.required {
			if _, ok := x[name]; !ok {
				errs = append(errs, field.Required(at.Child(name), ""))
			}
		}
	case []any:
		for i, each := range x {
			if s.elements != nil {
				visit(s.elements, each, at.Index(i))
			}
		}
	}
	return unknown, errs
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	default:
		return "number"
	}
}
