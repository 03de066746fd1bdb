//go:build e2e

package e2efaults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// A stage is what a scenario has for itself: a namespace, a controller that takes
// its runs and nobody else's, and the proxy between that and the API server.
type stage struct {
	*replica // the first one

	t        *testing.T
	ctx      context.Context //nolint:containedctx // of the test
	cluster  *cluster
	ns       string
	dir      string
	replicas []*replica
	parts    sync.WaitGroup
	stop     context.CancelFunc

	made      map[string]int       // pods that a run may have had made, by its name
	created   map[string]time.Time // when a run was created, by its name: the last one
	exits     int                  // how many processes may end by themselves
	leaseless bool                 // it works without a Lease
	rewound   time.Time            // when the cluster went back to a backup
	failed    string               // why
	began     time.Time
}

// patience is how long anything may take that has to come: the machine may be busy.
const patience = 4 * time.Minute

func newStage(t *testing.T, c *cluster, name string) *stage {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &stage{t: t, ctx: ctx, stop: stop, cluster: c, ns: "f-" + name, dir: filepath.Join(c.root, ".build/e2e-faults", name), made: map[string]int{}, created: map[string]time.Time{}, began: time.Now()}
	s.must(os.RemoveAll(s.dir))
	s.must(os.MkdirAll(s.dir, 0o755))
	s.must(c.admit(ctx, s.ns))
	t.Cleanup(s.leave)
	s.replica = s.newReplica("a")
	s.eventually("the namespace's default ServiceAccount", func() bool {
		_, err := c.core.ServiceAccounts(s.ns).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	return s
}

// newReplica makes one, its proxy running and its process not.
func (s *stage) newReplica(name string) *replica {
	s.t.Helper()
	r, err := newReplica(s.cluster, s.dir, s.ns, name)
	s.must(err)
	s.giveToken(r, nil)
	s.parts.Go(func() {
		if err := r.proxy.Run(s.ctx); err != nil {
			s.t.Errorf("%v", err)
		}
	})
	s.replicas = append(s.replicas, r)
	return r
}

// giveToken writes a new one, which may be bound to an object.
func (s *stage) giveToken(r *replica, to *authenticationv1.BoundObjectReference) {
	s.t.Helper()
	lasts := int64(3600)
	token, err := s.cluster.core.ServiceAccounts(s.ns).CreateToken(s.ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lasts, BoundObjectRef: to}}, metav1.CreateOptions{})
	s.must(err)
	s.must(os.WriteFile(r.token, []byte(token.Status.Token), 0o600))
}

// begin starts a replica's process without waiting for anything.
func (s *stage) begin(r *replica) {
	s.parts.Go(func() {
		if err := r.keep(s.ctx); err != nil {
			s.t.Errorf("%v", err)
		}
	})
}

// start starts it, and waits until it leads and has its caches.
func (s *stage) start() {
	s.t.Helper()
	s.begin(s.replica)
	s.ready(s.replica)
}

func (s *stage) ready(r *replica) {
	s.t.Helper()
	s.eventually("the controller to lead with caches filled", func() bool {
		code, _ := r.get(s.ctx, "/readyz")
		return code == 200 && (s.leaseless || s.holder() == s.ns+"-"+r.name)
	})
}

func (s *stage) holder() string {
	lease, err := s.cluster.leases.Leases(s.ns).Get(s.ctx, "millrace-controller", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// leave ends all that belongs to the stage.
func (s *stage) leave() {
	s.tell()
	s.stop()
	s.parts.Wait()
	if os.Getenv("KEEP") == "1" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 30*time.Second)
	defer cancel()
	if err := s.cluster.dismiss(ctx, s.ns); err != nil {
		s.t.Logf("cleaning up: %v", err)
	}
}

// tell leaves what happened in a file beside the logs.
func (s *stage) tell() {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n\n", s.ns, s.failed)
	for _, r := range s.replicas {
		for _, x := range r.proxy.Exchanges() {
			fmt.Fprintf(&text, "%8.3f  %s\n", x.Sent.Sub(s.began).Seconds(), x)
		}
		for _, l := range r.lives {
			fmt.Fprintf(&text, "%s: began %.3f, ended %.3f: %s\n", r.name, l.began.Sub(s.began).Seconds(), l.ended.Sub(s.began).Seconds(), l.reason)
		}
	}
	runs, err := s.cluster.tekton.Get().Namespace(s.ns).Resource(crds.ResourceTaskRuns).Do(context.WithoutCancel(s.ctx)).Raw()
	fmt.Fprintf(&text, "\n%s %v\n", runs, err)
	if err := os.WriteFile(filepath.Join(s.dir, "timeline.txt"), []byte(text.String()), 0o600); err != nil {
		s.t.Log(err)
	}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.fatalf("%v", err)
	}
}

