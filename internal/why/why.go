// Package why asks the replica that does the work why a key was reconciled, as
// millrace why prints it.
//
//	millrace why ──Leases──▶ which pod works on it? ──TokenRequest──▶ a token for /debug alone
//	      │
//	      └──GET pods/NAME:6060/proxy/debug/key──▶ API server ──▶ the pod's guard ──▶ inspect
//
// What it promises:
//
//  1. It asks the pod that holds the leader's Lease, or, where replicas share the work,
//     the one whose claim the namespace is in; first the one and then the other while an
//     install goes back to one leader, which holds its Lease and works on nothing yet
//     (TestTheLeaderIsAskedThroughTheProxyWithATokenForThat,
//     TestWhoHasClaimedTheNamespaceIsAsked, TestWhileALeaderStandsByWhoClaimsIsAsked).
//  2. Where that cannot be told, or may not be looked up, it asks all pods of the labels
//     that are ready, until one knows the key that works on it; who only has it in its
//     cache is heard when nobody else knows more
//     (TestWithoutALeaderAPodThatIsReadyIsAsked, TestWhoMayNotSeeTheLeasesAsksAll).
//  3. The token that it sends through the API server's proxy is made for that
//     question: for guard.Audience, for ten minutes, of a ServiceAccount that may
//     see /debug and nothing else. Its user's own credentials stay with the API
//     server.
//  4. What goes wrong is said with what can be done about it
//     (TestWhatGoesWrongIsSaidWithWhatCanBeDone).
//  5. What a server answers is text, and steers no terminal.
//     (TestAnAnswerSteersNoTerminal)
//
// It has no goroutine.
package why

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
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

// In asks the replica of a cluster that works on the key, and writes its answer to out.
func In(ctx context.Context, rc *rest.Config, at Install, q Question, out io.Writer) error {
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("client of v1: %w", err)
	}
	leases, err := coordination.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("client of coordination.k8s.io/v1: %w", err)
	}
	pods, err := at.whom(ctx, core, leases, q.Key.Namespace)
	if err != nil {
		return err
	}
	token, err := tokenFor(ctx, core, at, pods[0])
	if err != nil {
		return err
	}
	return q.askAll(ctx, pods, func(pod string) getter { return at.through(core, pod, token) }, out)
}

// through gets from a pod by the API server's proxy.
func (at Install) through(core typedcorev1.CoreV1Interface, pod, token string) getter {
	return func(ctx context.Context, path string, query url.Values) ([]byte, error) {
		request := core.RESTClient().Get().Namespace(at.Namespace).Resource("pods").Name("http:"+pod+":"+at.Port).SubResource("proxy").Suffix(path).
			SetHeader("Accept", "text/plain").SetHeader(guard.TokenHeader, token)
		for name := range query {
			request.Param(name, query.Get(name))
		}
		answer, err := request.DoRaw(ctx)
		if err != nil && unknown(answer) {
			return nil, errUnknown
		}
		return answer, at.explain(pod, answer, err)
	}
}

// At asks a replica at a URL, as behind kubectl port-forward.
func At(ctx context.Context, server string, q Question, out io.Writer) error {
	client := &http.Client{Timeout: 30 * time.Second}
	ask := func(ctx context.Context, path string, query url.Values) ([]byte, error) {
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
	return q.askAll(ctx, []string{server}, func(string) getter { return ask }, out)
}

// mostAnswer bounds what is read from a server that may be anything.
const mostAnswer = 4 << 20

// tokenFor is a token that is good for /debug, and for nothing else.
func tokenFor(ctx context.Context, core typedcorev1.ServiceAccountsGetter, at Install, pod string) (string, error) {
	seconds := int64(600) // the least that there is
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{Audiences: []string{guard.Audience}, ExpirationSeconds: &seconds}}
	answer, err := core.ServiceAccounts(at.Namespace).CreateToken(ctx, at.ServiceAccount, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no ServiceAccount %s/%s, as in an install for one namespace: ask by port-forward: %s", at.Namespace, at.ServiceAccount, at.forward(pod))
	}
	if err != nil {
		return "", fmt.Errorf("a token to look at /debug with (create serviceaccounts/token of %s/%s): %w; without it, ask by port-forward: %s", at.Namespace, at.ServiceAccount, err, at.forward(pod))
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
