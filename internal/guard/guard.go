// Package guard stands before what only some may see.
//
//	request ──▶ who asks?  ──TokenReview──▶ may they?  ──SubjectAccessReview──▶ handler
//	              │                             │
//	              └ from this machine: let in   └ 401, 403; 503 where the API server cannot say
//
// The API server decides, as it does for its own paths: a bearer token says who
// asks, and the right is that to "get" a nonResourceURL:
//
//	rules: [{nonResourceURLs: ["/debug/*"], verbs: [get]}]
//
// What it promises:
//
//  1. Nobody sees anything without a token that the API server vouches for, and
//     the right to that path. Where the API server cannot be asked, nobody does.
//  2. Who comes from the machine itself, which in a cluster is kubectl
//     port-forward, needs no token: whoever can do that has been asked already. A
//     browser that was led here by a name that somebody else has made up for
//     127.0.0.1 is not let in.
//  3. An answer is remembered for ten seconds, a no for two: a page that asks each
//     second costs the API server little, and a right that is taken away is gone
//     soon. Tokens are not kept, only their hashes, and no more than a thousand.
//
// It has no goroutine. All methods may be called from anywhere.
package guard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// TokenHeader carries a token past the API server's pod proxy, which keeps the
// header Authorization to itself. Such a token must be made for Audience: then it is
// of no use to whoever else gets to see it.
const TokenHeader = "Millrace-Token"

// Audience is whom a token in TokenHeader is for.
const Audience = "millrace-debug"

const (
	keepYes, keepNo = 10 * time.Second, 2 * time.Second
	// keepMost bounds the answers that are remembered.
	keepMost = 1000
	// patience is how long the API server may take for both questions.
	patience = 10 * time.Second
)

// Guard asks the API server who may see what. Make it with New.
type Guard struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface

	mu      sync.Mutex
	answers map[question]answer
}

// question is a token's hash, where it came in, and the path.
type question struct {
	token  [sha256.Size]byte
	header string
	path   string
}

type answer struct {
	err   error
	until time.Time
}

// New makes a guard. It starts nothing.
func New(tokens authenticationclient.TokenReviewInterface, access authorizationclient.SubjectAccessReviewInterface) *Guard {
	return &Guard{tokens: tokens, access: access, answers: map[question]answer{}}
}

// refusal is a no that has a status.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

// Wrap lets through who may see what they ask for.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := g.check(r)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		code := http.StatusServiceUnavailable
		if no := (*refusal)(nil); errors.As(err, &no) {
			code = no.code
		}
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, err.Error(), code)
	})
}

func (g *Guard) check(r *http.Request) error {
	if local(r.RemoteAddr) {
		return byItsOwnName(r.Host)
	}
	q, token, err := asked(r)
	if err != nil {
		return err
	}
	if a, ok := g.remembered(q); ok {
		return a
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	err = g.ask(ctx, q, token)
	g.remember(q, err)
	return err
}

// local tells whether a peer is on this machine.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// byItsOwnName refuses a local request that was sent to another name: a browser
// sends those for a page of somebody else's that has pointed its name here.
func byItsOwnName(host string) error {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" || net.ParseIP(strings.Trim(name, "[]")) != nil {
		return nil
	}
	return &refusal{http.StatusMisdirectedRequest, fmt.Sprintf("this is not %s: ask for localhost or 127.0.0.1", name)}
}

func asked(r *http.Request) (question, string, error) {
	header, token := TokenHeader, r.Header.Get(TokenHeader)
	if token == "" {
		header = "Authorization"
		token = bearer(r.Header.Get(header))
	}
	if token == "" {
		return question{}, "", &refusal{http.StatusUnauthorized, "a bearer token is needed, in the header Authorization, or in " + TokenHeader + " where the API server's proxy is on the way"}
	}
	return question{sha256.Sum256([]byte(token)), header, r.URL.Path}, token, nil
}

func bearer(header string) string {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// ask asks the API server: who is it, and may they?
func (g *Guard) ask(ctx context.Context, q question, token string) error {
	review := &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}
	if q.header == TokenHeader {
		review.Spec.Audiences = []string{Audience}
	}
	review, err := g.tokens.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the API server whose token it is: %w", err)
	}
	if !review.Status.Authenticated || q.header == TokenHeader && !forUs(review.Status.Audiences) {
		return &refusal{http.StatusUnauthorized, "the API server does not know this token"}
	}
	user := review.Status.User
	access, err := g.access.Create(ctx, &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra(user.Extra),
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: q.path, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the API server whether %s may get %s: %w", user.Username, q.path, err)
	}
	if !access.Status.Allowed {
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not get the nonResourceURL %s", user.Username, q.path)}
	}
	return nil
}

// forUs tells whether an authenticator that knows of audiences has looked at them.
func forUs(audiences []string) bool {
	return slices.Contains(audiences, Audience)
}

func extra(of map[string]authentication.ExtraValue) map[string]authorization.ExtraValue {
	as := make(map[string]authorization.ExtraValue, len(of))
	for k, v := range of {
		as[k] = authorization.ExtraValue(v)
	}
	return as
}

func (g *Guard) remembered(q question) (error, bool) { //nolint:revive // the error is what is remembered
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.answers[q]
	return a.err, ok && time.Now().Before(a.until)
}

// remember keeps an answer of the API server's; that it could not be asked is none.
func (g *Guard) remember(q question, err error) {
	keep := keepYes
	if err != nil {
		if no := (*refusal)(nil); !errors.As(err, &no) {
			return
		}
		keep = keepNo
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.answers) >= keepMost {
		clear(g.answers)
	}
	g.answers[q] = answer{err, time.Now().Add(keep)}
}