func (s *stage) fatalf(format string, args ...any) {
	s.t.Helper()
	s.failed = fmt.Sprintf(format, args...)
	s.t.Fatal(s.failed)
}

// eventually asks four times a second.
func (s *stage) eventually(what string, is func() bool) {
	s.t.Helper()
	s.within(patience, what, is)
}

func (s *stage) within(limit time.Duration, what string, is func() bool) {
	s.t.Helper()
	poll := time.NewTicker(time.Second / 4)
	defer poll.Stop()
	for end := time.After(limit); !is(); {
		select {
		case <-poll.C:
		case <-end:
			s.fatalf("waited %v in vain for %s", limit, what)
		case <-s.ctx.Done():
			s.fatalf("interrupted, waiting for %s", what)
		}
	}
}

// pass waits for time to pass.
func (s *stage) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// create makes a TaskRun of a spec in YAML, and expects one pod of it.
func (s *stage) create(name, spec string) { s.t.Helper(); s.createIn(s.ns, name, spec) }

func (s *stage) createIn(ns, name, spec string) {
	s.t.Helper()
	run := fmt.Sprintf(`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: %s}, spec: {managedBy: %s, %s}}`, name, s.ns, spec)
	s.created[name] = time.Now()
	s.post(ns, crds.ResourceTaskRuns, run)
	s.made[name] = 1
}

func (s *stage) post(ns, resource, text string) {
	s.t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	s.must(err)
	s.must(s.cluster.tekton.Post().Namespace(ns).Resource(resource).Body(body).Do(s.ctx).Error())
}

// Specs of runs.
const (
	quick = `taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}`
	fails = `taskSpec: {steps: [{name: s, image: busybox, script: "exit 3"}]}`
	// fromTask takes over the Task's labels, which is a write more.
	fromTask = `taskRef: {name: labelled}`
)

// midway is a run that is looked at in the midst of its step: on a busy machine a
// shorter one is over before anybody has heard of its beginning.
const midway = `taskSpec: {steps: [{name: s, image: busybox, script: "sleep 15"}]}`

// slow is a run whose step takes that many seconds.
func slow(seconds int) string {
	return fmt.Sprintf(`taskSpec: {steps: [{name: s, image: busybox, script: "sleep %d"}]}`, seconds)
}

// makeTask makes the Task of fromTask, which takes as long as midway for the same reason.
func (s *stage) makeTask() {
	s.t.Helper()
	s.post(s.ns, crds.ResourceTasks, `{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: labelled, labels: {of: task}}, spec: {steps: [{name: s, image: busybox, script: "sleep 15"}]}}`)
}

func (s *stage) get(name string) (crds.TaskRun, error) {
	var run crds.TaskRun
	raw, err := s.cluster.tekton.Get().Namespace(s.ns).Resource(crds.ResourceTaskRuns).Name(name).Do(s.ctx).Raw()
	if err != nil {
		return run, err
	}
	return run, json.Unmarshal(raw, &run)
}

func (s *stage) mustGet(name string) crds.TaskRun {
	s.t.Helper()
	run, err := s.get(name)
	s.must(err)
	return run
}

// reason is that of the condition, and whether the run has ended.
func reason(run crds.TaskRun) (string, bool) {
	for _, c := range run.Status.Conditions {
		if c.Type == "Succeeded" {
			return c.Reason, c.Status != corev1.ConditionUnknown
		}
	}
	return "", false
}

