package conversion

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"

	"k8s.io/apimachinery/pkg/util/json"

	"millrace/crds"
)

// A field of v1beta1 for which Tekton's own conversion has an annotation. It is
// written and read here as there, so that a cluster may come from Tekton, or go back.
type tektonField struct{ parent, field, annotation string }

func tektonFields(kind any) []tektonField {
	resources := tektonField{"spec", "resources", "tekton.dev/v1beta1Resources"}
	switch kind {
	case crds.KindTask, crds.KindPipeline:
		return []tektonField{resources}
	case crds.KindTaskRun:
		return []tektonField{resources,
			{"status", "cloudEvents", "tekton.dev/v1beta1CloudEvents"},
			{"status", "resourcesResult", "tekton.dev/v1beta1ResourcesResult"}}
	case crds.KindPipelineRun:
		return []tektonField{resources,
			{"status", "taskRuns", "tekton.dev/v1beta1TaskRuns"},
			{"status", "runs", "tekton.dev/v1beta1Runs"}}
	default:
		return nil
	}
}

// toTekton moves such fields into their annotations. A field that cannot be written
// stays, to be kept as others are.
func toTekton(object map[string]any) {
	for _, f := range tektonFields(object["kind"]) {
		parent, _ := object[f.parent].(map[string]any)
		value, ok := parent[f.field]
		if !ok {
			continue
		}
		if text, err := pack(value); err == nil {
			setAnnotation(object, f.annotation, text)
			delete(parent, f.field)
		}
	}
}

// fromTekton moves them back. An annotation that cannot be read stays one.
func fromTekton(object map[string]any) {
	for _, f := range tektonFields(object["kind"]) {
		text, ok := annotationOf(object, f.annotation)
		if !ok {
			continue
		}
		value, err := unpack(text)
		if err != nil {
			continue
		}
		parent, ok := object[f.parent].(map[string]any)
		if !ok {
			parent = map[string]any{}
			object[f.parent] = parent
		}
		parent[f.field] = value
		deleteAnnotation(object, f.annotation)
	}
}

// pack writes a value as Tekton does: JSON, gzip, base64.
func pack(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	if len(text) > unpackLimit {
		return "", io.ErrShortBuffer
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

// unpackLimit is most of what a store takes of an object (1.5 MiB). An annotation of a few
// kilobytes could hold a gigabyte of zeros; and what is unpacked takes many times its size,
// in each of the objects of a page.
const unpackLimit = 1 << 20

func unpack(text string) (value any, err error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(zip, unpackLimit+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > unpackLimit {
		return nil, io.ErrShortBuffer
	}
	return value, json.Unmarshal(raw, &value)
}
