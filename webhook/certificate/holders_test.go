package certificate

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

var ours = types.NamespacedName{Namespace: "tekton-pipelines", Name: "millrace-webhook"}

// config is of a webhook that is reached at a Service.
func config(namespace, name string, pem string) admissionv1.WebhookClientConfig {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: namespace, Name: name}, CABundle: []byte(pem)}
}

func meta(name, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, ResourceVersion: version}
}

// everything is what a cluster may hold: of each, ours and another's.
func everything() Published {
	theirs := config("elsewhere", "other", "theirs")
	url := "https://example.com"
	crds := map[string]string{
		"tasks.tekton.dev":     `{"metadata":{"name":"tasks.tekton.dev","resourceVersion":"3"},"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"name":"millrace-webhook","namespace":"tekton-pipelines"},"caBundle":"b2xk"}}}}}`,
		"pipelines.tekton.dev": `{"metadata":{"name":"pipelines.tekton.dev","resourceVersion":"4"},"spec":{"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"name":"tekton-pipelines-webhook","namespace":"tekton-pipelines"}}}}}}`,
		"taskruns.tekton.dev":  `{"metadata":{"name":"taskruns.tekton.dev","resourceVersion":"5"},"spec":{"conversion":{"strategy":"None"}}}`,
	}
	return Published{
		Service: ours, Configuration: "millrace-webhook",
		CRDs: []string{"pipelineruns.tekton.dev", "pipelines.tekton.dev", "taskruns.tekton.dev", "tasks.tekton.dev"},
		Mutating: func(key types.NamespacedName) (admissionv1.MutatingWebhookConfiguration, bool, error) {
			return admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta(key.Name, "1"), Webhooks: []admissionv1.MutatingWebhook{
				{ClientConfig: theirs}, {ClientConfig: admissionv1.WebhookClientConfig{URL: &url}}, {ClientConfig: config(ours.Namespace, ours.Name, "old")},
			}}, true, nil
		},
		Validating: func(types.NamespacedName) (admissionv1.ValidatingWebhookConfiguration, bool, error) {
			return admissionv1.ValidatingWebhookConfiguration{}, false, nil // somebody has deleted it
		},
		CRD: func(key types.NamespacedName) (crd CustomResourceDefinition, there bool, err error) {
			raw, there := crds[key.Name]
			if there {
				err = json.Unmarshal([]byte(raw), &crd)
			}
			return crd, there, err
		},
	}
}

func TestWhatIsSomebodyElsesIsLeftAlone(t *testing.T) {
	got, err := everything().List()
	must(t, err)
	want := []Holder{
		{ResourceMutating, "millrace-webhook", "1", []Bundle{{"/webhooks/2/clientConfig/caBundle", []byte("old")}}},
		{ResourceCRDs, "tasks.tekton.dev", "3", []Bundle{{"/spec/conversion/webhook/clientConfig/caBundle", []byte("old")}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABundleIsPublishedOnlyOverWhatWasSeen(t *testing.T) {
	var asked []string
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(t, err)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, err = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		must(t, err)
	}))
	defer server.Close()
	client := func(group string) rest.Interface {
		c, err := rest.RESTClientFor(&rest.Config{Host: server.URL, APIPath: "/apis", ContentConfig: rest.ContentConfig{
			GroupVersion: &schema.GroupVersion{Group: group, Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		}})
		must(t, err)
		return c
	}
	p := Published{Registration: client("admissionregistration.k8s.io"), Extensions: client("apiextensions.k8s.io")}
	must(t, p.Publish(t.Context(), Holder{ResourceMutating, "m", "7", []Bundle{{"/a", nil}, {"/b", []byte("x")}}}, []byte("new")))
	code = http.StatusConflict
	if err := p.Publish(t.Context(), Holder{ResourceCRDs, "c", "8", []Bundle{{"/a", nil}}}, []byte("new")); !apierrors.IsConflict(err) {
		t.Errorf("over another version: %v", err)
	}
	want := []string{
		`PATCH /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m application/json-patch+json [{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/a","value":"bmV3"},{"op":"add","path":"/b","value":"bmV3"}]`,
		`PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/c application/json-patch+json [{"op":"replace","path":"/metadata/resourceVersion","value":"8"},{"op":"add","path":"/a","value":"bmV3"}]`,
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}
