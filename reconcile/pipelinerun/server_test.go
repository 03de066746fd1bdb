package pipelinerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/reconcile/call"
	"millrace/wire"
)

// server is an API server, as far as this package uses one: resource versions with
// optimistic locking, merge and JSON patches, names that are taken. Behind each of its
// resources is the cache of the real chain, which learns of a write at once, unless a
// test freezes it.
type server struct {
	t       testing.TB
	version int
	uids    int
	objects map[string]map[string][]byte // resource, name
	caches  map[string]*indexer.Indexer
	scan    map[string]*wire.Scanner

	ofTask, ofCustom, ofPipeline Children
	frozen                       bool     // the caches learn of nothing until thawed
	late                         []func() // what they have to learn then
	calls                        []string
	faults                       map[int]fault // by the number of the call, from 0
	onFault                      func()        // called before the faulted call is acted on
	refuse                       error         // the answer to the creation of children, if set
	refuseClaims                 error         // likewise, of claims
	room                         int           // bytes that a PipelineRun may have, if set
	decodedPRs                   int
	decodedTRs                   int
	claims                       map[string]bool
	made                         []string      // TaskRuns, in their order
	inServer                     time.Duration // of the thread, in calls
	largestStatus                int
	appends                      int // JSON patches of the status
}

// A fault is what becomes of one call.
type fault int

const (
	lostRequest fault = iota + 1 // never arrives
	lostReply                    // is done, and nobody learns of it
	conflict                     // somebody else was quicker
	overloaded                   // 429
	forbidden
	garbled // is answered with what is no object
)

var errLost = errors.New("connection reset by peer")

func newServer(tb testing.TB, documents ...string) *server {
	tb.Helper()
	s := &server{t: tb, objects: map[string]map[string][]byte{}, caches: map[string]*indexer.Indexer{}, scan: map[string]*wire.Scanner{}, faults: map[int]fault{}, claims: map[string]bool{}}
	for resource, facets := range map[string][]wire.Facet{
		crds.ResourcePipelineRuns: InnerFacets().List(), crds.ResourcePipelines: nil, crds.ResourceTasks: nil,
		crds.ResourceResolutionRequests: nil,
		crds.ResourceTaskRuns:           TaskRunFacets().List(), crds.ResourceCustomRuns: CustomRunFacets().List(),
	} {
		s.objects[resource] = map[string][]byte{}
		s.caches[resource] = indexer.New(resource)
		s.scan[resource] = wire.NewScanner(facets...)
	}
	s.ofTask = TaskRunsOf(s.caches[crds.ResourceTaskRuns], TaskRunFacets())
	s.ofCustom = CustomRunsOf(s.caches[crds.ResourceCustomRuns], CustomRunFacets())
	s.ofPipeline = PipelineRunsOf(s.caches[crds.ResourcePipelineRuns], InnerFacets())
	for _, document := range documents {
		s.apply(document)
	}
	s.calls = nil
	return s
}

// apply is kubectl's, of one document, into the namespace default.
func (s *server) apply(document string) {
	s.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		s.t.Fatal(err)
	}
	var object metav1.PartialObjectMetadata
	check(json.Unmarshal(raw, &object))
	s.insert(resourceOf[object.Kind], object.Name, raw)
}

var resourceOf = map[string]string{
	crds.KindPipelineRun: crds.ResourcePipelineRuns, crds.KindPipeline: crds.ResourcePipelines, crds.KindTask: crds.ResourceTasks,
	crds.KindTaskRun: crds.ResourceTaskRuns, crds.KindCustomRun: crds.ResourceCustomRuns,
}

func (s *server) insert(resource, name string, raw []byte) {
	s.uids++
	s.put(resource, name, must(jsonpatch.MergePatch(raw, fmt.Appendf(nil, `{"metadata":{"namespace":"default","uid":"%s-%d","generation":1,"creationTimestamp":%q}}`,
		resource, s.uids, time.Now().UTC().Format(time.RFC3339)))))
}

