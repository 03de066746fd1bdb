package faultproxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/internal/faultproxy"
	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// A server does what it is told to, and writes down what it has done.
type server struct {
	mu     sync.Mutex
	done   []string
	events chan string // what its watches tell
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "true" {
		s.mu.Lock()
		s.done = append(s.done, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"metadata":{"name":"a","resourceVersion":"7"},"query":%q}`, r.URL.RawQuery) //nolint:errcheck // who asked may have gone
		return
	}
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w).Flush
	flush() //nolint:errcheck // who asked may have gone
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return
			}
			io.WriteString(w, e+"\n") //nolint:errcheck // who asked may have gone
			flush()                   //nolint:errcheck // who asked may have gone
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) did() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

// A world is a server, a proxy before it, and a client of that, over HTTP/2.
type world struct {
	*faultproxy.Proxy

	t       *testing.T
	server  *server
	client  *http.Client
	signals chan syscall.Signal
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, server: &server{events: make(chan string)}, signals: make(chan syscall.Signal, 10)}
	upstream := httptest.NewUnstartedServer(w.server)
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.Proxy, err = faultproxy.New(faultproxy.Config{
		Server: to, Transport: upstream.Client().Transport, Listener: front, Actor: "a", Signal: func(s syscall.Signal) { w.signals <- s },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.CA())
	w.client = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: time.Minute}
	return w
}

const pods = "/api/v1/namespaces/blue/pods"

// ask returns the code, or 0 for no answer.
func (w *world) ask(method, path, body string) (int, string) {
	w.t.Helper()
	return w.askUntil(w.t.Context(), method, path, body)
}

// askUntil is ask for somebody who waits no longer than ctx lives.
func (w *world) askUntil(ctx context.Context, method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.URL()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		w.t.Errorf("%s", resp.Proto)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func podNamed(name string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"blue"}}`, name)
}

