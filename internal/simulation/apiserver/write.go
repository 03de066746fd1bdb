package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// A write is a change that somebody asks for.
type write struct {
	Request

	resource *Resource
	dryRun   bool
	sent     time.Time
	fault    string
	lost     bool

	object    *unstructured.Unstructured // of create and update
	patchType types.PatchType
	patch     []byte
	options   metav1.DeleteOptions
}

// apply does a write, or says why not, and tells of it.
func (s *Server) apply(w write) (*Object, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Exchange{Request: w.Request, Sent: w.sent, At: time.Now(), Fault: w.fault, Lost: w.lost, Body: w.patch, Code: 200}
	before := s.objects[w.resource.Resource][w.Key]
	after, err := s.afterLocked(w, &e, before)
	switch {
	case err != nil:
		e.Code, e.Why = int(err.ErrStatus.Code), string(err.ErrStatus.Reason)
	case w.dryRun || after == before:
	default:
		e.Before = before
		after = s.commitLocked(w.resource, keyOf(w, after), before, after)
		e.After = after
	}
	s.seenLocked(e)
	if err == nil && after == nil {
		after = before // what was deleted is answered with what it was
	}
	return after, err
}

func keyOf(w write, after *Object) types.NamespacedName {
	if after == nil {
		return w.Key
	}
	return types.NamespacedName{Namespace: after.GetNamespace(), Name: after.GetName()}
}

