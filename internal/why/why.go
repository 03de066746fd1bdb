// Package why asks the replica that does the work why a key was reconciled, as
// millrace why prints it.
//
//	millrace why ──Lease──▶ which pod leads? ──TokenRequest──▶ a token for /debug alone
//	      │
//	      └──GET pods/NAME:6060/proxy/debug/key──▶ API server ──▶ the pod's guard ──▶ inspect
//
// What it promises:
//
//  1. It asks the pod that holds the Lease, or, where nobody holds it under the name
//     of a pod, the first pod of the labels that is ready.
//  2. The token that it sends through the API server's proxy is made for that
//     question: for guard.Audience, for ten minutes, of a ServiceAccount that may
//     see /debug and nothing else. Its user's own credentials stay with the API
//     server.
//  3. What goes wrong is said with what can be done about it.
//  4. What a server answers is text, and steers no terminal.
//     (TestAnAnswerSteersNoTerminal)
//
// It has no goroutine.
package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/internal/guard"
	"millrace/internal/terminal"
)

// Question is what is asked.
type Question struct {
	Key types.NamespacedName
	// Controllers are asked one after the other, until one knows the key.
	Controllers []string
}

// Install is where to ask in a cluster. All fields are needed.
type Install struct {
	// Namespace is that of the install, Lease the name of the leader's Lease, and
	// Labels select its pods.
	Namespace, Lease, Labels string
	// Port is where the pods serve /debug.
	Port string
	// ServiceAccount is one of the namespace that may get /debug/*.
	ServiceAccount string
}

// errUnknown is the answer of a replica that does not know the key.
var errUnknown = errors.New("not known")

// In asks the replica that leads in a cluster, and writes its answer to out.
func In(ctx context.Context, rc *rest.Config, at Install, q Question, out io.Writer) error {
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("client of v1: %w", err)
	}
	leases, err := coordination.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("client of coordination.k8s.io/v1: %w", err)
	}
	pod, err := leader(ctx, core, leases, at)
	if err != nil {
		return err
	}
	token, err := tokenFor(ctx, core, at, pod)
	if err != nil {
		return err
	}
	get := func(ctx context.Context, path string, query url.Values) ([]byte, error) {
		request := core.RESTClient().Get().Namespace(at.Namespace).Resource("pods").Name("http:"+pod+":"+at.Port).SubResource("proxy").Suffix(path).
			SetHeader("Accept", "text/plain").SetHeader(guard.TokenHeader, token)
		for name := range query {
			request.Param(name, query.Get(name))
		}
		answer, err := request.DoRaw(ctx)
		if err != nil && unknown(answer) {
			err = errUnknown
		} else {
			err = at.explain(pod, answer, err)
		}
		return answer, err
	}
	return ask(ctx, get, q, out)
}

