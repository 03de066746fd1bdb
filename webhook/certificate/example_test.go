package certificate_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/webhook/certificate"
)

// inMemory is a cluster with one Secret, and one object that holds a caBundle.
type inMemory struct {
	secret *corev1.Secret
	bundle []byte
}

func (m *inMemory) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if m.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return m.secret.DeepCopy(), nil
}

func (m *inMemory) Create(_ context.Context, s *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	m.secret = s
	return s, nil
}

func (m *inMemory) Update(_ context.Context, s *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	m.secret = s
	return s, nil
}

func (m *inMemory) List() ([]certificate.Holder, error) {
	return []certificate.Holder{{Resource: "customresourcedefinitions", Name: "tasks.tekton.dev", Bundles: []certificate.Bundle{{PEM: m.bundle}}}}, nil
}

func (m *inMemory) Publish(_ context.Context, h certificate.Holder, pem []byte) error {
	fmt.Println("published to", h)
	m.bundle = pem
	return nil
}

// The first replica of an install: it makes what is missing, then has it trusted. Who
// calls Reconcile is a worker of a queue, with every change of the Secret or a holder,
// and after the time that it returns.
func ExampleKeeper_Reconcile() {
	cluster := &inMemory{}
	k := certificate.New(certificate.Config{DNSName: "millrace-webhook.tekton-pipelines.svc", SecretName: "certs"}, cluster, cluster)
	fmt.Println(k.Ready())
	for k.Ready() != nil {
		if _, err := k.Reconcile(context.Background()); err != nil {
			panic(err)
		}
	}
	shown, err := k.Certificate(nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("serves as", shown.Leaf.DNSNames[0])
	// Output:
	// the webhook has no certificate yet
	// published to customresourcedefinitions/tasks.tekton.dev
	// serves as millrace-webhook.tekton-pipelines.svc
}
