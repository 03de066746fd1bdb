package certificate

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Resources of the holders.
const (
	ResourceMutating   = "mutatingwebhookconfigurations"
	ResourceValidating = "validatingwebhookconfigurations"
	ResourceCRDs       = "customresourcedefinitions"
)

// A CustomResourceDefinition is what matters here of one: how its versions are
// converted. (Its module is large, and holds nothing else that is needed.)
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Conversion *Conversion `json:"conversion,omitempty"`
	} `json:"spec"`
}

// A Conversion is spec.conversion of a CustomResourceDefinition.
type Conversion struct {
	Strategy string `json:"strategy"`
	Webhook  *struct {
		ClientConfig *admissionv1.WebhookClientConfig `json:"clientConfig,omitempty"`
	} `json:"webhook,omitempty"`
}

// Published are the Holders of a cluster. Configurations and CRDs are read through
// caches, which tell whether there is one of that name.
type Published struct {
	Service types.NamespacedName // of the webhook: who names another is somebody else's

	Configuration string   // the name of both webhook configurations
	CRDs          []string // names of those that may be converted by us

	Mutating   func(types.NamespacedName) (admissionv1.MutatingWebhookConfiguration, bool, error)
	Validating func(types.NamespacedName) (admissionv1.ValidatingWebhookConfiguration, bool, error)
	CRD        func(types.NamespacedName) (CustomResourceDefinition, bool, error)

	Registration, Extensions rest.Interface // admissionregistration.k8s.io/v1, apiextensions.k8s.io/v1
}

// List implements Holders.
func (p Published) List() (holders []Holder, err error) {
	add := func(resource string, meta metav1.ObjectMeta, bundles []Bundle) {
		if len(bundles) > 0 {
			holders = append(holders, Holder{resource, meta.Name, meta.ResourceVersion, bundles})
		}
	}
	ofWebhook := func(i int) string { return fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i) }
	name := types.NamespacedName{Name: p.Configuration}

	mutating, _, err := p.Mutating(name)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", ResourceMutating, name.Name, err)
	}
	var bundles []Bundle
	for i, w := range mutating.Webhooks {
		bundles = p.append(bundles, w.ClientConfig, ofWebhook(i))
	}
	add(ResourceMutating, mutating.ObjectMeta, bundles)

	validating, _, err := p.Validating(name)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", ResourceValidating, name.Name, err)
	}
	bundles = nil
	for i, w := range validating.Webhooks {
		bundles = p.append(bundles, w.ClientConfig, ofWebhook(i))
	}
	add(ResourceValidating, validating.ObjectMeta, bundles)

	for _, each := range p.CRDs {
		crd, _, err := p.CRD(types.NamespacedName{Name: each})
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", ResourceCRDs, each, err)
		}
		if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
			add(ResourceCRDs, crd.ObjectMeta, p.append(nil, *c.Webhook.ClientConfig, "/spec/conversion/webhook/clientConfig/caBundle"))
		}
	}
	return holders, nil
}

func (p Published) append(to []Bundle, c admissionv1.WebhookClientConfig, path string) []Bundle {
	if c.Service == nil || c.Service.Name != p.Service.Name || c.Service.Namespace != p.Service.Namespace {
		return to
	}
	return append(to, Bundle{path, c.CABundle})
}

// Publish implements Holders. A JSON patch that sets the resourceVersion is refused
// with a conflict where the object has another by then.
func (p Published) Publish(ctx context.Context, h Holder, bundle []byte) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch := make([]operation, 0, 1+len(h.Bundles))
	patch = append(patch, operation{"replace", "/metadata/resourceVersion", h.ResourceVersion})
	for _, b := range h.Bundles {
		patch = append(patch, operation{"add", b.Path, bundle}) // which JSON has in base64
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	client := p.Registration
	if h.Resource == ResourceCRDs {
		client = p.Extensions
	}
	// MaxRetries: the caller decides when to try again.
	return client.Patch(types.JSONPatchType).Resource(h.Resource).Name(h.Name).MaxRetries(0).Body(raw).Do(ctx).Error()
}
