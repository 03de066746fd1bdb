package simulation

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"millrace/internal/simulation/apiserver"
)

// ShardedInvariants are those of replicas that share the work: nobody leads, and each
// has a part of everything in its caches.
func ShardedInvariants() []Invariant {
	alone := []string{"I7", "I8", "I9b"}
	all := slices.DeleteFunc(Invariants(), func(i Invariant) bool { return slices.Contains(alone, i.ID) })
	return append(all,
		Invariant{"I7s", "the caches of all replicas together have as many objects as the server, and the queues are empty", sharesAreTrue},
		Invariant{"I8s", "every write insists on what it was decided for, and is made by who claims its namespace", writesAreClaimed},
	)
}

// sharesAreTrue is I7s. Which objects a replica has the metrics do not tell, but how many,
// and how new the newest is: whoever has the last change must be as far as that. One
// without a share has none, and no queues.
func sharesAreTrue(f *Facts, report report) Check {
	return Check{End: func() {
		for pod, metrics := range f.Metrics {
			if metrics == "" {
				report("%s has no metrics", pod)
			}
			for resource := range f.Held {
				nothingWaits(pod, metrics, resource, report)
			}
			queuesAreEmpty(pod, metrics, report)
		}
		for resource, held := range f.Held {
			sum, newest := 0.0, 0.0
			for _, metrics := range f.Metrics {
				sum += max(0, metric(metrics, `informer_store_objects{resource="`+resource+`",tier="plain"}`))
				newest = max(newest, metric(metrics, `informer_store_resource_version{resource="`+resource+`"}`))
			}
			if sum != float64(held) {
				report("all together have %g %s in their caches, the server %d", sum, resource, held)
			}
			if newest < float64(f.Newest[resource]) && held > 0 {
				report("the newest of all caches of %s is at version %g, the last change was %d", resource, newest, f.Newest[resource])
			}
		}
	}}
}

// A claim is what the holder of a shard's Lease may work on, as it stood for a while.
type claim struct {
	lease, pod, text string
	to               time.Time // when it was taken back, or another replica had the Lease; zero: it stands
	renewed          time.Time // when the last renewal was sent
}

func (c *claim) holds(namespace string) bool {
	from, to, _ := strings.Cut(c.text, "-")
	hash := "0x" + sharding.HashField(namespace)
	return !sharding.HexLess(hash, from) && sharding.HexLess(hash, to)
}

// claimLog is what was claimed, by whom and when, as the Leases alone tell.
type claimLog struct{ claims []*claim }

// see takes in a write of a Lease.
func (l *claimLog) see(e apiserver.Exchange) {
	lease := apiserver.As[coordinationv1.Lease](e.After)
	pod, text := "", lease.Annotations["millrace/claim"]
	if lease.Spec.HolderIdentity != nil {
		pod = *lease.Spec.HolderIdentity
	}
	var stands *claim
	for _, c := range l.claims {
		switch {
		case c.lease != lease.Name || !c.to.IsZero():
		case c.pod != pod || c.text != text:
			c.to = e.At
		default:
			stands = c
		}
	}
	if stands == nil && pod != "" && text != "" {
		stands = &claim{lease: lease.Name, pod: pod, text: text}
		l.claims = append(l.claims, stands)
	}
	if stands != nil {
		stands.renewed = e.Sent
	}
}

// allows tells whether who has sent a write claimed its namespace then.
func (l *claimLog) allows(e apiserver.Exchange, patience time.Duration) bool {
	pod, _, _ := strings.Cut(e.Actor, ".")
	return slices.ContainsFunc(l.claims, func(c *claim) bool {
		return c.pod == pod && c.holds(e.Key.Namespace) && (c.to.IsZero() || !e.Sent.After(c.to)) && e.Sent.Sub(c.renewed) <= patience
	})
}

// writesAreClaimed hashes with the API's own library.
func writesAreClaimed(f *Facts, report report) Check {
	var claimed claimLog
	return Check{See: func(e apiserver.Exchange) {
		if !program(e.Actor) || !e.Committed() {
			return
		}
		if e.Resource == "leases" && e.After != nil && strings.HasPrefix(e.Key.Name, "millrace-shard-") {
			claimed.see(e)
			return
		}
		if !work(e.Request) {
			return
		}
		if what := missing(e); what != "" {
			report("%s insists on no %s", e.Request, what)
		}
		if !claimed.allows(e, f.RenewDeadline) {
			report("%s, and %s has no claim on the namespace", e.Request, e.Actor)
		}
	}}
}
