package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"millrace/internal/simulation/apiserver"
)

// pipes is a listener that is dialed without a network, so that time may stand still.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.over:
	default:
		close(p.over)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.over:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// installed is the program with its webhook on, in a cluster that has its manifests.
type installed struct {
	t          *testing.T
	server     *apiserver.Server
	link       *apiserver.Link // the program's
	actor      apiserver.Actor
	flags      []string // besides
	random     func(resource string) rand.Source
	ops, hooks *pipes
	seen       []apiserver.Exchange
}

// install tells a story of it, in a bubble, and returns what the server was asked.
func install(t *testing.T, cfg apiserver.Config, story func(*installed)) (seen []apiserver.Exchange) {
	t.Helper()
	return installAmid(t, cfg, func(*installed) {}, story)
}

// installAmid has trouble begin before the program does.
func installAmid(t *testing.T, cfg apiserver.Config, trouble, story func(*installed)) (seen []apiserver.Exchange) {
	t.Helper()
	hush(t)
	synctest.Test(t, func(t *testing.T) {
		i := &installed{t: t, ops: newPipes(), hooks: newPipes()}
		cfg.Seen = func(e apiserver.Exchange) { i.seen = append(i.seen, e) }
		i.server = apiserver.New(cfg)
		i.actor = i.server.Actor("admin")
		i.apply("manifests/base/namespace.yaml", "manifests/base/webhook.yaml",
			"crds/tekton.dev_tasks.yaml", "crds/tekton.dev_taskruns.yaml", "crds/tekton.dev_pipelines.yaml", "crds/tekton.dev_pipelineruns.yaml")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		serving, stopServer := context.WithCancel(context.WithoutCancel(ctx))
		go func() { _ = i.server.Run(serving); ended <- nil }()
		i.link = i.server.Connect("millrace")
		trouble(i)
		transport := &http.Transport{DialContext: i.link.Dial}
		go func() { ended <- i.program(ctx, &rest.Config{Host: "http://apiserver", Transport: transport}) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("the program ended: %v", err)
			}
			i.link.Cut()
			transport.CloseIdleConnections()
			stopServer()
			if err := <-ended; err != nil {
				t.Errorf("the server ended: %v", err)
			}
			seen = i.seen
			time.Sleep(24 * time.Hour) // what only sleeps goes in the end, and the bubble with it
		}()
		story(i)
	})
	return seen
}

func (i *installed) program(ctx context.Context, rc *rest.Config) error {
	flags := []string{"--pod-name=millrace-1", "--entrypoint-image=registry.example.com/millrace", "--leader-elect=false"}
	cfg, err := parseConfig(append(flags, i.flags...), none)
	if err != nil {
		return err
	}
	return run(ctx, cfg, rc, machine{random: i.random, listen: func(_ context.Context, _, address string) (net.Listener, error) {
		switch address {
		case cfg.bind:
			return i.ops, nil
		case cfg.webhookBind:
			return i.hooks, nil
		default:
			return newPipes(), nil
		}
	}})
}

// apply creates what is in manifests, as far as the model has it.
func (i *installed) apply(files ...string) {
	i.t.Helper()
	resources := map[string]string{
		"Namespace": "namespaces", "CustomResourceDefinition": "customresourcedefinitions",
		"MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			i.t.Fatal(err)
		}
		for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
			var object map[string]any
			if err := documents.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				i.t.Fatal(err)
			}
			kind, _ := object["kind"].(string)
			if resources[kind] == "" {
				continue
			}
			if _, err := i.actor.Create(resources[kind], object); err != nil {
				i.t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

func (i *installed) ready() string { return i.probed("/readyz") }

// probed is what the port of the probes answers.
func (i *installed) probed(path string) string {
	i.t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: i.ops.dial, DisableKeepAlives: true}, Timeout: time.Second}
	resp, err := client.Get("http://millrace" + path)
	if err != nil {
		i.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	return resp.Status + " " + strings.TrimSpace(string(body))
}

