package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/tracing/tracetest"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
	"millrace/wire"
	"millrace/workqueue"
)

type (
	result = reconcile.Result
	key    = types.NamespacedName
)

// The way of a run, from the event to the end: what stands below what.
func TestARunIsOneTrace(t *testing.T) {
	r := newRig(t)
	r.does(func(ctx context.Context, key key) (result, error) {
		r.asks(ctx, http.MethodPost, "/api/v1/namespaces/ci/pods")
		r.asks(ctx, http.MethodPatch, "/apis/tekton.dev/v1/namespaces/ci/taskruns/build/status")
		r.ctl.TaskRuns(taskrun.Trace{}).Done(taskrun.Done{Key: key, Task: "compile", Status: "True", Reason: "Succeeded", Duration: time.Hour})
		return result{}, nil
	})
	r.while(func() {
		r.run(build, "")
		r.next()
	})
	r.draws(`taskrun
  deltafifo taskruns
    queue taskrun
      reconcile taskrun ← deltafifo taskruns
        POST pods
        PATCH taskruns/status
`)
	trace := r.only("taskrun").GetTraceId()
	for _, s := range r.collector.Spans() {
		if !bytes.Equal(s.GetTraceId(), trace) {
			t.Errorf("%s is in another trace", s.GetName())
		}
		if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("%s ends before it begins", s.GetName())
		}
	}
	done := r.only("reconcile taskrun")
	for name, want := range map[string]string{
		"millrace.key": "ci/build", "millrace.outcome": "success", "millrace.causes": "taskruns create →11",
	} {
		if got := tracetest.Attribute(done, name); got != want {
			t.Errorf("%s of the reconcile is %q, want %q", name, got, want)
		}
	}
	if got := tracetest.Attribute(r.only("POST pods"), "http.response.status_code"); got != "200" {
		t.Errorf("the request's answer is %q", got)
	}
	for _, want := range []string{"service.name=millrace", "service.version=v1", "k8s.pod.name=millrace-0"} {
		if !slices.Contains(r.collector.Services(), want) {
			t.Errorf("the spans are from %v, want %s", r.collector.Services(), want)
		}
	}
}

// Two processes agree about the trace of a run without a word between them.
func TestTheTraceOfARunIsKnownWithoutBeingWrittenDown(t *testing.T) {
	one, other := newRig(t).tracer, newRig(t).tracer
	none := given("")
	if a, b := one.runOf("uid", none), other.runOf("uid", none); !a.span.Equal(b.span) || !a.span.IsSampled() {
		t.Errorf("%v and %v", a.span, b.span)
	}
	if a, b := one.runOf("uid", none), one.runOf("another", none); a.span.TraceID() == b.span.TraceID() {
		t.Error("two runs share a trace")
	}
}

// As many runs are sampled as the rate says; a hash of a UID has no bits that are fixed.
func TestTheRateIsThatOfRuns(t *testing.T) {
	tracer := newRig(t, func(c *Config) { c.SamplingRatePerMillion = 100_000 }).tracer
	sampled := 0
	for n := range 20_000 {
		uid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) // the variant's bits, as all have them
		if tracer.runOf(types.UID(uid), given("")).span.IsSampled() {
			sampled++
		}
	}
	if sampled < 1800 || sampled > 2200 { // 10 %; the standard deviation is 42
		t.Errorf("%d of 20000 runs are sampled, want about 2000", sampled)
	}
}

