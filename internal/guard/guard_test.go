package guard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// authority is an API server that knows two tokens: reader's, whose name may get
// /debug/key, and nobody's, whose may nothing. debugger's is for Audience alone.
type authority struct {
	down  bool
	asked []string
}

func (a *authority) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.down {
		return nil, io.ErrUnexpectedEOF
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var answer any
	switch {
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		answer, err = a.review(body)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		answer, err = a.access(body)
	default:
		err = fmt.Errorf("nobody should ask for %s", r.URL.Path)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: r}, err
}

func (a *authority) review(body []byte) (any, error) {
	var review authentication.TokenReview
	err := json.Unmarshal(body, &review)
	a.asked = append(a.asked, fmt.Sprintf("whose is %s, for %q?", review.Spec.Token, review.Spec.Audiences))
	ours := slices.Contains(review.Spec.Audiences, Audience)
	switch name := review.Spec.Token; {
	case name == "debugger" && ours, (name == "reader" || name == "nobody") && !ours:
		review.Status = authentication.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences, User: authentication.UserInfo{
			Username: name, Groups: []string{"people"}, Extra: map[string]authentication.ExtraValue{"scopes": {"all"}},
		}}
	case name == "careless": // an authenticator that does not know of audiences
		review.Status = authentication.TokenReviewStatus{Authenticated: true, User: authentication.UserInfo{Username: name}}
	}
	return review, err
}

func (a *authority) access(body []byte) (any, error) {
	var review authorization.SubjectAccessReview
	err := json.Unmarshal(body, &review)
	what := review.Spec.NonResourceAttributes
	a.asked = append(a.asked, fmt.Sprintf("may %s of %q with %v %s %s?", review.Spec.User, review.Spec.Groups, review.Spec.Extra, what.Verb, what.Path))
	review.Status.Allowed = review.Spec.User != "nobody" && what.Path == "/debug/key" && what.Verb == "get"
	return review, err
}

func guarded(t *testing.T, a *authority) http.Handler {
	t.Helper()
	c := &rest.Config{Host: "https://server", Transport: a, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	tokens, err := authenticationclient.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	access, err := authorizationclient.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return New(tokens.TokenReviews(), access.SubjectAccessReviews()).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "secret") //nolint:errcheck // a recorder's
	}))
}

// ask is a request from a peer; headers are "Name: value".
func ask(t *testing.T, h http.Handler, peer, url string, headers ...string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.RemoteAddr = peer
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
}

const far, near = "10.1.2.3:4711", "127.0.0.1:4711"

// Claim 1.
func TestWhoHasNoRightSeesNothing(t *testing.T) {
	h := guarded(t, &authority{})
	for _, c := range []struct {
		url    string
		header string
		want   string
	}{
		{"/debug/key", "X: y", "401 a bearer token is needed, in the header Authorization, or in Millrace-Token where the API server's proxy is on the way"},
		{"/debug/key", "Authorization: Basic cmVhZGVyOng=", "401 a bearer token is needed, in the header Authorization, or in Millrace-Token where the API server's proxy is on the way"},
		{"/debug/key", "Authorization: Bearer stolen", "401 the API server does not know this token"},
		{"/debug/key", "Authorization: Bearer nobody", "403 nobody may not get the nonResourceURL /debug/key"},
		{"/debug/key", "Authorization: Bearer reader", "200 secret"},
		{"/debug/pprof/heap", "Authorization: Bearer reader", "403 reader may not get the nonResourceURL /debug/pprof/heap"},
		// A token that is for the API server is not taken where it may be seen by others,
		// and one that is made for us is not taken for more.
		{"/debug/key", "Millrace-Token: reader", "401 the API server does not know this token"},
		{"/debug/key", "Millrace-Token: careless", "401 the API server does not know this token"},
		{"/debug/key", "Millrace-Token: debugger", "200 secret"},
		{"/debug/key", "Authorization: Bearer debugger", "401 the API server does not know this token"},
	} {
		if got := ask(t, h, far, c.url, c.header); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.url, c.header, got, c.want)
		}
	}
}

func TestTheAPIServerIsToldAllThatATokenSaysOfItsUser(t *testing.T) {
	a := &authority{}
	ask(t, guarded(t, a), far, "/debug/key?key=ci/a", "Authorization: Bearer reader")
	want := []string{`whose is reader, for []?`, `may reader of ["people"] with map[scopes:[all]] get /debug/key?`}
	if !slices.Equal(a.asked, want) {
		t.Errorf("asked %q, want %q", a.asked, want)
	}
}

// Claim 1: no answer is no leave, and is not remembered.
func TestWithoutTheAPIServerNobodySeesAnything(t *testing.T) {
	a := &authority{down: true}
	h := guarded(t, a)
	if got := ask(t, h, far, "/debug/key", "Authorization: Bearer reader"); !strings.HasPrefix(got, "503 ask the API server whose token it is: ") {
		t.Error(got)
	}
	a.down = false
	if got := ask(t, h, far, "/debug/key", "Authorization: Bearer reader"); got != "200 secret" {
		t.Error(got)
	}
}

// Claim 2.
func TestTheMachineItselfIsLetInByItsOwnName(t *testing.T) {
	a := &authority{down: true}
	h := guarded(t, a)
	for url, want := range map[string]string{
		"http://localhost:6060/debug/key":    "200 secret",
		"http://127.0.0.1:6060/debug/key":    "200 secret",
		"http://[::1]:6060/debug/key":        "200 secret",
		"http://127.0.0.1/debug/key":         "200 secret",
		"http://evil.example:6060/debug/key": "421 this is not evil.example: ask for localhost or 127.0.0.1",
	} {
		if got := ask(t, h, near, url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if got := ask(t, h, "[::1]:80", "http://localhost/debug/key"); got != "200 secret" {
		t.Error(got)
	}
	if got := ask(t, h, "pipe", "http://localhost/debug/key"); !strings.HasPrefix(got, "401") {
		t.Errorf("a peer without an address: %s", got)
	}
}

// Claim 3.
func TestAnAnswerIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{}
		h := guarded(t, a)
		for range 60 { // a minute of a page that asks each second
			ask(t, h, far, "/debug/key", "Authorization: Bearer reader")
			time.Sleep(time.Second)
		}
		if len(a.asked) != 2*6 {
			t.Errorf("the API server was asked %d times", len(a.asked))
		}
		a.asked = nil
		for range 60 {
			ask(t, h, far, "/debug/key", "Authorization: Bearer stolen")
			time.Sleep(time.Second)
		}
		if len(a.asked) != 30 {
			t.Errorf("about a token that is none, the API server was asked %d times", len(a.asked))
		}
	})
}

// Claim 3.
func TestWhatIsRememberedIsBoundedAndHoldsNoToken(t *testing.T) {
	g := New(nil, nil)
	for i := range 5000 {
		q, _, err := asked(&http.Request{Header: http.Header{"Authorization": {fmt.Sprintf("Bearer token-%d", i)}}, URL: httptest.NewRequest(http.MethodGet, "/debug/key", nil).URL})
		if err != nil {
			t.Fatal(err)
		}
		g.remember(q, nil)
	}
	if n := len(g.answers); n > keepMost {
		t.Errorf("%d answers", n)
	}
	if strings.Contains(fmt.Sprintf("%+v", g.answers), "token-4999") {
		t.Error("a token is kept")
	}
}
