//go:build e2e

package e2efaults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/faultproxy"
)

// recovered asks for a run of a controller that has come through, and then looks
// at all that it has asked the server for.
func (s *stage) recovered() {
	s.t.Helper()
	s.create("afterwards", quick)
	s.succeeds("afterwards")
	s.pass(time.Second) // what is still written after the end would show now
	for _, check := range []func() error{s.everyRunHasEnded, s.noPodTwice, s.nothingAfterTheEnd, s.writesInsist, s.writesUnderALease, s.processesLive, s.nothingPanicked} {
		s.must(check())
	}
}

func (s *stage) everyRunHasEnded() error {
	var list struct{ Items []crds.TaskRun }
	if err := s.list(&list); err != nil {
		return err
	}
	for _, run := range list.Items {
		if why, over := reason(run); !over && run.DeletionTimestamp == nil {
			return fmt.Errorf("lost (I2): run %s has not ended: %s", run.Name, why)
		}
	}
	return nil
}

// noPodTwice: what the server has made, whoever heard of it.
func (s *stage) noPodTwice() error {
	pods, err := s.cluster.core.Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	live := map[string]int{}
	for i, pod := range pods.Items {
		s.cluster.witness.see(&pods.Items[i])
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue // as that of an attempt before
		}
		if live[runOf(pod.Name)]++; live[runOf(pod.Name)] > 1 {
			return fmt.Errorf("duplicated (I1): run %s has two pods", runOf(pod.Name))
		}
	}
	made := s.cluster.witness.made(s.ns)
	for run, want := range s.made {
		if made[run] != want {
			return fmt.Errorf("duplicated or lost (I3): %d pods were made for run %s, want %d", made[run], run, want)
		}
	}
	return nil
}

func runOf(pod string) string {
	name, _, _ := strings.Cut(pod, "-pod")
	return name
}

// nothingAfterTheEnd: a completed run is immutable.
func (s *stage) nothingAfterTheEnd() error {
	for _, r := range s.replicas {
		ended := map[types.NamespacedName]faultproxy.Exchange{}
		for _, x := range r.proxy.Matching(faultproxy.On{Verb: "patch"}) {
			if x.Resource != crds.ResourceTaskRuns || !x.Done() {
				continue
			}
			if x.Sent.Before(s.rewound) {
				continue // it has not ended any more
			}
			end, over := ended[x.Key]
			again := s.created[x.Key.Name] // another run, made under its name
			if over && !(end.Sent.Before(again) && x.Sent.After(again)) {
				return fmt.Errorf("written after its end (I5): %s, which ended with %s", x, end)
			}
			delete(ended, x.Key)
			if ends(x.Body) {
				ended[x.Key] = x
			}
		}
	}
	return nil
}

// ends tells whether a patch ends a run, and not an attempt, which is filed away with a
// time of its own.
func ends(patch []byte) bool {
	var p struct {
		Status struct {
			CompletionTime *metav1.Time `json:"completionTime"`
		} `json:"status"`
	}
	return json.Unmarshal(patch, &p) == nil && p.Status.CompletionTime != nil
}

// writesInsist: on a version, or on a UID.
func (s *stage) writesInsist() error {
	for _, r := range s.replicas {
		for _, x := range r.proxy.Exchanges() {
			switch {
			case !faultproxy.Work(x.Request):
			case x.Verb == "patch" && x.Resource == crds.ResourceTaskRuns && x.ResourceVersion == "":
				return fmt.Errorf("without a version (I8): %s", x)
			case x.Verb == "delete" && x.UID == "":
				return fmt.Errorf("without a UID (I8): %s", x)
			}
		}
	}
	return nil
}

// renewDeadline is the program's default; busy is what a busy machine may take
// between the moment that a request is made and the moment that the proxy has it.
const (
	renewDeadline = 10 * time.Second
	busy          = 2 * time.Second
)

// writesUnderALease: none later than the last renewal that was done and the renew
// deadline.
func (s *stage) writesUnderALease() error {
	if s.leaseless {
		return nil
	}
	for _, r := range s.replicas {
		var renewed time.Time
		for _, x := range r.proxy.Exchanges() {
			if x.Resource == "leases" && x.Done() {
				renewed = x.Sent
			}
			if faultproxy.Work(x.Request) && x.Sent.Sub(renewed) > renewDeadline+busy {
				return fmt.Errorf("written %v after the last renewal (I8): %s", x.Sent.Sub(renewed).Round(time.Millisecond), x)
			}
		}
	}
	return nil
}

func (s *stage) processesLive() error {
	var deaths []string
	for _, r := range s.replicas {
		for _, l := range r.deaths() {
			deaths = append(deaths, r.name+": "+l.reason)
		}
	}
	if len(deaths) > s.exits {
		return fmt.Errorf("%d processes ended by themselves, want %d at most: %s", len(deaths), s.exits, strings.Join(deaths, ", "))
	}
	return nil
}

func (s *stage) nothingPanicked() error {
	for _, r := range s.replicas {
		log, err := os.ReadFile(r.log)
		if err != nil {
			return err
		}
		for _, word := range []string{"panic:", "fatal error:", "DATA RACE"} {
			if bytes.Contains(log, []byte(word)) {
				return fmt.Errorf("%s in %s", word, r.log)
			}
		}
	}
	return nil
}

// rate is the most requests in a second, on average, that were made about a
// resource in a time: Leases and Events aside, since the first have their own
// period and the second are not waited for.
func (s *stage) rate(from, to time.Time) (resource string, perSecond float64) {
	counts := map[string]int{}
	for _, x := range s.proxy.Exchanges() {
		if x.Sent.After(from) && x.Sent.Before(to) && x.Resource != "leases" && x.Resource != "events" {
			counts[x.Resource]++
		}
	}
	for r, n := range counts {
		if rate := float64(n) / to.Sub(from).Seconds(); rate > perSecond {
			resource, perSecond = r, rate
		}
	}
	return resource, perSecond
}

// calm fails if there was more traffic about a resource than one request a second,
// and the few that are made at first.
func (s *stage) calm(from time.Time) {
	s.t.Helper()
	const atFirst = 6
	lasted := time.Since(from)
	resource, perSecond := s.rate(from, time.Now())
	if n := perSecond * lasted.Seconds(); n > lasted.Seconds()+atFirst {
		s.fatalf("in an outage of %v there were %.0f requests about %s (I11)", lasted.Round(time.Second), n, resource)
	}
}

func (s *stage) list(into any) error {
	raw, err := s.cluster.tekton.Get().Namespace(s.ns).Resource(crds.ResourceTaskRuns).Do(s.ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