// put stores an object under a new resource version, and tells the cache.
func (s *server) put(resource, name string, raw []byte) {
	s.version++
	raw = must(jsonpatch.MergePatch(raw, fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, s.version)))
	kind := fifo.Updated
	if s.objects[resource][name] == nil {
		kind = fifo.Added
	}
	s.objects[resource][name] = raw
	s.tell(resource, raw, kind)
}

func (s *server) remove(resource, name string) {
	raw := s.objects[resource][name]
	delete(s.objects[resource], name)
	s.tell(resource, raw, fifo.Deleted)
}

func (s *server) tell(resource string, raw []byte, kind fifo.DeltaType) {
	o := must(s.scan[resource].Scan(wire.JSON, raw)).Own()
	learn := func() {
		s.caches[resource].Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: kind, Object: o, UID: o.UID()}}})
	}
	if s.frozen {
		s.late = append(s.late, learn)
		return
	}
	learn()
}

func (s *server) thaw() {
	s.frozen = false
	for _, learn := range s.late {
		learn()
	}
	s.late = nil
}

// patch is somebody else's merge patch, on the object and its status.
func (s *server) patch(resource, name, patch string) {
	s.t.Helper()
	if s.objects[resource][name] == nil {
		s.t.Fatalf("there is no %s %s among %v", resource, name, slices.Sorted(maps.Keys(s.objects[resource])))
	}
	s.put(resource, name, must(jsonpatch.MergePatch(s.objects[resource][name], []byte(patch))))
}

// caught is what the reconciler reads.
func (s *server) cachesOf() Caches {
	runs := indexer.Read[crds.PipelineRun](s.caches[crds.ResourcePipelineRuns]).Get
	taskRuns := indexer.Read[crds.TaskRun](s.caches[crds.ResourceTaskRuns]).Get
	return Caches{
		PipelineRun: func(key types.NamespacedName) (crds.PipelineRun, bool, error) {
			s.decodedPRs++
			return runs(key)
		},
		Head:     indexer.Read[Head](s.caches[crds.ResourcePipelineRuns]).Get,
		Known:    s.caches[crds.ResourcePipelineRuns].Known,
		Pipeline: indexer.Read[crds.Pipeline](s.caches[crds.ResourcePipelines]).Get,
		Task:     indexer.Read[crds.Task](s.caches[crds.ResourceTasks]).Get,
		TaskRun: func(key types.NamespacedName) (crds.TaskRun, bool, error) {
			s.decodedTRs++
			return taskRuns(key)
		},
		CustomRun:    indexer.Read[crds.CustomRun](s.caches[crds.ResourceCustomRuns]).Get,
		Children:     []Children{s.ofTask, s.ofCustom, s.ofPipeline},
		PipelineRuns: s.caches[crds.ResourcePipelineRuns],
		TaskRuns:     s.caches[crds.ResourceTaskRuns],
		CustomRuns:   s.caches[crds.ResourceCustomRuns],
	}
}

// enter counts a call and says what becomes of it: done tells whether the server
// is to act, err what the caller gets.
func (s *server) enter(format string, args ...any) (done bool, err error) {
	n := len(s.calls)
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	if s.faults[n] != 0 && s.onFault != nil {
		s.onFault()
	}
	switch s.faults[n] {
	case lostRequest:
		return false, errLost
	case lostReply:
		return true, errLost
	case conflict:
		return false, apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("the object has been modified"))
	case overloaded:
		return false, apierrors.NewTooManyRequests("slow down", 1)
	case forbidden:
		return false, apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("not for you"))
	case garbled:
		return false, &call.UnreadableError{Err: errors.New("unexpected end of JSON input")}
	default:
		return true, nil
	}
}

func read[T any](s *server, resource string, key types.NamespacedName) (*T, error) {
	if done, err := s.enter("get %s %s", resource, key.Name); !done || err != nil {
		return nil, err
	}
	raw, ok := s.objects[resource][key.Name]
	if !ok {
		return nil, notFound(resource, key.Name)
	}
	object := new(T)
	return object, json.Unmarshal(raw, object)
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: crds.Group, Resource: resource}, name)
}

