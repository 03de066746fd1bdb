package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

type linkKey struct{}

// Run serves until ctx ends, and returns when nothing of it is left.
func (s *Server) Run(ctx context.Context) error {
	h := &http.Server{ //nolint:gosec // its clients are a simulation's: the slow ones are meant
		Handler:  s,
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, linkKey{}, c.(*conn).link) //nolint:forcetypeassert // Accept made it
		},
	}
	defer context.AfterFunc(ctx, func() { _ = h.Close() })()
	err := h.Serve(s.pipes)
	s.answers.end()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ask is one HTTP request, taken apart.
type ask struct {
	Request

	link     *Link
	resource *Resource
	gv       schema.GroupVersion // of the path: a resource may be served in several
	query    url.Values
	accept   string
	form     form // of the answer
	sent     time.Time
	verdict  Verdict

	body []byte
	made *body                  // what is to be created
	bad  *apierrors.StatusError // why that is none
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.answers.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.answers.leave()
	link := r.Context().Value(linkKey{}).(*Link) //nolint:forcetypeassert // ConnContext put it there
	if r.URL.Path == "/version" {
		s.sayVersion(w)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := ask{link: link, query: r.URL.Query(), accept: r.Header.Get("Accept"), sent: time.Now(), body: raw}
	a.Actor = link.Actor
	refused := s.understand(r, &a)
	if refused != nil {
		refuse(w, a, refused)
		return
	}
	a.verdict = s.cfg.Interference.Request(a.Request)
	if !sleep(r.Context(), a.verdict.Wait) || link.isCut() {
		return
	}
	s.passThrough(w, r, a)
}

// understand takes the request apart, and refuses what no server of these resources
// would take on.
func (s *Server) understand(r *http.Request, a *ask) *apierrors.StatusError {
	parsed := s.parse(r, *a)
	if parsed == nil {
		s.cfg.Unknown(r.URL.Path)
		if strings.HasPrefix(r.URL.Path, "/api/") {
			return noResource()
		}
		return noPath()
	}
	*a = *parsed
	if refused := a.served(); refused != nil {
		if a.Subresource != "" {
			s.cfg.Unknown(r.URL.Path)
		}
		return refused
	}
	var ok bool
	if a.form, ok = negotiate(a.accept, a.resource.builtIn()); !ok {
		return notAcceptable(a.accept, a.resource.builtIn())
	}
	if a.Verb == "create" {
		if a.made, a.bad = s.bodies.read(*a, r.Header.Get("Content-Type"), a.body); a.bad == nil {
			a.Key.Name = a.made.GetName()
		}
	}
	a.Request = s.numbered(a.Request)
	return nil
}

// passThrough has the request live through its moments.
func (s *Server) passThrough(w http.ResponseWriter, r *http.Request, a ask) {
	s.at(BeforeActing, r, a)
	if a.verdict.Refuse != nil {
		s.note(a, int(a.verdict.Refuse.ErrStatus.Code), string(a.verdict.Refuse.ErrStatus.Reason))
		refuse(w, a, a.verdict.Refuse)
		return
	}
	switch a.Verb {
	case "watch":
		s.watch(w, r, a)
		return
	case "list":
		s.list(w, r, a)
	case "get":
		s.get(w, r, a)
	case "deletecollection":
		s.deleteAll(w, r, a)
	default:
		s.write(w, r, a)
	}
	_ = http.NewResponseController(w).Flush()
	s.at(AfterAnswering, r, a)
}

// at does what is to happen at that moment, if anything is.
func (s *Server) at(m Moment, r *http.Request, a ask) {
	if a.verdict.Kill == m {
		if m == BeforeActing {
			s.note(a, 0, "")
		}
		a.link.Cut()
		s.cfg.Killed(a.Actor)
		switch {
		case m == BeforeActing && a.verdict.Late > 0:
			sleep(context.WithoutCancel(r.Context()), a.verdict.Late) // the connection is gone
		case m != AfterAnswering:
			panic(http.ErrAbortHandler)
		}
		return
	}
	if a.verdict.Lose != m {
		return
	}
	if m == BeforeActing {
		s.note(a, 0, "")
	}
	if a.verdict.Hang {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// note tells of an exchange in which nothing was written.
func (s *Server) note(a ask, code int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seenLocked(Exchange{Request: a.Request, Sent: a.sent, At: time.Now(), Code: code, Why: why, Fault: a.verdict.Fault, Lost: a.lost()})
}

func (a ask) lost() bool {
	v := a.verdict
	return v.Lose == BeforeActing || v.Lose == BeforeAnswering || v.Kill == BeforeActing || v.Kill == BeforeAnswering
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, a ask) {
	version, refused := parseVersion(a.query.Get("resourceVersion"))
	s.mu.Lock()
	o := s.objects[a.Resource][a.Key]
	switch {
	case s.removed[a.Resource]:
		refused = noResource()
	case refused != nil:
		refused = unprepared(refused)
	case version > s.version:
		refused = tooLarge(version, s.version)
	case o == nil:
		refused = apierrors.NewNotFound(a.resource.GroupResource(), a.Key.Name)
	}
	s.mu.Unlock()
	s.reply(w, r, a, o, refused)
}

// unprepared is how a version that is none is refused where nobody looked at it in
// time: by 500.
func unprepared(refused *apierrors.StatusError) *apierrors.StatusError {
	return status(http.StatusInternalServerError, "", strings.TrimPrefix(refused.ErrStatus.Message, "invalid resource version: "))
}

// reply answers a read, and tells of it.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, a ask, o *Object, refused *apierrors.StatusError) {
	if refused != nil {
		s.note(a, int(refused.ErrStatus.Code), string(refused.ErrStatus.Reason))
	} else {
		s.note(a, http.StatusOK, "")
	}
	s.wayBack(r, a)
	answer(w, a, outcome{object: o}, nil, refused)
}

func (s *Server) wayBack(r *http.Request, a ask) {
	if !sleep(r.Context(), a.verdict.Linger) {
		panic(http.ErrAbortHandler)
	}
	s.at(BeforeAnswering, r, a)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, a ask) {
	act, unknown, refused := s.toWrite(r, a)
	var out outcome
	if refused != nil {
		s.note(a, int(refused.ErrStatus.Code), string(refused.ErrStatus.Reason))
	} else {
		out, refused = s.apply(act)
	}
	s.wayBack(r, a)
	answer(w, a, out, *unknown, refused)
}

// toWrite is the write that a request asks for. Of a patch it is known only later
// which fields nobody knows.
func (s *Server) toWrite(r *http.Request, a ask) (act write, unknown *[]string, refused *apierrors.StatusError) {
	act = write{
		Request: a.Request, resource: a.resource, sent: a.sent, fault: a.verdict.Fault, lost: a.lost(),
		dryRun: a.query.Get("dryRun") == metav1.DryRunAll,
	}
	unknown = new([]string)
	take := func(b *body, refused *apierrors.StatusError) (*body, *apierrors.StatusError) {
		if refused != nil {
			return nil, refused
		}
		*unknown = b.unknown
		return b, b.agrees(a)
	}
	if refused := s.writeOptions(&act, a, r.Header.Get("Content-Type")); refused != nil {
		return act, unknown, refused
	}
	b := a.made
	switch a.Verb {
	case "create":
		b, refused = take(b, a.bad)
	case "update":
		b, refused = take(s.bodies.read(a, r.Header.Get("Content-Type"), a.body))
	default:
		act.patch, act.patchType = a.body, types.PatchType(r.Header.Get("Content-Type"))
		act.read = func(raw []byte) (*body, *apierrors.StatusError) { return take(s.bodies.readJSON(a, raw)) }
		return act, unknown, nil
	}
	if refused == nil {
		act.object, act.invalid = b.Unstructured, b.invalid
	}
	return act, unknown, refused
}

// deleteAll deletes what a list shows, one after the other, and answers with the
// list.
func (s *Server) deleteAll(w http.ResponseWriter, r *http.Request, a ask) {
	act := write{Request: a.Request, resource: a.resource, sent: a.sent, fault: a.verdict.Fault, lost: a.lost()}
	act.Verb = "delete"
	refused := s.writeOptions(&act, a, r.Header.Get("Content-Type"))
	var p page
	if refused == nil {
		p, refused = s.page(a)
	}
	for _, o := range p.objects {
		act.Key.Namespace, act.Key.Name = o.GetNamespace(), o.GetName()
		if _, err := s.apply(act); err != nil && !apierrors.IsNotFound(err) {
			refused = err
			break
		}
	}
	if refused != nil {
		s.reply(w, r, a, nil, refused)
		return
	}
	s.wayBack(r, a)
	w.Header().Set("Content-Type", a.form.contentType())
	_, _ = w.Write(p.encoded(a))
}

// answer writes an object, or a refusal, in the encoding that was asked for.
func answer(w http.ResponseWriter, a ask, out outcome, unknown []string, refused *apierrors.StatusError) {
	if refused != nil {
		refuse(w, a, refused)
		return
	}
	if a.query.Get("fieldValidation") != metav1.FieldValidationIgnore {
		for _, each := range unknown {
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", each))
		}
	}
	w.Header().Set("Content-Type", a.form.contentType())
	if out.created && a.Verb != "get" {
		w.WriteHeader(http.StatusCreated)
	}
	if out.gone && a.Verb == "delete" && a.Resource != "pods" {
		_, _ = w.Write(a.form.status(farewell(a, out.object)))
		return
	}
	_, _ = w.Write(a.form.encoded(a.inItsVersion(out.object)))
}

// farewell is the answer for what has gone. Pods are answered with themselves.
func farewell(a ask, o *Object) metav1.Status {
	return metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: o.GetName(), Group: a.resource.Group, Kind: a.Resource, UID: o.GetUID(),
	}}
}

