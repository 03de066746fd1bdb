package apiserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// bookmarkEvery is how often a watch hears that all is well.
const bookmarkEvery = time.Minute

// bookmarkBeforeEnd is how long before a watch's time is up it says for the last
// time how far it has come, so that the next one need not begin much earlier.
const bookmarkBeforeEnd = 2 * time.Second

// follower is one watch.
type follower struct {
	ask

	server *Server
	which  selection
	w      http.ResponseWriter
	r      *http.Request
	n      int // events told
	began  uint64
	marks  bool                          // bookmarks were asked for
	broken *apierrors.StatusError        // why the watch ends as soon as it is open
	untold map[types.NamespacedName]bool // objects that it was to be told of, and was not yet

	// Guarded by the server's lock:
	position uint64 // all up to that version is told
	end      Ending // what the watch is to come to; GoOn while it is to go on
	old      bool   // the store is another one by now: there is no news for this watch
}

// watch opens a watch and follows it to its end.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, a ask) {
	f := &follower{ask: a, server: s, w: w, r: r, untold: map[types.NamespacedName]bool{}}
	initial, version, refused := f.open()
	if refused != nil {
		s.reply(w, r, a, nil, refused)
		return
	}
	defer f.close()
	s.note(a, http.StatusOK, "")
	s.wayBack(r, a)
	contentType := a.form.contentType()
	if a.form.binary {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	f.flush()
	if f.broken != nil {
		f.send(f.framed("ERROR", f.form.status(f.broken.ErrStatus)))
		return
	}
	if a.verdict.End != GoOn {
		f.endBy(a.verdict.End, f.framed("BOOKMARK", []byte("{}")))
		return
	}
	if a.verdict.Mute {
		f.sayNothing()
		return
	}
	for _, o := range initial {
		if !f.tell(Event{Type: "ADDED", Object: o, Initial: true}) {
			return
		}
	}
	if a.Initial && !f.bookmark(version, true) {
		return
	}
	f.follow()
}

// open finds where the watch begins, and puts it on the list of watches. What it
// returns is there at the beginning, as of which version.
func (f *follower) open() (initial []*Object, version uint64, refused *apierrors.StatusError) {
	s := f.server
	o, refused := s.listOptions(f.ask)
	if refused != nil {
		return nil, 0, refused
	}
	f.which, f.marks = selected(f.ask, o), o.AllowWatchBookmarks
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed[f.Resource] {
		return nil, 0, noResource()
	}
	from, refused := parseVersion(o.ResourceVersion)
	switch {
	case refused != nil:
		return nil, 0, unprepared(refused)
	case from == 0 || f.Initial:
		floor, refused := s.floorLocked(o)
		if refused != nil {
			f.broken = refused
			return nil, 0, nil
		}
		from = s.lagLocked(f.ask, floor)
		if f.verdict.Lag > 0 && from == s.version {
			f.verdict.Fault = "" // as it would have been
		}
		initial = slices.DeleteFunc(s.sortedAsOfLocked(f.resource, f.Key.Namespace, from), func(o *Object) bool { return !f.which.has(o) })
	case from < s.compacted:
		f.broken = apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, s.compacted))
		return nil, 0, nil
	}
	f.position, f.began = from, from
	s.watches[f] = true
	return initial, from, nil
}

func (f *follower) close() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	delete(f.server.watches, f)
}

// follow tells what happens until the watch comes to an end.
func (f *follower) follow() {
	due := f.appointments()
	for {
		missed, news, end := f.missed()
		for _, c := range missed {
			if !f.pass(c) {
				return
			}
		}
		if end != GoOn {
			f.endBy(end, f.framed("BOOKMARK", []byte("{}")))
			return
		}
		if len(missed) > 0 {
			continue // there may be more by now
		}
		if over, bookmark := due.take(time.Now(), f.pause()); over || bookmark && !f.bookmark(f.bookmarked(), false) {
			return
		} else if bookmark {
			continue
		}
		if !await(f.r.Context(), news, due.next()) {
			return
		}
	}
}

// appointments are when a watch has something to say, or to end, though nothing
// happens. Where telling takes long, several are past by the time that anybody
// looks, and then the order is that of this type, not a select's.
type appointments struct {
	minute, last, over time.Time // last is zero when it was
}

func (f *follower) appointments() *appointments {
	seconds, _ := strconv.Atoi(f.query.Get("timeoutSeconds"))
	if seconds == 0 {
		seconds = 1800
	}
	// Neither is on the second, as nothing here is, and both are never at once.
	now, lasts := time.Now(), time.Duration(seconds)*time.Second+f.verdict.Wait+f.verdict.Linger
	return &appointments{
		minute: now.Add(f.pause() + f.verdict.Wait),
		last:   now.Add(max(0, lasts-bookmarkBeforeEnd)),
		over:   now.Add(lasts),
	}
}

// take takes what is due: the end before any bookmark, and one bookmark for both
// if both are. The next one of a minute is due after a pause.
func (a *appointments) take(now time.Time, pause time.Duration) (over, bookmark bool) {
	if !now.Before(a.over) {
		return true, false
	}
	if !a.last.IsZero() && !now.Before(a.last) {
		a.last, bookmark = time.Time{}, true
	}
	if !now.Before(a.minute) {
		a.minute, bookmark = now.Add(pause), true
	}
	return false, bookmark
}

