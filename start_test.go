package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"millrace/crds"
	"millrace/internal/metrics"
	"millrace/internal/simulation/apiserver"
	"millrace/reconcile/taskrun"
	"millrace/shard"
)

// wants fails the test if what a probe answers does not begin so, or lacks a word.
func (i *installed) wants(path, begin string, words ...string) {
	i.t.Helper()
	got := i.probed(path)
	if !strings.HasPrefix(got, begin) {
		i.t.Errorf("%s: %q, want %s", path, got, begin)
	}
	for _, word := range words {
		if !strings.Contains(got, word) {
			i.t.Errorf("%s: %q does not say %q", path, got, word)
		}
	}
}

// A kubelet that got no answer, or a bad one, would begin anew, and later each time: up to
// five minutes after the server is back.
func TestAServerThatIsAwayAtTheStartIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		away, back func(*installed)
		says       string // by the first failure
	}{
		"it refuses":              {func(i *installed) { i.server.Down() }, func(i *installed) { i.server.Up() }, "connection refused"},
		"nobody answers the call": {func(i *installed) { i.link.Partition() }, func(i *installed) { i.link.Heal() }, "i/o timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			installAmid(t, apiserver.Config{}, c.away, func(i *installed) {
				synctest.Wait()
				i.wants("/healthz", "200 OK ok")
				i.wants("/readyz", "503", "waiting for the API server")
				time.Sleep(time.Minute)
				i.wants("/readyz", "503", "read ConfigMap tekton-pipelines/feature-flags", c.says)
				time.Sleep(time.Hour)
				i.wants("/healthz", "200 OK ok")
				i.wants("/readyz", "503", "read ConfigMap tekton-pipelines/feature-flags", c.says)
				c.back(i)
				time.Sleep(15 * time.Second)
				i.wants("/readyz", "200 OK ok")
			})
		})
	}
}

// Between the last answer and the swap of the probes all the chains and the webhook are
// wired, one after the other: a kubelet that asks just then would send the webhook requests.
func TestWhoIsBeingWiredIsNotReady(t *testing.T) {
	asked, wired := "", ""
	trouble := func(i *installed) {
		i.random = func(resource string) rand.Source {
			if resource == crds.ResourceTaskRuns {
				asked, wired = i.probed("/readyz"), resource
			}
			return nil
		}
	}
	installAmid(t, apiserver.Config{}, trouble, func(i *installed) {
		time.Sleep(time.Minute)
		i.wants("/readyz", "200 OK ok")
	})
	if wired == "" || !strings.HasPrefix(asked, "503") || !strings.Contains(asked, errBeingWired.Error()) {
		t.Errorf("while the chain of %q is wired: %q", wired, asked)
	}
}

// Nobody leads who waits, and an alert goes by that.
func TestWhoWaitsForTheServerAtTheStartIsCountedAsNoLeader(t *testing.T) {
	trouble := func(i *installed) {
		i.flags = []string{"--leader-elect=true"}
		i.server.Down()
	}
	installAmid(t, apiserver.Config{}, trouble, func(i *installed) {
		const leads = `leader_election_master_status{name="millrace-controller"} `
		time.Sleep(time.Minute)
		i.wants("/metrics", "200 OK", leads+"0\n")
		i.server.Up()
		time.Sleep(time.Minute)
		i.wants("/metrics", "200 OK", leads+"1\n")
	})
}

// unlisted is a server that lets nobody list Leases, as one with the Role of an older
// Millrace does.
type unlisted struct {
	apiserver.Calm

	over *atomic.Bool
}