func TestWhatIsNotMeantPasses(t *testing.T) {
	w := newWorld(t)
	w.Plan(faultproxy.Fault{On: faultproxy.On{Verb: "create", Resource: "pods"}, Verdict: apiserver.Verdict{Refuse: faultproxy.Expired()}})
	if code, text := w.ask("GET", pods+"/a?x=1", ""); code != 200 || !strings.Contains(text, `"x=1"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := w.ask("POST", pods, podNamed("a")); code != 410 || !strings.Contains(text, "too old resource version") {
		t.Errorf("%d %s", code, text)
	}
	if did := w.server.did(); !slices.Equal(did, []string{"GET " + pods + "/a"}) {
		t.Errorf("the server did %q", did)
	}
}

func TestTheNthOfThoseThatAreMeant(t *testing.T) {
	w := newWorld(t)
	end := w.Plan(faultproxy.Fault{
		On:      faultproxy.On{Verb: "patch", Resource: "taskruns/status", Namespace: "blue", Name: "a*", From: 2, To: 3},
		Verdict: apiserver.Verdict{Refuse: faultproxy.Answer(503, "", "no")},
	})
	const runs = "/apis/tekton.dev/v1/namespaces/blue/taskruns/"
	var codes []int
	for _, path := range []string{"a1/status", "a2", "b/status", "a2/status", "a1/status", "a1/status"} {
		code, _ := w.ask("PATCH", runs+path, "{}")
		codes = append(codes, code)
	}
	if want := []int{200, 200, 200, 503, 503, 200}; !slices.Equal(codes, want) {
		t.Errorf("%v, want %v", codes, want)
	}
	if hits := end(); hits[0] != 2 {
		t.Errorf("hits: %v", hits)
	}
}

func TestBeforeAndAfter(t *testing.T) {
	for name, c := range map[string]struct {
		v    apiserver.Verdict
		done int
	}{
		"lost before":  {apiserver.Verdict{Lose: apiserver.BeforeActing}, 0},
		"lost after":   {apiserver.Verdict{Lose: apiserver.BeforeAnswering}, 1},
		"hangs before": {apiserver.Verdict{Lose: apiserver.BeforeActing, Hang: true}, 0},
		"hangs after":  {apiserver.Verdict{Lose: apiserver.BeforeAnswering, Hang: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Plan(faultproxy.Fault{On: faultproxy.On{Verb: "create"}, Verdict: c.v})
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			if c.v.Hang { // until it is far enough for an answer, and has had a second for it
				go func() {
					if w.Await(ctx, func(all []faultproxy.Exchange) bool { return len(all) == 1 && all[0].Done() == (c.done == 1) }) == nil {
						time.AfterFunc(time.Second, giveUp)
					}
				}()
			}
			if code, _ := w.askUntil(ctx, "POST", pods, podNamed("a")); code != 0 {
				t.Errorf("there was an answer: %d", code)
			}
			if did := w.server.did(); len(did) != c.done {
				t.Errorf("the server did %q", did)
			}
			w.settled(func(all []faultproxy.Exchange) bool { return all[0].Lost && all[0].Done() == (c.done == 1) })
		})
	}
}

// settled waits until that is on record.
func (w *world) settled(is func([]faultproxy.Exchange) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := w.Await(ctx, is); err != nil {
		w.t.Errorf("%v: %v", err, w.Exchanges())
	}
}

func TestKilledAtAWrite(t *testing.T) {
	for when, want := range map[apiserver.Moment]struct{ done, code int }{
		apiserver.BeforeActing: {0, 0}, apiserver.BeforeAnswering: {1, 0}, apiserver.AfterAnswering: {1, 200},
	} {
		w := newWorld(t)
		faults, err := faultproxy.Faults(simulation.Plan{Crash: &simulation.Crash{Write: 2, When: when}})
		if err != nil {
			t.Fatal(err)
		}
		w.Plan(faults...)
		w.ask("POST", "/apis/coordination.k8s.io/v1/namespaces/blue/leases", "{}") // is no work
		w.ask("POST", pods, podNamed("a"))
		if len(w.signals) != 0 {
			t.Fatalf("%v: killed at the first write", when)
		}
		code, _ := w.ask("POST", pods, podNamed("b"))
		if did := len(w.server.did()) - 2; did != want.done || code != want.code && when != apiserver.AfterAnswering {
			t.Errorf("%v: done %d, answered %d; want %+v", when, did, code, want)
		}
		select {
		case s := <-w.signals:
			if s != syscall.SIGKILL {
				t.Errorf("%v: %v", when, s)
			}
		case <-time.After(time.Minute):
			t.Errorf("%v: not killed", when)
		}
	}
}

func TestOtherSignalsLetTheRequestGoOn(t *testing.T) {
	w := newWorld(t)
	w.Plan(faultproxy.Fault{Verdict: apiserver.Verdict{Kill: apiserver.BeforeActing}, Signal: syscall.SIGTERM})
	if code, _ := w.ask("POST", pods, podNamed("a")); code != 200 || <-w.signals != syscall.SIGTERM {
		t.Errorf("%d", code)
	}
}

// watch reads the lines of a watch until it ends. heard is called at each.
func (w *world) watch(ctx context.Context, heard func()) (lines []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL()+pods+"?watch=true", nil)
	if err != nil {
		return nil, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			lines = append(lines, line)
			heard()
		}
		if err != nil {
			return lines, err
		}
	}
}

func event(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"namespace":"blue","resourceVersion":%q}}}`, kind, name, version)
}

// told is what a client is told of a stream with a fault.
func (w *world) told(f faultproxy.Fault, events ...string) ([]string, error) {
	w.Plan(f)
	go func() {
		for _, e := range events {
			w.server.events <- e
		}
		close(w.server.events)
	}()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	heard := func() {}
	if f.Event.End == apiserver.GoMute { // whoever listens has to end it
		heard = func() { time.AfterFunc(time.Second, cancel) }
	}
	lines, err := w.watch(ctx, heard)
	for i, line := range lines {
		var e struct {
			Type   string
			Object struct {
				Metadata metav1.ObjectMeta
				Reason   string
			}
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			lines[i] = "half"
			continue
		}
		lines[i] = e.Type + e.Object.Metadata.Name + e.Object.Metadata.ResourceVersion + e.Object.Reason
	}
	return lines, err
}

