package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/internal/simulation/apiserver"
)

func TestMain(m *testing.M) {
	// The handlers after the first keep the time of the process, not of a bubble.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // there is no other door
	os.Exit(m.Run())
}

// rig is a server in a bubble, and a client of it.
type rig struct {
	*testing.T
	*apiserver.Server

	link *apiserver.Link
	pods typedcorev1.PodInterface
	seen []apiserver.Exchange
}

func bubble(t *testing.T, contentType string, interference apiserver.Interference, story func(context.Context, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t}
		r.Server = apiserver.New(apiserver.Config{Interference: interference, PageCap: 2, Seen: func(e apiserver.Exchange) { r.seen = append(r.seen, e) }})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Server.Run(ctx) }()
		r.link = r.Connect("client")
		transport := &http.Transport{DialContext: r.link.Dial}
		cfg := &rest.Config{Host: "http://apiserver", QPS: -1, Transport: transport}
		cfg.ContentType, cfg.AcceptContentTypes = contentType, contentType
		client, err := typedcorev1.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.pods = client.Pods("default")
		story(ctx, r)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"of": "ours"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "step-one", Image: "busybox"}}},
	}
}

var encodings = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

func TestAPodIsWrittenAndReadInBothEncodings(t *testing.T) {
	for _, encoding := range encodings {
		bubble(t, encoding, nil, func(ctx context.Context, r *rig) {
			made, err := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
			if err != nil || made.UID == "" || made.ResourceVersion == "" || made.Status.Phase != corev1.PodPending {
				r.Fatalf("%s: %v, %+v", encoding, err, made)
			}
			if _, err := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
				r.Errorf("a second pod of the name: %v", err)
			}
			made.Spec.NodeName = "n"
			changed, err := r.pods.Update(ctx, made, metav1.UpdateOptions{})
			if err != nil || changed.Generation != 2 {
				r.Errorf("update: %v, %+v", err, changed)
			}
			if _, err := r.pods.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				r.Errorf("update of an old version: %v", err)
			}
			changed.Status.Phase = corev1.PodRunning
			if got, err := r.pods.Update(ctx, changed, metav1.UpdateOptions{}); err != nil || got.Status.Phase != corev1.PodPending || got.ResourceVersion != changed.ResourceVersion {
				r.Errorf("the status was changed from beside its subresource: %v, %+v", err, got)
			}
			if got, err := r.pods.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil || got.Status.Phase != corev1.PodRunning || got.Generation != 2 {
				r.Errorf("status: %v, %+v", err, got)
			}
		})
	}
}

