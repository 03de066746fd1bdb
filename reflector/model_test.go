package reflector

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

func newRand(seed uint64) rand.Source { return rand.NewPCG(seed, seed) }

// Whatever the server does for half an hour, the sink shows what the server
// has, soon after it has come to its senses; and the server was not flooded.
func TestSinkShowsWhatTheServerHas(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	t.Helper()
	m := newModel(seed)
	s := &story{t: t, dialed: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: m}
	go func() { _ = server.Serve(s) }()
	t.Cleanup(func() { _ = server.Close() })

	ctx, cancel := context.WithCancel(quietly(t))
	view := &view{objects: map[string]string{}, restored: m.everRestored}
	if seed%3 == 0 {
		view.refuses = m.refuses
	}
	r := New(s.client(), "pods", view, Config{Rand: newRand(seed), PageSize: 3, PagedListOnly: seed%5 == 0})
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()

	patience := 6 * time.Minute
	if m.spoils || view.refuses != nil {
		patience += 6 * time.Minute // until it is asked for again, or the watch ends
	}
	m.live(30 * time.Minute)
	m.sane()
	time.Sleep(patience)
	synctest.Wait()
	m.mu.Lock()
	if diff := cmp.Diff(m.objects, view.shown()); diff != "" {
		t.Errorf("server and sink (-server +sink), status %+v:\n%s", r.Status(), diff)
	}
	if most := m.busiest(); most > 90 {
		t.Errorf("%d requests in one minute", most)
	}
	m.mu.Unlock()
	if len(view.faults) > 0 || view.refuses != nil && view.asked == 0 {
		t.Errorf("%d objects were asked for, %v", view.asked, view.faults)
	}
	if got := r.Quarantine(); len(got) > 0 {
		t.Errorf("in quarantine are %+v", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// view is a sink that keeps to the contract of Sink, and refuses an object now
// and then.
type view struct {
	mu      sync.Mutex
	objects map[string]string // name to resourceVersion
	seen    map[string]bool   // not nil within a list
	refuses func() bool

	restored func() bool // whether the server's versions have ever gone back
	faults   []string
	asked    int // answers for one object
}

func (v *view) shown() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.objects)
}

func (v *view) Begin() { v.seen = map[string]bool{} }
func (v *view) Abort() { v.seen = nil }
func (v *view) Commit(string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.objects, func(name, _ string) bool { return !v.seen[name] })
	v.seen = nil
}
func (v *view) Bookmark(string)             {}
func (v *view) Resync()                     {}
func (v *view) Add(o *wire.Object) error    { return v.put(o) }
func (v *view) Update(o *wire.Object) error { return v.put(o) }

// Found must not bring an object back to what it was, unless the server did.
func (v *view) Found(o *wire.Object) error {
	restored := v.restored()
	v.mu.Lock()
	v.asked++
	if was := v.objects[o.Key().Name]; !restored && number(was) > number(o.ResourceVersion()) || v.seen != nil {
		v.faults = append(v.faults, fmt.Sprintf("%s was at %s, found at %s; in a list: %v", o.Key().Name, was, o.ResourceVersion(), v.seen != nil))
	}
	v.mu.Unlock()
	return v.put(o)
}

func (v *view) Gone(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	delete(v.objects, key.Name)
}

func (v *view) Keep(key types.NamespacedName) {
	v.seen[key.Name] = true
}

func (v *view) Item(o *wire.Object) error {
	v.seen[o.Key().Name] = true
	return v.put(o)
}

func (v *view) put(o *wire.Object) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refuses != nil && v.refuses() {
		return errRefused
	}
	v.objects[o.Key().Name] = o.ResourceVersion()
	return nil
}

func (v *view) Delete(o *wire.Object) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.objects, o.Key().Name)
	delete(v.seen, o.Key().Name)
	return nil
}

// model is an API server of one resource with a history, and with moods.
type model struct {
	mu      sync.Mutex
	random  *rand.Rand
	wild    bool
	spoils  bool // some objects of its lists cannot be read
	version int
	objects map[string]string
	history []change
	// compacted is the last version that is forgotten.
	compacted int
	restored  int           // how often
	news      chan struct{} // closed with each change
	minutes   map[int]int   // requests in each minute
	began     time.Time
}

type change struct {
	version    int
	kind, name string
	before     string // the version of the object before it, empty if there was none
}