func (s *server) GetPipelineRun(_ context.Context, key types.NamespacedName) (*crds.PipelineRun, error) {
	return read[crds.PipelineRun](s, crds.ResourcePipelineRuns, key)
}

func (s *server) GetPipeline(_ context.Context, key types.NamespacedName) (*crds.Pipeline, error) {
	return read[crds.Pipeline](s, crds.ResourcePipelines, key)
}

func (s *server) GetTask(_ context.Context, key types.NamespacedName) (*crds.Task, error) {
	return read[crds.Task](s, crds.ResourceTasks, key)
}

func (s *server) GetTaskRun(_ context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	return read[crds.TaskRun](s, crds.ResourceTaskRuns, key)
}

func (s *server) GetCustomRun(_ context.Context, key types.NamespacedName) (*crds.CustomRun, error) {
	return read[crds.CustomRun](s, crds.ResourceCustomRuns, key)
}

func (s *server) ListTaskRuns(_ context.Context, run types.NamespacedName) ([]crds.TaskRun, error) {
	return list[crds.TaskRun](s, crds.ResourceTaskRuns, run)
}

func (s *server) ListCustomRuns(_ context.Context, run types.NamespacedName) ([]crds.CustomRun, error) {
	return list[crds.CustomRun](s, crds.ResourceCustomRuns, run)
}

func (s *server) ListPipelineRuns(_ context.Context, run types.NamespacedName) ([]crds.PipelineRun, error) {
	return list[crds.PipelineRun](s, crds.ResourcePipelineRuns, run)
}

// list is what has the label of a run.
func list[T any](s *server, resource string, run types.NamespacedName) ([]T, error) {
	if done, err := s.enter("list %s of %s", resource, run.Name); !done || err != nil {
		return nil, err
	}
	var items []T
	var unreadable error
	for _, name := range slices.Sorted(maps.Keys(s.objects[resource])) {
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(s.objects[resource][name], &meta); err != nil {
			return nil, err
		}
		if meta.Labels[labelPipelineRun] != run.Name {
			continue
		}
		var item T
		if err := json.Unmarshal(s.objects[resource][name], &item); err != nil {
			unreadable = &call.UnreadableError{Err: err}
			continue
		}
		items = append(items, item)
	}
	return items, unreadable
}

func (s *server) PatchPipelineRun(_ context.Context, key types.NamespacedName, patch []byte) (string, error) {
	return s.merge("patch pipelinerun", key, patch)
}

func (s *server) PatchPipelineRunStatus(_ context.Context, key types.NamespacedName, kind types.PatchType, patch []byte) (string, error) {
	if kind == types.JSONPatchType {
		s.appends++
		return s.change("patch pipelinerun/status", key, func(raw []byte) ([]byte, error) {
			changed, err := must(jsonpatch.DecodePatch(patch)).Apply(raw)
			if err != nil {
				err = apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
			}
			return changed, err
		})
	}
	return s.merge("patch pipelinerun/status", key, patch)
}

func (s *server) merge(verb string, key types.NamespacedName, patch []byte) (string, error) {
	return s.change(verb, key, func(raw []byte) ([]byte, error) {
		var asked, has metav1.PartialObjectMetadata
		check(json.Unmarshal(patch, &asked))
		check(json.Unmarshal(raw, &has))
		if asked.ResourceVersion != has.ResourceVersion {
			return nil, apierrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("the object has been modified"))
		}
		return jsonpatch.MergePatch(raw, patch)
	})
}

func (s *server) change(verb string, key types.NamespacedName, change func(raw []byte) ([]byte, error)) (string, error) {
	defer s.timed(threadTime())
	done, err := s.enter("%s", verb)
	if !done {
		return "", err
	}
	raw := s.objects[crds.ResourcePipelineRuns][key.Name]
	if raw == nil {
		return "", notFound(crds.ResourcePipelineRuns, key.Name)
	}
	changed, refused := change(raw)
	if refused != nil {
		return "", refused
	}
	if s.room > 0 && len(changed) > s.room {
		return "", apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	}
	s.largestStatus = max(s.largestStatus, len(changed))
	s.put(crds.ResourcePipelineRuns, key.Name, changed)
	return strconv.Itoa(s.version), err
}

