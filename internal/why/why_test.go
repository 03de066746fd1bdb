package why

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"millrace/internal/guard"
	"millrace/internal/inspect"
	"millrace/shard"
	"millrace/workqueue"
)

// A cluster is an API server in front of some replicas, each with a real guard and a
// real inspector behind it; the leader's queue has ci/build.
type cluster struct {
	mu        sync.Mutex // guards leases, asked and version
	leases    map[string]*coordination.Lease
	forbidden []string // endings of what nobody may get
	replicas  map[string]http.Handler
	pods      []corev1.Pod
	closed    bool // nothing listens on the pods' ports
	mayAsk    bool // the rights of the ServiceAccount
	noAccount bool // there is no such ServiceAccount
	asked     []string
	version   int
}

// leads has a replica hold the leader's Lease.
func (c *cluster) leads(holder string) {
	c.leases = map[string]*coordination.Lease{"millrace-controller": {Spec: coordination.LeaseSpec{HolderIdentity: &holder}}}
}

// claims has a replica hold the Lease of a shard, with a claim.
func (c *cluster) claims(lease, holder, claim string) {
	shards, err := labels.ConvertSelectorToLabelsMap(shard.Selector)
	if err != nil {
		panic(err)
	}
	c.leases[lease] = &coordination.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: lease, Labels: shards, Annotations: map[string]string{claimAnnotation: claim}},
		Spec:       coordination.LeaseSpec{HolderIdentity: &holder},
	}
}

func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	c.note(r)
	w := httptest.NewRecorder()
	c.serve(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func (c *cluster) note(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.Contains(r.URL.Path, "reviews") { // which are the replicas'
		c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	}
}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	pod, path, proxied := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/tekton-pipelines/pods/"), "/proxy")
	switch {
	case slices.ContainsFunc(c.forbidden, func(end string) bool { return strings.HasSuffix(r.URL.Path, end) }):
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "is forbidden")
	case strings.Contains(r.URL.Path, "/leases"):
		c.serveLeases(w, r)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		reply(w, corev1.PodList{Items: c.pods})
	case strings.HasSuffix(r.URL.Path, "/serviceaccounts/millrace-debug/token") && !c.noAccount:
		reply(w, authentication.TokenRequest{Status: authentication.TokenRequestStatus{Token: "short-lived"}})
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		var review authentication.TokenReview
		if json.NewDecoder(r.Body).Decode(&review) == nil && review.Spec.Token == "short-lived" && len(review.Spec.Audiences) == 1 {
			review.Status = authentication.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authentication.UserInfo{Username: "system:serviceaccount:tekton-pipelines:millrace-debug"}}
		}
		reply(w, review)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		reply(w, authorization.SubjectAccessReview{Status: authorization.SubjectAccessReviewStatus{Allowed: c.mayAsk}})
	case proxied && c.closed:
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "error trying to reach service: dial tcp 10.0.0.7:6060: connect: connection refused")
	case proxied:
		inside := httptest.NewRequest(r.Method, path+"?"+r.URL.RawQuery, nil)
		inside.Header = r.Header.Clone()
		inside.Header.Del("Authorization") // as the API server does
		inside.RemoteAddr = "10.0.0.1:443"
		c.replicas[pod].ServeHTTP(w, inside)
	default:
		http.NotFound(w, r)
	}
}

// serveLeases keeps what is written.
func (c *cluster) serveLeases(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, name, _ := strings.Cut(r.URL.Path, "/leases/")
	there := c.leases[name]
	switch {
	case r.Method == http.MethodPost || r.Method == http.MethodPut:
		var lease coordination.Lease
		if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		if there := c.leases[lease.Name]; there != nil && there.ResourceVersion != lease.ResourceVersion {
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "it has changed")
			return
		}
		c.version++
		lease.ResourceVersion = strconv.Itoa(c.version)
		c.leases[lease.Name] = &lease
		reply(w, lease)
	case name == "":
		want, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		list := coordination.LeaseList{}
		for _, lease := range c.leases {
			if err == nil && want.Matches(labels.Set(lease.Labels)) {
				list.Items = append(list.Items, *lease)
			}
		}
		reply(w, list)
	case there == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
	default:
		reply(w, there)
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	reply(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: code, Reason: reason, Message: message})
}

func reply(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object) //nolint:errcheck,errchkjson // a recorder's
}

// newCluster has two replicas, of which millrace-b leads.
func newCluster(t *testing.T) (*cluster, *rest.Config) {
	t.Helper()
	c := &cluster{replicas: map[string]http.Handler{}, mayAsk: true}
	rc := &rest.Config{Host: "https://server", Transport: c, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	c.leads("millrace-b")
	tokens, err := authenticationclient.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	access, err := authorizationclient.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"millrace-a", "millrace-b"} {
		inspector := inspect.New("v1", func() bool { return name == "millrace-b" })
		inspector.Controller("taskrun", "taskruns")
		runs := inspector.Controller("pipelinerun", "pipelineruns")
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{Trace: runs.Queue(workqueue.Trace[types.NamespacedName]{})})
		runs.Attach(queue, nil)
		if name == "millrace-b" {
			queue.Add(types.NamespacedName{Namespace: "ci", Name: "build"}, workqueue.Cause{Source: "pipelineruns", Event: "create", NewRV: "7"})
		}
		c.behind(name, guard.New(tokens.TokenReviews(), access.SubjectAccessReviews()).Wrap(inspector.Handler()))
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		c.pods = append(c.pods, p)
	}
	return c, rc
}

