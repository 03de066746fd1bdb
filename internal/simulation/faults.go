package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
	"millrace/internal/simulation/turnstile"
)

// A requestFault is one that befalls a request. To add one, add a line.
type requestFault struct {
	kind   string
	chance float64
	of     func(apiserver.Request) bool
	with   func(turnstile.Seed, apiserver.Request) apiserver.Verdict
}

func requestFaults() []requestFault {
	refuse := func(err *apierrors.StatusError) func(turnstile.Seed, apiserver.Request) apiserver.Verdict {
		return just(apiserver.Verdict{Refuse: err})
	}
	code := func(code int, reason metav1.StatusReason, message string) func(turnstile.Seed, apiserver.Request) apiserver.Verdict {
		return refuse(answerOf(code, reason, message))
	}
	return slices.Concat(spoiledLists(), refusedOnce(), []requestFault{
		{"410 on a continuation", 0.15, continues, refuse(apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result."))},
		{"410 when a watch opens", 0.03, opens, refuse(apierrors.NewResourceExpired("too old resource version"))},
		{"watch closed at once", 0.03, watches, just(apiserver.Verdict{End: apiserver.Close})},
		{"watch reset at once", 0.03, watches, just(apiserver.Verdict{End: apiserver.Reset})},
		{"watch silent from the start", 0.015, watches, just(apiserver.Verdict{Mute: true})},
		{"no bookmarks", 0.05, watches, just(apiserver.Verdict{Bookmarks: apiserver.NoBookmarks})},
		{"old bookmarks", 0.05, watches, just(apiserver.Verdict{Bookmarks: apiserver.OldBookmarks})},
		{"late bookmarks", 0.05, watches, just(apiserver.Verdict{Bookmarks: apiserver.LateBookmarks})},
		{"list of a lagging server", 0.3, lists, just(apiserver.Verdict{Lag: 20})},
		{"slow network", 0.01, reads, just(apiserver.Verdict{BytesPerSecond: 50})},

		{"429", 0.006, all, refuse(apierrors.NewTooManyRequests("the server is busy", 0))},
		{"429 with Retry-After", 0.006, all, refuse(apierrors.NewTooManyRequests("the server is busy", 3))},
		{"500", 0.005, all, code(500, metav1.StatusReasonInternalError, "Internal error occurred")},
		{"502", 0.005, all, code(502, "", "bad gateway")},
		{"503", 0.005, all, code(503, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down")},
		{"504", 0.005, all, code(504, metav1.StatusReasonTimeout, "request did not complete within the allotted timeout")},
		{"etcd changes its leader", 0.005, all, code(500, "", "etcdserver: leader changed")},
		{"conflict", 0.01, updates, func(_ turnstile.Seed, r apiserver.Request) apiserver.Verdict {
			return apiserver.Verdict{Refuse: apierrors.NewConflict(metav1.SchemeGroupVersion.WithResource(r.Resource).GroupResource(), r.Key.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))}
		}},

		{"connection breaks before the server acts", 0.006, all, just(apiserver.Verdict{Lose: apiserver.BeforeActing})},
		{"connection breaks after the server acted", 0.01, all, just(apiserver.Verdict{Lose: apiserver.BeforeAnswering})},
		{"no answer, and nothing done", 0.006, work, just(apiserver.Verdict{Lose: apiserver.BeforeActing, Hang: true})},
		{"no answer, though all was done", 0.006, work, just(apiserver.Verdict{Lose: apiserver.BeforeAnswering, Hang: true})},
		{"latency of 30 s", 0.003, all, func(s turnstile.Seed, r apiserver.Request) apiserver.Verdict {
			return apiserver.Verdict{Wait: s.Between(20*time.Second, 30*time.Second, "latency", r.String())}
		}},

		{"killed before a write is sent", 0.004, work, just(apiserver.Verdict{Kill: apiserver.BeforeActing})},
		{"killed after a write, its answer lost", 0.004, work, just(apiserver.Verdict{Kill: apiserver.BeforeAnswering})},
		{"killed after a write's answer", 0.004, work, just(apiserver.Verdict{Kill: apiserver.AfterAnswering})},
	})
}

// refusedOnce are refusals of a pod that may be taken the next time: no run is to
// fail for them.
func refusedOnce() []requestFault {
	refusals := map[string]*apierrors.StatusError{
		"quota exceeded": quotaExceeded(), "LimitRange": limitRange(), "another webhook's No": webhookSaysNo(),
		"another webhook is away": webhookAway(), "no ServiceAccount": noServiceAccount(),
	}
	faults := make([]requestFault, 0, len(refusals))
	for kind, err := range refusals {
		faults = append(faults, requestFault{kind, 0.02, createsPod, just(apiserver.Verdict{Refuse: err})})
	}
	slices.SortFunc(faults, func(a, b requestFault) int { return strings.Compare(a.kind, b.kind) })
	return faults
}

// spoilings are what a list or an event can show in place of an object, and how
// often: the large ones take the simulation's time.
func spoilings() []struct {
	kind   string
	chance float64
	how    apiserver.Spoiling
} {
	return []struct {
		kind   string
		chance float64
		how    apiserver.Spoiling
	}{
		{"object cut in half", 0.002, apiserver.Truncated},
		{"object malformed", 0.002, apiserver.Malformed},
		{"object without metadata", 0.002, apiserver.Nameless},
		{"object of another kind", 0.002, apiserver.WrongKind},
		{"object with unknown fields", 0.002, apiserver.UnknownFields},
		{"object with null in place of maps", 0.002, apiserver.NullMaps},
		{"object of 1.5 MB", 0.0008, apiserver.Huge},
		{"object with 10,000 managers", 0.0008, apiserver.ManyManagers},
	}
}

// spoilable are the kinds of objects that the program acts on.
func spoilable(resource string) bool {
	return resource == "taskruns" || resource == "pods" || resource == "tasks"
}

func spoiledLists() []requestFault {
	ways := spoilings()
	faults := make([]requestFault, 0, len(ways))
	for _, s := range ways {
		of := func(r apiserver.Request) bool { return r.Verb == "list" && spoilable(r.Resource) }
		faults = append(faults, requestFault{s.kind, 5 * s.chance, of, func(seed turnstile.Seed, r apiserver.Request) apiserver.Verdict {
			return apiserver.Verdict{Spoil: s.how, Item: seed.Below(1000, "item", r.String())}
		}})
	}
	return faults
}

func spoiledEvents() []eventFault {
	ways := spoilings()
	faults := make([]eventFault, 0, len(ways))
	for _, s := range ways {
		of := func(e apiserver.Event) bool { return e.Type != "BOOKMARK" && spoilable(e.Watch.Resource) }
		faults = append(faults, eventFault{s.kind, s.chance, of, apiserver.EventVerdict{Spoil: s.how}})
	}
	return faults
}

func just(v apiserver.Verdict) func(turnstile.Seed, apiserver.Request) apiserver.Verdict {
	return func(turnstile.Seed, apiserver.Request) apiserver.Verdict { return v }
}

// An eventFault is one that befalls an event of a watch.
type eventFault struct {
	kind   string
	chance float64
	of     func(apiserver.Event) bool
	with   apiserver.EventVerdict
}

func eventFaults() []eventFault {
	anyEvent := func(apiserver.Event) bool { return true }
	change := func(e apiserver.Event) bool { return e.Type == "MODIFIED" }
	initial := func(e apiserver.Event) bool { return e.Initial }
	return append(spoiledEvents(), []eventFault{
		{"410 within a watch", 0.003, anyEvent, apiserver.EventVerdict{End: apiserver.Expire}},
		{"watch closed", 0.004, anyEvent, apiserver.EventVerdict{End: apiserver.Close}},
		{"watch torn within an event", 0.004, anyEvent, apiserver.EventVerdict{End: apiserver.Tear}},
		{"watch reset", 0.004, anyEvent, apiserver.EventVerdict{End: apiserver.Reset}},
		{"watch ends before its initial events do", 0.02, initial, apiserver.EventVerdict{End: apiserver.Close}},
		{"watch falls silent", 0.001, anyEvent, apiserver.EventVerdict{End: apiserver.GoMute}},
		{"event twice", 0.01, change, apiserver.EventVerdict{Twice: true}},
		{"older version after a newer one", 0.01, change, apiserver.EventVerdict{Older: true}},
		{"intermediate version not seen", 0.03, change, apiserver.EventVerdict{Skip: true, Wait: time.Second}},
	}...)
}

// What a server says of a pod that it does not want now, and may want later.

func quotaExceeded() *apierrors.StatusError {
	return answerOf(403, metav1.StatusReasonForbidden, `pods "x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10`)
}

func limitRange() *apierrors.StatusError {
	return answerOf(403, metav1.StatusReasonForbidden, `pods "x" is forbidden: [maximum cpu usage per Pod is 1, but limit is 2]`)
}

func webhookSaysNo() *apierrors.StatusError {
	return answerOf(400, metav1.StatusReasonBadRequest, `admission webhook "policy.example.com" denied the request: not now`)
}

func webhookAway() *apierrors.StatusError {
	return answerOf(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.policy.svc:443/": dial tcp 10.0.0.9:443: connect: connection refused`)
}

func noServiceAccount() *apierrors.StatusError {
	return answerOf(403, metav1.StatusReasonForbidden, `pods "x" is forbidden: error looking up service account default/default: serviceaccount "default" not found`)
}

func namespaceGoes(namespace string) *apierrors.StatusError {
	err := answerOf(403, metav1.StatusReasonForbidden, fmt.Sprintf(`pods "x" is forbidden: unable to create new content in namespace %s because it is being terminated`, namespace))
	err.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", namespace)}}}
	return err
}

// Who is asked about.

func all(apiserver.Request) bool         { return true }
func reads(r apiserver.Request) bool     { return !r.Writes() }
func lists(r apiserver.Request) bool     { return r.Initial || r.Verb == "list" && !r.Continues }
func continues(r apiserver.Request) bool { return r.Continues }
func watches(r apiserver.Request) bool   { return r.Verb == "watch" }
func opens(r apiserver.Request) bool     { return r.Verb == "watch" && !r.Initial }
func updates(r apiserver.Request) bool {
	return work(r) && (r.Verb == "patch" || r.Verb == "update")
}

// Work is what a crash can fall between: writes other than Leases and Events.
func Work(r apiserver.Request) bool { return work(r) }

func work(r apiserver.Request) bool {
	return r.Writes() && slices.Contains([]string{"taskruns", "pods", "persistentvolumeclaims", "pipelineruns"}, r.Resource)
}

func createsPod(r apiserver.Request) bool { return r.Verb == "create" && r.Resource == "pods" }

func answerOf(code int, reason metav1.StatusReason, message string) *apierrors.StatusError {
	if reason == "" {
		reason = metav1.StatusReason(strings.ReplaceAll(http.StatusText(code), " ", ""))
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message}}
}

// Kinds are the faults that come by chance, and what users do that is one; each
// once.
func Kinds() []string {
	var kinds []string //nolint:prealloc // of five sources
	kinds = append(kinds, "told to stop at a write", "user cancels a run", "user deletes a run", "user recreates a run",
		"user orphans a pod", "user deletes a pod", "user edits a Task", nodeAhead, nodeBehind)
	for _, f := range requestFaults() {
		kinds = append(kinds, f.kind)
	}
	for _, f := range eventFaults() {
		kinds = append(kinds, f.kind)
	}
	for _, d := range disruptions() {
		kinds = append(kinds, d.kind)
	}
	for _, m := range kubelet.Mishaps() {
		kinds = append(kinds, "pod "+m)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
