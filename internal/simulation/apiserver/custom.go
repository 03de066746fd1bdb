package apiserver

import "k8s.io/apimachinery/pkg/runtime/schema"

// Custom describes a resource that the model does not have: it is served as a custom
// resource is, with a status of its own. object is a pointer to a new value of its Go
// type, from which its schema is made.
func Custom(of schema.GroupVersionResource, kind string, object func() any) *Resource {
	return &Resource{GroupVersionResource: of, Kind: kind, status: true, custom: object}
}