func (u unlisted) Request(r apiserver.Request) apiserver.Verdict {
	if r.Verb != "list" || r.Resource != "leases" || u.over.Load() {
		return apiserver.Verdict{}
	}
	return apiserver.Verdict{Refuse: apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", errors.New("no right"))}
}

// It leads and never works; the alert goes by the metric, and whoever looks asks /readyz.
func TestALeaderThatMayNotSeeTheLeasesIsNoneAndNotReady(t *testing.T) {
	var over atomic.Bool
	trouble := func(i *installed) { i.flags = []string{"--leader-elect=true"} }
	installAmid(t, apiserver.Config{Interference: unlisted{over: &over}}, trouble, func(i *installed) {
		const leads = `leader_election_master_status{name="millrace-controller"} `
		time.Sleep(5 * time.Minute)
		i.wants("/metrics", "200 OK", leads+"0\n")
		i.wants("/readyz", "503", "it leads, and cannot see whether others share the work", "no right")
		i.wants("/healthz", "200 OK ok")
		over.Store(true)
		time.Sleep(10 * time.Second)
		i.wants("/metrics", "200 OK", leads+"1\n")
		i.wants("/readyz", "200 OK ok")
	})
}

// Those who share end when they are told to, and not before the new one is ready.
func TestALeaderThatWaitsForAClaimIsReadyAndDoesNotLeadYet(t *testing.T) {
	trouble := func(i *installed) {
		i.flags = []string{"--leader-elect=true"}
		holder, lasts, now := "b", int32(3600), metav1.NowMicro()
		claim := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: "tekton-pipelines", Name: "millrace-shard-0",
			Labels:      map[string]string{"app.kubernetes.io/component": "sharding", "app.kubernetes.io/part-of": "millrace"},
			Annotations: map[string]string{"millrace/claim": shard.Range{}.String()},
		}}
		claim.Spec.HolderIdentity, claim.Spec.LeaseDurationSeconds, claim.Spec.RenewTime = &holder, &lasts, &now
		if _, err := i.actor.Create("leases", claim); err != nil {
			i.t.Fatal(err)
		}
	}
	installAmid(t, apiserver.Config{}, trouble, func(i *installed) {
		time.Sleep(5 * time.Minute)
		i.wants("/metrics", "200 OK", `leader_election_master_status{name="millrace-controller"} 0`)
		i.wants("/readyz", "200 OK ok")
		time.Sleep(time.Hour) // it has gone
		i.wants("/metrics", "200 OK", `leader_election_master_status{name="millrace-controller"} 1`)
	})
}

// The end of each story is a SIGTERM: the program has to return, and without an error.
func TestToBeToldToStopWhileTheServerIsAwayIsNoFailure(t *testing.T) {
	installAmid(t, apiserver.Config{}, func(i *installed) { i.server.Down() }, func(*installed) { time.Sleep(time.Minute) })
	installAmid(t, apiserver.Config{}, func(i *installed) { i.link.Partition() }, func(*installed) { time.Sleep(time.Minute) })
}

// A script is a server that says one thing after the other, and then what is fine.
type script struct {
	troubles []http.RoundTripper
	asked    []string
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, req.URL.Path)
	if len(s.troubles) > 0 {
		next := s.troubles[0]
		s.troubles = s.troubles[1:]
		return next.RoundTrip(req)
	}
	switch {
	case req.URL.Path == "/version":
		return reply{http.StatusOK, `{"major":"1","minor":"34"}`}.RoundTrip(req)
	case strings.Contains(req.URL.Path, "/pods/"):
		return reply{http.StatusOK, `{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"image":"registry.example.com/millrace:7"}]}}`}.RoundTrip(req)
	default:
		return refused(http.StatusNotFound, "NotFound").RoundTrip(req)
	}
}

type reply struct {
	code int
	body string
}

func (a reply) RoundTrip(req *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: a.code, Header: header, Body: io.NopCloser(strings.NewReader(a.body)), Request: req}, nil
}

func refused(code int, reason string) reply {
	return reply{code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s","reason":"%s","code":%d}`, reason, reason, code)}
}

// reset is a connection that breaks.
type reset struct{}

func (reset) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection reset")
}

// starting are clients of a server, by whose start nothing is known yet.
func starting(t *testing.T, server http.RoundTripper, flags ...string) (*clients, *start) {
	t.Helper()
	cfg, err := parseConfig(flags, none)
	if err != nil {
		t.Fatal(err)
	}
	registry := metrics.New()
	api, err := newClients(cfg, &rest.Config{Host: "http://apiserver", Transport: server}, registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.close)
	return api, newStart(api.questions(cfg, registry))
}