// bundles are those of all six holders.
func (i *installed) bundles() map[string][]byte {
	i.t.Helper()
	bundles := map[string][]byte{}
	for _, name := range convertedCRDs() {
		o := i.object("customresourcedefinitions", name)
		spec := o["spec"].(map[string]any)["conversion"].(map[string]any)["webhook"].(map[string]any)["clientConfig"].(map[string]any)
		bundles[name] = i.decoded(spec["caBundle"])
	}
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		o := i.object(resource, webhookConfiguration)
		first := o["webhooks"].([]any)[0].(map[string]any)["clientConfig"].(map[string]any)
		bundles[resource] = i.decoded(first["caBundle"])
	}
	return bundles
}

func (i *installed) object(resource, name string) map[string]any {
	i.t.Helper()
	o, there := i.server.Object(resource, types.NamespacedName{Name: name})
	if !there {
		i.t.Fatalf("there is no %s/%s", resource, name)
	}
	var fields map[string]any
	if err := json.Unmarshal(o.JSON(), &fields); err != nil {
		i.t.Fatal(err)
	}
	return fields
}

func (i *installed) decoded(base64 any) (raw []byte) {
	i.t.Helper()
	text, err := json.Marshal(base64)
	if err == nil {
		err = json.Unmarshal(text, &raw)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	return raw
}

// validate asks the webhook as an API server would that trusts a bundle.
func (i *installed) validate(bundle []byte, object string) (*admissionv1.AdmissionResponse, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	client := http.Client{Transport: &http.Transport{
		DialContext: i.hooks.dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "millrace-webhook.tekton-pipelines.svc", MinVersion: tls.VersionTLS12},
	}}
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","kind":{"group":"tekton.dev","version":"v1","kind":"Task"},"object":` + object + `}}`
	resp, err := client.Post("https://millrace/validate", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil {
		return nil, err
	}
	return review.Response, nil
}

func TestTheWebhookIsTrustedByTheTimeThatTheProgramIsReady(t *testing.T) {
	install(t, apiserver.Config{}, func(i *installed) {
		time.Sleep(5 * time.Second)
		if got := i.ready(); got != "200 OK ok" {
			t.Fatalf("after five seconds: %s", got)
		}
		for holder, bundle := range i.bundles() {
			r, err := i.validate(bundle, `{"spec":{"steps":[{"name":"UPPER","image":"x"}]}}`)
			if err != nil || r.Allowed || r.Result.Details.Causes[0].Field != "spec.steps[0].name" {
				t.Errorf("by what %s trusts: %+v, %v", holder, r, err)
			}
		}
		if _, err := i.validate(nil, `{}`); err == nil {
			t.Error("a client that trusts nobody was served")
		}
	})
}

// The news come through the program's own chains: nobody polls for a minute.
func TestWhatSomebodyOverwroteIsRepairedAtOnce(t *testing.T) {
	install(t, apiserver.Config{}, func(i *installed) {
		time.Sleep(5 * time.Second)
		want := i.bundles()
		if _, err := i.actor.Patch("customresourcedefinitions", "", types.NamespacedName{Name: "tasks.tekton.dev"}, `{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"eA=="}}}}}`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := i.bundles()["tasks.tekton.dev"]; !bytes.Equal(got, want["tasks.tekton.dev"]) {
			t.Errorf("five seconds later the CRD holds %q", got)
		}
		if _, err := i.actor.Delete("secrets", types.NamespacedName{Namespace: "tekton-pipelines", Name: webhookSecret}, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if got := i.bundles()["tasks.tekton.dev"]; bytes.Equal(got, want["tasks.tekton.dev"]) || !bytes.HasPrefix(got, want["tasks.tekton.dev"]) {
			t.Error("after the Secret was deleted, the new authority does not stand beside the old one")
		}
	})
}

// Requests are answered for some seconds after the program was told to stop: its
// address is still known.
func TestAStoppingWebhookServesThoseWhoHaveNotHeardOfIt(t *testing.T) {
	install(t, apiserver.Config{}, func(i *installed) {
		time.Sleep(5 * time.Second)
		bundle := i.bundles()["tasks.tekton.dev"]
		go func() { // the story's end is the stop
			time.Sleep(3 * time.Second)
			if _, err := i.validate(bundle, `{}`); err != nil {
				t.Errorf("three seconds after the stop: %v", err)
			}
		}()
		synctest.Wait()
	})
}
