package main

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// serveBeta lets the definition of a kind that has reached v1 serve v1beta1 too, which
// a webhook converts. Its schema is loose: what v1 and v1beta1 have in common is held
// to the types of v1 for betaDepth levels, all else passes. A second whole schema would
// make the definition too large; what it would refuse, admission refuses after the
// conversion, and with better words.
func serveBeta(definition *apiextensionsv1.CustomResourceDefinition) {
	if !slices.Contains([]string{"Task", "TaskRun", "Pipeline", "PipelineRun"}, definition.Spec.Names.Kind) {
		return
	}
	beta := *definition.Spec.Versions[0].DeepCopy()
	beta.Name, beta.Storage = "v1beta1", false
	beta.SelectableFields = nil // their paths are those of v1
	root := beta.Schema.OpenAPIV3Schema
	root.Description += " This is v1beta1, which is served for what there is of it; v1 explains the fields."
	root.Properties["spec"] = loose(root.Properties["spec"], betaDepth(definition.Spec.Names.Kind))
	if status, ok := root.Properties["status"]; ok {
		root.Properties["status"] = loose(status, 1)
	}
	definition.Spec.Versions = append(definition.Spec.Versions, beta)
	definition.Spec.Conversion = conversion()
}

// betaDepth reaches the fields of steps in a TaskRun, and of tasks in a Pipeline. Of a
// PipelineRun the definition is the largest as it is.
func betaDepth(kind string) int {
	if kind == "PipelineRun" {
		return 2
	}
	return 4
}

func conversion() *apiextensionsv1.CustomResourceConversion {
	path, port := "/convert", int32(443)
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			// The controller writes the caBundle: it makes its certificates itself.
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service: &apiextensionsv1.ServiceReference{Namespace: "tekton-pipelines", Name: "millrace-webhook", Path: &path, Port: &port},
			},
			ConversionReviewVersions: []string{"v1"},
		},
	}
}

// loose keeps of a schema the types of the levels above a depth, and no words. Any other field passes, as do values that v1 would refuse for what they are.
func loose(props apiextensionsv1.JSONSchemaProps, depth int) apiextensionsv1.JSONSchemaProps {
	kept := apiextensionsv1.JSONSchemaProps{
		Type: props.Type, Nullable: props.Nullable,
		XIntOrString: props.XIntOrString, XPreserveUnknownFields: props.XPreserveUnknownFields,
	}
	switch props.Type {
	case "object":
		preserve := true
		kept.XPreserveUnknownFields = &preserve
		if depth == 0 {
			break
		}
		kept.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		for name, property := range props.Properties {
			kept.Properties[name] = loose(property, depth-1)
		}
	case "array":
		items := loose(*props.Items.Schema, max(0, depth-1))
		kept.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}
	}
	return kept
}