func (s *server) GetRequest(_ context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error) {
	return read[crds.ResolutionRequest](s, crds.ResourceResolutionRequests, key)
}

func (s *server) CreateRequest(_ context.Context, request *crds.ResolutionRequest) error {
	_, err := s.create("create resolutionrequest", crds.ResourceResolutionRequests, request.Name, request)
	return err
}

func (s *server) CreateTaskRun(_ context.Context, run *crds.TaskRun) (string, error) {
	return s.create("create taskrun", crds.ResourceTaskRuns, run.Name, run)
}

func (s *server) CreateCustomRun(_ context.Context, run *crds.CustomRun) (string, error) {
	return s.create("create customrun", crds.ResourceCustomRuns, run.Name, run)
}

func (s *server) CreatePipelineRun(_ context.Context, run *crds.PipelineRun) (string, error) {
	return s.create("create pipelinerun", crds.ResourcePipelineRuns, run.Name, run)
}

func (s *server) create(verb, resource, name string, object any) (string, error) {
	raw := must(json.Marshal(object)) // which is not the server's work
	defer s.timed(threadTime())
	done, err := s.enter("%s %s", verb, name)
	switch {
	case !done:
		return "", err
	case s.refuse != nil:
		return "", s.refuse
	case s.objects[resource][name] != nil:
		return "", apierrors.NewAlreadyExists(schema.GroupResource{Group: crds.Group, Resource: resource}, name)
	}
	s.insert(resource, name, raw)
	if resource == crds.ResourceTaskRuns {
		s.made = append(s.made, name)
	}
	return strconv.Itoa(s.version), err
}

func (s *server) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	done, err := s.enter("create claim")
	switch {
	case !done:
		return err
	case s.refuseClaims != nil:
		return s.refuseClaims
	case s.claims[claim.Name]:
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumeclaims"}, claim.Name)
	}
	s.claims[claim.Name] = true
	return err
}

func (s *server) CancelTaskRun(_ context.Context, key types.NamespacedName, uid types.UID, version, message string) (string, error) {
	return s.cancel(crds.ResourceTaskRuns, key, uid, version, string(crds.TaskRunSpecStatusCancelled), message)
}

func (s *server) CancelCustomRun(_ context.Context, key types.NamespacedName, uid types.UID, version, message string) (string, error) {
	return s.cancel(crds.ResourceCustomRuns, key, uid, version, string(crds.CustomRunSpecStatusCancelled), message)
}

func (s *server) EndPipelineRun(_ context.Context, key types.NamespacedName, uid types.UID, version string, as crds.PipelineRunSpecStatus, message string) (string, error) {
	return s.cancel(crds.ResourcePipelineRuns, key, uid, version, string(as), message)
}

func (s *server) cancel(resource string, key types.NamespacedName, uid types.UID, version, status, message string) (string, error) {
	done, err := s.enter("cancel %s %s", resource, key.Name)
	if !done {
		return "", err
	}
	raw := s.objects[resource][key.Name]
	if raw == nil {
		return "", notFound(resource, key.Name)
	}
	var has metav1.PartialObjectMetadata
	check(json.Unmarshal(raw, &has))
	if has.UID != uid {
		return "", apierrors.NewInvalid(schema.GroupKind{}, key.Name, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	if has.ResourceVersion != version {
		return "", apierrors.NewConflict(schema.GroupResource{Resource: resource}, key.Name, errors.New("the object has been modified"))
	}
	s.put(resource, key.Name, must(jsonpatch.MergePatch(raw, must(json.Marshal(map[string]any{"spec": map[string]any{"status": status, "statusMessage": message}})))))
	return strconv.Itoa(s.version), err
}

// timed counts the thread's time since then as the server's.
func (s *server) timed(from time.Duration) { s.inServer += threadTime() - from }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
