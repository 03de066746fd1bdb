//go:build e2e

package e2efaults

import (
	"slices"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/faultproxy"
)

// rights: those of the controller are taken away and given back.
func rights() []scenario {
	return []scenario{
		{name: "rbac-patch-taskruns-status-taken-and-given-back", numbers: []int{22}, try: withoutRight("taskruns/status", "patch")},
		{name: "rbac-create-pods-taken-and-given-back", numbers: []int{22}, try: withoutRight("pods", "create")},
		{name: "rbac-watch-taskruns-taken-and-given-back", numbers: []int{22}, try: withoutRight("taskruns", "list", "watch")},
		{name: "rbac-watch-pods-taken-and-given-back", numbers: []int{22}, try: withoutRight("pods", "list", "watch")},
		{name: "rbac-delete-pods-taken-and-given-back", numbers: []int{22}, try: withoutDeletingPods},
		{name: "token-rotated", numbers: []int{22}, try: tokenRotated, long: true},
		{name: "token-revoked-and-replaced-later", numbers: []int{22}, try: tokenRevoked, long: true},
	}
}

// take removes verbs on a resource from the scenario's ClusterRole; what it returns
// gives them back.
func (s *stage) take(resource string, verbs ...string) (giveBack func()) {
	s.t.Helper()
	role, err := s.cluster.rbac.ClusterRoles().Get(s.ctx, s.ns, metav1.GetOptions{})
	s.must(err)
	before := role.DeepCopy().Rules
	role.Rules = slices.DeleteFunc(without(role.Rules, resource, verbs), func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	_, err = s.cluster.rbac.ClusterRoles().Update(s.ctx, role, metav1.UpdateOptions{})
	s.must(err)
	return func() {
		s.t.Helper()
		role, err := s.cluster.rbac.ClusterRoles().Get(s.ctx, s.ns, metav1.GetOptions{})
		s.must(err)
		role.Rules = before
		_, err = s.cluster.rbac.ClusterRoles().Update(s.ctx, role, metav1.UpdateOptions{})
		s.must(err)
	}
}

// without splits rules of several resources, so that one can lose verbs.
func without(rules []rbacv1.PolicyRule, resource string, verbs []string) (all []rbacv1.PolicyRule) {
	for _, r := range rules {
		for _, one := range r.Resources {
			single := *r.DeepCopy()
			single.Resources = []string{one}
			if one == resource {
				single.Verbs = slices.DeleteFunc(single.Verbs, func(v string) bool { return slices.Contains(verbs, v) })
			}
			all = append(all, single)
		}
	}
	return all
}

func withoutRight(resource string, verbs ...string) func(*stage) {
	return func(s *stage) {
		s.start()
		s.create("before", midway)
		s.steps("before")
		giveBack := s.take(resource, verbs...)
		s.pass(2 * time.Second) // the server's authorizer hears of it by a watch
		from := time.Now()
		s.proxy.Reset() // rights are looked at when a watch begins
		s.create("amidst", quick)
		s.forbidden(from)
		s.pass(15 * time.Second)
		s.backsOff(from)
		giveBack()
		s.succeeds("before")
		s.succeeds("amidst")
		s.recovered()
	}
}

// backsOff fails if something was asked for more often than a backoff does that
// doubles from a few milliseconds on.
func (s *stage) backsOff(from time.Time) {
	s.t.Helper()
	counts := map[string]int{}
	for _, x := range s.proxy.Exchanges() {
		if x.Code != 403 || x.Sent.Before(from) {
			continue
		}
		same := x.Request
		same.Nth = 0
		if counts[same.String()]++; counts[same.String()] > 18 {
			s.fatalf("refused, and asked for %d times in %v (I11): %s", counts[same.String()], time.Since(from).Round(time.Second), x)
		}
	}
}

// forbidden waits until the server has said 403.
func (s *stage) forbidden(from time.Time) { s.t.Helper(); s.answered(from, 403) }

func (s *stage) answered(from time.Time, code int) {
	s.t.Helper()
	s.eventually("the server to answer "+strconv.Itoa(code), func() bool {
		for _, x := range s.proxy.Exchanges() {
			if x.Code == code && x.Sent.After(from) {
				return true
			}
		}
		return false
	})
}

// withoutDeletingPods: a cancelled run cannot have its pod deleted for a while.
func withoutDeletingPods(s *stage) {
	s.start()
	s.create("a", slow(600))
	s.steps("a")
	giveBack := s.take("pods", "delete")
	s.pass(2 * time.Second)
	from := time.Now()
	s.must(s.patch("a", `{"spec":{"status":"TaskRunCancelled"}}`))
	s.forbidden(from)
	s.pass(10 * time.Second)
	giveBack()
	s.ends("a", "TaskRunCancelled")
	s.gone("a-pod")
	s.recovered()
}

// revocable gives the controller a token that is void when a Secret is deleted.
func (s *stage) revocable() (revoke func()) {
	s.t.Helper()
	secret, err := s.cluster.core.Secrets(s.ns).Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}}, metav1.CreateOptions{})
	s.must(err)
	s.giveToken(s.replica, &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: "token", UID: secret.UID})
	return func() {
		s.t.Helper()
		s.must(s.cluster.core.Secrets(s.ns).Delete(s.ctx, "token", metav1.DeleteOptions{}))
	}
}

// tokenRotated: the file has another token before the first one is void, as the
// kubelet sees to. Nobody may notice.
func tokenRotated(s *stage) {
	revoke := s.revocable()
	s.start()
	s.create("a", slow(100))
	s.steps("a")
	s.giveToken(s.replica, nil)
	s.pass(70 * time.Second) // client-go reads the file once a minute
	revoke()
	s.pass(12 * time.Second) // the server remembers for 10 s that a token was good
	from := time.Now()
	s.create("b", quick)
	s.succeeds("a")
	s.succeeds("b")
	s.proxy.Reset() // watches go on with what they began with
	s.again(from, patience, faultproxy.On{Verb: "watch", Resource: "taskruns"})
	s.recovered()
}

// tokenRevoked: the Lease is lost over it, and no process can begin.
func tokenRevoked(s *stage) {
	revoke := s.revocable()
	s.exits = 1000
	s.start()
	s.create("a", midway)
	s.steps("a")
	revoke()
	from := time.Now()
	s.proxy.Reset()
	s.create("b", quick)
	s.answered(from, 401) // the server remembers for 10 s that the token was good
	s.pass(20 * time.Second)
	s.giveToken(s.replica, nil)
	s.succeeds("a")
	s.succeeds("b")
	s.recovered()
}
