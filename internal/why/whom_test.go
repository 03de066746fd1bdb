package why

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/yaml"

	"millrace/shard"
)

// Claim 1, on Leases as replicas write them: two have come, each has its share, and one
// question for each of the shares goes to whose it is.
func TestWhoHasClaimedTheNamespaceIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, rc := newCluster(t)
		c.leads("") // who led has given the Lease back
		client, err := coordination.NewForConfig(rc)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		at := map[string]shard.Range{}
		for _, name := range []string{"millrace-a", "millrace-b"} {
			share(t, client.Leases("tekton-pipelines"), name, func(r shard.Range) {
				mu.Lock()
				defer mu.Unlock()
				at[name] = r
			})
		}
		synctest.Wait() // both replicas look at the Leases each second, and at this very moment too
		mu.Lock()
		defer mu.Unlock()
		if len(at) != 2 || at["millrace-a"].Overlaps(at["millrace-b"]) {
			t.Fatalf("they work on %v", at)
		}
		for name, r := range at {
			namespace := ""
			for i := 0; namespace == "" || !r.Holds(shard.Hash(namespace)); i++ {
				namespace = strings.Repeat("n", i+1)
			}
			c.asked = nil
			err := In(t.Context(), rc, install(), Question{Key: types.NamespacedName{Namespace: namespace, Name: "build"}, Controllers: []string{"taskrun"}}, io.Discard)
			if err == nil || !slices.Equal(c.whoWasAsked(), []string{name}) {
				t.Errorf("asked for %s, which is %s's, was %v: %v", namespace, name, c.whoWasAsked(), err)
			}
		}
	})
}

