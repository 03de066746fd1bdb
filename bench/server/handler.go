package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"millrace/bench/objects"
	"millrace/wire"
)

// Count is how often a server was asked for what.
type Count struct {
	Lists      int `json:"lists"`
	WatchLists int `json:"watchLists"`
	Watches    int `json:"watches"`
}

// handler answers from what was encoded before.
type handler struct {
	spec  Spec
	bytes map[wire.Format]*encoded

	mu      sync.Mutex
	count   Count
	begun   chan struct{} // closed at Begin, and made anew
	expired chan struct{} // closed at Expire, and made anew
}

// encoded is all that there is to say in one format. Frames are slices of a few
// large arrays.
type encoded struct {
	objects  [][]byte // as they come alone
	initial  [][]byte // as the frames of a watch-list, and the bookmark that ends it
	events   [][]byte
	farewell []byte // what ends a watch
}

func newHandler(spec Spec) (*handler, error) {
	h := &handler{spec: spec, bytes: map[wire.Format]*encoded{}, begun: make(chan struct{}), expired: make(chan struct{})}
	run, err := spec.maker()
	if err != nil {
		return nil, err
	}
	for _, f := range spec.Formats {
		h.bytes[f] = spec.encode(run, f)
	}
	return h, nil
}

func (s Spec) encode(run func(int) objects.Run, f wire.Format) *encoded {
	e := &encoded{farewell: appendEvent(nil, f, "ERROR", expired(f))}
	runs := make([]objects.Run, s.Objects)
	var arena arena
	var raw, frame []byte // used again and again
	for i := range runs {
		runs[i] = run(i)
		raw = s.append(raw[:0], runs[i], f, s.states(runs[i])-1, s.firstOf(i))
		frame = appendEvent(frame[:0], f, "ADDED", raw)
		kept := arena.keep(frame)
		e.initial = append(e.initial, kept)
		e.objects = append(e.objects, object(f, kept, len(raw)))
	}
	e.initial = append(e.initial, appendEvent(nil, f, "BOOKMARK", s.Resource.bookmark(f, s.Listed(), true)))
	for i := range s.Events {
		which, round := s.turn(i)
		raw = s.appendEvent(raw[:0], runs[which], f, round, s.listVersion()+uint64(i)+1)
		frame = appendEvent(frame[:0], f, "MODIFIED", raw)
		e.events = append(e.events, arena.keep(frame))
	}
	return e
}

// active is how many objects change at the same time, as pods do that run at the
// same time; then others do.
const active = 250

// turn says which object event i is about, and how many it had before. Neighbours in
// time are no neighbours in the store.
func (s Spec) turn(i int) (which, round int) {
	const rounds = 8 // as many states as most pods go through
	few := min(active, s.Objects)
	group := i / (few * rounds)
	return (group*few + i%few) * 7919 % s.Objects, i / few % rounds
}

// appendEvent appends the state that an object is in after so many rounds.
func (s Spec) appendEvent(b []byte, r objects.Run, f wire.Format, round int, version uint64) []byte {
	n := s.states(r)
	from := len(b)
	for i := range n {
		b = s.append(b[:from], r, f, (round+i)%n, version)
		if len(b)-from >= s.Least {
			break
		}
	}
	return b
}

// arena keeps many small pieces in a few large ones.
type arena struct{ b []byte }

func (a *arena) keep(piece []byte) []byte {
	if cap(a.b)-len(a.b) < len(piece) {
		a.b = make([]byte, 0, max(16<<20, len(piece)))
	}
	from := len(a.b)
	a.b = append(a.b, piece...)
	return a.b[from:len(a.b):len(a.b)]
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/begin":
		h.signal(&h.begun)
	case r.URL.Path == "/expire":
		h.signal(&h.expired)
	case r.URL.Path == "/count":
		h.tell(w)
	case r.URL.Path == h.spec.Resource.Path():
		h.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

// tell says how often it was asked for what.
func (h *handler) tell(w http.ResponseWriter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	raw, err := json.Marshal(h.count)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(raw)
}

// signal closes a channel for all who wait for it, and puts another in its
// place.
func (h *handler) signal(c *chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(*c)
	*c = make(chan struct{})
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	f, accept, query := wire.JSON, "application/json", r.URL.Query()
	if strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf") && h.bytes[wire.Protobuf] != nil {
		f, accept = wire.Protobuf, "application/vnd.kubernetes.protobuf"
	}
	say := h.bytes[f]
	if say == nil {
		http.Error(w, "not encoded in that format", http.StatusNotAcceptable)
		return
	}
	watch := query.Get("watch") == "true" || query.Get("watch") == "1"
	if watch && f == wire.Protobuf {
		accept += ";stream=watch"
	}
	w.Header().Set("Content-Type", accept)
	switch {
	case !watch:
		h.counted(func(c *Count) { c.Lists++ })
		h.list(w, f, say, query.Get("limit"), query.Get("continue"))
	case query.Get("sendInitialEvents") == "true":
		h.counted(func(c *Count) { c.WatchLists++ })
		h.watch(w, r, say, say.initial)
	default:
		h.counted(func(c *Count) { c.Watches++ })
		h.watch(w, r, say, nil)
	}
}

func (h *handler) counted(add func(*Count)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	add(&h.count)
}

// list shows a page. A token is the number of the first object that it shows.
func (h *handler) list(w http.ResponseWriter, f wire.Format, say *encoded, limit, token string) {
	from, _ := strconv.Atoi(token)
	n, _ := strconv.Atoi(limit)
	shown, next := say.objects[from:], ""
	if n > 0 && n < len(shown) {
		shown, next = shown[:n], strconv.Itoa(from+n)
	}
	_, _ = w.Write(h.spec.Resource.page(f, h.spec.Listed(), next, shown))
}

// watch sends what there is, waits for Begin, sends the events, and waits for
// Expire. A client that is gone ends it too.
func (h *handler) watch(w http.ResponseWriter, r *http.Request, say *encoded, initial [][]byte) {
	h.mu.Lock()
	begun, expired := h.begun, h.expired
	h.mu.Unlock()
	if send(w, initial) != nil {
		return
	}
	for {
		select {
		case <-begun:
			begun = nil
			if send(w, say.events) != nil {
				return
			}
		case <-expired:
			_ = send(w, [][]byte{say.farewell})
			return
		case <-r.Context().Done():
			return
		}
	}
}

// send flushes when there is no more to say, as kube-apiserver does: in a burst,
// frames follow each other at once.
func send(w http.ResponseWriter, frames [][]byte) error {
	for _, frame := range frames {
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return http.NewResponseController(w).Flush()
}