// afterLocked is what an object is to be after the write; nil for gone.
func (s *Server) afterLocked(w write, e *Exchange, before *Object) (*Object, *apierrors.StatusError) {
	group := w.resource.GroupResource()
	if s.removed[w.resource.Resource] {
		return nil, noResource()
	}
	if w.Verb == "create" {
		return s.bornLocked(w)
	}
	if before == nil {
		return nil, apierrors.NewNotFound(group, w.Key.Name)
	}
	if w.Verb == "delete" {
		return deleted(w, e, before)
	}
	changed, err := changedBy(w, before)
	if err != nil {
		return nil, err
	}
	e.UID, e.ResourceVersion = changed.GetUID(), changed.GetResourceVersion()
	if w.Verb == "patch" {
		e.UID, e.ResourceVersion = insistence(w.patch)
	}
	switch {
	case changed.GetUID() != "" && changed.GetUID() != before.GetUID():
		return nil, apierrors.NewConflict(group, w.Key.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", changed.GetUID(), before.GetUID()))
	case changed.GetResourceVersion() != "" && changed.GetResourceVersion() != before.GetResourceVersion():
		return nil, apierrors.NewConflict(group, w.Key.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return settled(w, before, changed), nil
}

// bornLocked is a new object.
func (s *Server) bornLocked(w write) (*Object, *apierrors.StatusError) {
	u := w.object.DeepCopy()
	if u.GetName() == "" && u.GetGenerateName() != "" {
		s.uids++
		u.SetName(fmt.Sprintf("%s%05x", u.GetGenerateName(), s.uids))
	}
	key := types.NamespacedName{Namespace: w.Key.Namespace, Name: u.GetName()}
	if s.objects[w.resource.Resource][key] != nil {
		return nil, apierrors.NewAlreadyExists(w.resource.GroupResource(), key.Name)
	}
	s.uids++
	u.SetNamespace(key.Namespace)
	u.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", s.uids, s.uids)))
	u.SetCreationTimestamp(metav1.NewTime(time.Now().Add(s.clock).Truncate(time.Second)))
	u.SetGeneration(1)
	u.SetDeletionTimestamp(nil)
	if w.resource.status {
		delete(u.Object, "status")
	}
	if w.resource.Resource == "pods" {
		u.Object["status"] = map[string]any{"phase": "Pending", "qosClass": "BestEffort"}
	}
	return newObject(w.resource, u, 0), nil
}

// changedBy is the object as the body of the request wants it.
func changedBy(w write, before *Object) (*unstructured.Unstructured, *apierrors.StatusError) {
	if w.Verb == "update" {
		return w.object.DeepCopy(), nil
	}
	raw, err := patched(w, before)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}

func patched(w write, before *Object) ([]byte, error) {
	switch w.patchType {
	case types.MergePatchType:
		return jsonpatch.MergePatch(before.JSON(), w.patch)
	case types.JSONPatchType:
		p, err := jsonpatch.DecodePatch(w.patch)
		if err != nil {
			return nil, err
		}
		return p.Apply(before.JSON())
	case types.StrategicMergePatchType:
		if w.resource.builtIn() {
			return strategicpatch.StrategicMergePatch(before.JSON(), w.patch, w.resource.object())
		}
	}
	return nil, fmt.Errorf("%s patches of %s are not served", w.patchType, w.resource.Resource)
}

// insistence is what a merge patch says that the object has to be.
func insistence(patch []byte) (types.UID, string) {
	var p struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(patch, &p) != nil {
		return "", ""
	}
	return p.Metadata.UID, p.Metadata.ResourceVersion
}

// settled keeps what a write cannot change. It returns before itself if nothing
// is left of the change, and nil for an object whose last finalizer has gone.
func settled(w write, before *Object, changed *unstructured.Unstructured) *Object {
	u := changed
	if w.resource.status {
		u = divided(w, before, changed)
	}
	u.SetUID(before.GetUID())
	u.SetCreationTimestamp(before.GetCreationTimestamp())
	u.SetDeletionTimestamp(before.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	u.SetResourceVersion(before.GetResourceVersion())
	u.SetGeneration(before.GetGeneration())
	if reflect.DeepEqual(u.Object, before.Object) {
		return before
	}
	if !reflect.DeepEqual(u.Object["spec"], before.Object["spec"]) {
		u.SetGeneration(before.GetGeneration() + 1)
	}
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 && w.resource.Resource != "pods" {
		return nil
	}
	return newObject(w.resource, u, 0)
}

// divided takes the status from the change, or all else.
func divided(w write, before *Object, changed *unstructured.Unstructured) *unstructured.Unstructured {
	if w.Subresource == "status" {
		u := before.DeepCopy()
		put(u, "status", changed.Object["status"])
		return u
	}
	put(changed, "status", before.DeepCopy().Object["status"])
	return changed
}

func put(u *unstructured.Unstructured, field string, value any) {
	if value == nil {
		delete(u.Object, field)
		return
	}
	u.Object[field] = value
}

// deleted is the object after the deletion was asked for.
func deleted(w write, e *Exchange, before *Object) (*Object, *apierrors.StatusError) {
	if p := w.options.Preconditions; p != nil {
		if p.UID != nil {
			e.UID = *p.UID
		}
		if p.ResourceVersion != nil {
			e.ResourceVersion = *p.ResourceVersion
		}
		if e.UID != "" && e.UID != before.GetUID() || e.ResourceVersion != "" && e.ResourceVersion != before.GetResourceVersion() {
			return nil, apierrors.NewConflict(w.resource.GroupResource(), w.Key.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", e.UID, before.GetUID()))
		}
	}
	grace := graceOf(w, before)
	if grace == 0 && len(before.GetFinalizers()) == 0 {
		return nil, nil
	}
	if old := before.GetDeletionTimestamp(); old != nil && (w.resource.Resource != "pods" || grace >= *before.GetDeletionGracePeriodSeconds()) {
		return before, nil
	}
	u := before.DeepCopy()
	at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second))
	u.SetDeletionTimestamp(&at)
	u.SetDeletionGracePeriodSeconds(&grace)
	u.SetGeneration(before.GetGeneration() + 1)
	return newObject(w.resource, u, 0), nil
}

// graceOf is how long the object may take to go. A pod that is on no node, or
// has ended, goes at once.
func graceOf(w write, before *Object) int64 {
	if w.resource.Resource != "pods" {
		return 0
	}
	node, _, _ := unstructured.NestedString(before.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(before.Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	if g := w.options.GracePeriodSeconds; g != nil {
		return *g
	}
	if g, ok, _ := unstructured.NestedInt64(before.Object, "spec", "terminationGracePeriodSeconds"); ok {
		return g
	}
	return 30
}

func noResource() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}
