package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A write is a change that somebody asks for.
type write struct {
	Request

	resource *Resource
	dryRun   bool
	trusted  bool // of an actor: nobody checks what it writes
	sent     time.Time
	fault    string
	lost     bool

	object    *unstructured.Unstructured // of create and update
	invalid   field.ErrorList            // what its schema does not allow
	patchType types.PatchType
	patch     []byte
	// read reads what a patch has made of an object. Nil: it is taken as it is.
	read    func([]byte) (*body, *apierrors.StatusError)
	options metav1.DeleteOptions
}

// An outcome is what a write came to.
type outcome struct {
	object  *Object // as it is now, or as it was last
	created bool
	gone    bool
}

// apply does a write, or says why not, and tells of it.
func (s *Server) apply(w write) (outcome, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Exchange{Request: w.Request, Sent: w.sent, At: time.Now(), Fault: w.fault, Lost: w.lost, Body: w.patch, Code: http.StatusOK}
	before := s.objects[w.resource.Resource][w.Key]
	steps, err := s.stepsLocked(w, &e, before)
	out := outcome{object: before, created: before == nil, gone: err == nil && steps.gone}
	switch {
	case err != nil:
		e.Code, e.Why = int(err.ErrStatus.Code), string(err.ErrStatus.Reason)
	case w.dryRun:
		if steps.after != nil {
			out.object = steps.after
		}
	default:
		e.Before = before
		out.object, e.After = s.commitStepsLocked(w, before, steps)
	}
	s.seenLocked(e)
	return out, err
}

// steps are what a write does to an object.
type steps struct {
	after *Object // the object changed; before itself if nothing changes
	gone  bool    // and then it goes
	// bare: the change is not stored, but only answered.
	bare bool
}

// commitStepsLocked returns the answer, and what there is now: nil if it has gone.
func (s *Server) commitStepsLocked(w write, before *Object, do steps) (answer, after *Object) {
	last := before
	if do.after != nil && do.after != before && !do.bare {
		key := do.after.Key()
		last = s.commitLocked(w.resource, key, before, do.after)
	}
	switch {
	case !do.gone:
		return last, last
	case do.bare:
		s.commitLocked(w.resource, w.Key, last, nil)
		return do.after, nil
	default:
		return s.commitLocked(w.resource, w.Key, last, nil), nil
	}
}

// stepsLocked is what a write comes to.
func (s *Server) stepsLocked(w write, e *Exchange, before *Object) (steps, *apierrors.StatusError) {
	group := w.resource.GroupResource()
	switch {
	case s.removed[w.resource.Resource]:
		return steps{}, noResource()
	case w.Verb == "create" || w.Verb == "update" && before == nil && w.resource.rules.upserts:
		after, err := s.bornLocked(w)
		return steps{after: after}, err
	case before == nil:
		return steps{}, apierrors.NewNotFound(group, w.Key.Name)
	case w.Verb == "delete":
		return s.deleted(w, e, before)
	}
	changed, err := changedBy(&w, before)
	if err != nil {
		return steps{}, err
	}
	e.UID, e.ResourceVersion = changed.GetUID(), changed.GetResourceVersion()
	if w.Verb == "patch" {
		e.UID, e.ResourceVersion = insistence(w.patch)
	}
	if err := conflicting(w, before, changed); err != nil {
		return steps{}, err
	}
	return settled(w, before, changed)
}