var story = []string{event("ADDED", "a", "1"), event("MODIFIED", "a", "2"), event("ADDED", "b", "3"), event("MODIFIED", "a", "4"), event("BOOKMARK", "", "5")}

func TestEndingsOfAStream(t *testing.T) {
	second := faultproxy.On{Verb: "watch", Resource: "pods", Namespace: "blue", Name: "a", Event: faultproxy.Any}.Nth(2)
	for how, c := range map[apiserver.Ending]struct {
		lines []string
		clean bool
	}{
		apiserver.Close:  {[]string{"ADDEDa1"}, true},
		apiserver.Tear:   {[]string{"ADDEDa1", "half"}, false},
		apiserver.Reset:  {[]string{"ADDEDa1"}, false},
		apiserver.Expire: {[]string{"ADDEDa1", "ERRORExpired"}, true},
		apiserver.GoMute: {[]string{"ADDEDa1"}, false},
	} {
		w := newWorld(t)
		lines, err := w.told(faultproxy.Fault{On: second, Event: apiserver.EventVerdict{Fault: "f", End: how}}, story...)
		if how == apiserver.Reset { // takes with it what has come and was not read yet
			c.lines = c.lines[:min(len(lines), len(c.lines))]
		}
		if !slices.Equal(lines, c.lines) || errors.Is(err, io.EOF) != c.clean {
			t.Errorf("ending %d: %q, %v; want %q", how, lines, err, c.lines)
		}
	}
}

func TestEventsThatAreNotTold(t *testing.T) {
	changed := faultproxy.On{Verb: "watch", Event: "MODIFIED"}.Nth(1)
	for name, c := range map[string]struct {
		f     faultproxy.Fault
		lines []string
	}{
		"all":     {faultproxy.Fault{On: faultproxy.On{Verb: "get"}}, []string{"ADDEDa1", "MODIFIEDa2", "ADDEDb3", "MODIFIEDa4", "BOOKMARK5"}},
		"unseen":  {faultproxy.Fault{On: changed, Event: apiserver.EventVerdict{Skip: true, Wait: time.Minute}}, []string{"ADDEDa1", "ADDEDb3", "MODIFIEDa4", "BOOKMARK5"}},
		"twice":   {faultproxy.Fault{On: changed, Event: apiserver.EventVerdict{Twice: true}}, []string{"ADDEDa1", "MODIFIEDa2", "MODIFIEDa2", "ADDEDb3", "MODIFIEDa4", "BOOKMARK5"}},
		"older":   {faultproxy.Fault{On: changed, Event: apiserver.EventVerdict{Older: true}}, []string{"ADDEDa1", "MODIFIEDa2", "ADDEDa1", "ADDEDb3", "MODIFIEDa4", "BOOKMARK5"}},
		"dropped": {faultproxy.Fault{On: faultproxy.On{Verb: "watch", Event: "BOOKMARK"}, Drop: true}, []string{"ADDEDa1", "MODIFIEDa2", "ADDEDb3", "MODIFIEDa4"}},
		"garbled": {faultproxy.Fault{On: changed, Garble: faultproxy.Instead(`"2"`, `"9"`)}, []string{"ADDEDa1", "MODIFIEDa9", "ADDEDb3", "MODIFIEDa4", "BOOKMARK5"}},
	} {
		w := newWorld(t)
		if lines, err := w.told(c.f, story...); !slices.Equal(lines, c.lines) || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %q, %v; want %q", name, lines, err, c.lines)
		}
	}
}

