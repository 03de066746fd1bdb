package oracle

import (
	"cmp"
	"context"
	"fmt"
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	compacted int                          // the last version that is forgotten
	snapshots map[string]snapshot          // lists that are not at their end, by the token of their continuation
	trouble   string                       // what is wrong with every request; empty: nothing
	told      map[int]bool                 // the versions that were told as events
	played    int                          // changes of the tape that have happened
	spoiling  map[int]bool                 // versions that are spoilt the first time that an event tells of them
	refusing  map[int]bool                 // versions that a transform refuses the first time that it sees them
	untaken   map[types.NamespacedName]int // the last version of each that somebody could not take in
	early     bool                         // watch-lists end before their bookmark
	began     time.Time
	asked     []time.Time    // when requests came
	answers   map[string]int // how often it gave each kind of answer

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
		spoiling: map[int]bool{}, refusing: map[int]bool{}, untaken: map[types.NamespacedName]int{}, began: time.Now(),
		news: make(chan struct{}), pipes: make(chan net.Conn), over: make(chan struct{}),
	}
	s.bearLocked()
	h := &http.Server{Handler: s}
	go func() { _ = h.Serve(s) }()
	t.Cleanup(func() { _ = h.Close() })
	return s
}

// bearLocked makes what is there before anybody asks.
func (s *server) bearLocked() {
	if s.Resource.tape != nil {
		s.version = s.Resource.tape.changes[0].version - 1
		s.compacted = s.version
		s.windLocked(s.Born)
		return
	}
	for i := range s.Born {
		s.putLocked(types.NamespacedName{Namespace: string("ab"[i%2]), Name: fmt.Sprint("o", i/2)})
	}
}

