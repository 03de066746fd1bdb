package simulation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// A disruption is a fault that has a beginning and an end. To add one, add a line
// to disruptions.
type disruption struct {
	kind      string
	chance    float64       // in each slot of the storm
	low, high time.Duration // how long it lasts
	begin     func(w *World, name string) (end func())
}

// slot is how often each disruption has its chance.
const slot = 5 * time.Minute

func disruptions() []disruption {
	return []disruption{
		{"API server restarts", 0.07, time.Second, time.Minute, func(w *World, _ string) func() {
			w.Server.Down()
			w.span("down")
			return func() { w.Server.Up(); w.spanEnd("down") }
		}},
		{"etcd restarts", 0.05, time.Second, 90 * time.Second, func(w *World, _ string) func() {
			return w.forbid("etcd restarts", all, apiserver.Verdict{Refuse: answerOf(500, "", "etcdserver: no leader")})
		}},
		{"compaction", 0.2, time.Second, 2 * time.Second, func(w *World, _ string) func() {
			w.Server.Compact()
			w.Server.EndWatches(apiserver.Reset)
			return nil
		}},
		{"restore of a backup", 0.05, 5 * time.Second, 60 * time.Second, func(w *World, _ string) func() {
			backup := w.Server.Backup()
			w.watchForWork()
			const bump = 1_000_000 // without it, what is missed is missed: see package reflector
			return func() {
				if !w.worked() { // else the backup is of another world
					w.Server.Restore(backup, bump)
					w.notef("the store is restored from a backup at version %d", w.Server.Version())
				}
			}
		}},
		{"partition", 0.05, 20 * time.Second, 10 * time.Minute, func(w *World, name string) func() {
			link := w.anyLink(name)
			if link == nil {
				return nil
			}
			link.Partition()
			return link.Heal
		}},
		{"conflict storm", 0.1, 2 * time.Second, 15 * time.Second, func(w *World, name string) func() {
			return w.foreignWriter(name)
		}},
		{"RBAC verb taken away", 0.06, 30 * time.Second, 4 * time.Minute, func(w *World, name string) func() {
			taken := []struct{ verb, resource string }{
				{"patch", "taskruns"}, {"create", "pods"}, {"watch", "taskruns"}, {"watch", "pods"}, {"list", "pods"}, {"delete", "pods"}, {"update", "leases"},
			}[w.Plan.Seed.Below(7, "taken", name)]
			return w.forbid("RBAC verb taken away", func(r apiserver.Request) bool { return r.Verb == taken.verb && r.Resource == taken.resource },
				apiserver.Verdict{Refuse: answerOf(403, metav1.StatusReasonForbidden, fmt.Sprintf("User cannot %s resource %s", taken.verb, taken.resource))})
		}},
		{"token rotated", 0.05, 5 * time.Second, 60 * time.Second, func(w *World, _ string) func() {
			w.Server.EndWatches(apiserver.Close)
			return w.forbid("token rotated", all, apiserver.Verdict{Refuse: answerOf(401, metav1.StatusReasonUnauthorized, "Unauthorized")})
		}},
		{"CRD removed", 0.04, 5 * time.Second, 60 * time.Second, func(w *World, _ string) func() {
			w.Server.RemoveCRD("taskruns")
			return func() { w.Server.RestoreCRD("taskruns") }
		}},
		{"Lease stolen", 0.06, time.Second, 2 * time.Second, func(w *World, _ string) func() {
			key := types.NamespacedName{Namespace: namespace, Name: leaseName}
			now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00")
			_, _ = w.user.Patch("leases", "", key, fmt.Sprintf(`{"spec":{"holderIdentity":"a-thief","renewTime":%q,"acquireTime":%q}}`, now, now))
			return nil
		}},
		{"Lease cannot be renewed", 0.06, 20 * time.Second, 60 * time.Second, func(w *World, _ string) func() {
			renewal := func(r apiserver.Request) bool { return r.Resource == "leases" && r.Verb == "update" }
			return w.forbid("Lease cannot be renewed", renewal, apiserver.Verdict{Refuse: answerOf(503, "", "etcdserver: request timed out")})
		}},
		{"killed at rest", 0.06, time.Second, 2 * time.Second, func(w *World, name string) func() {
			if p := w.anyProcess(name); p != nil {
				w.kill(p)
			}
			return nil
		}},
	}
}

// disrupt puts the disruptions of the storm on the agenda.
func (w *World) disrupt(until time.Duration) {
	for _, d := range disruptions() {
		for at := slot / 2; at < until; at += slot {
			name := fmt.Sprintf("at about %s", at)
			begin := at + w.Plan.Seed.Between(0, slot, d.kind, "begins", name)
			length := w.Plan.Seed.Between(d.low, d.high, d.kind, "lasts", name)
			w.Agenda.After(begin, func() {
				if begin+length > until || !w.ledger.happens(d.kind, d.chance, name) {
					return
				}
				w.notef("⚡ %s, for %s", d.kind, length.Round(time.Millisecond))
				if end := d.begin(w, d.kind+name); end != nil {
					w.Agenda.After(length, func() {
						w.notef("⚡ %s: over", d.kind)
						end()
					})
				}
			})
		}
	}
}