func TestEventsPassWhenTheyCome(t *testing.T) {
	w := newWorld(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL()+pods+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for i := range 3 { // each is sent only when the one before has come
		w.server.events <- event("ADDED", "a", fmt.Sprint(i))
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf("%q", fmt.Sprint(i))) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	w.settled(func(all []faultproxy.Exchange) bool { return all[0].Events == 3 && all[0].Ended.IsZero() })
}

func TestDoor(t *testing.T) {
	w := newWorld(t)
	get := func(patience time.Duration) int {
		w.client.Timeout = patience
		code, _ := w.ask("GET", pods+"/a", "")
		return code
	}
	well := func() bool { // a client may find out by a request that its connection is broken
		first := get(time.Minute)
		return first == 200 || get(time.Minute) == 200
	}
	if err := w.Shut(); err != nil {
		t.Fatal(err)
	}
	if _, why := w.ask("GET", pods+"/a", ""); !strings.Contains(why, "refused") {
		t.Errorf("shut: %s", why)
	}
	if err := w.Open(); err != nil || !well() {
		t.Errorf("not open again: %v", err)
	}
	w.Reset()
	if !well() {
		t.Error("no new connection after a reset")
	}
	w.Silence(false)
	if code := get(time.Second); code != 0 {
		t.Errorf("a silent connection answers: %d", code)
	}
	w.client.CloseIdleConnections()
	w.Reset()
	if !well() {
		t.Error("a new connection is silent, too")
	}
	w.Silence(true)
	w.client.CloseIdleConnections()
	if code := get(time.Second); code != 0 {
		t.Errorf("a silent door answers: %d", code)
	}
	w.Reset()
	if err := w.Open(); err != nil || !well() {
		t.Errorf("not open again: %v", err)
	}
}

func TestSlowAndGarbledAnswers(t *testing.T) {
	w := newWorld(t)
	w.Plan(
		faultproxy.Fault{On: faultproxy.On{Verb: "get", Name: "slow"}, Verdict: apiserver.Verdict{BytesPerSecond: 100}},
		faultproxy.Fault{On: faultproxy.On{Verb: "get", Name: "half"}, Garble: faultproxy.Truncated},
		faultproxy.Fault{On: faultproxy.On{Verb: "list"}, Query: faultproxy.InPages(2)},
	)
	from := time.Now()
	code, text := w.ask("GET", pods+"/slow", "")
	if took := time.Since(from); code != 200 || took < time.Duration(len(text))*time.Second/150 {
		t.Errorf("%d bytes at 100 B/s in %v", len(text), took)
	}
	if code, half := w.ask("GET", pods+"/half", ""); code != 200 || half != text[:len(text)/2] {
		t.Errorf("%d %q", code, half)
	}
	if _, text := w.ask("GET", pods, ""); !strings.Contains(text, "limit=2") {
		t.Errorf("asked with %s", text)
	}
}

func TestExchanges(t *testing.T) {
	w := newWorld(t)
	w.ask("POST", pods, podNamed("a"))
	w.ask("DELETE", pods+"/a", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}`)
	w.ask("PATCH", "/apis/tekton.dev/v1/namespaces/blue/taskruns/a/status", `{"metadata":{"resourceVersion":"6"}}`)
	w.ask("GET", "/version", "")
	var told []string
	for _, x := range w.Exchanges() {
		s, _, _ := strings.Cut(x.String(), " (")
		told = append(told, fmt.Sprintf("%s %s%s%s", s, x.UID, x.ResourceVersion, x.Version))
	}
	want := []string{
		"a create pods/blue/a #1 → 200 7",
		"a delete pods/blue/a #1 → 200 u7",
		"a patch taskruns/blue/a/status #1 → 200 67",
		"a get /version #1 → 200 ",
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q\nwant %q", told, want)
	}
	if n := len(w.Matching(faultproxy.On{Resource: "pods"})); n != 2 {
		t.Errorf("%d about pods", n)
	}
}

func ExampleOn() {
	fmt.Println(faultproxy.On{})
	fmt.Println(faultproxy.On{Verb: "patch", Resource: "taskruns/status", Namespace: "blue", Name: "a"}.Nth(2))
	fmt.Println(faultproxy.On{Verb: "watch", Resource: "pods", Event: "MODIFIED", To: 3})
	// Output:
	// * *
	// patch taskruns/status blue/a #2
	// watch pods MODIFIED #1-3
}
