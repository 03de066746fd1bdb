package conversion

import (
	"fmt"

	"millrace/crds"
)

// The versions that Convert knows, as apiVersion spells them.
const (
	V1Beta1 = crds.Group + "/v1beta1"
	V1      = crds.APIVersion
)

// annotationsLimit is how many bytes of keys and values an API server takes
// (k8s.io/apimachinery/pkg/api/validation): an object with more could not be
// updated any more.
const annotationsLimit = 256 << 10

// Convert returns the object in another version: V1Beta1 or V1. It is a JSON tree
// as k8s.io/apimachinery/pkg/util/json decodes one. An object that has that version
// already comes back as a copy. Annotations that are there and empty are as none, which
// they are to an API server.
//
// An error begins with the field that it is about: apiVersion, kind, metadata,
// metadata.annotations, spec or status.
func Convert(object map[string]any, to string) (map[string]any, error) {
	from, err := check(object, to)
	if err != nil {
		return nil, err
	}
	if from == to {
		return cloneMap(object), nil
	}
	converted, err := walk{up: to == V1}.convert(cloneMap(object))
	if err != nil {
		return nil, err
	}
	if size := annotationsSize(converted); size > annotationsLimit {
		return nil, fmt.Errorf("metadata.annotations: %d bytes with what %s has no field for, %d at most", size, to, annotationsLimit)
	}
	return converted, nil
}

// convert changes its argument and returns another.
func (w walk) convert(object map[string]any) (map[string]any, error) {
	dropEmptyAnnotations(object)
	theirs := takeKept(object, w.keptHere())
	converted := w.there(cloneMap(object))
	putBack(converted, theirs)
	return converted, w.remember(converted, object)
}

// there applies the rules, and nothing of what was kept besides. An annotation that
// would be read as what was kept for the result does not come along: it is one more
// thing to keep.
func (w walk) there(object map[string]any) map[string]any {
	if w.up {
		toTekton(object)
	}
	w.object(object)
	object["apiVersion"] = w.version()
	if !w.up {
		fromTekton(object)
	}
	takeKept(object, w.keptHere())
	takeKept(object, w.keptThere())
	return object
}

func (w walk) version() string {
	if w.up {
		return V1
	}
	return V1Beta1
}

// check returns the object's version, if that and all else is as Convert needs it.
func check(object map[string]any, to string) (from string, err error) {
	if to != V1Beta1 && to != V1 {
		return "", fmt.Errorf("apiVersion: no conversion to %q, only to %s and %s", to, V1Beta1, V1)
	}
	from, _ = object["apiVersion"].(string)
	if from != V1Beta1 && from != V1 {
		return "", fmt.Errorf("apiVersion: no conversion from %q, only from %s and %s", object["apiVersion"], V1Beta1, V1)
	}
	switch object["kind"] {
	case crds.KindTask, crds.KindTaskRun, crds.KindPipeline, crds.KindPipelineRun:
	default:
		return "", fmt.Errorf("kind: %q has no other version; want Task, TaskRun, Pipeline or PipelineRun", object["kind"])
	}
	return from, checkFields(object)
}

func checkFields(object map[string]any) error {
	for _, field := range []string{"spec", "status"} {
		if !isObject(object[field]) {
			return fmt.Errorf("%s: want an object, have %T", field, object[field])
		}
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("metadata: want an object, have %T", object["metadata"])
	}
	if !isTexts(metadata["annotations"]) {
		return fmt.Errorf("metadata.annotations: want an object whose values are text")
	}
	return nil
}
