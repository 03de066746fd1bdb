package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// parseAndTrim makes the schemas of our kinds and of all types they use, and
// trims those of other people's packages while it is still known whose is whose:
// flattening, later, makes one tree of them.
func parseAndTrim(parser *crd.Parser, ours *loader.Package, kinds []schema.GroupKind) error {
	words, err := readWords(wordsText)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	parser.Schemata[crd.TypeIdent{Package: ours, Name: "ParamValue"}] = anyJSON()
	for _, kind := range kinds {
		parser.NeedSchemaFor(crd.TypeIdent{Package: ours, Name: kind.Kind})
	}
	for ident, props := range parser.Schemata {
		if ident.Package == ours {
			continue
		}
		crd.EditSchema(&props, visitor(bare))
		if ident.Name == "ObjectMeta" {
			allowNullCreation(&props)
		}
		if err := words.describe(ident.Name, &props, used); err != nil {
			return err
		}
		parser.Schemata[ident] = props
	}
	for _, key := range slices.Sorted(maps.Keys(words)) {
		if !used[key] {
			return fmt.Errorf("words.txt has %s, which no type has", key)
		}
	}
	return nil
}

// allowNullCreation lets `creationTimestamp: null` pass in the metadata of a
// template: kubectl and many generators print it, and users paste it.
func allowNullCreation(metadata *apiextensionsv1.JSONSchemaProps) {
	metadata.Properties["creationTimestamp"] = apiextensionsv1.JSONSchemaProps{
		Type: "string", Format: "date-time", Nullable: true,
	}
}

// anyJSON is the schema of a ParamValue. It cannot be narrowed to the three
// kinds that it means: a structural schema has one type or none, and numbers and
// booleans, which users write without quotes, are taken as their text.
func anyJSON() apiextensionsv1.JSONSchemaProps {
	preserve := true
	return apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &preserve}
}

// bare leaves of a foreign schema what decides whether a value is well-formed.
// Words are dropped for size, and words.txt has shorter ones. Defaults are, because the API server would write
// them into every stored object. List types are, because a map keyed by name
// refuses duplicates, which a list of environment variables may hold.
func bare(props *apiextensionsv1.JSONSchemaProps) {
	props.Description = ""
	props.Default = nil
	props.XListType = nil
	props.XListMapKeys = nil
	props.XMapType = nil
}

// finish gives the definition what its types cannot say.
func finish(definition *apiextensionsv1.CustomResourceDefinition) error {
	crd.FixTopLevelMetadata(*definition)
	reversion(definition)
	regroup(definition)
	for i := range definition.Spec.Versions {
		root := definition.Spec.Versions[i].Schema.OpenAPIV3Schema
		crd.EditSchema(root, visitor(loosenArray))
		crd.EditSchema(root, visitor(reflow))
		boundRules(root, 0)
	}
	serveBeta(definition)
	return fitWords(definition)
}

// reversion gives kinds that have not reached the version of the package their
// own versions, the stored one first. Those of one kind differ in nothing but
// their names.
func reversion(definition *apiextensionsv1.CustomResourceDefinition) {
	var names []string
	switch definition.Spec.Names.Kind {
	case "StepAction":
		names = []string{"v1beta1", "v1alpha1"}
	case "CustomRun", "ResolutionRequest":
		names = []string{"v1beta1"}
	default:
		return
	}
	one := definition.Spec.Versions[0]
	definition.Spec.Versions = nil
	for i, name := range names {
		version := *one.DeepCopy()
		version.Name, version.Storage = name, i == 0
		definition.Spec.Versions = append(definition.Spec.Versions, version)
	}
}

// regroup gives a ResolutionRequest the group that Tekton's resolvers watch, which
// is not that of the package.
func regroup(definition *apiextensionsv1.CustomResourceDefinition) {
	if definition.Spec.Names.Kind != "ResolutionRequest" {
		return
	}
	definition.Spec.Group = "resolution.tekton.dev"
	definition.Name = definition.Spec.Names.Plural + "." + definition.Spec.Group
}

// reflow makes one line of a comment that was broken to fit the source.
func reflow(props *apiextensionsv1.JSONSchemaProps) {
	paragraphs := strings.Split(props.Description, "\n\n")
	for i := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(paragraphs[i]), " ")
	}
	props.Description = strings.Join(paragraphs, "\n\n")
}

// loosenArray gives an array whose field is marked Schemaless items of any
// content: a structural schema wants every array to say what it holds.
func loosenArray(props *apiextensionsv1.JSONSchemaProps) {
	if props.Type != "array" || props.Items != nil {
		return
	}
	preserve := true
	props.XPreserveUnknownFields = nil
	props.Items = &apiextensionsv1.JSONSchemaPropsOrArray{
		Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
	}
}

// visitor calls a function for every node of a schema.
type visitor func(*apiextensionsv1.JSONSchemaProps)

// Visit is called with nil when the children of a node are done.
func (v visitor) Visit(props *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if props != nil {
		v(props)
	}
	return v
}