// Changes of four objects wait while a worker has the key, of one of them two; the run that
// follows has links to the span of each change, and to none twice.
func TestAReconcileHasLinksToEveryCause(t *testing.T) {
	r := newRig(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	r.does(func(context.Context, key) (result, error) {
		begun <- struct{}{}
		<-goOn
		return result{}, nil
	})
	changes := []workqueue.Cause{
		{Source: "pods", Event: "update", Name: "pod-0", OldRV: "21", NewRV: "22"},
		{Source: "pods", Event: "update", Name: "pod-1", OldRV: "18", NewRV: "23"},
		{Source: "pods", Event: "update", Name: "pod-1", OldRV: "23", NewRV: "24"},
		{Source: "pods", Event: "delete", Name: "pod-2", OldRV: "9", NewRV: "25"},
		{Source: "tasks", Event: "create", Name: "compile", NewRV: "26"},
	}
	r.while(func() {
		r.run(build, "")
		<-begun
		for _, c := range changes {
			c.First = time.Now()
			r.queue.Add(build, c)
		}
		goOn <- struct{}{}
		r.next()
		<-begun
		goOn <- struct{}{}
		r.next()
	})
	r.draws(`deltafifo taskruns
  queue taskrun
    reconcile taskrun ← deltafifo taskruns
deltafifo pods
  queue taskrun
    reconcile taskrun ← deltafifo pods, deltafifo pods, deltafifo pods, deltafifo pods, deltafifo tasks
deltafifo pods
deltafifo pods
deltafifo pods
deltafifo tasks
`)
	linked := map[string]int{}
	for _, l := range r.collector.Named("reconcile taskrun")[1].GetLinks() {
		for _, s := range r.collector.Spans() {
			if bytes.Equal(l.GetSpanId(), s.GetSpanId()) && bytes.Equal(l.GetTraceId(), s.GetTraceId()) {
				linked[changeOf(s)]++
			}
		}
	}
	want := map[string]int{}
	for _, c := range changes {
		want[fmt.Sprint(c.Source, " ", c.Event, " ci/", c.Name, " ", c.OldRV, "→", c.NewRV)]++
	}
	if !maps.Equal(linked, want) {
		t.Errorf("links to %v, want %v", linked, want)
	}
}

// changeOf is the change of an object that a span of a FIFO is about.
func changeOf(s *tracepb.Span) string {
	of := func(name string) string { return tracetest.Attribute(s, name) }
	return of("millrace.resource") + " " + of("millrace.event") + " " + of("k8s.namespace.name") + "/" + of("millrace.object") +
		" " + of("millrace.version.old") + "→" + of("millrace.version.new")
}

// What is asked for while a worker has the key is no cause of the run at work.
func TestAnAskDuringAReconcileIsForTheNext(t *testing.T) {
	r := newRig(t)
	asked := false
	r.does(func(context.Context, key) (result, error) {
		if !asked {
			asked = true
			r.queue.Add(build, workqueue.Cause{Source: "pods", Event: "update", First: time.Now()})
		}
		return result{}, nil
	})
	r.while(func() {
		r.run(build, "")
		r.next()
		r.next()
	})
	runs := r.collector.Named("reconcile taskrun")
	if len(runs) != 2 || len(runs[0].GetLinks()) != 1 || len(runs[1].GetLinks()) != 1 {
		t.Errorf("the collector has\n%s", r.collector.Tree())
	}
}

// A reconcile that asks to be called again is what the next one has a link to.
func TestAReconcileHasALinkToTheOneThatAskedForIt(t *testing.T) {
	r := newRig(t)
	first := true
	r.does(func(context.Context, key) (result, error) {
		defer func() { first = false }()
		if first {
			return result{}, errors.New("not yet")
		}
		return result{}, nil
	})
	r.while(func() {
		r.run(build, "")
		r.next()
		r.next()
	})
	r.draws(`deltafifo taskruns
  queue taskrun
    reconcile taskrun ← deltafifo taskruns
queue taskrun
  reconcile taskrun ← reconcile taskrun
`)
	if s := r.collector.Named("reconcile taskrun")[0]; s.GetStatus().GetMessage() != "not yet" {
		t.Errorf("the reconcile that failed says %q", s.GetStatus().GetMessage())
	}
}

// A key that is to run in an hour, and hears news before that, was not called because
// an hour had passed.
func TestADelayThatWasSupersededIsNoCause(t *testing.T) {
	r := newRig(t)
	r.does(func(context.Context, key) (result, error) { return result{RequeueAfter: time.Hour}, nil })
	r.while(func() {
		r.run(build, "")
		r.next()
		r.run(build, "")
		r.next()
	})
	for _, s := range r.collector.Named("reconcile taskrun") {
		if len(s.GetLinks()) != 1 || tracetest.Attribute(s, "millrace.outcome") != "requeue_after" {
			t.Errorf("a reconcile has %d links:\n%s", len(s.GetLinks()), r.collector.Tree())
		}
	}
}

// A worker that found the cache behind the key's own writes gave the key back: what it
// was to run for, the next run is for.
func TestWhatAWorkerGaveBackIsACauseOfTheNextRun(t *testing.T) {
	r := newRig(t)
	r.ctl.asked(build, workqueue.Asked{Cause: workqueue.Cause{Source: "pods", Event: "update", First: time.Now()}})
	r.ctl.got(build, time.Second)
	r.ctl.asked(build, workqueue.Asked{Cause: workqueue.Cause{Source: "pods", Event: "delete", First: time.Now()}})
	r.ctl.stale(build, 0, nil)
	r.ctl.got(build, time.Second)
	if w := r.ctl.working[build]; len(w.asks.list) != 2 || w.asks.stale != 1 || r.ctl.asks != 0 {
		t.Errorf("the next run is for %+v, and %d asks are counted", w.asks, r.ctl.asks)
	}
}

// A TaskRun that ends wakes its own key and its PipelineRun's.
func TestAnEventThatWakesTwoKeysIsOneSpan(t *testing.T) {
	r := newRig(t)
	r.while(func() {
		r.does(func(context.Context, key) (result, error) { return result{}, nil })
		r.run(build, "")
		r.run(wide, "")
		r.next()
		r.next()
		news := workqueue.Cause{Source: "pods", Event: "update", Name: "pod", OldRV: "4", NewRV: "5", First: time.Now()}
		r.queue.Add(build, news)
		r.queue.Add(wide, news)
		r.next()
		r.next()
	})
	event := r.only("deltafifo pods")
	linked := 0
	for _, s := range r.collector.Named("reconcile taskrun") {
		for _, l := range s.GetLinks() {
			if bytes.Equal(l.GetSpanId(), event.GetSpanId()) {
				linked++
			}
		}
	}
	if linked != 2 {
		t.Errorf("%d reconciles have a link to the event, want 2:\n%s", linked, r.collector.Tree())
	}
}

const (
	theirTrace = "0f57e147e992b304d977436289d10628"
	theirSpan  = "73d5909e31793992"
)

// The rate is zero: what is sampled is what its maker, or Tekton, has said so of.
func TestAGivenSpanContextIsTheParent(t *testing.T) {
	const theirs = "00-" + theirTrace + "-" + theirSpan
	annotation := func(name, traceparent string) string {
		return `"annotations":{"tekton.dev/` + name + `":"{\"traceparent\":\"` + traceparent + `\"}"}`
	}
	for name, c := range map[string]struct {
		metadata, status string
		sampled          bool
	}{
		"sampled":                {metadata: annotation("taskrunSpanContext", theirs+"-01"), sampled: true},
		"not sampled":            {metadata: annotation("taskrunSpanContext", theirs+"-00")},
		"malformed":              {metadata: `"annotations":{"tekton.dev/taskrunSpanContext":"traceparent=1"}`},
		"no trace":               {metadata: annotation("taskrunSpanContext", "01")},
		"of a PipelineRun":       {metadata: annotation("pipelinerunSpanContext", theirs+"-01")},
		"none":                   {metadata: `"labels":{}`},
		"Tekton has begun":       {metadata: `"labels":{}`, status: `"spanContext":{"traceparent":"` + theirs + `-01"}`, sampled: true},
		"Tekton, not sampled":    {metadata: annotation("taskrunSpanContext", theirs+"-01"), status: `"spanContext":{"traceparent":"` + theirs + `-00"}`},
		"status is not readable": {metadata: annotation("taskrunSpanContext", theirs+"-01"), status: `"spanContext":{"traceparent":"0"}`, sampled: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.SamplingRatePerMillion = 0 })
			r.does(func(_ context.Context, key key) (result, error) {
				r.ctl.TaskRuns(taskrun.Trace{}).Done(taskrun.Done{Key: key, Status: "False", Reason: "Failed"})
				return result{}, nil
			})
			r.while(func() {
				r.puts(build, c.metadata, c.status)
				r.next()
			})
			if !c.sampled {
				r.draws("")
				return
			}
			if s := r.only("taskrun"); fmt.Sprintf("%x %x", s.GetTraceId(), s.GetParentSpanId()) != theirTrace+" "+theirSpan {
				t.Errorf("the run is in trace %x below %x", s.GetTraceId(), s.GetParentSpanId())
			} else if s.GetStatus().GetMessage() != "Failed" {
				t.Errorf("the run's status is %v", s.GetStatus())
			}
		})
	}
}