// next is when take finds something again.
func (a *appointments) next() time.Time {
	first := a.over
	for _, t := range []time.Time{a.minute, a.last} {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// await waits for news, or until then, and tells whether whoever had asked is
// still there.
func await(ctx context.Context, news <-chan struct{}, then time.Time) bool {
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// missed is what happened after the watch's position, which becomes now.
func (f *follower) missed() (missed []change, news <-chan struct{}, end Ending) {
	s := f.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.old {
		return nil, s.newsLocked(f.resource), f.end
	}
	i, _ := slices.BinarySearchFunc(s.history, f.position+1, func(c change, v uint64) int {
		return int(int64(c.version) - int64(v))
	})
	for _, c := range s.history[i:] {
		if c.object().resource == f.resource {
			missed = append(missed, c)
		}
	}
	f.position = max(f.position, s.version)
	return missed, s.newsLocked(f.resource), f.end
}

// pause is how long it is to the next bookmark.
func (f *follower) pause() time.Duration {
	if f.verdict.Bookmarks == LateBookmarks {
		return bookmarkEvery + 20*time.Second + 1600*f.verdict.Wait
	}
	return bookmarkEvery
}

// sayNothing keeps the connection open until whoever waits gives up.
func (f *follower) sayNothing() {
	since := time.Now()
	<-f.r.Context().Done()
	if !f.link.troubledSince(since) { // else nobody could tell us sooner
		f.server.cfg.Silent(f.Request, since)
	}
}

func (f *follower) bookmarked() uint64 {
	if f.verdict.Bookmarks == OldBookmarks {
		return f.began
	}
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	return f.position
}

// pass tells one change, as far as this watch is to hear of it. It returns false
// when the watch is over.
func (f *follower) pass(c change) bool {
	had, has := f.which.has(c.before), f.which.has(c.after)
	switch {
	case has && had:
		return f.tell(Event{Type: "MODIFIED", Object: c.after, Before: c.before})
	case has:
		return f.tell(Event{Type: "ADDED", Object: c.after})
	case had && c.after == nil:
		return f.tell(Event{Type: "DELETED", Object: c.last})
	case had: // it is not selected any more
		last := c.before.withOwnMetadata()
		last.SetResourceVersion(fmt.Sprint(c.version))
		return f.tell(Event{Type: "DELETED", Object: newObject(f.resource, last, c.version)})
	default:
		return true
	}
}

// tell has Interference say what becomes of the event, and does it. It returns
// false when that is the end of the watch.
func (f *follower) tell(e Event) bool {
	f.n++
	e.Watch, e.N = f.Request, f.n
	key := e.Object.Key()
	if f.untold[key] && e.Type == "MODIFIED" {
		e.Type = "ADDED"
	}
	v := f.server.cfg.Interference.Event(e)
	if !sleep(f.r.Context(), v.Wait) {
		return false
	}
	skipped := v.Skip && (e.Type == "ADDED" || e.Type == "MODIFIED") && f.server.superseded(e.Object)
	if skipped || f.untold[key] && e.Type == "DELETED" {
		f.untold[key] = e.Type == "ADDED"
		return true
	}
	delete(f.untold, key)
	f.server.cfg.Told(e, v)
	raw := f.spoiled(e.Object, v.Spoil)
	if v.End != GoOn {
		f.endBy(v.End, f.framed(e.Type, raw))
		return false
	}
	f.send(f.framed(e.Type, raw))
	if v.Twice {
		f.send(f.framed(e.Type, raw))
	}
	if v.Older && e.Before != nil {
		f.send(f.framed("MODIFIED", f.encoded(e.Before)))
	}
	return true
}

// superseded tells whether there is a newer version of an object.
func (s *Server) superseded(o *Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.objects[o.resource.Resource][o.Key()]
	return now == nil || now.version > o.version
}

// bookmark tells how far the watch has come. It returns false when that is the
// end of the watch.
func (f *follower) bookmark(version uint64, initialEventsEnd bool) bool {
	if !f.marks || f.verdict.Bookmarks == NoBookmarks && !initialEventsEnd {
		return true
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(f.resource.apiVersion())
	u.SetKind(f.resource.Kind)
	u.SetResourceVersion(fmt.Sprint(version))
	if initialEventsEnd {
		u.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return f.tell(Event{Type: "BOOKMARK", Object: newObject(f.resource, u, version), Initial: initialEventsEnd})
}

// endBy ends the watch; what is torn is the event that was due.
func (f *follower) endBy(how Ending, due []byte) {
	switch how {
	case Expire:
		f.send(f.framed("ERROR", f.form.status(apierrors.NewResourceExpired("too old resource version").ErrStatus)))
	case Tear:
		f.send(due[:len(due)/2])
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case GoMute:
		f.sayNothing()
	case GoOn, Close:
	}
}

func (f *follower) encoded(o *Object) []byte { return f.form.encoded(f.inItsVersion(o)) }

// framed is an event as it goes over the wire.
func (f *follower) framed(kind string, object []byte) []byte {
	if !f.form.binary {
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", kind, bytes.TrimSpace(object))
	}
	e := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	raw := must(e.Marshal())
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

func (f *follower) send(frame []byte) {
	dribble(f.w, f.r, frame, f.verdict)
	f.flush()
}

func (f *follower) flush() { _ = http.NewResponseController(f.w).Flush() }