// share has a replica take its part of the work, as far as its first one that stays.
func share(t *testing.T, leases coordination.LeaseInterface, name string, works func(shard.Range)) {
	t.Helper()
	lock := shard.NewLeases(leases, shard.Config{Shards: 2, Identity: name, LeaseDuration: time.Hour})
	if _, _, err := lock.Get(t.Context()); err == nil {
		t.Fatal("there is a Lease that is free")
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: name, LeaseDurationSeconds: 3600}
	if err := lock.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	member := shard.NewMember(lock, shard.MemberConfig{Poll: time.Second, Settle: 5 * time.Second, Weigh: func() (shard.Weights, bool) { return nil, true }})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- member.Run(ctx, func(ctx context.Context, r shard.Range) error {
			works(r)
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for range 30 {
		time.Sleep(time.Second) // of the bubble's
		if err := lock.Update(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
}

// Claim 2: nobody claims the namespace while a share changes hands.
func TestWhereNobodyClaimsTheNamespaceAllAreAsked(t *testing.T) {
	c, rc := newCluster(t)
	c.leads("")
	for lease, claim := range map[string]string{
		"millrace-shard-0": shard.Range{From: shard.Hash("ci") + 1}.String(),
		"millrace-shard-1": "what nobody can read",
		"millrace-shard-2": shard.Range{}.String(), // of one that was killed
	} {
		c.claims(lease, map[string]string{"millrace-shard-2": "millrace-c"}[lease], claim)
	}
	if err := In(t.Context(), rc, install(), question("build"), io.Discard); err != nil || !slices.Equal(c.whoWasAsked(), []string{"millrace-a", "millrace-b"}) {
		t.Errorf("asked was %v: %v", c.whoWasAsked(), err)
	}
}

const report = "pipelinerun   ci/build, at now\n"

func says(code int, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, text) //nolint:errcheck // a recorder's
	})
}

// inCache is a replica that stands by, noShare one that works on nothing of the kind.
func inCache() http.Handler {
	return says(http.StatusOK, report+"replica       does not lead: the queue of the one that does knows more\n")
}

func noShare() http.Handler {
	return says(http.StatusNotFound, "parameter controller=taskrun: there is none of that name; there are: \n")
}

// Claim 1: an install goes back to one leader, millrace-a, which waits for the claim of
// millrace-b to end; that does the work until then.
func TestWhileALeaderStandsByWhoClaimsIsAsked(t *testing.T) {
	for name, s := range map[string]struct {
		leader http.Handler
		hidden []string
		asked  []string
		want   string
	}{
		"it has the key in its cache":       {inCache(), nil, []string{"millrace-a", "millrace-b"}, "create →7"},
		"its caches are empty yet":          {noShare(), nil, []string{"millrace-a", "millrace-b"}, "create →7"},
		"nobody may see who claims":         {inCache(), []string{"/leases"}, []string{"millrace-a", "millrace-c", "millrace-b"}, "create →7"},
		"nobody may see who leads":          {inCache(), []string{"/leases/millrace-controller"}, []string{"millrace-b"}, "create →7"},
		"it works, and nobody else is next": {says(http.StatusOK, report), nil, []string{"millrace-a"}, report},
	} {
		t.Run(name, func(t *testing.T) {
			c, rc := newCluster(t)
			c.behind("millrace-a", s.leader)
			c.behind("millrace-c", inCache())
			third := c.pods[0]
			third.Name = "millrace-c" // which has another share
			c.pods = []corev1.Pod{third, c.pods[0], c.pods[1]}
			c.leads("millrace-a")
			c.claims("millrace-shard-0", "millrace-b", shard.Range{To: shard.Hash("ci") + 1}.String())
			c.claims("millrace-shard-1", "millrace-c", shard.Range{From: shard.Hash("ci") + 1}.String())
			c.forbidden = s.hidden
			var out bytes.Buffer
			err := In(t.Context(), rc, install(), question("build"), &out)
			if asked := c.whoWasAsked(); err != nil || !strings.Contains(out.String(), s.want) || strings.Contains(out.String(), "does not lead") || !slices.Equal(asked, s.asked) {
				t.Errorf("asked was %v, want %v: %v\n%s", asked, s.asked, err, out.String())
			}
		})
	}
}

// Claim 2.
func TestWhoMayNotSeeTheLeasesAsksAll(t *testing.T) {
	broken := says(http.StatusInternalServerError, "encode the report: no\n")
	for name, s := range map[string]struct {
		a, b  http.Handler
		want  string
		wrong string
	}{
		"the second works on it":             {noShare(), says(http.StatusOK, report), report, ""},
		"the first has it in its cache":      {inCache(), says(http.StatusOK, report), report, ""},
		"nobody has more than that":          {inCache(), noShare(), "does not lead", ""},
		"the first does not answer":          {broken, says(http.StatusOK, report), report, ""},
		"nobody knows it, and one is broken": {broken, noShare(), "", "ask pod millrace-a: "},
		"nobody has a share":                 {noShare(), noShare(), "", "no taskrun or pipelinerun of that name is known: ci/build"},
	} {
		t.Run(name, func(t *testing.T) {
			c, rc := newCluster(t)
			c.forbidden = []string{"/leases/millrace-controller", "/leases"}
			c.behind("millrace-a", s.a)
			c.behind("millrace-b", s.b)
			var out bytes.Buffer
			err := In(t.Context(), rc, install(), question("build"), &out)
			if (err != nil) != (s.wrong != "") || err != nil && !strings.Contains(err.Error(), s.wrong) || !strings.Contains(out.String(), s.want) {
				t.Errorf("%v\n%s\nwant %s%s", err, out.String(), s.wrong, s.want)
			}
		})
	}
}

// What may not be looked at with anybody is told once, and nobody else is asked.
func TestWhatIsForbiddenIsToldOnce(t *testing.T) {
	c, rc := newCluster(t)
	c.leads("")
	c.forbidden = []string{"/proxy/debug/key"}
	err := In(t.Context(), rc, install(), question("build"), io.Discard)
	if err == nil || strings.Count(err.Error(), "needed are the rights to get pods/proxy") != 1 || len(c.whoWasAsked()) != 1 {
		t.Errorf("%v, asked was %v", err, c.whoWasAsked())
	}
}

// The Role that docs/operating.md has for who asks is what is asked for, and no more:
// with a leader and with shares.
func TestTheRoleInTheDocsIsWhatIsAskedFor(t *testing.T) {
	rules := roleInTheDocs(t).Rules
	used := make([]bool, len(rules))
	c, rc := newCluster(t)
	for _, holder := range []string{"millrace-b", ""} {
		c.leads(holder)
		if err := In(t.Context(), rc, install(), question("build"), io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range c.asked {
		i := slices.IndexFunc(rules, func(r rbac.PolicyRule) bool { return allows(r, asked) })
		if i < 0 {
			t.Errorf("no rule of the docs has %s", asked)
			continue
		}
		used[i] = true
	}
	for i, was := range used {
		if !was {
			t.Errorf("nothing is asked for that needs %v", rules[i])
		}
	}
}

func roleInTheDocs(t *testing.T) (role rbac.Role) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?m)(^    .*\n)*^    kind: Role\n(^    .*\n)*?^      name: millrace-why\n(^    .*\n)*`).FindString(string(page))
	first, _, _ := strings.Cut(strings.ReplaceAll("\n"+block, "\n    ", "\n"), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil || role.Namespace != "tekton-pipelines" {
		t.Fatalf("%v in\n%s", err, block)
	}
	return role
}

// allows tells whether the rule has a request, by its path: …/RESOURCE[/NAME[/SUBRESOURCE]].
func allows(r rbac.PolicyRule, asked string) bool {
	method, path, _ := strings.Cut(asked, " ")
	group, after, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/v1/namespaces/tekton-pipelines/")
	if strings.HasPrefix(path, "/api/v1/") {
		group, after = "", strings.TrimPrefix(path, "/api/v1/namespaces/tekton-pipelines/")
	}
	parts := append(strings.SplitN(after, "/", 4), "", "")
	resource, name := parts[0], parts[1]
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create"}[method]
	if name == "" {
		verb = "list"
	} else if parts[2] != "" {
		resource += "/" + parts[2]
	}
	return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
}