func FuzzGiven(f *testing.F) {
	f.Add(`{"traceparent":"00-` + theirTrace + `-` + theirSpan + `-01"}`)
	f.Add(`{"traceparent":"00-0-0-01","tracestate":"a=b"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		span := given(text)
		if !span.IsValid() {
			return
		}
		if again, ok := annotation(span); !ok || !given(again).Equal(span) {
			t.Errorf("%q is %v, and is written as %q", text, span, again)
		}
	})
}

// heir is a client that keeps what it is asked to make.
type heir struct {
	pipelinerun.Client
	taskRun     *crds.TaskRun
	pipelineRun *crds.PipelineRun
}

func (h *heir) CreateTaskRun(_ context.Context, run *crds.TaskRun) (string, error) {
	h.taskRun = run
	return "1", nil
}

func (h *heir) CreatePipelineRun(_ context.Context, run *crds.PipelineRun) (string, error) {
	h.pipelineRun = run
	return "1", nil
}

// Also of a run that is not sampled: its children are not to be either.
func TestChildrenAreGivenTheTrace(t *testing.T) {
	for _, rate := range []int{0, 1e6} {
		r := newRig(t, func(c *Config) { c.SamplingRatePerMillion = rate })
		made := &heir{}
		r.does(func(ctx context.Context, _ key) (result, error) {
			children := r.tracer.Children(made)
			_, err := children.CreateTaskRun(ctx, &crds.TaskRun{})
			_, err2 := children.CreatePipelineRun(ctx, &crds.PipelineRun{})
			return result{}, errors.Join(err, err2)
		})
		r.while(func() {
			r.run(build, "")
			r.next()
		})
		want := r.tracer.runOf("uid-of-build", given("")).span
		for _, got := range []string{
			made.taskRun.Annotations["tekton.dev/taskrunSpanContext"],
			made.pipelineRun.Annotations["tekton.dev/pipelinerunSpanContext"],
		} {
			if g := given(got); g.TraceID() != want.TraceID() || g.SpanID() != want.SpanID() || g.IsSampled() != (rate > 0) {
				t.Errorf("at a rate of %d the child is given %q, want %v", rate, got, want)
			}
		}
	}
}

func TestTheServerIsGivenTheTrace(t *testing.T) {
	r := newRig(t)
	r.does(func(ctx context.Context, _ key) (result, error) {
		r.asks(ctx, http.MethodPost, "/api/v1/namespaces/ci/pods")
		return result{}, nil
	})
	r.while(func() {
		r.run(build, "")
		r.next()
	})
	s := r.only("POST pods")
	if got, want := r.seen[0].Get("Traceparent"), fmt.Sprintf("00-%x-%x-01", s.GetTraceId(), s.GetSpanId()); got != want {
		t.Errorf("the server was given %q, want %q", got, want)
	}
	r.asks(t.Context(), http.MethodGet, "/version")
	if got := r.seen[1].Get("Traceparent"); got != "" {
		t.Errorf("a request of nobody's reconcile has %q", got)
	}
}

// What came with a list has a link to it, and what the list says stands on it.
func TestAListIsATrace(t *testing.T) {
	r := newRig(t)
	source := r.tracer.Resource("taskruns").Source(reflector.Trace{})
	r.while(func() {
		source.Moved(reflector.Stopped, reflector.Listing)
		source.Failed(reflector.Failure{In: reflector.Listing, Err: errors.New("503")})
		source.Moved(reflector.Listing, reflector.BackingOff)
		source.Moved(reflector.BackingOff, reflector.WatchListing)
		r.run(build, "")
		r.next()
		source.Listed(reflector.List{Cause: reflector.CauseStart, Pages: 2, Items: 1})
		source.Moved(reflector.WatchListing, reflector.Watching)
		source.Event(wire.Added)
		source.Moved(reflector.Watching, reflector.Stopped)
	})
	lists := r.collector.Named("list taskruns")
	if len(lists) != 2 || lists[0].GetStatus().GetMessage() != "503" || tracetest.Attribute(lists[1], "millrace.list.pages") != "2" {
		t.Errorf("lists: %v", lists)
	}
	if got := tracetest.Attribute(r.only("watch taskruns"), "millrace.watch.events"); got != "1" {
		t.Errorf("the watch had %s events, want 1", got)
	}
	if links := r.only("deltafifo taskruns").GetLinks(); len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), lists[1].GetSpanId()) {
		t.Errorf("the event's links: %v", links)
	}
}

func TestResourcesOfRequests(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/ci/pods":                                  "pods",
		"/api/v1/namespaces/ci/pods/a":                                "pods",
		"/api/v1/namespaces/ci/pods/a/log":                            "pods/log",
		"/api/v1/namespaces/ci":                                       "namespaces",
		"/api/v1/namespaces":                                          "namespaces",
		"/apis/tekton.dev/v1/taskruns":                                "taskruns",
		"/apis/tekton.dev/v1/namespaces/ci/taskruns/build/status":     "taskruns/status",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b": "customresourcedefinitions",
		"/version": "", "/": "", "": "", "/apis": "", "/api/v1": "",
	} {
		if got := resourceOf(path); got != want {
			t.Errorf("%s is a request of %q, want %q", path, got, want)
		}
	}
}

// Of 20000 keys that wait for a worker, 16384 asks are remembered, and 32 of one key.
func TestAsksAreBounded(t *testing.T) {
	r := newRig(t)
	ask := func(name string) {
		r.ctl.asked(key{Namespace: "ci", Name: name}, workqueue.Asked{Cause: workqueue.Cause{Source: "s", Event: "e"}})
	}
	for range 100 {
		ask("one")
	}
	for n := range 20_000 {
		ask(fmt.Sprint(n))
	}
	if got, want := len(r.ctl.pending), 1+mostAsks-mostOfKey; got != want || r.ctl.asks != mostAsks {
		t.Errorf("%d keys are remembered with %d asks, want %d with %d", got, r.ctl.asks, want, mostAsks)
	}
	if got, want := r.losses[Forgotten], 20_100-mostAsks; got != want {
		t.Errorf("%d are told to be forgotten, want %d", got, want)
	}
	r.ctl.got(key{Namespace: "ci", Name: "one"}, 0)
	if r.ctl.asks != mostAsks-mostOfKey {
		t.Errorf("%d asks are counted when one key is gone", r.ctl.asks)
	}
}

// Hooks, facets, transport: there are none. What stands in the way of a key is then what
// stood there without tracing: nothing.
func TestTracingThatIsOffCostsNothing(t *testing.T) {
	synctest.Test(t, tracingThatIsOff) // which fails if it is left with a goroutine
}

func tracingThatIsOff(t *testing.T) {
	tracer, err := New(Config{})
	if err != nil || tracer != nil {
		t.Fatalf("%v, %v", tracer, err)
	}
	ctl := tracer.Controller("taskrun")
	if q := ctl.Queue(workqueue.Trace[key]{}); q.OnAsk != nil || q.OnGet != nil {
		t.Error("the queue has hooks")
	}
	if p := ctl.Pool(reconcile.Trace{}); p.OnReconcile != nil || p.OnStaleWait != nil {
		t.Error("the pool has hooks")
	}
	if s := tracer.Resource("pods").Source(reflector.Trace{}); s.Moved != nil || s.Listed != nil || s.Failed != nil || s.Event != nil {
		t.Error("the reflector has hooks")
	}
	if ctl.TaskRuns(taskrun.Trace{}).Done != nil || ctl.PipelineRuns(pipelinerun.Trace{}).Done != nil {
		t.Error("the reconcilers have hooks")
	}
	if tracer.Transport() != nil || ctl.Facets() != nil {
		t.Error("there is a transport, or a facet")
	}
	if client := (&heir{}); tracer.Children(client) != pipelinerun.Client(client) {
		t.Error("the client is another")
	}
	ctl.Attach(nil)
	if err := tracer.Run(t.Context()); err != nil {
		t.Error(err)
	}
	ran := 0
	fn := ctl.Func(func(context.Context, key) (result, error) { ran++; return result{}, nil })
	q := workqueue.New(workqueue.Config[key]{Trace: ctl.Queue(workqueue.Trace[key]{})})
	ctx := t.Context()
	round := func() {
		q.Add(build, workqueue.Cause{Source: "pods", Event: "update"})
		k, _, err := q.Get(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fn(ctx, k); err != nil {
			t.Fatal(err)
		}
		q.Done(k)
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("a key's way through queue and reconcile allocates %v times", n)
	}
	if ran < 1000 {
		t.Errorf("%d runs", ran)
	}
}

func TestAConfigThatCannotBeReadIsRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		`endpoint "collector:4318": want http://`: {Endpoint: "collector:4318"},
		`endpoint "ftp://x": want http://`:        {Endpoint: "ftp://x"},
		`headers for the collector: open`:         {Endpoint: "http://x", HeadersFile: "/nowhere"},
		`authorities of the collector: open`:      {Endpoint: "http://x", CertificateFile: "/nowhere"},
		`endpoint "x/y": want http://`:            {Endpoint: "http://x", TracesEndpoint: "x/y"},
		`resource attributes: pair 2: want name=`: {Endpoint: "http://x", ResourceAttributes: "a=b,c"},
		`headers for the collector: pair 1: want`: {Endpoint: "http://x", Headers: "Bearer s3cret"},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gives %v, want %s", cfg, err, want)
		}
		ofFile := strings.HasSuffix(want, "open") // which Check leaves alone
		if err := cfg.Check(); (err == nil) != ofFile || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v is checked, and gives %v, want %s", cfg, err, want)
		}
	}
}

// Whoever has put a bare token there shall not find it in a log.
func TestAnErrorAboutHeadersNamesTheirPlaceAlone(t *testing.T) {
	for text, place := range map[string]string{
		"s3cret":                               "pair 1",
		"Bearer s3cret":                        "pair 1",
		"s3cret=":                              "pair 1",
		"s3cret/with+padding==":                "pair 1",
		"=s3cret":                              "pair 1",
		"a=%zz-s3cret":                         "pair 1",
		"X-Tenant=ci,s3cret":                   "pair 2",
		"X-Tenant=ci\n\nAuthorization: s3cret": "pair 2",
	} {
		path := fileWith(t, text)
		_, err := New(Config{Endpoint: "http://x", HeadersFile: path})
		if err == nil || !strings.Contains(err.Error(), path+": "+place+": want name=value") {
			t.Errorf("%q gives %v, want %s of %s", text, err, place, path)
			continue
		}
		if told := strings.ReplaceAll(err.Error(), path, ""); strings.Contains(told, "s3cret") || strings.Contains(told, "Bearer") || strings.Contains(told, "padding") {
			t.Errorf("%q is told: %s", text, told)
		}
	}
}