// until waits for a run to be as wanted.
func (s *stage) until(name, what string, is func(crds.TaskRun) bool) crds.TaskRun {
	s.t.Helper()
	var last crds.TaskRun
	var failure error
	end := time.Now().Add(patience)
	for {
		run, err := s.get(name)
		if failure = err; err == nil {
			if last = run; is(run) {
				return run
			}
			if why, over := reason(run); over {
				s.fatalf("run %s is not to be %s any more: it ended with %s: %+v", name, what, why, run.Status.Conditions)
			}
		}
		if time.Now().After(end) {
			s.fatalf("waited %v in vain for run %s to be %s: %v, %+v", patience, name, what, failure, last.Status.Conditions)
		}
		if s.pass(time.Second / 4); s.ctx.Err() != nil {
			s.fatalf("interrupted, waiting for run %s to be %s", name, what)
		}
	}
}

func (s *stage) ends(name, with string) {
	s.t.Helper()
	s.until(name, with, func(run crds.TaskRun) bool {
		why, over := reason(run)
		return over && why == with
	})
}

func (s *stage) succeeds(name string) { s.t.Helper(); s.ends(name, "Succeeded") }

// steps waits until the run's step runs, as the status tells.
func (s *stage) steps(name string) crds.TaskRun {
	s.t.Helper()
	return s.until(name, "running its step", func(run crds.TaskRun) bool {
		return len(run.Status.Steps) > 0 && run.Status.Steps[0].Running != nil
	})
}

func (s *stage) patch(name, patch string) error {
	return s.cluster.tekton.Patch(types.MergePatchType).Namespace(s.ns).Resource(crds.ResourceTaskRuns).Name(name).Body([]byte(patch)).Do(s.ctx).Error()
}

func (s *stage) deleteRun(name string) {
	s.t.Helper()
	s.must(s.cluster.tekton.Delete().Namespace(s.ns).Resource(crds.ResourceTaskRuns).Name(name).Do(s.ctx).Error())
}

func (s *stage) deletePod(run string) {
	s.t.Helper()
	now := int64(0)
	err := s.cluster.core.Pods(s.ns).Delete(s.ctx, run+"-pod", metav1.DeleteOptions{GracePeriodSeconds: &now})
	if !apierrors.IsNotFound(err) {
		s.must(err)
	}
}

// gone waits until a pod is.
func (s *stage) gone(pod string) {
	s.t.Helper()
	s.eventually("pod "+pod+" to be gone", func() bool {
		_, err := s.cluster.core.Pods(s.ns).Get(s.ctx, pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// annotate changes a run 20 times a second.
func (s *stage) annotate(run string, stop <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.patch(run, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n)) //nolint:errcheck // another one follows
		}
	}
}

// plan adds faults, and must have them befall something by the time that the
// function which it returns is called: it ends them.
func (s *stage) plan(faults ...faultproxy.Fault) (over func()) {
	end := s.proxy.Plan(faults...)
	return func() {
		s.t.Helper()
		for i, hits := range end() {
			if hits == 0 {
				s.fatalf("the fault has befallen nothing: %s", faults[i].On)
			}
		}
	}
}

// happens waits until a fault has befallen something.
func (s *stage) happens(fault string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	err := s.proxy.Await(ctx, func(all []faultproxy.Exchange) bool {
		for _, x := range all {
			if strings.Contains(x.Fault, fault) {
				return true
			}
		}
		return false
	})
	if err != nil {
		s.fatalf("waited in vain for the fault to befall something: %s", fault)
	}
}

// again waits until such a request is answered well that was sent later than from.
func (s *stage) again(from time.Time, within time.Duration, on faultproxy.On) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, time.Until(from.Add(within)))
	defer cancel()
	err := s.proxy.Await(ctx, func(all []faultproxy.Exchange) bool {
		for _, x := range all {
			if x.Sent.After(from) && on.Request(x.Request) && x.Code == 200 {
				return true
			}
		}
		return false
	})
	if err != nil {
		s.fatalf("no %s was answered within %v", on, within)
	}
}

// dies waits until the process that runs now has ended, and tells how.
func (s *stage) dies(r *replica, l *life) *life {
	s.t.Helper()
	s.eventually("a process of replica "+r.name+" to end", l.over)
	return l
}

// kill is kill -9 at rest.
func (s *stage) kill() { s.signal(syscall.SIGKILL) }
