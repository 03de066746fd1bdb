package main

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// boundRules leaves the CEL rules of a schema where the API server can bound what
// they cost, and takes them out elsewhere. It multiplies the cost of a rule with how
// often it may be asked; for a list without a limit that is as many elements as fit
// into a request, and for a list in a list the square of that, which is more than it
// allows for any rule. Tekton sets no limits, so neither do we (but for steps and
// sidecars, at a number of which no pod could be stored): inside the steps of the tasks
// of a pipeline, admission asks instead.
func boundRules(props *apiextensionsv1.JSONSchemaProps, lists int) {
	if lists > 1 {
		props.XValidations = nil
	}
	for name, property := range props.Properties {
		boundRules(&property, lists)
		props.Properties[name] = property
	}
	if props.Items != nil {
		boundRules(props.Items.Schema, lists+1)
	}
	if props.AdditionalProperties != nil {
		boundRules(props.AdditionalProperties.Schema, lists+1)
	}
}
