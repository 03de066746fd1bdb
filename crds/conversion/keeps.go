package conversion

import "strings"

// Keeps tells annotations that hold what an object says in another version. They are
// about that object, and mean nothing on another one that is made of it: a TaskRun that
// had those of its Task would show the Task's resources as its own in v1beta1.
func Keeps(annotation string) bool {
	return strings.HasPrefix(annotation, "tekton.dev/v1beta1") || annotation == AnnotationKeptV1
}