// At asks a replica at a URL, as behind kubectl port-forward.
func At(ctx context.Context, server string, q Question, out io.Writer) error {
	client := &http.Client{Timeout: 30 * time.Second}
	get := func(ctx context.Context, path string, query url.Values) ([]byte, error) {
		where := strings.TrimSuffix(server, "/") + "/" + path + "?" + query.Encode()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
		if err != nil {
			return nil, fmt.Errorf("--server=%s: %w", server, err)
		}
		request.Header.Set("Accept", "text/plain")
		response, err := client.Do(request)
		if err != nil {
			return nil, fmt.Errorf("--server=%s: %w", server, err)
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
		switch {
		case err != nil:
			return nil, fmt.Errorf("--server=%s: %w", server, err)
		case response.StatusCode == http.StatusNotFound && unknown(answer):
			return nil, errUnknown
		case response.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("--server=%s answers %s: %s", server, terminal.Plain(response.Status, ""), terminal.Plain(strings.TrimSpace(string(answer)), "\n\t"))
		}
		return answer, nil
	}
	return ask(ctx, get, q, out)
}

// unknown tells the answer that nobody knows the key from that of a server which
// knows nothing of keys.
func unknown(answer []byte) bool { return strings.Contains(string(answer), "knows no such key") }

// mostAnswer bounds what is read from a server that may be anything.
const mostAnswer = 4 << 20

func ask(ctx context.Context, get func(context.Context, string, url.Values) ([]byte, error), q Question, out io.Writer) error {
	for _, controller := range q.Controllers {
		answer, err := get(ctx, "debug/key", url.Values{"controller": {controller}, "key": {q.Key.String()}})
		switch {
		case errors.Is(err, errUnknown):
		case err != nil:
			return err
		default:
			_, err := io.WriteString(out, terminal.Plain(string(answer), "\n\t"))
			return err
		}
	}
	return fmt.Errorf("no %s of that name is known: %s", strings.Join(q.Controllers, " or "), q.Key)
}

// leader is the name of the pod to ask.
func leader(ctx context.Context, core typedcorev1.PodsGetter, leases coordination.LeasesGetter, at Install) (string, error) {
	pods, err := core.Pods(at.Namespace).List(ctx, metav1.ListOptions{LabelSelector: at.Labels})
	if err != nil {
		return "", fmt.Errorf("look for the controller's pods: %w", err)
	}
	if len(pods.Items) == 0 {
		return "", fmt.Errorf("namespace %s has no pods with the labels %s: is it installed elsewhere? (--namespace)", at.Namespace, at.Labels)
	}
	holder := ""
	lease, err := leases.Leases(at.Namespace).Get(ctx, at.Lease, metav1.GetOptions{})
	switch {
	case err == nil && lease.Spec.HolderIdentity != nil:
		holder = *lease.Spec.HolderIdentity
	case err != nil && !apierrors.IsNotFound(err):
		return "", fmt.Errorf("look who leads: %w", err)
	}
	first := ""
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Name == holder {
			return p.Name, nil
		}
		if first == "" && isReady(p) {
			first = p.Name
		}
	}
	if first == "" {
		return "", fmt.Errorf("none of the controller's %d pods is ready", len(pods.Items))
	}
	return first, nil
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// tokenFor is a token that is good for /debug, and for nothing else.
func tokenFor(ctx context.Context, core typedcorev1.ServiceAccountsGetter, at Install, pod string) (string, error) {
	seconds := int64(600) // the least that there is
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{Audiences: []string{guard.Audience}, ExpirationSeconds: &seconds}}
	answer, err := core.ServiceAccounts(at.Namespace).CreateToken(ctx, at.ServiceAccount, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no ServiceAccount %s/%s, as in an install for one namespace: ask by port-forward: %s", at.Namespace, at.ServiceAccount, at.forward(pod))
	}
	if err != nil {
		return "", fmt.Errorf("a token to look at /debug with (create serviceaccounts/token of %s/%s): %w", at.Namespace, at.ServiceAccount, err)
	}
	return answer.Status.Token, nil
}

// forward is how the pod is asked without a token, by whoever may port-forward to it.
func (at Install) forward(pod string) string {
	return fmt.Sprintf("kubectl -n %s port-forward pod/%s %s, and in another terminal millrace why --server http://127.0.0.1:%s …", at.Namespace, pod, at.Port, at.Port)
}

// explain says what can be done about an error.
func (at Install) explain(pod string, answer []byte, err error) error {
	said := terminal.Plain(strings.TrimSpace(string(answer)), "\n\t")
	switch {
	case err == nil:
		return nil
	case strings.Contains(said, "error trying to reach service"):
		return fmt.Errorf("pod %s is not to be reached at port %s: by default it shows /debug to its own machine alone. Start it with --debug-bind-address=:%s, or ask by port-forward: %s (%s)", pod, at.Port, at.Port, at.forward(pod), said)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("ask pod %s: needed are the rights to get pods/proxy here, and those of ServiceAccount %s to get /debug/*: %w (%s)", pod, at.ServiceAccount, err, said)
	}
	return fmt.Errorf("ask pod %s: %w (%s)", pod, err, said)
}