func newModel(seed uint64) *model {
	m := &model{random: rand.New(newRand(seed + 1000)), wild: true, spoils: seed%4 == 0, version: 1, objects: map[string]string{},
		news: make(chan struct{}), minutes: map[int]int{}, began: time.Now()}
	for range 10 {
		m.change()
	}
	return m
}

// live changes objects, forgets history, and now and then goes back in time,
// as a restored backup does.
func (m *model) live(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		m.mu.Lock()
		for range m.random.IntN(5) {
			m.change()
		}
		if m.random.IntN(10) == 0 {
			m.compacted = m.version - m.random.IntN(3)
		}
		if m.random.IntN(100) == 0 {
			m.restore()
		}
		pause := time.Duration(m.random.ExpFloat64() * float64(3*time.Second))
		m.mu.Unlock()
		time.Sleep(pause)
	}
}

func (m *model) sane() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wild = false
	m.change()
}

func (m *model) change() {
	m.version++
	name := fmt.Sprint("pod-", m.random.IntN(12))
	c := change{m.version, "MODIFIED", name, m.objects[name]}
	switch _, there := m.objects[name]; {
	case !there:
		c.kind = "ADDED"
	case m.random.IntN(3) == 0:
		c.kind = "DELETED"
	}
	m.objects[name] = strconv.Itoa(m.version)
	if c.kind == "DELETED" {
		delete(m.objects, name)
	}
	m.history = append(m.history, c)
	close(m.news)
	m.news = make(chan struct{})
}

// restore puts an old backup in the place of everything, and restarts: nobody's
// watch survives. The backup is so old that its numbers do not reach the
// present again before everybody has noticed. (If they do, no client can tell;
// that is why etcdutl bumps revisions when it restores.)
func (m *model) restore() {
	if m.version < 400 {
		return
	}
	m.version, m.history, m.objects = 1, nil, map[string]string{}
	m.restored++
	for range 8 {
		m.change()
	}
	m.compacted, m.history = m.version, nil
}

func (m *model) busiest() (most int) {
	for _, n := range m.minutes {
		most = max(most, n)
	}
	return most
}

// refuses is the mood of a sink.
func (m *model) refuses() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.chance(10)
}

func (m *model) everRestored() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restored > 0
}

// chance is one in n, as long as the server is wild.
func (m *model) chance(n int) bool { return m.wild && m.random.IntN(n) == 0 }

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	m.mu.Lock()
	m.minutes[int(time.Since(m.began)/time.Minute)]++
	mood := m.mood()
	m.mu.Unlock()
	switch {
	case mood != nil:
		mood(w, r)
	case q.Has("sendInitialEvents"):
		m.watchList(w, r, q)
	case q.Has("watch"):
		m.watch(w, r, number(q.Get("resourceVersion")))
	default:
		m.list(w, r, q)
	}
}

// mood is a refusal, or nil.
func (m *model) mood() act {
	if !m.chance(4) {
		return nil
	}
	moods := []act{
		reset,
		headers,
		fail(410, expiredStatus),
		fail(500, status(500, "InternalError", "etcdserver: leader changed", "")),
		fail(503, "no"),
		fail(429, status(429, "TooManyRequests", "", `{"retryAfterSeconds":3}`)),
		fail(403, status(403, "Forbidden", "not now", "")),
		fail(404, status(404, "NotFound", "not now", "")),
		fail(422, noWatchList),
		send("<html>\n"),
		func(w http.ResponseWriter, r *http.Request) { event("ERROR", expiredStatus)(w, r) },
		func(w http.ResponseWriter, r *http.Request) {
			event("ERROR", status(500, "InternalError", "", ""))(w, r)
		},
		mute,
		open,
	}
	return moods[m.random.IntN(len(moods))]
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (m *model) list(w http.ResponseWriter, r *http.Request, q url.Values) {
	m.mu.Lock()
	if q.Has("fieldSelector") {
		answer := m.one(strings.TrimPrefix(q.Get("fieldSelector"), "metadata.name="), number(q.Get("resourceVersion")))
		m.mu.Unlock()
		answer(w, r)
		return
	}
	version, after, _ := strings.Cut(q.Get("continue"), "/")
	answer := m.page(q, version, after)
	if m.chance(10) {
		answer = send(`{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[` + pod("pod-0", "1") + `,{`)
	}
	m.mu.Unlock()
	answer(w, r)
}

func (m *model) page(q url.Values, version, after string) act {
	switch {
	case version != "" && number(version) != m.version:
		return fail(410, expiredStatus) // only the present can be listed
	case number(q.Get("resourceVersion")) > m.version:
		return fail(504, tooLargeNow)
	}
	var items []string
	next := ""
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		if name <= after {
			continue
		}
		if limit := number(q.Get("limit")); limit > 0 && len(items) == limit {
			next = fmt.Sprintf("%d/%s", m.version, after)
			break
		}
		items, after = append(items, m.shown(name)), name
	}
	return list(strconv.Itoa(m.version), next, items...)
}

