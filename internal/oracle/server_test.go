package oracle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// server is an API server of one resource that plays a script for one client.
type server struct {
	kind

	mu        sync.Mutex
	version   int
	lives     int // objects that were ever made, for their UIDs
	objects   map[types.NamespacedName]object
	history   []change
	compacted int                 // the last version that is forgotten
	snapshots map[string]snapshot // lists that are not at their end, by the token of their continuation
	trouble   string              // what is wrong with every request; empty: nothing
	told      map[int]bool        // the versions that were told as events
	answers   map[string]int      // how often it gave each kind of answer

	news   chan struct{} // closed when something happens
	cuts   int           // how often all watches were told to end
	cut    verb          // how they were told the last time
	marked int           // how often all watches got a bookmark

	pipes chan net.Conn
	over  chan struct{}
	once  sync.Once
}

// change is one version's.
type change struct {
	kind string
	object
}

// snapshot is what is left to show of a list.
type snapshot struct {
	version int
	items   []object
}

// latency is how long each request takes, so that things happen in the middle of
// a list that has pages.
const latency = 7 * time.Millisecond

// serve starts a server, which ends with the test.
func serve(t *testing.T, k kind) *server {
	t.Helper()
	s := &server{
		kind: k, version: 1, compacted: 1, objects: map[types.NamespacedName]object{}, snapshots: map[string]snapshot{}, told: map[int]bool{}, answers: map[string]int{},
		news: make(chan struct{}), pipes: make(chan net.Conn), over: make(chan struct{}),
	}
	for i := range k.Born {
		s.putLocked(types.NamespacedName{Namespace: string("ab"[i%2]), Name: fmt.Sprint("o", i/2)})
	}
	h := &http.Server{Handler: s}
	go func() { _ = h.Serve(s) }()
	t.Cleanup(func() { _ = h.Close() })
	return s
}