// behind puts a replica behind the port of a pod.
func (c *cluster) behind(pod string, replica http.Handler) {
	c.replicas["http:"+pod+":6060"] = replica
}

// whoWasAsked are the pods that were, in their order.
func (c *cluster) whoWasAsked() (pods []string) {
	for _, asked := range c.asked {
		if pod, proxied := strings.CutSuffix(asked, ":6060/proxy/debug/key"); proxied {
			pods = append(pods, pod[strings.LastIndex(pod, ":")+1:])
		}
	}
	return slices.Compact(pods) // one question for each controller
}

func install() Install {
	return Install{Namespace: "tekton-pipelines", Lease: "millrace-controller", Labels: "app=millrace", Port: "6060", ServiceAccount: "millrace-debug"}
}

func question(name string) Question {
	return Question{Key: types.NamespacedName{Namespace: "ci", Name: name}, Controllers: []string{"taskrun", "pipelinerun"}}
}

// Claims 1 and 2: from the Lease through the proxy and the guard to the key.
func TestTheLeaderIsAskedThroughTheProxyWithATokenForThat(t *testing.T) {
	c, rc := newCluster(t)
	rc.BearerToken = "the user's own"
	var out bytes.Buffer
	if err := In(t.Context(), rc, install(), question("build"), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pipelinerun ", "ci/build, at ", "pipelineruns create →7", "idle → ready"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the answer lacks %q:\n%s", want, out.String())
		}
	}
	if asked := strings.Join(c.asked, "\n"); strings.Contains(asked, "millrace-a") || !strings.Contains(asked, "pods/http:millrace-b:6060/proxy/debug/key") {
		t.Errorf("asked were\n%s", asked)
	}
}

// Claim 1: a Lease that names no pod, as that of a replica outside the cluster.
func TestWithoutALeaderAPodThatIsReadyIsAsked(t *testing.T) {
	c, rc := newCluster(t)
	c.leads("laptop_1234")
	c.pods[0].Status.Conditions = nil
	if err := In(t.Context(), rc, install(), question("build"), io.Discard); err != nil {
		t.Error(err)
	}
	c.pods[1].Status.Conditions = nil
	if err := In(t.Context(), rc, install(), question("build"), io.Discard); err == nil || err.Error() != "none of the controller's 2 pods is ready" {
		t.Error(err)
	}
	c.pods = nil
	if err := In(t.Context(), rc, install(), question("build"), io.Discard); err == nil || !strings.Contains(err.Error(), "is it installed elsewhere? (--namespace)") {
		t.Error(err)
	}
}

// Claim 3.
func TestWhatGoesWrongIsSaidWithWhatCanBeDone(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*cluster)
		key  string
		want string
	}{
		"unknown":          {func(*cluster) {}, "other", "no taskrun or pipelinerun of that name is known: ci/other"},
		"loopback":         {func(c *cluster) { c.closed = true }, "build", "--debug-bind-address=:6060, or ask by port-forward: kubectl -n tekton-pipelines port-forward pod/millrace-b 6060"},
		"nobody to ask as": {func(c *cluster) { c.noAccount = true }, "build", "no ServiceAccount tekton-pipelines/millrace-debug, as in an install for one namespace: ask by port-forward: kubectl -n tekton-pipelines port-forward pod/millrace-b 6060"},
		"no token":         {func(c *cluster) { c.forbidden = []string{"/token"} }, "build", "create serviceaccounts/token of tekton-pipelines/millrace-debug): is forbidden; without it, ask by port-forward: kubectl -n tekton-pipelines port-forward pod/millrace-b 6060"},
		"rights":           {func(c *cluster) { c.mayAsk = false }, "build", "those of ServiceAccount millrace-debug to get /debug/*"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, rc := newCluster(t)
			c.do(cluster)
			if err := In(t.Context(), rc, install(), question(c.key), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant: %s", err, c.want)
			}
		})
	}
}

// Behind a port-forward nothing else is needed.
func TestAServerCanBeAskedDirectly(t *testing.T) {
	c, _ := newCluster(t)
	server := httptest.NewServer(c.replicas["http:millrace-b:6060"])
	defer server.Close()
	var out bytes.Buffer
	if err := At(t.Context(), server.URL+"/", question("build"), &out); err != nil || !strings.Contains(out.String(), "pipelineruns create →7") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := At(t.Context(), server.URL, question("other"), io.Discard); err == nil || err.Error() != "no taskrun or pipelinerun of that name is known: ci/other" {
		t.Error(err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if err := At(t.Context(), other.URL, question("build"), io.Discard); err == nil || err.Error() != fmt.Sprintf("--server=%s answers 404 Not Found: 404 page not found", other.URL) {
		t.Error(err)
	}
}

func TestAnAnswerSteersNoTerminal(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, "one\ttwo\n\x1b[1Athree") //nolint:errcheck // the test will tell
	}))
	defer server.Close()
	var out bytes.Buffer
	if err := At(t.Context(), server.URL, question("build"), &out); err != nil || out.String() != "one\ttwo\n\\x1b[1Athree" {
		t.Errorf("%v: %q", err, out.String())
	}
	status = http.StatusBadGateway
	if err := At(t.Context(), server.URL, question("build"), &out); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v", err)
	}
}
