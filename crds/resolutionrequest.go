package crds

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResolutionRequest asks a resolver, a controller of its own, for a definition
// that is not an object of this namespace. It is resolution.tekton.dev/v1beta1;
// the label resolution.tekton.dev/type says which resolver is meant.
//
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=resolutionrequests,singular=resolutionrequest,scope=Namespaced,categories={tekton,tekton-pipelines}
// +kubebuilder:printcolumn:name="OwnerKind",type=string,JSONPath=`.metadata.ownerReferences[0].kind`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.metadata.ownerReferences[0].name`
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="StartTime",type=string,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="EndTime",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].lastTransitionTime`
type ResolutionRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to fetch.
	Spec ResolutionRequestSpec `json:"spec,omitempty"`
	// What came of it; the resolver writes it.
	Status ResolutionRequestStatus `json:"status,omitzero"`
}

// ResolutionRequestSpec is what a resolver is to fetch.
type ResolutionRequestSpec struct {
	// What the resolver is to fetch; each resolver names its own parameters.
	Params Params `json:"params,omitempty"`
	// The address to fetch, for the resolver that takes one.
	URL string `json:"url,omitempty"`
}

// ResolutionRequestStatus is what came of a request.
type ResolutionRequestStatus struct {
	// The generation of the spec that this status tells of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Succeeded: Unknown while the resolver works, then True or False.
	// +listType=map
	// +listMapKey=type
	Conditions Conditions `json:"conditions,omitempty"`
	// Further facts about the status, for tools.
	Annotations map[string]string `json:"annotations,omitempty"`
	// The definition that was fetched, in base64.
	Data string `json:"data,omitempty"`
	// Where it was found; the older name of refSource, which resolvers still write.
	Source *RefSource `json:"source,omitempty"`
	// Where it was found.
	RefSource *RefSource `json:"refSource,omitempty"`
}

// Succeeded returns the request's condition Succeeded; one that has none yet is
// Unknown, without a reason.
func (r *ResolutionRequest) Succeeded() Condition {
	return r.Status.Conditions.succeeded()
}