// inItsVersion is the object as it is called in the version that was asked for.
func (a ask) inItsVersion(o *Object) *Object {
	if a.gv == a.resource.GroupVersion() {
		return o
	}
	u := o.withOwnMetadata()
	u.SetAPIVersion(a.gv.String())
	return newObject(o.resource, u, o.version)
}

func refuse(w http.ResponseWriter, a ask, refused *apierrors.StatusError) {
	if refused.ErrStatus.Status == "" && refused.ErrStatus.Code == http.StatusNotFound {
		http.Error(w, refused.ErrStatus.Message, http.StatusNotFound)
		return
	}
	if d := refused.ErrStatus.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	f, _ := negotiate(a.accept, true)
	w.Header().Set("Content-Type", f.contentType())
	w.WriteHeader(int(refused.ErrStatus.Code))
	_, _ = w.Write(f.status(refused.ErrStatus)) //nolint:gosec // no browser reads it
}

func (s *Server) sayVersion(w http.ResponseWriter) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_, _ = fmt.Fprintf(w, `{"major":"1","minor":"%d","gitVersion":"v1.%d.2"}`, s.cfg.Minor, s.cfg.Minor)
}

// sleep waits, and tells whether whoever had asked is still there.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func (a ask) binary() bool { return a.form.binary }