// one is what an object was at exactly one version.
func (m *model) one(name string, version int) act {
	switch {
	case version > m.version:
		return fail(504, tooLargeNow)
	case version < m.compacted:
		return fail(410, expiredStatus)
	}
	if m.chance(4) { // it passes over resourceVersionMatch, and has what it has
		version = m.compacted + m.random.IntN(m.version-m.compacted+1)
	}
	now, there := m.objects[name]
	for _, c := range slices.Backward(m.since(version)) {
		if c.name == name {
			now, there = c.before, c.before != ""
		}
	}
	if !there {
		return list(strconv.Itoa(version), "")
	}
	return list(strconv.Itoa(version), "", m.spoil(pod(name, now)))
}

// shown is an object as a list shows it.
func (m *model) shown(name string) string {
	return m.spoil(pod(name, m.objects[name]))
}

func (m *model) spoil(o string) string {
	if m.spoils && m.chance(10) {
		return strings.Replace(o, `"namespace"`, `"labels":7,"namespace"`, 1)
	}
	return o
}

func (m *model) watchList(w http.ResponseWriter, r *http.Request, q url.Values) {
	m.mu.Lock()
	version := m.version
	if number(q.Get("resourceVersion")) > version {
		m.mu.Unlock()
		fail(504, tooLargeNow)(w, r)
		return
	}
	objects := maps.Clone(m.objects)
	for name := range objects {
		objects[name] = m.shown(name)
	}
	early, silent := m.chance(8), m.chance(8)
	m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		event("ADDED", objects[name])(w, r)
	}
	switch {
	case early:
		return
	case silent:
		open(w, r)
		return
	}
	endOfInitial(strconv.Itoa(version))(w, r)
	m.watch(w, r, version)
}

// watch tells the history after a version, and goes on until it ends as it
// likes. One from the future is accepted and mute, as by the real server.
func (m *model) watch(w http.ResponseWriter, r *http.Request, version int) {
	headers(w, r)
	m.mu.Lock()
	restored := m.restored
	m.mu.Unlock()
	bookmarks := time.NewTicker(time.Minute)
	defer bookmarks.Stop()
	over := time.NewTimer(time.Duration(number(r.URL.Query().Get("timeoutSeconds"))) * time.Second)
	defer over.Stop()
	for r.Context().Err() == nil {
		m.mu.Lock()
		if m.restored != restored {
			m.mu.Unlock()
			reset(w, r)
		}
		if version < m.compacted {
			m.mu.Unlock()
			event("ERROR", expiredStatus)(w, r)
			return
		}
		missed, now, news := m.since(version), m.version, m.news
		end := m.ending()
		m.mu.Unlock()
		for _, c := range missed {
			m.mu.Lock()
			object := m.spoil(pod(c.name, strconv.Itoa(c.version)))
			m.mu.Unlock()
			event(c.kind, object)(w, r)
			version = c.version
		}
		if end != nil {
			end(w, r)
			return
		}
		select {
		case <-news:
		case <-bookmarks.C:
			if version <= now {
				event("BOOKMARK", bookmark(strconv.Itoa(max(version, now))))(w, r)
				version = max(version, now)
			}
		case <-over.C:
			return
		case <-r.Context().Done():
		}
	}
}

func (m *model) since(version int) []change {
	i, _ := slices.BinarySearchFunc(m.history, version+1, func(c change, v int) int { return c.version - v })
	return slices.Clone(m.history[i:])
}

// ending is how a watch ends now, or nil if it does not.
func (m *model) ending() act {
	if !m.chance(40) {
		return nil
	}
	ends := []act{
		func(http.ResponseWriter, *http.Request) {},
		reset,
		event("ERROR", expiredStatus),
		event("ERROR", status(500, "InternalError", "", "")),
		event("ERROR", status(429, "TooManyRequests", "", `{"retryAfterSeconds":2}`)),
		event("DELETED", `{"metadata":{"name":7}}`),
		send(`{"type":"ADDED","object":{"metadata":{"na`),
		open,
	}
	return ends[m.random.IntN(len(ends))]
}
