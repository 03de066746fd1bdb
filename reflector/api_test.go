package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"millrace/wire"
)

// TestMain takes away the error handler that paces itself by the clock of the
// process's start: a bubble begins in the year 2000, and the handler's first
// call would sleep until today.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // It is exported to be.
	os.Exit(m.Run())
}

// A story is one reflector, with client-go's real REST client and real HTTP
// over in-memory connections, against a server that follows a script. What the
// server is asked, what the sink is told and what is traced goes into one log,
// which the test compares. Time is the bubble's.
type story struct {
	t       testing.TB
	began   time.Time
	r       *Reflector
	stop    context.CancelFunc
	stopped chan error

	mu     sync.Mutex
	lines  []string
	script []answer
	down   bool
	deaf   bool   // no connection is made, nor refused
	refuse string // the name that the sink refuses
	urls   []url.Values
	accept []string
	paths  []string
	dials  int
	active int // requests that are being answered
	most   int // how many of them there may be at the end; 0 is as good as 1
	commit func()

	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// tell runs a story. Random numbers are all zero, so pauses have their lower
// bounds and watches the shortest timeout, unless the Config brings a source.
func tell(t *testing.T, cfg Config, script []answer, story func(*story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := serve(t, script)
		s.begin(cfg)
		story(s)
		s.end()
	})
}

// begin starts the reflector.
func (s *story) begin(cfg Config) {
	s.t.Helper()
	s.beginWith(s, cfg)
}

// beginWith starts the reflector with another sink.
func (s *story) beginWith(sink Sink, cfg Config) {
	s.t.Helper()
	if cfg.Rand == nil {
		cfg.Rand = zero{}
	}
	s.trace(&cfg.Trace)
	ctx, cancel := context.WithCancel(quietly(s.t))
	s.stop = cancel
	s.r = New(s.client(), "pods", sink, cfg)
	go func() { s.stopped <- s.r.Run(ctx) }()
}

// serve starts a server.
func serve(t *testing.T, script []answer) *story {
	t.Helper()
	s := newStory(t, script)
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(s) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

func newStory(tb testing.TB, script []answer) *story {
	tb.Helper()
	return &story{
		t: tb, began: time.Now(), script: script, refuse: "bad",
		dialed: make(chan net.Conn), closed: make(chan struct{}), stopped: make(chan error, 1),
	}
}

// quietly is a context without a log.
func quietly(tb testing.TB) context.Context {
	tb.Helper()
	return klog.NewContext(tb.Context(), klog.Logger{})
}

// end stops the reflector, and fails if that takes any time.
func (s *story) end() {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	if s.active > max(s.most, 1) {
		s.t.Errorf("%d requests are open", s.active)
	}
	s.mu.Unlock()
	at := time.Now()
	s.stop()
	if err := <-s.stopped; err != nil {
		s.t.Errorf("Run returned %v", err)
	}
	if took := time.Since(at); took != 0 {
		s.t.Errorf("Run took %v to return after its context ended", took)
	}
	if got := s.r.State(); got != Stopped {
		s.t.Errorf("after Run the state is %v", got)
	}
}

// after lets time pass and compares the log since the last look.
func (s *story) after(d time.Duration, want string) {
	s.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	s.mu.Lock()
	got := strings.Join(s.lines, "\n")
	s.mu.Unlock()
	if diff := cmp.Diff(unindent(want), got); diff != "" {
		s.t.Errorf("the log after %v (-want +got):\n%s", time.Since(s.began), diff)
	}
	s.forget()
}

func unindent(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (s *story) logf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf("%v %s", time.Since(s.began), strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")))
}

// trace logs what the sink is not told. Hooks that a test has set stay.
func (s *story) trace(t *Trace) {
	failed := t.Failed
	t.Failed = func(f Failure) {
		s.logf("failed %d, wait %v", f.Failures, f.Wait)
		if failed != nil {
			failed(f)
		}
	}
	t.Listed = func(l List) {
		if l.Cause != CauseStart {
			s.logf("relisted: %s", l.Cause)
		}
	}
	t.Refused = func(r Refusal) { s.logf("refused %s %s", r.Event, r.Key.Name) }
	t.Quarantined = func(f Refusal) { s.logf("quarantined %s", f.Key.Name) }
	t.Released = func(q Quarantined) { s.logf("released %s", q.Key.Name) }
	t.Sharded = func(sharded bool) { s.logf("sharded: %v", sharded) }
	if t.Moved == nil {
		t.Moved = func(_, to State) {
			if to == Suspended {
				s.logf("suspended")
			}
		}
	}
}

// client reaches the story's server.
func (s *story) client() *rest.RESTClient {
	return clientFor(s.t, &rest.Config{Host: "http://api", Dial: s.dial})
}

// clientFor is what main makes of a kubeconfig.
func clientFor(tb testing.TB, cfg *rest.Config) *rest.RESTClient {
	tb.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg.APIPath, cfg.QPS = "/api", -1
	cfg.GroupVersion = &schema.GroupVersion{Version: "v1"}
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// dial connects to the story's server, or is refused while it is down.
func (s *story) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	down, deaf := s.down, s.deaf
	s.dials++
	s.mu.Unlock()
	if deaf {
		select { // the transport goes on without the request that wanted it
		case <-ctx.Done():
		case <-s.closed:
		}
		return nil, context.Canceled
	}
	if down {
		s.logf("connection refused")
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	select {
	case s.dialed <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pass lets time pass that the test has nothing to say about.
func (s *story) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	s.forget()
}

// forget empties the log.
func (s *story) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = nil
}

// relent makes the sink take what is called bad.
func (s *story) relent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = ""
}

func (s *story) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Accept, Close and Addr make the story the listener of its server.
func (s *story) Accept() (net.Conn, error) {
	select {
	case c := <-s.dialed:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}
func (s *story) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
func (s *story) Addr() net.Addr { return &net.UnixAddr{Name: "api"} }

// ServeHTTP gives the next answer of the script; when there is none, silence.
func (s *story) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.logf("%s", describe(q))
	s.mu.Lock()
	s.urls, s.accept, s.paths = append(s.urls, q), append(s.accept, r.Header.Get("Accept")), append(s.paths, r.URL.Path)
	s.active++
	defer s.answered()
	next := answer{open}
	if len(s.script) > 0 {
		next, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	for _, act := range next {
		if r.Context().Err() != nil {
			return
		}
		act(w, r)
	}
}

func (s *story) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
}

// describe is a request in few words.
func describe(q url.Values) string {
	words := []string{"LIST"}
	switch {
	case q.Has("sendInitialEvents"):
		words[0] = "WATCHLIST"
	case q.Has("watch"):
		words[0] = "WATCH"
	case q.Get("resourceVersionMatch") == "Exact":
		words = append(words, "of", q.Get("fieldSelector"))
	case !q.Has("limit"):
		words = append(words, "whole")
	}
	if q.Has("shardSelector") {
		words = append(words, "shard")
	}
	if rv := q.Get("resourceVersion"); rv != "" {
		words = append(words, "rv="+rv)
	}
	if c := q.Get("continue"); c != "" {
		words = append(words, "continue="+c)
	}
	return strings.Join(words, " ")
}

// An answer is a series of acts; when they are done the answer ends as HTTP
// wants it.
type answer []act

type act func(http.ResponseWriter, *http.Request)

// flush sends what was written.
func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
}

// send writes a text as it is.
func send(text string) act {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
		flush(w)
	}
}

