package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// install creates what of the manifests the webhook's certificate goes into, and the
// namespaces: once there is one, the server wants them all.
func (w *world) install() error {
	for _, name := range teams() {
		w.create("namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	resources := map[string]string{
		"Namespace": "namespaces", "CustomResourceDefinition": "customresourcedefinitions",
		"MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	}
	for _, file := range []string{
		"manifests/base/namespace.yaml", "manifests/base/webhook.yaml",
		"crds/tekton.dev_tasks.yaml", "crds/tekton.dev_taskruns.yaml", "crds/tekton.dev_pipelines.yaml", "crds/tekton.dev_pipelineruns.yaml",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
			var object map[string]any
			if err := objects.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if kind, _ := object["kind"].(string); resources[kind] != "" {
				w.create(resources[kind], object)
			}
		}
	}
	return nil
}

// admit asks the replica's webhook about a run that is to be created, as an API server
// does: for its defaults, and whether it is valid. Where nobody answers it is admitted,
// as the manifests say.
func (r *replica) admit(ctx context.Context, object any) bool {
	for _, path := range []string{"/default", "/validate"} {
		if said, err := r.review(ctx, path, object); err == nil && !said.Allowed {
			return false
		}
	}
	return true
}

func (r *replica) review(ctx context.Context, path string, object any) (*admissionv1.AdmissionResponse, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "a-review", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}},
	}
	var of metav1.TypeMeta
	if err := json.Unmarshal(raw, &of); err != nil {
		return nil, err
	}
	review.Request.Kind = metav1.GroupVersionKind(of.GroupVersionKind())
	body, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it is on this machine, and was started a moment ago
	}}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+r.webhook+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(asked)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	review = admissionv1.AdmissionReview{}
	if err := json.NewDecoder(answer.Body).Decode(&review); err != nil {
		return nil, err
	}
	if review.Response == nil {
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	return review.Response, nil
}