// windLocked lets the next changes of the tape happen.
func (s *server) windLocked(n int) {
	left := s.Resource.tape.changes[s.played:]
	for _, c := range left[:min(n, len(left))] {
		s.played, s.version = s.played+1, c.version
		s.objects[c.key] = c.object
		s.history = append(s.history, c)
	}
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
	case spoil, refuse:
		s.putLocked(do.key)
		s.spoilLocked(do)
	case wind:
		s.windLocked(number(do.how))
	case early, late:
		s.early = do.do == early
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

// spoilLocked sees to it that the version which is there now is not taken in.
func (s *server) spoilLocked(do step) {
	s.untaken[do.key] = s.version
	if do.do == spoil {
		s.spoiling[s.version] = true
		return
	}
	s.refusing[s.version] = true
}

// refuses says, once, that a transform refuses a version.
func (s *server) refuses(version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := number(version)
	if !s.refusing[v] {
		return false
	}
	delete(s.refusing, v)
	s.answers["refused by the transform"]++
	return true
}

func (s *server) putLocked(key types.NamespacedName) {
	kind, uid := "MODIFIED", s.objects[key].uid
	if uid == "" {
		s.lives++
		kind, uid = "ADDED", types.UID(fmt.Sprint("life-", s.lives))
	}
	s.version++
	o := s.Resource.newObject(key, uid, s.version)
	s.objects[key] = o
	s.history = append(s.history, change{kind, o})
}

func (s *server) removeLocked(key types.NamespacedName) {
	o, there := s.objects[key]
	if !there {
		return
	}
	s.version++
	o.item, o.version = s.Resource.at(o.item, o.version, s.version), s.version
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
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	switch trouble := s.wrong(); {
	case !strings.Contains(r.Header.Get("Accept"), s.Resource.contentType(false)):
		panic("nobody has asked for " + s.Resource.contentType(false))
	case trouble == "refused": // on a connection that was there before
		panic(http.ErrAbortHandler)
	case trouble == "reset":
		s.count(trouble)
		panic(http.ErrAbortHandler)
	case trouble != "":
		s.count(trouble)
		code, _ := strconv.Atoi(trouble)
		s.fail(w, code, "", "not now")
	case q.Has("sendInitialEvents"):
		s.watchList(w, r)
	case q.Has("watch"):
		s.watch(w, r)
	case q.Has("fieldSelector"):
		s.one(w, r.URL)
	default:
		s.list(w, q)
	}
}

func (s *server) count(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[answer]++
}

func (s *server) fail(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", s.Resource.contentType(false))
	w.WriteHeader(code)
	_, _ = w.Write(s.Resource.status(code, reason, message))
}

func (s *server) send(w http.ResponseWriter, stream bool, text []byte) {
	w.Header().Set("Content-Type", s.Resource.contentType(stream))
	_, _ = w.Write(text)
	_ = http.NewResponseController(w).Flush()
}

func (s *server) sendEvent(w http.ResponseWriter, kind string, object []byte) {
	s.send(w, true, s.Resource.event(kind, object))
}

// list shows the present, in pages if it has them.
func (s *server) list(w http.ResponseWriter, q url.Values) {
	s.mu.Lock()
	shown, next, ok := s.pageLocked(number(q.Get("limit")), q.Get("continue"))
	s.mu.Unlock()
	if !ok {
		s.count("410 on a page")
		s.fail(w, http.StatusGone, "Expired", "The provided continue parameter is too old")
		return
	}
	s.send(w, false, s.Resource.page(shown, next))
}

func (r resource) page(shown snapshot, next string) []byte {
	var items [][]byte
	for _, o := range shown.items {
		items = append(items, o.item)
	}
	return r.list(metav1.ListMeta{ResourceVersion: strconv.Itoa(shown.version), Continue: next}, items)
}

// one shows a single object, as it was at a version.
func (s *server) one(w http.ResponseWriter, u *url.URL) {
	path := strings.Split(u.Path, "/")
	key := types.NamespacedName{Namespace: path[len(path)-2], Name: strings.TrimPrefix(u.Query().Get("fieldSelector"), "metadata.name=")}
	at := number(u.Query().Get("resourceVersion"))
	s.mu.Lock()
	gone := at < s.compacted
	shown := snapshot{at, s.atLocked(key, at)}
	s.mu.Unlock()
	if gone {
		s.fail(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	s.count("a list of one")
	s.send(w, false, s.Resource.page(shown, ""))
}

// atLocked is what an object was at a version: one, or none.
func (s *server) atLocked(key types.NamespacedName, at int) (was []object) {
	for _, c := range s.history {
		if c.key != key || c.version > at {
			continue
		}
		if was = nil; c.kind != "DELETED" {
			was = []object{c.object}
		}
	}
	return was
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
		s.fail(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		return
	}
	s.mu.Lock()
	v := s.viewLocked(s.version)
	objects, early := s.sortedLocked(), s.early
	s.mu.Unlock()
	for _, o := range objects {
		s.sendEvent(w, "ADDED", s.Resource.alone(o.item))
	}
	if early {
		s.count("no end of a watch-list")
		return
	}
	s.count("a watch-list")
	s.sendEvent(w, "BOOKMARK", s.Resource.bookmark(v.version, true))
	s.follow(w, r, v)
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	version := number(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	v, gone := s.viewLocked(version), version < s.compacted
	s.mu.Unlock()
	if gone {
		s.count("410 on a watch")
		s.fail(w, http.StatusGone, "Expired", "too old resource version")
		return
	}
	w.Header().Set("Content-Type", s.Resource.contentType(true))
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
			s.sendEvent(w, c.kind, s.Resource.alone(c.item))
		}
		if now.marked > v.marked {
			s.sendEvent(w, "BOOKMARK", s.Resource.bookmark(now.version, false))
		}
		if now.cuts > v.cuts {
			s.count(string(how))
			s.hangUp(w, how)
			return
		}
		v = now
		select {
		case <-news:
		case <-minutes.C:
			if s.Bookmarks {
				s.sendEvent(w, "BOOKMARK", s.Resource.bookmark(v.version, false))
			}
		case <-over:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// hangUp ends a watch.
func (s *server) hangUp(w http.ResponseWriter, how verb) {
	switch how {
	case expire:
		s.sendEvent(w, "ERROR", s.Resource.status(http.StatusGone, "Expired", "too old resource version"))
	case tear:
		s.send(w, true, s.Resource.torn())
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
	for i, c := range missed {
		s.told[c.version] = true
		if s.spoiling[c.version] {
			delete(s.spoiling, c.version)
			s.answers["spoilt"]++
			missed[i].item = s.Resource.spoilt(c.item)
		}
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

// untakenOf is the last state of an object, if that could not be taken in, once;
// or else empty.
func (s *server) untakenOf(key types.NamespacedName) (untaken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.history {
		if c.key != key || c.kind == "DELETED" {
			continue
		}
		if untaken = ""; s.untaken[key] == c.version {
			untaken = strconv.Itoa(c.version)
		}
	}
	return untaken
}