// event is one watch event, with its line end.
func event(kind, object string) act {
	return send(fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object))
}

// headers opens the answer and says nothing yet.
func headers(w http.ResponseWriter, _ *http.Request) {
	flush(w)
}

// open leaves the answer open until the client goes away.
func open(w http.ResponseWriter, r *http.Request) {
	headers(w, r)
	<-r.Context().Done()
}

// mute says nothing at all, no header either.
func mute(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// reset breaks the connection.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// pause lets time pass.
func pause(d time.Duration) act {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// fail is an answer that is a Status.
func fail(code int, status string) act {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, status)
	}
}

// status is a Status as servers write it; details may be empty.
func status(code int, reason, message, details string) string {
	if details != "" {
		details = `,"details":` + details
	}
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d%s}`,
		message, reason, code, details)
}

var (
	expiredStatus = status(410, "Expired", "too old resource version: 10 (99)", "")
	noWatchList   = status(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled", "")
	tooLargeNow   = status(504, "Timeout", "Too large resource version: 10, current: 7", `{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}`)
)

// pod is an object, as small as can be.
func pod(name, resourceVersion string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":"uid-%s","resourceVersion":%q}}`, name, name, resourceVersion)
}

// bookmark is the object of a BOOKMARK event.
func bookmark(resourceVersion string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q,"creationTimestamp":null},"spec":{"containers":null},"status":{}}`, resourceVersion)
}

// endOfInitial ends the initial events.
func endOfInitial(resourceVersion string) act {
	return event("BOOKMARK", fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q,"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}`, resourceVersion))
}

// list is a whole list or a page of one.
func list(resourceVersion, next string, items ...string) act {
	meta := fmt.Sprintf(`"resourceVersion":%q`, resourceVersion)
	if next != "" {
		meta += fmt.Sprintf(`,"continue":%q`, next)
	}
	return send(fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{%s},"items":[%s]}`+"\n", meta, strings.Join(items, ",")))
}

// zero is a source of randomness that has none.
type zero struct{}

func (zero) Uint64() uint64 { return 0 }

// The story is the sink.

func (s *story) Begin() { s.logf("begin") }
func (s *story) Commit(rv string) {
	s.logf("commit %s", rv)
	if s.commit != nil {
		s.commit()
	}
}
func (s *story) Abort()                      { s.logf("abort") }
func (s *story) Bookmark(rv string)          { s.logf("bookmark %s", rv) }
func (s *story) Resync()                     { s.logf("resync") }
func (s *story) Item(o *wire.Object) error   { return s.take("item", o) }
func (s *story) Add(o *wire.Object) error    { return s.take("add", o) }
func (s *story) Update(o *wire.Object) error { return s.take("update", o) }
func (s *story) Delete(o *wire.Object) error { return s.take("delete", o) }

func (s *story) Found(o *wire.Object) error    { return s.take("found", o) }
func (s *story) Gone(key types.NamespacedName) { s.logf("gone %s", key.Name) }
func (s *story) Keep(key types.NamespacedName) { s.logf("keep %s", key.Name) }

var errRefused = errors.New("the sink does not want it")

func (s *story) take(what string, o *wire.Object) error {
	s.mu.Lock()
	refused := s.refuse == o.Key().Name
	s.mu.Unlock()
	if refused {
		return errRefused
	}
	s.logf("%s %s@%s", what, o.Key().Name, o.ResourceVersion())
	return nil
}