// conflicting refuses a change to another object than the present one: to one of
// another UID, if it is an update, or of another version.
func conflicting(w write, before *Object, changed *unstructured.Unstructured) *apierrors.StatusError {
	group := w.resource.GroupResource()
	if uid := changed.GetUID(); w.Verb == "update" && uid != "" && uid != before.GetUID() {
		return apierrors.NewConflict(group, w.Key.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
			keyInStore(w), uid, before.GetUID()))
	}
	version := changed.GetResourceVersion()
	if version != "" {
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return status(http.StatusInternalServerError, "", err.Error())
		}
	}
	switch {
	case version == "" && (!w.resource.builtIn() || w.resource.rules.insists):
		return apierrors.NewInvalid(schema.GroupKind{Group: group.Group, Kind: group.Resource}, w.Key.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case version != "" && version != before.GetResourceVersion():
		return apierrors.NewConflict(group, w.Key.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

func keyInStore(w write) string {
	prefix := "/registry/"
	if !w.resource.builtIn() {
		prefix += w.resource.Group + "/"
	}
	return prefix + w.Resource + "/" + w.Key.String()
}

// bornLocked is a new object.
func (s *Server) bornLocked(w write) (*Object, *apierrors.StatusError) {
	r := w.resource
	u := w.object
	u.SetNamespace(w.Key.Namespace)
	if u.GetName() == "" && u.GetGenerateName() != "" {
		s.uids++
		base := u.GetGenerateName()
		u.SetName(fmt.Sprintf("%s%05x", base[:min(len(base), 58)], s.uids))
	}
	if err := s.admittedLocked(w, u); err != nil {
		return nil, err
	}
	s.uids++
	u.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", s.uids, s.uids)))
	u.SetCreationTimestamp(metav1.NewTime(time.Now().Add(s.clock).Truncate(time.Second)))
	u.SetDeletionTimestamp(nil)
	u.SetDeletionGracePeriodSeconds(nil)
	u.SetGeneration(0)
	if r.counts() {
		u.SetGeneration(1)
	}
	if r.status && !r.builtIn() {
		delete(u.Object, "status")
	}
	if r.builtIn() {
		object := typed(r, u)
		if r.rules.begin != nil {
			r.rules.begin(object)
		}
		w.invalid = append(w.invalid, r.checked(nil, u, object)...)
		u = untype(r, object)
	}
	if err := wellBorn(w, u); err != nil {
		return nil, err
	}
	if u.GetResourceVersion() != "" {
		return nil, status(http.StatusInternalServerError, "", "resourceVersion should not be set on objects to be created")
	}
	if there := s.objects[w.Resource][types.NamespacedName{Namespace: w.Key.Namespace, Name: u.GetName()}]; there != nil {
		err := apierrors.NewAlreadyExists(r.GroupResource(), u.GetName())
		if there.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
	return newObject(r, u, 0), nil
}

// counts tells whether the kind counts the generations of its spec.
func (r *Resource) counts() bool { return !r.builtIn() || r.rules.counts }

// checked are the errors of an object of a built-in kind. Before is nil for a new
// one.
func (r *Resource) checked(before *Object, u *unstructured.Unstructured, after runtime.Object) (errs field.ErrorList) {
	for i, name := range u.GetFinalizers() {
		if !strings.Contains(name, "/") && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	switch {
	case r.rules.check == nil:
		return errs
	case before == nil:
		return append(errs, r.rules.check(nil, after)...)
	default:
		return append(errs, r.rules.check(before.builtIn(), after)...)
	}
}

// wellBorn refuses a new object whose metadata or fields cannot be.
func wellBorn(w write, u *unstructured.Unstructured) *apierrors.StatusError {
	var errs field.ErrorList
	if len(w.invalid) == 0 || w.resource.builtIn() {
		errs = validation.ValidateObjectMetaAccessor(u, !w.resource.global, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	}
	return invalid(w, u, append(errs, w.invalid...))
}

// invalid is the refusal of an object, by the kind that it says it has.
func invalid(w write, u *unstructured.Unstructured, errs field.ErrorList) *apierrors.StatusError {
	if len(errs) == 0 || w.trusted {
		return nil
	}
	kind := schema.GroupKind{Group: w.resource.Group, Kind: u.GetKind()}
	return apierrors.NewInvalid(kind, u.GetName(), errs)
}

// admittedLocked refuses what needs things that are not there: a namespace, or a
// pod's account. Where nobody has made any namespace, all of both are there.
func (s *Server) admittedLocked(w write, u *unstructured.Unstructured) *apierrors.StatusError {
	if len(s.objects["namespaces"]) == 0 || w.resource.global || w.trusted {
		return nil
	}
	if s.objects["namespaces"][types.NamespacedName{Name: w.Key.Namespace}] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, w.Key.Namespace)
	}
	account, _, _ := unstructured.NestedString(u.Object, "spec", "serviceAccountName")
	if w.Resource != "pods" || account == "" || s.objects["serviceaccounts"][types.NamespacedName{Namespace: w.Key.Namespace, Name: account}] != nil {
		return nil
	}
	return apierrors.NewForbidden(w.resource.GroupResource(), u.GetName(),
		fmt.Errorf("error looking up service account %s/%s: serviceaccount %[2]q not found", w.Key.Namespace, account))
}

// changedBy is the object as the body of the request wants it.
func changedBy(w *write, before *Object) (*unstructured.Unstructured, *apierrors.StatusError) {
	if w.Verb == "update" {
		return w.object, nil
	}
	raw, err := patched(*w, before)
	if err != nil {
		return nil, err
	}
	if w.read != nil {
		b, err := w.read(raw)
		if err != nil {
			return nil, err
		}
		w.invalid = b.invalid
		return b.Unstructured, nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}

// jsonPatchOp has the name that it has in a server's refusals.
type jsonPatchOp struct {
	Op string `json:"op"`
}

func patched(w write, before *Object) ([]byte, *apierrors.StatusError) {
	switch w.patchType {
	case types.MergePatchType:
		if json.Valid(w.patch) {
			var p map[string]any
			if err := json.Unmarshal(w.patch, &p); err != nil {
				return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
			}
		}
		raw, err := jsonpatch.MergePatch(before.JSON(), w.patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(strings.ToLower(err.Error()[:1]) + strings.Replace(err.Error()[1:], "Patch", "patch", 1))
		}
		return raw, nil
	case types.JSONPatchType:
		var ops []jsonPatchOp
		if err := json.Unmarshal(w.patch, &ops); err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + strings.ReplaceAll(err.Error(), "apiserver.", "handlers."))
		}
		p, err := jsonpatch.DecodePatch(w.patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		raw, err := p.Apply(before.JSON())
		if err != nil { // a test that fails is one of those: no conflict, as one might think
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return raw, nil
	default:
		raw, err := strategicpatch.StrategicMergePatch(before.JSON(), w.patch, w.resource.object())
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return raw, nil
	}
}

// insistence is what a patch says that the object has to be: a merge patch by what it
// has, a JSON patch by what it tests.
func insistence(patch []byte) (uid types.UID, resourceVersion string) {
	var p struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(patch, &p) == nil {
		return p.Metadata.UID, p.Metadata.ResourceVersion
	}
	var operations []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if json.Unmarshal(patch, &operations) != nil {
		return "", ""
	}
	for _, o := range operations {
		value, isText := o.Value.(string)
		switch {
		case o.Op != "test" || !isText:
		case o.Path == "/metadata/uid":
			uid = types.UID(value)
		case o.Path == "/metadata/resourceVersion":
			resourceVersion = value
		}
	}
	return uid, resourceVersion
}

// settled keeps what a write cannot change, and refuses what cannot be.
func settled(w write, before *Object, changed *unstructured.Unstructured) (steps, *apierrors.StatusError) {
	r := w.resource
	if len(w.invalid) > 0 {
		return steps{}, invalid(w, changed, w.invalid)
	}
	u := divided(w, before, changed)
	if u.GetUID() == "" {
		u.SetUID(before.GetUID())
	}
	u.SetCreationTimestamp(before.GetCreationTimestamp())
	u.SetDeletionTimestamp(before.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	u.SetResourceVersion(before.GetResourceVersion())
	u.SetGeneration(before.GetGeneration())
	if reflect.DeepEqual(u.Object, before.Object) {
		return steps{after: before}, nil
	}
	if err := wellChanged(w, before, u); err != nil {
		return steps{}, err
	}
	if r.counts() && !reflect.DeepEqual(content(u), content(before.Unstructured)) {
		u.SetGeneration(before.GetGeneration() + 1)
	}
	grace := u.GetDeletionGracePeriodSeconds()
	over := u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
	return steps{after: newObject(r, u, before.version), gone: over, bare: over}, nil
}

// content is what generations are counted of: all but metadata and status.
func content(u *unstructured.Unstructured) map[string]any {
	of := map[string]any{}
	for name, value := range u.Object {
		if name != "metadata" && name != "status" {
			of[name] = value
		}
	}
	return of
}

// wellChanged refuses metadata or fields that cannot be changed so. Servers check
// the metadata of custom resources at three places, and tell of each.
func wellChanged(w write, before *Object, u *unstructured.Unstructured) *apierrors.StatusError {
	if w.trusted {
		return nil
	}
	meta := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessorUpdate(u, before.Unstructured, meta)
	if w.resource.builtIn() {
		object := typed(w.resource, u)
		return invalid(w, u, append(errs, w.resource.checked(before, u, object)...))
	}
	errs = append(errs, errs...)
	errs = append(errs, validation.ValidateObjectMetaAccessor(u, !w.resource.global, validation.NameIsDNSSubdomain, meta)...)
	return invalid(w, u, errs)
}

// divided takes the status from the change, or all else. Of built-in kinds the
// metadata comes with the status.
func divided(w write, before *Object, changed *unstructured.Unstructured) *unstructured.Unstructured {
	switch {
	case !w.resource.status:
		return changed
	case w.Subresource != "status":
		put(changed, "status", before.Object["status"])
		return changed
	case w.resource.builtIn():
		put(changed, "spec", before.Object["spec"])
		changed.SetOwnerReferences(before.GetOwnerReferences())
		return changed
	default:
		u := before.withOwnMetadata()
		u.SetUID(changed.GetUID())
		put(u, "status", changed.Object["status"])
		return u
	}
}

func put(u *unstructured.Unstructured, field string, value any) {
	if value == nil {
		delete(u.Object, field)
		return
	}
	u.Object[field] = value
}
