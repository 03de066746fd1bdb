package apiserver

import (
	"context"
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
	s.handlers.Wait()
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
	query    url.Values
	accept   string
	sent     time.Time
	verdict  Verdict

	object *unstructured.Unstructured // to be created
	bad    error                      // why that is none
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handlers.Add(1)
	defer s.handlers.Done()
	link := r.Context().Value(linkKey{}).(*Link) //nolint:forcetypeassert // ConnContext put it there
	if r.URL.Path == "/version" {
		s.sayVersion(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, ok := s.parse(r, link, body)
	if !ok {
		s.cfg.Unknown(r.URL.Path)
		answer(w, ask{}, nil, noResource())
		return
	}
	a.verdict = s.cfg.Interference.Request(a.Request)
	if !sleep(r.Context(), a.verdict.Wait) || link.isCut() {
		return
	}
	s.passThrough(w, r, a, body)
}

// passThrough has the request live through its moments.
func (s *Server) passThrough(w http.ResponseWriter, r *http.Request, a ask, body []byte) {
	s.at(BeforeActing, r, a)
	if a.verdict.Refuse != nil {
		s.note(a, int(a.verdict.Refuse.ErrStatus.Code), string(a.verdict.Refuse.ErrStatus.Reason))
		answer(w, a, nil, a.verdict.Refuse)
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
	default:
		s.write(w, r, a, body)
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
		if m != AfterAnswering {
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

// parse takes the URL apart. What is to be created has its name in the body.
func (s *Server) parse(r *http.Request, link *Link, body []byte) (ask, bool) {
	a := ask{link: link, query: r.URL.Query(), accept: r.Header.Get("Accept"), sent: time.Now()}
	a.Actor = link.Actor
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return a, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		a.Key.Namespace, parts = parts[1], parts[2:]
	}
	a.Resource = parts[0]
	if len(parts) > 1 {
		a.Key.Name = parts[1]
	}
	if len(parts) > 2 {
		a.Subresource = parts[2]
	}
	a.resource = s.resources[a.Resource]
	if a.resource == nil || a.resource.Group != group {
		return a, false
	}
	a.Verb = verb(r, a)
	a.Continues, a.Initial = a.query.Has("continue"), a.query.Get("sendInitialEvents") == "true"
	if a.Verb == "create" {
		if a.object, a.bad = decode(a.resource, body); a.bad == nil {
			a.Key.Name = a.object.GetName()
		}
	}
	a.Request = s.numbered(a.Request)
	return a, true
}

func verb(r *http.Request, a ask) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	switch {
	case a.query.Get("watch") == "true" || a.query.Get("watch") == "1":
		return "watch"
	case a.Key.Name == "":
		return "list"
	default:
		return "get"
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, a ask) {
	s.mu.Lock()
	o := s.objects[a.Resource][a.Key]
	removed := s.removed[a.Resource]
	s.mu.Unlock()
	var refused *apierrors.StatusError
	switch {
	case removed:
		refused = noResource()
	case o == nil:
		refused = apierrors.NewNotFound(a.resource.GroupResource(), a.Key.Name)
	}
	s.reply(w, r, a, o, refused)
}

// reply answers a read, and tells of it.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, a ask, o *Object, refused *apierrors.StatusError) {
	if refused != nil {
		s.note(a, int(refused.ErrStatus.Code), string(refused.ErrStatus.Reason))
	} else {
		s.note(a, http.StatusOK, "")
	}
	s.wayBack(r, a)
	answer(w, a, o, refused)
}

func (s *Server) wayBack(r *http.Request, a ask) {
	if !sleep(r.Context(), a.verdict.Linger) {
		panic(http.ErrAbortHandler)
	}
	s.at(BeforeAnswering, r, a)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, a ask, body []byte) {
	act := write{
		Request: a.Request, resource: a.resource, sent: a.sent, fault: a.verdict.Fault, lost: a.lost(),
		dryRun: a.query.Get("dryRun") == metav1.DryRunAll,
	}
	err := a.bad
	switch a.Verb {
	case "create":
		act.object = a.object
	case "patch":
		act.patch, act.patchType = body, types.PatchType(r.Header.Get("Content-Type"))
	case "delete":
		act.options, err = decodeOptions(body)
	default:
		act.object, err = decode(a.resource, body)
	}
	var o *Object
	var refused *apierrors.StatusError
	if err != nil {
		refused = apierrors.NewBadRequest(err.Error())
		s.note(a, int(refused.ErrStatus.Code), string(refused.ErrStatus.Reason))
	} else {
		o, refused = s.apply(act)
	}
	s.wayBack(r, a)
	answer(w, a, o, refused)
}

// answer writes an object, or a refusal, in the encoding that was asked for.
func answer(w http.ResponseWriter, a ask, o *Object, refused *apierrors.StatusError) {
	if refused != nil {
		refuse(w, a, refused)
		return
	}
	contentType := runtime.ContentTypeJSON
	var raw []byte
	switch {
	case strings.Contains(a.accept, "as=PartialObjectMetadata"):
		raw = o.partial()
	case a.binary():
		contentType, raw = runtime.ContentTypeProtobuf, o.proto()
	default:
		raw = o.JSON()
	}
	w.Header().Set("Content-Type", contentType)
	if a.Verb == "create" {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(raw)
}

func (a ask) binary() bool {
	return strings.Contains(a.accept, runtime.ContentTypeProtobuf) && a.resource != nil && a.resource.builtIn()
}

func refuse(w http.ResponseWriter, a ask, refused *apierrors.StatusError) {
	status := refused.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	contentType, raw := runtime.ContentTypeJSON, must(json.Marshal(status))
	if a.binary() {
		contentType, raw = runtime.ContentTypeProtobuf, encodeProto(&status)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(raw)
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
