package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// ResolutionRequest tells what is wrong with a ResolutionRequest: a resolver finds its
// requests by a label. What a resolver is told in params, it knows.
func ResolutionRequest(request *crds.ResolutionRequest, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	if request.Labels[crds.LabelResolver] == "" {
		r.required(field.NewPath("metadata", "labels").Key(crds.LabelResolver), "a resolver finds its requests by it: write the resolver's name, such as git")
	}
	return r.result()
}
