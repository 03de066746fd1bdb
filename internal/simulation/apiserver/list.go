package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// snapshot is what is left to show of a list.
type snapshot struct {
	version uint64
	objects []*Object
}

// a selection is which objects a request is about.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func selected(a ask) (selection, *apierrors.StatusError) {
	s := selection{namespace: a.Key.Namespace}
	var err error
	if s.labels, err = labels.Parse(a.query.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(a.query.Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	return s, nil
}

func (s selection) has(o *Object) bool {
	return o != nil && (s.namespace == "" || s.namespace == o.GetNamespace()) &&
		s.labels.Matches(labels.Set(o.GetLabels())) && (s.fields.Empty() || s.fields.Matches(fieldsOf{o}))
}

// fieldsOf finds the fields of an object by their paths.
type fieldsOf struct{ *Object }

func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

func (f fieldsOf) Get(path string) string {
	var at any = f.Object.Object
	for name := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[name]
	}
	text, _ := at.(string)
	return text
}

// list shows the present, or what is left of a list that was begun.
func (s *Server) list(w http.ResponseWriter, r *http.Request, a ask) {
	shown, next, refused := s.page(a)
	if refused != nil {
		s.reply(w, r, a, nil, refused)
		return
	}
	s.note(a, http.StatusOK, "")
	s.wayBack(r, a)
	meta := metav1.ListMeta{ResourceVersion: fmt.Sprint(shown.version), Continue: next}
	contentType := runtime.ContentTypeJSON
	var raw []byte
	if a.binary() {
		contentType, raw = runtime.ContentTypeProtobuf, protoList(a.resource, meta, shown.objects)
	} else {
		raw = jsonList(a.resource, meta, shown.objects)
	}
	w.Header().Set("Content-Type", contentType)
	dribble(w, r, raw, a.verdict)
}

// dribble sends as slowly as it is told to.
func dribble(w http.ResponseWriter, r *http.Request, raw []byte, v Verdict) {
	bytesPerSecond := v.BytesPerSecond
	for bytesPerSecond > 0 && len(raw) > bytesPerSecond && v.Slow() {
		_, _ = w.Write(raw[:bytesPerSecond])
		_ = http.NewResponseController(w).Flush()
		raw = raw[bytesPerSecond:]
		if !sleep(r.Context(), time.Second) {
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = w.Write(raw)
}

func (s *Server) page(a ask) (shown snapshot, next string, refused *apierrors.StatusError) {
	which, refused := selected(a)
	if refused != nil {
		return shown, "", refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed[a.Resource] {
		return shown, "", noResource()
	}
	if token := a.query.Get("continue"); token != "" {
		var ok bool
		if shown, ok = s.pages[token]; !ok {
			return shown, "", apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result.")
		}
	} else {
		floor, err := s.floorLocked(a)
		if err != nil {
			return shown, "", err
		}
		shown = s.asOfLocked(a.Resource, which, s.lagLocked(a, floor))
	}
	limit, _ := strconv.Atoi(a.query.Get("limit"))
	if limit > 0 {
		limit = min(limit, s.cfg.PageCap)
	}
	if limit > 0 && len(shown.objects) > limit {
		s.tokens++
		next = fmt.Sprint("page-", s.tokens)
		s.pages[next] = snapshot{shown.version, shown.objects[limit:]}
		shown.objects = shown.objects[:limit]
	}
	return shown, next, nil
}

// floorLocked is the oldest state that may be shown. A list that names none is
// of now.
func (s *Server) floorLocked(a ask) (uint64, *apierrors.StatusError) {
	text := a.query.Get("resourceVersion")
	floor, err := parseVersion(text)
	switch {
	case err != nil:
		return 0, apierrors.NewBadRequest(err.Error())
	case text == "":
		return s.version, nil
	case floor > s.version:
		return 0, tooLarge(floor, s.version)
	default:
		return floor, nil
	}
}

// lagLocked is the version that is shown: now, or what a lagging server has.
func (s *Server) lagLocked(a ask, floor uint64) uint64 {
	if a.verdict.AsOf > 0 {
		return min(max(a.verdict.AsOf, s.compacted), s.version)
	}
	lagging := s.version - min(uint64(a.verdict.Lag), s.version)
	return min(max(floor, s.compacted, lagging), s.version)
}

// asOfLocked is the state at a version that is not compacted.
func (s *Server) asOfLocked(resource string, which selection, version uint64) snapshot {
	shown := snapshot{version: version}
	objects := s.objects[resource]
	if version < s.version {
		objects = s.rewoundLocked(resource, version)
	}
	for _, o := range sorted(objects) {
		if which.has(o) {
			shown.objects = append(shown.objects, o)
		}
	}
	return shown
}

// rewoundLocked undoes the history, down to a version.
func (s *Server) rewoundLocked(resource string, version uint64) map[types.NamespacedName]*Object {
	then := maps.Clone(s.objects[resource])
	for i := len(s.history) - 1; i >= 0 && s.history[i].version > version; i-- {
		c := s.history[i]
		if c.object().resource.Resource != resource {
			continue
		}
		key := types.NamespacedName{Namespace: c.object().GetNamespace(), Name: c.object().GetName()}
		if c.before == nil {
			delete(then, key)
		} else {
			then[key] = c.before
		}
	}
	return then
}

func tooLarge(asked, version uint64) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, version), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// jsonList writes items of built-in kinds without their type, as servers do.
func jsonList(r *Resource, meta metav1.ListMeta, objects []*Object) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, r.Kind, r.apiVersion(), must(json.Marshal(meta)))
	for i, o := range objects {
		if i > 0 {
			out.WriteByte(',')
		}
		raw := o.JSON()
		if r.builtIn() {
			bare := o.DeepCopy()
			delete(bare.Object, "kind")
			delete(bare.Object, "apiVersion")
			raw = must(json.Marshal(bare.Object))
		}
		out.Write(raw)
	}
	out.WriteString("]}\n")
	return out.Bytes()
}

func protoList(r *Resource, meta metav1.ListMeta, objects []*Object) []byte {
	items := make([]runtime.Object, len(objects))
	for i, o := range objects {
		bare := o.typed().DeepCopyObject()
		bare.GetObjectKind().SetGroupVersionKind(r.GroupVersion().WithKind(""))
		items[i] = bare
	}
	list := r.list(meta, items)
	list.GetObjectKind().SetGroupVersionKind(r.GroupVersion().WithKind(r.Kind + "List"))
	return encodeProto(list)
}
