package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/webhook"
	"millrace/webhook/certificate"
)

const dnsName = "millrace-webhook.tekton-pipelines.svc"

// A cluster is one Secret, and one caBundle that API servers obey some time after it
// was written.
type cluster struct {
	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	bundle  []byte
	written []writing
}

type writing struct {
	at  time.Time
	pem []byte
}

func (c *cluster) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return c.secret.DeepCopy(), nil
}

func (c *cluster) Create(_ context.Context, s *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	return c.put(s, "")
}

func (c *cluster) Update(_ context.Context, s *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	return c.put(s, s.ResourceVersion)
}

func (c *cluster) put(s *corev1.Secret, version string) (*corev1.Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is := c.secret; is == nil && version != "" || is != nil && is.ResourceVersion != version {
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), s.Name, errors.New("another was faster"))
	}
	c.version++
	c.secret = s.DeepCopy()
	c.secret.ResourceVersion = fmt.Sprint(c.version)
	return c.secret.DeepCopy(), nil
}

func (c *cluster) List() ([]certificate.Holder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []certificate.Holder{{Resource: "holders", Name: "only", ResourceVersion: fmt.Sprint(len(c.written)), Bundles: []certificate.Bundle{{PEM: c.bundle}}}}, nil
}

func (c *cluster) Publish(_ context.Context, h certificate.Holder, pem []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.ResourceVersion != fmt.Sprint(len(c.written)) {
		return apierrors.NewConflict(corev1.Resource("holders"), h.Name, errors.New("another was faster"))
	}
	c.bundle = pem
	c.written = append(c.written, writing{time.Now(), pem})
	return nil
}

// obeyed is the bundle as an API server has it that is so late.
func (c *cluster) obeyed(late time.Duration) (pem []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.written {
		if time.Since(w.at) >= late {
			pem = w.pem
		}
	}
	return pem
}

// A replica serves at a door of its own.
type replica struct {
	*certificate.Keeper
	door
}

// A door is a listener without a network: a connection that is open there would stop the
// clock of the bubble.
type door chan net.Conn

func (d door) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case d <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (d door) Accept() (net.Conn, error) {
	if conn, open := <-d; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (d door) Close() error {
	close(d)
	return nil
}

// Addr implements net.Listener.
func (d door) Addr() net.Addr { return &net.UnixAddr{Name: "door"} }

func (c *cluster) replica(ctx context.Context, t *testing.T, parts *sync.WaitGroup, cfg certificate.Config, trace webhook.Trace) replica {
	t.Helper()
	listener := make(door)
	k := certificate.New(cfg, c, c)
	parts.Go(func() {
		for ctx.Err() == nil {
			after, err := k.Reconcile(ctx)
			if err != nil && !apierrors.IsConflict(err) {
				t.Errorf("reconcile: %v", err)
			}
			wait := time.NewTimer(min(after, 100*time.Millisecond) + time.Millisecond)
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
		}
	})
	parts.Go(func() {
		if err := webhook.Serve(ctx, listener, webhook.NewHandler(webhook.Config{Trace: trace}), k.Certificate, trace); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return replica{k, listener}
}

// An API server verifies with what it obeys; a bundle that has not changed it has
// parsed already, as a real one has.
type apiServer struct {
	cluster *cluster
	late    time.Duration

	mu    sync.Mutex
	pem   []byte
	roots *x509.CertPool
}

func (a *apiServer) trusted() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pem := a.cluster.obeyed(a.late); a.roots == nil || !bytes.Equal(pem, a.pem) {
		a.pem, a.roots = pem, x509.NewCertPool()
		a.roots.AppendCertsFromPEM(pem)
	}
	return a.roots
}

const question = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7","operation":"CREATE","name":"build",
	"kind":{"group":"tekton.dev","version":"v1","kind":"TaskRun"},"object":{"metadata":{"name":"build"},"spec":{"taskRef":{"name":"build"}}}}}`

// ask returns the serial numbers of the certificate and, by its key, of its authority.
func (a *apiServer) ask(replica door) (serving, authority string, err error) {
	client := http.Client{Transport: &http.Transport{
		DialContext:       replica.dial,
		DisableKeepAlives: true, // so that each request is a handshake
		TLSClientConfig:   &tls.Config{RootCAs: a.trusted(), ServerName: dnsName, MinVersion: tls.VersionTLS12},
	}}
	resp, err := client.Post("https://"+dnsName+webhook.PathValidate, "application/json", strings.NewReader(question))
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", "", err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Response == nil || !review.Response.Allowed {
		return "", "", fmt.Errorf("HTTP %d, %w: %s", resp.StatusCode, err, body)
	}
	shown := resp.TLS.PeerCertificates[0]
	return shown.SerialNumber.String(), string(shown.AuthorityKeyId), nil
}

// Over TLS: two replicas, two API servers of which one is late, and a new handshake for
// each request. Lifetimes are seconds of a bubble's clock, so that half a minute has two
// rotations, and requests come all the while.
func TestNoRequestIsRefusedWhileCertificateAndAuthorityRotate(t *testing.T) {
	synctest.Test(t, rotateUnderLoad)
}

func rotateUnderLoad(t *testing.T) {
	c := &cluster{}
	cfg := certificate.Config{
		DNSName: dnsName, SecretName: "certs",
		ServingLifetime: 24 * time.Second, AuthorityLifetime: 24 * time.Second,
		Propagation: 5 * time.Second, Skew: time.Second,
	}
	var handshakes atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()
	trace := webhook.Trace{HandshakeFailed: func() { handshakes.Add(1) }}
	replicas := []replica{c.replica(ctx, t, &parts, cfg, trace), c.replica(ctx, t, &parts, cfg, trace)}
	servers := []*apiServer{{cluster: c, late: 0}, {cluster: c, late: time.Second}}
	began := time.Now()
	for replicas[0].Ready() != nil || replicas[1].Ready() != nil || c.obeyed(time.Second) == nil {
		if time.Sleep(10 * time.Millisecond); time.Since(began) > time.Minute {
			t.Fatal(replicas[0].Ready(), replicas[1].Ready())
		}
	}

	var mu sync.Mutex
	var refused []error
	servings, authorities := map[string]bool{}, map[string]bool{}
	began = time.Now()
	rotated := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(authorities) > 2 // two replaced, and with them at least as many certificates
	}
	asked := 0
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() {
			for i := n; !rotated() && time.Since(began) < 3*time.Minute; i++ {
				time.Sleep(pauseUnderRotation)
				serving, authority, err := servers[i%2].ask(replicas[i/2%2].door)
				mu.Lock()
				asked++
				if err != nil {
					refused = append(refused, err)
				}
				servings[serving], authorities[authority] = true, true
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	t.Logf("%d requests in %s, each with a handshake, by %d serving certificates of %d authorities: %d refused, %d handshakes failed",
		asked, time.Since(began), len(servings), len(authorities), len(refused), handshakes.Load())
	if len(refused) > 0 || handshakes.Load() > 0 {
		t.Errorf("refused: %v", refused[:min(3, len(refused))])
	}
	if len(servings) < 3 || len(authorities) < 3 {
		t.Error("that was no rotation under load")
	}
}
