//go:build e2e

package e2efaults

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"

	"millrace/internal/faultproxy"
)

// A foreign webhook is somebody else's, who has a say in what is written in the
// stage's namespace. It listens where the API server does: on the node's loopback.
type foreign struct {
	stage     *stage
	authority *faultproxy.Authority
	address   string

	mu          sync.Mutex
	says        string // why not; empty: yes
	waits       time.Duration
	certificate *tls.Certificate
}

// foreign makes one that says no to all that the rules are about, and serves it.
func (s *stage) foreign(says string, rules ...admissionregistrationv1.RuleWithOperations) *foreign {
	s.t.Helper()
	authority, err := faultproxy.NewAuthority()
	s.must(err)
	f := &foreign{stage: s, authority: authority, address: "127.0.0.1:0", says: says}
	f.certify(time.Now().Add(24 * time.Hour))
	l, err := s.cluster.listen(f.address)
	s.must(err)
	f.address = l.Addr().String()
	f.serve(l)
	f.register(rules)
	return f
}

// on is a rule about what is done to a resource of a group.
func on(group, resource string, does ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: does,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}
}

// register tells the API server, and waits until it asks. It gives the webhook two
// seconds, and takes no answer for a no.
func (f *foreign) register(rules []admissionregistrationv1.RuleWithOperations) {
	s := f.stage
	s.t.Helper()
	url, none, fail, seconds := "https://"+f.address, admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, int32(2)
	hooks := s.cluster.hooks.ValidatingWebhookConfigurations()
	_, err := hooks.Create(s.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "policy.example.com", Rules: rules, SideEffects: &none, FailurePolicy: &fail, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: f.authority.PEM()},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.ns}},
		}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(s.ctx), s.ns, metav1.DeleteOptions{}); err != nil {
			s.t.Logf("cleaning up: %v", err)
		}
	})
	s.pass(2 * time.Second) // the server hears of it by a watch
}

// believes has the API server believe another authority than the webhook's.
func (f *foreign) believes(authority *faultproxy.Authority) {
	f.stage.t.Helper()
	f.configure(func(c *admissionregistrationv1.WebhookClientConfig) { c.CABundle = authority.PEM() })
}

func (f *foreign) configure(change func(*admissionregistrationv1.WebhookClientConfig)) {
	s := f.stage
	s.t.Helper()
	hooks := s.cluster.hooks.ValidatingWebhookConfigurations()
	s.eventually("the webhook's configuration to be written", func() bool {
		config, err := hooks.Get(s.ctx, s.ns, metav1.GetOptions{})
		if err != nil {
			return false
		}
		change(&config.Webhooks[0].ClientConfig)
		_, err = hooks.Update(s.ctx, config, metav1.UpdateOptions{})
		return err == nil
	})
	s.pass(2 * time.Second)
}

// moves has the API server ask at another address.
func (f *foreign) moves(address string) {
	f.stage.t.Helper()
	f.configure(func(c *admissionregistrationv1.WebhookClientConfig) {
		url := "https://" + address
		c.URL = &url
	})
}

// certify gives it a certificate that is good until then.
func (f *foreign) certify(until time.Time) {
	f.stage.t.Helper()
	certificate, err := f.authority.Sign(until)
	f.stage.must(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.certificate = certificate
}

// answers has it say no for a reason, or yes for none, after a wait.
func (f *foreign) answers(says string, waits time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.says, f.waits = says, waits
}

// serve answers until the stage is over, or what it returns is called.
func (f *foreign) serve(l net.Listener) (away func()) {
	server := &http.Server{
		Handler: http.HandlerFunc(f.review), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.certificate, nil
		}},
	}
	server.SetKeepAlivesEnabled(false)                      // so that each question looks at the certificate
	f.stage.parts.Go(func() { server.ServeTLS(l, "", "") }) //nolint:errcheck // it is closed
	away = func() { server.Close() }                        //nolint:errcheck // it is not needed any more
	context.AfterFunc(f.stage.ctx, away)
	return away
}

func (f *foreign) review(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	says, waits := f.says, f.waits
	f.mu.Unlock()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, fmt.Sprint("no review: ", err), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(waits):
	case <-r.Context().Done():
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: says == ""}
	if says != "" {
		review.Response.Result = &metav1.Status{Message: says, Code: http.StatusForbidden}
	}
	review.Request = nil
	answer, err := json.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer) //nolint:errcheck // whoever asked may have gone
}

// listen listens in the node's network: a socket stays where it was made. The thread
// that goes there comes back, and does not end: with it would end the processes that
// were started from it (Pdeathsig).
func (c *cluster) listen(address string) (l net.Listener, err error) {
	node, err := c.pid("node")
	if err != nil {
		return nil, err
	}
	there, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", node))
	if err != nil {
		return nil, err
	}
	defer there.Close()
	runtime.LockOSThread()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer here.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("the node's network: %w", err)
	}
	l, err = net.Listen("tcp", address)
	if back := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(back) // nobody may go on from here
	}
	runtime.UnlockOSThread()
	return l, err
}
