package validation

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
)

var (
	paramName  = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9.-]*$`)
	objectName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9-]*$`) // of objects, and of their keys: a dot is between the two
)

// params looks at values that somebody gives. Names that differ in capitals only are one.
func (r *report) params(given crds.Params, at *field.Path) {
	twice(given, func(p crds.Param) string { return strings.ToLower(p.Name) }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), given[i].Name, "there is another value for %q before, and names that differ in capitals only are one: leave one of them", name)
	})
}

// paramSpecs looks at what a task declares.
func (r *report) paramSpecs(specs crds.ParamSpecs, at *field.Path) {
	for i, spec := range specs {
		r.paramName(spec, at.Index(i))
	}
	r.paramTypes(specs, at)
}

// paramTypes looks at what a pipeline declares, which may have any name.
func (r *report) paramTypes(specs crds.ParamSpecs, at *field.Path) {
	twice(specs, func(p crds.ParamSpec) string { return p.Name }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), name, "the parameter is declared before: leave one declaration")
	})
	for i, spec := range specs {
		r.paramSpec(spec, at.Index(i))
	}
}

func (r *report) paramSpec(spec crds.ParamSpec, at *field.Path) {
	kind := defaulting.ParamType(spec)
	if !r.paramType(kind, at.Child("type")) {
		return
	}
	if spec.Default != nil && defaulting.ValueType(*spec.Default) != kind {
		r.invalid(at.Child("default"), field.OmitValueType{}, "it is a value of type %s, and the type of the parameter is %s: change one of them", defaulting.ValueType(*spec.Default), kind)
	}
	r.properties(spec.Properties, at.Child("properties"))
	r.enum(spec, kind, at)
}

func (r *report) paramName(spec crds.ParamSpec, at *field.Path) {
	if defaulting.ParamType(spec) != crds.ParamTypeObject {
		if !paramName.MatchString(spec.Name) {
			r.invalid(at.Child("name"), spec.Name, "a name can have letters, digits, _, - and ., with a letter or _ first: choose another")
		}
		return
	}
	if !objectName.MatchString(spec.Name) {
		r.invalid(at.Child("name"), spec.Name, "the name of an object can have letters, digits, _ and -, with a letter or _ first; a dot comes before a key: choose another")
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Properties)) {
		r.keyName(key, at.Child("properties").Key(key))
	}
}

func (r *report) keyName(key string, at *field.Path) {
	if !objectName.MatchString(key) {
		r.invalid(at, key, "a key can have letters, digits, _ and -, with a letter or _ first: choose another")
	}
}

// paramType tells whether it is one.
func (r *report) paramType(kind crds.ParamType, at *field.Path) bool {
	types := []crds.ParamType{crds.ParamTypeString, crds.ParamTypeArray, crds.ParamTypeObject}
	if slices.Contains(types, kind) {
		return true
	}
	unsupported(r, at, kind, types)
	return false
}

// properties are those of an object, all of whose values are strings.
func (r *report) properties(properties map[string]crds.PropertySpec, at *field.Path) {
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if kind := properties[key].Type; kind != "" && kind != crds.ParamTypeString {
			unsupported(r, at.Key(key).Child("type"), kind, []crds.ParamType{crds.ParamTypeString})
		}
	}
}

// objects wants to know the keys of each object, for whoever refers to them.
func (r *report) objects(specs crds.ParamSpecs, at *field.Path) {
	for i, spec := range specs {
		if defaulting.ParamType(spec) == crds.ParamTypeObject && spec.Properties == nil {
			r.required(at.Index(i).Child("properties"), "declare the keys of the object: properties: {<key>: {type: string}}")
		}
	}
}

func (r *report) enum(spec crds.ParamSpec, kind crds.ParamType, at *field.Path) {
	at = at.Child("enum")
	switch {
	case len(spec.Enum) == 0:
		return
	case !r.ParamEnum:
		r.forbidden(at, "it needs the feature flag enable-param-enum: set that to \"true\" in the ConfigMap feature-flags, or leave enum out")
	case kind != crds.ParamTypeString:
		r.forbidden(at, "it is for parameters of type string, and this one is of type %s: leave it out", kind)
	}
	twice(spec.Enum, func(value string) string { return value }, func(i int, value string) {
		r.invalid(at.Index(i), value, "the value is there before: leave one of them")
	})
	if spec.Default != nil && spec.Default.StringVal != "" && !slices.Contains(spec.Enum, spec.Default.StringVal) {
		r.invalid(at, field.OmitValueType{}, "the default is not among the values: add it, or choose another default")
	}
}
