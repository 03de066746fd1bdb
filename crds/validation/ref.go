package validation

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

var address = regexp.MustCompile(`[\w-]+:/`)

// ref looks at what names a Task, a Pipeline or a StepAction: an object of the namespace
// by its name, or what a resolver is to fetch.
func (r *report) ref(name string, from crds.ResolverRef, at *field.Path) {
	switch {
	case from.Resolver != "" && name != "":
		r.forbidden(at.Child("name"), "a resolver is told by params what to fetch: leave out name, or resolver")
	case from.Resolver == "" && len(from.Params) > 0 && name == "":
		r.required(at.Child("resolver"), "params tell a resolver what to fetch: name it; parameters for what is run go beside the reference, not into it")
	case from.Resolver == "" && len(from.Params) > 0:
		r.forbidden(at.Child("params"), "they are for a resolver, and none is named: name it in resolver; parameters for what is run go beside the reference, not into it")
	case from.Resolver == "" && name == "":
		r.required(at.Child("name"), "name an object of the namespace, or a resolver")
	case from.Resolver == "":
		r.refName(name, at.Child("name"))
	case r.Resolver != nil && !r.Resolver(from.Resolver):
		r.warn(at.Child("resolver"), "resolver %q is not allowed here, and the run will fail: apply the object to the cluster, and refer to it by name", from.Resolver)
	}
	r.params(from.Params, at.Child("params"))
}

func (r *report) refName(name string, at *field.Path) {
	switch {
	case address.MatchString(name):
		r.invalid(at, name, "an address is for a resolver: name that in resolver, and say in its params what to fetch")
	case len(validation.IsQualifiedName(name)) > 0:
		r.invalid(at, name, "it is not the name of an object: %s", strings.Join(validation.IsQualifiedName(name), "; "))
	}
}