// What the server says is not the last word, whatever it is: rights come after a
// Deployment, a token is renewed in its file, a proxy speaks for a server that is away.
// A new process would have the same.
func TestWhateverTheServerSaysAtTheStartItIsAskedAgain(t *testing.T) {
	for trouble, answer := range map[string]http.RoundTripper{
		"Unauthorized":               refused(http.StatusUnauthorized, "Unauthorized"),
		"Forbidden":                  refused(http.StatusForbidden, "Forbidden"),
		"InternalError":              refused(http.StatusInternalServerError, "InternalError"),
		"connection reset":           reset{},
		"no answer from the API ser": tardy{answer: time.Hour},
		"deadline exceeded":          tardy{body: time.Hour}, // an answer that begins and does not end
	} {
		for nth, question := range []string{"the settings", "the second ConfigMap", "this pod", "the version"} {
			t.Run(trouble+" to "+question, func(t *testing.T) {
				hush(t)
				synctest.Test(t, func(t *testing.T) {
					server := &script{}
					for range nth { // which is fine
						server.troubles = append(server.troubles, &script{})
					}
					server.troubles = append(server.troubles, answer)
					api, start := starting(t, server, "--pod-name=millrace-1")
					learned := make(chan bool, 1)
					go func() { learned <- start.learn(t.Context()) }()
					failed := ""
					for range 1200 {
						time.Sleep(100 * time.Millisecond)
						if err := start.missing(); err != nil && failed == "" && !errors.Is(err, errNotAsked) {
							failed = err.Error()
						}
					}
					if !strings.Contains(failed, trouble) {
						t.Errorf("/readyz says %q", failed)
					}
					if !<-learned || !errors.Is(start.missing(), errBeingWired) {
						t.Errorf("not learned: %v", start.missing())
					}
					if api.entrypointImage != "registry.example.com/millrace:7" || api.entrypointMode != taskrun.ModeInitContainer || !awaitGood(t.Context(), api.settings) {
						t.Errorf("learned the image %q and the mode %q", api.entrypointImage, api.entrypointMode)
					}
				})
			})
		}
	}
}

// What has been answered is not asked once more, and an outage sees few requests.
func TestAServerThatIsAwayAtTheStartIsAskedSeldom(t *testing.T) {
	hush(t)
	synctest.Test(t, func(t *testing.T) {
		server := &script{}
		server.troubles = append(server.troubles, &script{}, &script{}, &script{})
		for range 1000 {
			server.troubles = append(server.troubles, refused(http.StatusInternalServerError, "InternalError"))
		}
		_, start := starting(t, server, "--pod-name=millrace-1")
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		if start.learn(ctx) {
			t.Error("learned from nobody")
		}
		if err := start.missing(); err == nil || !strings.Contains(err.Error(), "InternalError") {
			t.Errorf("/readyz says %v", err)
		}
		if n := len(server.asked); n < 3+60 || n > 3+122 {
			t.Errorf("%d requests in ten minutes", n)
		}
		for _, path := range server.asked[3:] {
			if path != "/version" {
				t.Errorf("%s was answered, and is asked again", path)
			}
		}
	})
}

func TestTheEndOfTheContextEndsTheWaitForAnAnswerAtOnce(t *testing.T) {
	hush(t)
	synctest.Test(t, func(t *testing.T) {
		_, start := starting(t, tardy{answer: time.Hour}, "--pod-name=millrace-1")
		ctx, stop := context.WithTimeout(t.Context(), 7*time.Second)
		defer stop()
		from := time.Now()
		if start.learn(ctx) || time.Since(from) != 7*time.Second {
			t.Errorf("ended after %v", time.Since(from))
		}
	})
}

// Each failure is told once, with when it is tried again; nothing else is.
func TestTheLogSaysWhatAStartWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		_, start := starting(t, &script{troubles: []http.RoundTripper{refused(http.StatusForbidden, "Forbidden")}}, "--pod-name=millrace-1")
		if !start.learn(ctx) {
			t.Fatal("not learned")
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "feature-flags: Forbidden") || !strings.Contains(log.String(), "after=") {
			t.Errorf("%d lines:\n%s", lines, log.String())
		}
	})
}