// client is an HTTP client that reaches the server and nobody else.
func (s *server) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: s.dial, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (s *server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if s.wrong() == "refused" {
		s.count("refused")
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	select {
	case s.pipes <- far:
		return near, nil
	case <-s.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make the server its own listener.
func (s *server) Accept() (net.Conn, error) {
	select {
	case c := <-s.pipes:
		return c, nil
	case <-s.over:
		return nil, net.ErrClosed
	}
}

func (s *server) Close() error {
	s.once.Do(func() { close(s.over) })
	return nil
}

func (s *server) Addr() net.Addr { return &net.UnixAddr{Name: "api"} }

func (s *server) wrong() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// play does one step.
func (s *server) play(do step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch do.do {
	case put:
		s.putLocked(do.key)
	case remove:
		s.removeLocked(do.key)
	case recreate:
		s.removeLocked(do.key)
		s.putLocked(do.key)
	case bookmark:
		s.marked++
	case end, tear:
		s.cutLocked(do.do)
	case expire:
		s.compacted = s.version
		s.cutLocked(expire)
	case forget:
		clear(s.snapshots)
	case compact:
		s.compacted = s.version
		clear(s.snapshots)
	case down:
		s.trouble = do.how
		s.cutLocked(down)
	case up:
		s.trouble = ""
	case hold, release, moment, settle:
	}
	close(s.news)
	s.news = make(chan struct{})
}

func (s *server) cutLocked(how verb) { s.cuts, s.cut = s.cuts+1, how }

func (s *server) putLocked(key types.NamespacedName) {
	kind, uid := "MODIFIED", s.objects[key].uid
	if uid == "" {
		s.lives++
		kind, uid = "ADDED", types.UID(fmt.Sprint("life-", s.lives))
	}
	s.version++
	o := newObject(key, uid, s.version)
	s.objects[key] = o
	s.history = append(s.history, change{kind, o})
}

func (s *server) removeLocked(key types.NamespacedName) {
	o, there := s.objects[key]
	if !there {
		return
	}
	s.version++
	o.version = s.version
	delete(s.objects, key)
	s.history = append(s.history, change{"DELETED", o})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(latency):
	case <-r.Context().Done():
		return
	}
	q := r.URL.Query()
	switch trouble := s.wrong(); {
	case trouble == "refused": // on a connection that was there before
		panic(http.ErrAbortHandler)
	case trouble == "reset":
		s.count(trouble)
		panic(http.ErrAbortHandler)
	case trouble != "":
		s.count(trouble)
		code, _ := strconv.Atoi(trouble)
		fail(w, code, "", "not now")
	case q.Has("sendInitialEvents"):
		s.watchList(w, r)
	case q.Has("watch"):
		s.watch(w, r)
	default:
		s.list(w, q)
	}
}

func (s *server) count(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, status(code, reason, message))
}

func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

func send(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

func sendEvent(w http.ResponseWriter, kind, object string) {
	send(w, fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object))
}

// list shows the present, in pages if it has them.
func (s *server) list(w http.ResponseWriter, q url.Values) {
	s.mu.Lock()
	shown, next, ok := s.pageLocked(number(q.Get("limit")), q.Get("continue"))
	s.mu.Unlock()
	if !ok {
		s.count("410 on a page")
		fail(w, http.StatusGone, "Expired", "The provided continue parameter is too old")
		return
	}
	var items []string
	for _, o := range shown.items {
		items = append(items, o.item())
	}
	send(w, fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`+"\n",
		shown.version, next, strings.Join(items, ",")))
}

func (s *server) pageLocked(limit int, token string) (shown snapshot, next string, ok bool) {
	shown, ok = snapshot{s.version, s.sortedLocked()}, true
	if token != "" {
		shown, ok = s.snapshots[token]
	}
	if limit > 0 && s.PageCap > 0 && len(shown.items) > s.PageCap {
		next = fmt.Sprint("token-", len(s.snapshots), "-", s.version, "-", len(shown.items))
		s.snapshots[next] = snapshot{shown.version, shown.items[s.PageCap:]}
		shown.items = shown.items[:s.PageCap]
	}
	if token != "" && ok {
		s.answers["a page"]++
	}
	return shown, next, ok
}

func (s *server) sortedLocked() []object {
	return slices.SortedFunc(maps.Values(s.objects), func(a, b object) int {
		return cmp.Compare(a.key.String(), b.key.String())
	})
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// watchList shows the present as a stream, and goes on to what happens.
func (s *server) watchList(w http.ResponseWriter, r *http.Request) {
	if !s.WatchList {
		s.count("no watch-list")
		fail(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		return
	}
	s.mu.Lock()
	v := s.viewLocked(s.version)
	objects := s.sortedLocked()
	s.mu.Unlock()
	s.count("a watch-list")
	for _, o := range objects {
		sendEvent(w, "ADDED", o.text())
	}
	sendEvent(w, "BOOKMARK", bookmarkAt(v.version, true))
	s.follow(w, r, v)
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	version := number(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	v, gone := s.viewLocked(version), version < s.compacted
	s.mu.Unlock()
	if gone {
		s.count("410 on a watch")
		fail(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	_ = http.NewResponseController(w).Flush()
	s.follow(w, r, v)
}

// view is how far one watch has come.
type view struct{ version, cuts, marked int }

func (s *server) viewLocked(version int) view { return view{version, s.cuts, s.marked} }

// follow tells what happens until the watch is told to end.
func (s *server) follow(w http.ResponseWriter, r *http.Request, v view) {
	over := time.After(time.Duration(number(r.URL.Query().Get("timeoutSeconds"))) * time.Second)
	minutes := time.NewTicker(time.Minute)
	defer minutes.Stop()
	for {
		s.mu.Lock()
		missed, now, news := s.missedLocked(v.version), s.viewLocked(s.version), s.news
		how := s.cut
		s.mu.Unlock()
		for _, c := range missed {
			sendEvent(w, c.kind, c.text())
		}
		if now.marked > v.marked {
			sendEvent(w, "BOOKMARK", bookmarkAt(now.version, false))
		}
		if now.cuts > v.cuts {
			s.count(string(how))
			hangUp(w, how)
			return
		}
		v = now
		select {
		case <-news:
		case <-minutes.C:
			if s.Bookmarks {
				sendEvent(w, "BOOKMARK", bookmarkAt(v.version, false))
			}
		case <-over:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// hangUp ends a watch.
func hangUp(w http.ResponseWriter, how verb) {
	switch how {
	case expire:
		sendEvent(w, "ERROR", status(http.StatusGone, "Expired", "too old resource version"))
	case tear:
		send(w, `{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"na`)
		panic(http.ErrAbortHandler)
	case down:
		panic(http.ErrAbortHandler)
	default:
	}
}

// missedLocked is what a watch that has come to version tells next.
func (s *server) missedLocked(version int) []change {
	i, _ := slices.BinarySearchFunc(s.history, version+1, func(c change, v int) int { return cmp.Compare(c.version, v) })
	missed := slices.Clone(s.history[i:])
	for _, c := range missed {
		s.told[c.version] = true
	}
	return missed
}

// toldOf is whether the last change of an object was told as an event.
func (s *server) toldOf(key types.NamespacedName) (told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.history {
		if c.key == key {
			told = s.told[c.version]
		}
	}
	return told
}
