package validation

import "millrace/crds/defaulting"

// Options are what an administrator's configuration changes about what is accepted. The
// zero value is Tekton's defaults.
type Options struct {
	// Alpha allows fields that Tekton has behind enable-api-fields: alpha, where they are
	// served. Default: they are refused.
	Alpha bool
	// ParamEnum allows enum in the declaration of a parameter: feature flag
	// enable-param-enum. Default: refused.
	ParamEnum bool
	// CEL allows cel in when: feature flag enable-cel-in-whenexpression. Default: refused.
	CEL bool
	// MaxMatrix is how many combinations a matrix can have:
	// default-max-matrix-combinations-count. Default: 256.
	MaxMatrix int
	// ForbiddenEnv are variables that no pod template may set: default-forbidden-env.
	// Default: none.
	ForbiddenEnv []string
	// Resolver tells whether a resolver of that name may be asked; one that may not is
	// warned about. Default: any may.
	Resolver func(name string) bool
	// Strict refuses what Tekton's admission accepts and cannot work, instead of warning
	// of it: for who is about to run the object. Default:
	// warnings.
	Strict bool
	// Defaults are what is filled in where an object says nothing.
	Defaults defaulting.Defaults
}
