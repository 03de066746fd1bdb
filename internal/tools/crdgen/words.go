package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
)

//go:embed words.txt
var wordsText string

// words are what fields of Kubernetes' types are for, in a few words of our own, by
// type and field, or by field alone. Kubernetes' own texts are many times as long.
type words map[string]string

func readWords(text string) (words, error) {
	w, section := words{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		field, sentence, isField := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !isField:
			section = line
		case w[section+"."+field] != "":
			return nil, fmt.Errorf("%s.%s is there twice", section, field)
		default:
			w[section+"."+field] = sentence
		}
	}
	return w, nil
}

// of returns the sentence for a field, and under which name it is kept.
func (w words) of(typeName, field string) (sentence, key string) {
	for _, key := range []string{typeName + "." + field, "*." + field} {
		if sentence, ok := w[key]; ok {
			return sentence, key
		}
	}
	return "", ""
}

// mark begins the description of a field that is Kubernetes' own, until it is decided
// which of them fit.
const mark = "\x00"

// describe gives the fields of a foreign type their words, marked.
func (w words) describe(typeName string, props *apiextensionsv1.JSONSchemaProps, used map[string]bool) error {
	for field, property := range props.Properties {
		sentence, key := w.of(typeName, field)
		if sentence == "" {
			return fmt.Errorf("words.txt says nothing of %s.%s", typeName, field)
		}
		used[key] = true
		property.Description = mark + sentence
		props.Properties[field] = property
	}
	return nil
}

// sizeForWords is how large a definition may grow by the words for foreign fields. It
// must stay below 200,000 bytes (package crds, claim 5), and the next field of ours
// wants a few.
const sizeForWords = 197_000

// fitWords keeps the words of as many foreign fields as fit: those nearest to the root
// first. In a PipelineRun, whose tasks are there twice (tasks and finally) and whose pod
// template is too, not all of them do.
func fitWords(definition *apiextensionsv1.CustomResourceDefinition) error {
	for levels := deepest; ; levels-- {
		tried := definition.DeepCopy()
		for i := range tried.Spec.Versions {
			crd.EditSchema(tried.Spec.Versions[i].Schema.OpenAPIV3Schema, unmarker(levels))
		}
		text, err := json.Marshal(tried)
		if err != nil {
			return err
		}
		if len(text) < sizeForWords || levels == 0 {
			*definition = *tried
			return nil
		}
	}
}

// deepest is more levels than any definition has.
const deepest = 40

// An unmarker keeps the words of foreign fields down to so many levels of the schema.
type unmarker int

// Visit is called with nil when the children of a node are done.
func (levels unmarker) Visit(props *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if props == nil {
		return levels
	}
	if sentence, foreign := strings.CutPrefix(props.Description, mark); foreign {
		props.Description = ""
		if levels > 0 {
			props.Description = sentence
		}
	}
	return levels - 1
}
