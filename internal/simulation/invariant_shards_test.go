package simulation

import (
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
