package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// list shows the present, or what is left of a list that was begun.
func (s *Server) list(w http.ResponseWriter, r *http.Request, a ask) {
	p, refused := s.page(a)
	if refused != nil {
		s.reply(w, r, a, nil, refused)
		return
	}
	a = s.felt(a, p)
	s.note(a, http.StatusOK, "")
	s.wayBack(r, a)
	raw := p.encoded(a)
	if a.verdict.Spoil != Whole {
		raw = spoilList(a, p)
	}
	w.Header().Set("Content-Type", a.form.contentType())
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

// page is what a list shows: of now, of a state not older than it says, of a version
// exactly, or of the version of the page before.
func (s *Server) page(a ask) (page, *apierrors.StatusError) {
	o, refused := s.listOptions(a)
	if refused != nil {
		return page{}, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed[a.Resource] {
		return page{}, noResource()
	}
	version, start, refused := s.beginLocked(a, o)
	if refused != nil {
		return page{}, refused
	}
	which := selected(a, o)
	limit := int(min(o.Limit, int64(s.cfg.PageCap)))
	if o.ResourceVersion == "0" { // the watch cache has no pages
		limit = 0
	}
	if _, one := which.fields.RequiresExactMatch("metadata.name"); one { // that is a look-up, in one page
		limit, start = 0, ""
	}
	return cut(s.sortedAsOfLocked(a.resource, a.Key.Namespace, version), which, version, start, limit), nil
}

// beginLocked is the version that is shown, and from which key on.
func (s *Server) beginLocked(a ask, o internalversion.ListOptions) (version uint64, start string, refused *apierrors.StatusError) {
	switch {
	case o.Continue != "":
		return s.resumeLocked(o)
	case exactly(o):
		version, refused = parseVersion(o.ResourceVersion)
		if refused == nil {
			refused = s.keptLocked(version, "The resourceVersion for the provided list is too old.")
		}
		return version, "", refused
	}
	floor, refused := s.floorLocked(o)
	if refused != nil {
		return 0, "", refused
	}
	return s.lagLocked(a, floor), "", nil
}

// exactly tells whether a list is to be of one version: because it says so, or
// because it is in pages and names a version without saying how it is meant.
func exactly(o internalversion.ListOptions) bool {
	return o.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		o.ResourceVersionMatch == "" && o.Limit > 0 && o.ResourceVersion != "" && o.ResourceVersion != "0"
}

// resumeLocked is where a list goes on.
func (s *Server) resumeLocked(o internalversion.ListOptions) (uint64, string, *apierrors.StatusError) {
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	c, refused := parseContinuation(o.Continue)
	if refused != nil {
		return 0, "", refused
	}
	if c.Version < 0 {
		return s.version, c.Start, nil
	}
	refused = s.keptLocked(uint64(c.Version), inconsistent)
	if refused != nil && refused.ErrStatus.Reason == metav1.StatusReasonExpired {
		refused.ErrStatus.Continue = continuation{Version: -1, Start: c.Start}.String()
	}
	return uint64(c.Version), c.Start, refused
}

const inconsistent = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
	"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."

// keptLocked refuses a version that is not there: not yet, or not any more.
func (s *Server) keptLocked(version uint64, expired string) *apierrors.StatusError {
	switch {
	case version > s.version:
		return tooLarge(version, s.version)
	case version < s.compacted:
		return apierrors.NewResourceExpired(expired)
	default:
		return nil
	}
}

// A page is a part of a list.
type page struct {
	metav1.ListMeta

	objects []*Object
}

// cut takes a page out of the objects of a version, which are in the order of
// their keys. More is to come if any object is left, selected or not: a server
// does not look at them before somebody asks.
func cut(all []*Object, which selection, version uint64, start string, limit int) page {
	p := page{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(version)}}
	for i, o := range all {
		key := "/" + o.GetName()
		if which.namespace == "" {
			key = "/" + o.GetNamespace() + key
		}
		if key < start || !which.has(o) {
			continue
		}
		p.objects = append(p.objects, o)
		if left := int64(len(all) - i - 1); len(p.objects) == limit && left > 0 {
			p.Continue = continuation{Version: int64(version), Start: key + "\x00"}.String()
			if which.everything() {
				p.RemainingItemCount = &left
			}
			break
		}
	}
	return p
}

// floorLocked is the oldest state that may be shown. A list that names none is
// of now.
func (s *Server) floorLocked(o internalversion.ListOptions) (uint64, *apierrors.StatusError) {
	floor, refused := parseVersion(o.ResourceVersion)
	switch {
	case refused != nil:
		return 0, refused
	case o.ResourceVersion == "":
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

// sortedAsOfLocked is the state at a version that is not compacted, in the order
// of keys.
func (s *Server) sortedAsOfLocked(r *Resource, namespace string, version uint64) []*Object {
	objects := s.objects[r.Resource]
	if version < s.version {
		objects = s.rewoundLocked(r.Resource, version)
	}
	return sorted(objects, namespace)
}

// rewoundLocked undoes the history, down to a version.
func (s *Server) rewoundLocked(resource string, version uint64) map[types.NamespacedName]*Object {
	then := maps.Clone(s.objects[resource])
	for i := len(s.history) - 1; i >= 0 && s.history[i].version > version; i-- {
		c := s.history[i]
		if c.object().resource.Resource != resource {
			continue
		}
		key := c.object().Key()
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

// encoded is the page in the form that was asked for.
func (p page) encoded(a ask) []byte {
	switch {
	case a.form.partial:
		return p.metadata(a.form)
	case a.form.binary:
		return protoList(a.resource, p)
	default:
		return jsonList(a, p)
	}
}

func (p page) metadata(f form) []byte {
	list := &metav1.PartialObjectMetadataList{ListMeta: p.ListMeta, Items: []metav1.PartialObjectMetadata{}}
	list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	for _, o := range p.objects {
		list.Items = append(list.Items, *o.metadata())
	}
	if f.binary {
		for i := range list.Items {
			list.Items[i].TypeMeta = metav1.TypeMeta{}
		}
		return encodeProto(list)
	}
	return must(json.Marshal(list))
}

// jsonList writes items of built-in kinds without their type, as servers do, and
// lists of custom resources with a continuation even at their end.
func jsonList(a ask, p page) []byte {
	r := a.resource
	meta := must(json.Marshal(p.ListMeta))
	if !r.builtIn() && p.Continue == "" {
		meta = append(bytes.TrimSuffix(meta, []byte("}")), `,"continue":""}`...)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, r.Kind, a.gv, meta)
	for i, o := range p.objects {
		if i > 0 {
			out.WriteByte(',')
		}
		raw := a.inItsVersion(o).JSON()
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

func protoList(r *Resource, p page) []byte {
	items := make([]runtime.Object, len(p.objects))
	for i, o := range p.objects {
		items[i] = o.builtIn() // its type is in no protobuf
	}
	list := r.list(p.ListMeta, items)
	list.GetObjectKind().SetGroupVersionKind(r.GroupVersion().WithKind(r.Kind + "List"))
	return encodeProto(list)
}