func TestAPatchInsistsOnWhatItNames(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		patch := func(kind types.PatchType, text string, options metav1.PatchOptions) (*corev1.Pod, error) {
			return r.pods.Patch(ctx, "a", kind, []byte(text), options)
		}
		if _, err := patch(types.MergePatchType, `{"metadata":{"uid":"another"}}`, metav1.PatchOptions{}); !apierrors.IsInvalid(err) { // no conflict, as one might think
			r.Errorf("patch of another UID: %v", err)
		}
		if _, err := patch(types.MergePatchType, `{"metadata":{"resourceVersion":"1","labels":{"a":"b"}}}`, metav1.PatchOptions{}); !apierrors.IsConflict(err) {
			r.Errorf("patch of another version: %v", err)
		}
		if got, err := patch(types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil || got.Labels["a"] != "b" {
			r.Errorf("dry run: %v, %v", err, got.Labels)
		}
		if got, _ := r.pods.Get(ctx, "a", metav1.GetOptions{}); got.ResourceVersion != made.ResourceVersion {
			r.Error("a dry run changed the pod")
		}
		if got, err := patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/j","value":"p"}]`, metav1.PatchOptions{}); err != nil || got.Labels["j"] != "p" {
			r.Errorf("JSON patch: %v", err)
		}
		if got, err := patch(types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"step-one","image":"alpine"}]}}`, metav1.PatchOptions{}); err != nil || got.Spec.Containers[0].Image != "alpine" {
			r.Errorf("strategic merge patch: %v", err)
		}
	})
}

func TestAPodThatRunsTakesItsTimeToGo(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		made.Spec.NodeName = "n"
		_, _ = r.pods.Update(ctx, made, metav1.UpdateOptions{})
		other := types.UID("another")
		if err := r.pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}); !apierrors.IsConflict(err) {
			r.Errorf("deletion of another UID: %v", err)
		}
		if err := r.pods.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}); err != nil {
			r.Error(err)
		}
		if got, err := r.pods.Get(ctx, "a", metav1.GetOptions{}); err != nil || got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 30 {
			r.Errorf("%v, %+v", err, got)
		}
		now := int64(0)
		if err := r.pods.Delete(ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			r.Error(err)
		}
		if _, err := r.pods.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			r.Errorf("after the kubelet's deletion: %v", err)
		}
	})
}

func TestAListInPagesIsOfOneVersionUntilItExpires(t *testing.T) {
	for _, encoding := range encodings {
		bubble(t, encoding, nil, func(ctx context.Context, r *rig) {
			for i := range 5 {
				_, _ = r.pods.Create(ctx, pod(fmt.Sprint("p", i)), metav1.CreateOptions{})
			}
			first, err := r.pods.List(ctx, metav1.ListOptions{Limit: 100})
			if err != nil || len(first.Items) != 2 || first.Continue == "" {
				r.Fatalf("%s: %v, %d items", encoding, err, len(first.Items))
			}
			_ = r.pods.Delete(ctx, "p3", metav1.DeleteOptions{})
			second, err := r.pods.List(ctx, metav1.ListOptions{Limit: 100, Continue: first.Continue})
			if err != nil || second.Items[1].Name != "p3" || second.ResourceVersion != first.ResourceVersion {
				r.Errorf("%v: the second page is not of the first one's version", err)
			}
			r.Compact()
			if _, err := r.pods.List(ctx, metav1.ListOptions{Limit: 100, Continue: second.Continue}); !apierrors.IsResourceExpired(err) {
				r.Errorf("after a compaction: %v", err)
			}
		})
	}
}

func TestAListIsOfExactlyTheVersionThatItNames(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		at := made.ResourceVersion
		made.Labels["of"] = "others"
		_, _ = r.pods.Update(ctx, made, metav1.UpdateOptions{})
		_, _ = r.pods.Create(ctx, pod("b"), metav1.CreateOptions{})
		for _, o := range []metav1.ListOptions{
			{ResourceVersion: at, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			{ResourceVersion: at, Limit: 2}, // which means the same
		} {
			then, err := r.pods.List(ctx, o)
			if err != nil || then.ResourceVersion != at || len(then.Items) != 1 || then.Items[0].ResourceVersion != at || then.Items[0].Labels["of"] != "ours" {
				r.Errorf("%v, %+v", err, then)
			}
		}
		r.Compact()
		_, err := r.pods.List(ctx, metav1.ListOptions{ResourceVersion: at, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !apierrors.IsResourceExpired(err) {
			r.Errorf("after a compaction: %v", err)
		}
		_, err = r.pods.List(ctx, metav1.ListOptions{ResourceVersion: "99999", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			r.Errorf("from the future: %v", err)
		}
	})
}

func TestAWatchTellsAllThatHappensToWhatItSelects(t *testing.T) {
	for _, encoding := range encodings {
		bubble(t, encoding, nil, func(ctx context.Context, r *rig) {
			made, _ := r.pods.Create(ctx, pod("old"), metav1.CreateOptions{})
			yes := true
			w, err := r.pods.Watch(ctx, metav1.ListOptions{
				LabelSelector: "of=ours", SendInitialEvents: &yes, AllowWatchBookmarks: true,
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			})
			if err != nil {
				r.Fatal(err)
			}
			made.Labels = nil
			_, _ = r.pods.Update(ctx, made, metav1.UpdateOptions{})
			_, _ = r.pods.Create(ctx, pod("new"), metav1.CreateOptions{})
			_ = r.pods.Delete(ctx, "new", metav1.DeleteOptions{})
			time.Sleep(90 * time.Second)
			var told []string
			for range 7 {
				e := <-w.ResultChan()
				told = append(told, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Object.(*corev1.Pod).Name)))
			}
			want := "ADDED old, BOOKMARK, DELETED old, ADDED new, MODIFIED new, DELETED new, BOOKMARK"
			if got := strings.Join(told, ", "); got != want {
				r.Errorf("%s: %s\nwant %s", encoding, got, want)
			}
			w.Stop()
		})
	}
}

// expired tells whether the first thing that a watch says is that it came too late.
func expired(t *testing.T, w watch.Interface, err error) bool {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := <-w.ResultChan()
	return e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object))
}

func TestAWatchFromWhatIsForgottenOpensAndFails(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		_, _ = r.pods.Create(ctx, pod("b"), metav1.CreateOptions{})
		r.Compact()
		w, err := r.pods.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
		if !expired(r.T, w, err) {
			r.Error("it is not said that this is too long ago")
		}
	})
}

func TestARestoreTakesVersionsBack(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		backup := r.Backup()
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		r.Restore(backup, 0)
		if _, err := r.pods.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			r.Errorf("%v", err)
		}
		_, err := r.pods.List(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			r.Errorf("a list from the future: %v", err)
		}
	})
}

func TestARestoreThatIsBumpedHasForgottenWhereEverybodyWas(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		backup := r.Backup()
		made, _ := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		r.Restore(backup, 1_000_000)
		w, err := r.pods.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
		if !expired(r.T, w, err) {
			r.Error("a watch from before the restore goes on")
		}
	})
}

// A client that was told the new world by an old watch would go on from there, and never
// hear of what the restore has lost on its way to it.
func TestAWatchThatIsSlowTellsNothingOfWhatIsAfterARestore(t *testing.T) {
	slow := script{event: func(apiserver.Event) apiserver.EventVerdict {
		return apiserver.EventVerdict{Wait: 10 * time.Second}
	}}
	bubble(t, runtime.ContentTypeProtobuf, slow, func(ctx context.Context, r *rig) {
		w, err := r.pods.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			r.Fatal(err)
		}
		_, _ = r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		time.Sleep(time.Second)
		_, _ = r.pods.Create(ctx, pod("b"), metav1.CreateOptions{})
		r.Restore(r.Backup(), 1_000_000)
		_, _ = r.pods.Create(ctx, pod("c"), metav1.CreateOptions{})
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok && p.Name != "a" {
				r.Errorf("the old watch tells of %s", p.Name)
			}
		}
	})
}

// script answers each request and event by what it is told.
type script struct {
	request func(apiserver.Request) apiserver.Verdict
	event   func(apiserver.Event) apiserver.EventVerdict
}

func (s script) Request(r apiserver.Request) apiserver.Verdict {
	if s.request == nil {
		return apiserver.Verdict{}
	}
	return s.request(r)
}

func (s script) Event(e apiserver.Event) apiserver.EventVerdict {
	if s.event == nil {
		return apiserver.EventVerdict{}
	}
	return s.event(e)
}

func TestAWriteIsLostBeforeOrAfterItIsDone(t *testing.T) {
	for _, when := range []apiserver.Moment{apiserver.BeforeActing, apiserver.BeforeAnswering} {
		lose := script{request: func(r apiserver.Request) (v apiserver.Verdict) {
			if r.Verb == "create" {
				v.Lose = when
			}
			return v
		}}
		bubble(t, runtime.ContentTypeProtobuf, lose, func(ctx context.Context, r *rig) {
			if _, err := r.pods.Create(ctx, pod("a"), metav1.CreateOptions{}); err == nil {
				r.Error("no error")
			}
			_, err := r.pods.Get(ctx, "a", metav1.GetOptions{})
			if done := err == nil; done != (when == apiserver.BeforeAnswering) {
				r.Errorf("lost at moment %d: %v", when, err)
			}
			if e := r.seen[0]; !e.Lost || e.Committed() != (when == apiserver.BeforeAnswering) {
				r.Errorf("told as %s", e)
			}
		})
	}
}

func TestADeadProcessSendsNothing(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		_, _ = r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
		r.link.Cut()
		if _, err := r.pods.Create(ctx, pod("b"), metav1.CreateOptions{}); err == nil {
			r.Error("no error")
		}
		if n := len(r.Objects("pods")); n != 1 {
			r.Errorf("%d pods", n)
		}
	})
}

func TestAPartitionLetsNothingThroughAndTellsNobody(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		w, err := r.pods.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			r.Fatal(err)
		}
		r.link.Partition()
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		begun := time.Now()
		if _, err := r.pods.Create(short, pod("a"), metav1.CreateOptions{}); err == nil || time.Since(begun) < dialed {
			r.Errorf("after %s: %v", time.Since(begun), err)
		}
		select {
		case e := <-w.ResultChan():
			r.Errorf("the watch said %v", e)
		default:
		}
		r.link.Heal()
		if _, err := r.pods.Create(ctx, pod("b"), metav1.CreateOptions{}); err != nil {
			r.Error(err)
		}
		if _, ok := r.Object("pods", types.NamespacedName{Namespace: "default", Name: "a"}); ok {
			r.Error("what was sent into the partition arrived")
		}
		w.Stop()
	})
}

const dialed = 30 * time.Second

func TestAWatchEndsInEachWay(t *testing.T) {
	for _, end := range []apiserver.Ending{apiserver.Close, apiserver.Tear, apiserver.Reset, apiserver.Expire} {
		s := script{event: func(apiserver.Event) apiserver.EventVerdict { return apiserver.EventVerdict{End: end} }}
		bubble(t, runtime.ContentTypeProtobuf, s, func(ctx context.Context, r *rig) {
			w, err := r.pods.Watch(ctx, metav1.ListOptions{})
			if err != nil {
				r.Fatal(err)
			}
			_, _ = r.pods.Create(ctx, pod("a"), metav1.CreateOptions{})
			e, open := <-w.ResultChan()
			if end == apiserver.Expire {
				if e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
					r.Errorf("%+v", e)
				}
			} else if open && e.Type != watch.Error {
				r.Errorf("ended by %d, the watch said %+v", end, e)
			}
			w.Stop()
		})
	}
}

func TestOrphansAreWhatNoOwnerIsLeftOf(t *testing.T) {
	bubble(t, runtime.ContentTypeProtobuf, nil, func(ctx context.Context, r *rig) {
		owner, _ := r.pods.Create(ctx, pod("owner"), metav1.CreateOptions{})
		child := pod("child")
		child.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: owner.UID}}
		_, _ = r.pods.Create(ctx, child, metav1.CreateOptions{})
		if found := r.Orphans(); len(found) != 0 {
			r.Errorf("%v", found)
		}
		_ = r.pods.Delete(ctx, "owner", metav1.DeleteOptions{})
		if found := r.Orphans(); len(found) != 1 || found[0].Key.Name != "child" {
			r.Errorf("%v", found)
		}
		if err := r.Actor("collector").Release("pods", types.NamespacedName{Namespace: "default", Name: "child"}, owner.UID); err != nil {
			r.Error(err)
		}
		if found := r.Orphans(); len(found) != 0 {
			r.Errorf("after the release: %v", found)
		}
	})
}
