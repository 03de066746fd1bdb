package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// Who writes what it does not claim, or not any more, is caught; who claims it is not.
func TestAWriteWithoutAClaimIsCaught(t *testing.T) {
	const first, second = "0x0000000000000000-0x8000000000000000", "0x8000000000000000-0x10000000000000000"
	mine, others := first, second
	if !(&claim{text: first}).holds("blue") {
		mine, others = second, first
	}
	lease := types.NamespacedName{Namespace: namespace, Name: "millrace-shard-0"}
	for _, story := range []struct {
		what   string
		claims string
		then   string // that it claims, or who has the Lease, before it writes
		holder string
		later  time.Duration
		caught bool
	}{
		{"its own", mine, mine, "millrace-0", time.Second, false},
		{"another's", others, others, "millrace-0", time.Second, true},
		{"what it has given up", mine, others, "millrace-0", time.Second, true},
		{"with a Lease that is another's", mine, mine, "millrace-1", time.Second, true},
		{"with a Lease that has run out", mine, mine, "millrace-0", 31 * time.Second, true},
	} {
		var found []string
		f := &Facts{RenewDeadline: 30 * time.Second}
		check := writesAreClaimed(f, func(format string, _ ...any) { found = append(found, format) })
		server := apiserver.New(apiserver.Config{Seen: check.See})
		holder := "millrace-0"
		x := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: lease.Name, Annotations: map[string]string{"millrace/claim": story.claims}}}
		x.Spec.HolderIdentity = &holder
		if _, err := server.Actor(leader).Create("leases", x); err != nil {
			t.Fatal(err)
		}
		if _, err := apiserver.Change(server.Actor(story.holder+".1"), "leases", "", lease, func(x *coordinationv1.Lease) {
			x.Annotations["millrace/claim"], x.Spec.HolderIdentity = story.then, &story.holder
		}); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(story.later)
		check.See(apiserver.Exchange{
			Request: apiserver.Request{Actor: leader, Verb: "create", Resource: "pods", Key: aPod},
			Sent:    at, At: at, Code: 201, After: &apiserver.Object{},
		})
		if caught := len(found) > 0; caught != story.caught {
			t.Errorf("%s: caught %q", story.what, found)
		}
	}
}

// The caches of replicas that share the work are looked at together, and all else of each
// for itself.
func TestCachesThatShareTheWorkAreHeldToTheServer(t *testing.T) {
	const (
		one   = "informer_store_objects{resource=\"pods\",tier=\"plain\"} 1\ninformer_store_resource_version{resource=\"pods\"} 5\n"
		two   = "informer_store_objects{resource=\"pods\",tier=\"plain\"} 2\ninformer_store_resource_version{resource=\"pods\"} 9\n"
		empty = "up 1\n" // of one without a share
	)
	for _, story := range []struct {
		what    string
		metrics []string
		want    string
	}{
		{"all of it", []string{one, two, empty}, ""},
		{"too few", []string{one, one + "x 1\n", two[len(two)/2:]}, "all together have"},
		{"too many", []string{two, two}, "all together have"},
		{"none tells", []string{one, two, ""}, "no metrics"},
		{"behind", []string{one, strings.Replace(two, "} 9", "} 8", 1)}, "the newest of all caches"},
		{"not taken in", []string{one, two + "informer_queued_items{resource=\"pods\"} 1\n"}, "wait to be taken"},
		{"set apart", []string{one, two + "quarantined_keys{resource=\"pods\"} 1\n"}, "in quarantine"},
		{"not done", []string{one, two + "workqueue_depth{name=\"taskrun\"} 1\n"}, "in its queue"},
	} {
		var found []string
		f := &Facts{Held: map[string]int{"pods": 3}, Newest: map[string]uint64{"pods": 9}, Metrics: map[string]string{}}
		for i, metrics := range story.metrics {
			f.Metrics[fmt.Sprint("millrace-", i)] = metrics
		}
		sharesAreTrue(f, func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }).End()
		caught := slices.ContainsFunc(found, func(said string) bool { return strings.Contains(said, story.want) })
		if story.want == "" && len(found) > 0 || story.want != "" && !caught {
			t.Errorf("%s: caught %q", story.what, found)
		}
	}
}
