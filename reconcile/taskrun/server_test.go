package taskrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// server is an API server with one TaskRun, as far as this package uses one:
// resource versions with optimistic locking, merge patches, UID preconditions,
// names that are taken. It is also the caches, which are therefore never stale
// unless a test freezes them.
type server struct {
	version    int // of the run
	podVersion int
	uids       int

	run   *crds.TaskRun
	raw   []byte // of the run, as stored
	tasks map[string]*crds.Task
	steps map[string]*crds.StepAction

	accounts map[string]*corev1.ServiceAccount // "default" is there anyway
	secrets  map[string]*corev1.Secret
	ranges   []corev1.LimitRange
	log      string // of the collector
	warning  string // that events give about the pod
	pods     map[string]*corev1.Pod

	frozen *server // what the caches show instead, if set

	decodes    int // of the run, from the cache
	podDecodes int
	calls      []received
	request    *crds.ResolutionRequest
	faults     map[int]fault // by the number of the call, from 0
	onFault    func()        // called before the faulted call is acted on
	refuse     error         // the answer to the creation of pods, if set
	claims     map[string]bool

	forbidSecrets bool

	refuseClaims error // the answer to the creation of claims, if set
	room         int   // bytes that a run may have, if set
}

type received struct {
	verb string
	body any
}

// A fault is what becomes of one call.
type fault int

const (
	lostRequest fault = iota + 1 // never arrives
	lostReply                    // is done, and nobody learns of it
	conflict                     // somebody else was quicker
	overloaded                   // 429
	forbidden
	late // is done after what onFault does
)

var errLost = errors.New("connection reset by peer")

func newServer(run *crds.TaskRun) *server {
	s := &server{tasks: map[string]*crds.Task{}, steps: map[string]*crds.StepAction{}, pods: map[string]*corev1.Pod{}, claims: map[string]bool{}, faults: map[int]fault{}}
	run.UID = "11111111-2222-3333-4444-555555555555"
	if run.Name == "" {
		run.Name = run.GenerateName + "abcde"
	}
	run.Namespace = "default"
	run.Generation = 1
	run.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	run.TypeMeta = metav1.TypeMeta{APIVersion: crds.APIVersion, Kind: crds.KindTaskRun}
	s.store(run)
	return s
}

func (s *server) store(run *crds.TaskRun) { s.put(must(json.Marshal(run))) }

// put stores the bytes of the run under a new resource version. run is what can
// be decoded of them.
func (s *server) put(raw []byte) {
	s.version++
	s.raw = must(merge(raw, fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, s.version)))
	s.run = &crds.TaskRun{}
	_ = json.Unmarshal(s.raw, s.run)
}

// user changes the spec of the run by a merge patch, as kubectl would.
func (s *server) user(patch []byte) {
	s.put(must(merge(s.raw, patch)))
	s.run.Generation++
	s.store(s.run)
}

func merge(object, patch []byte) ([]byte, error) { return jsonpatch.MergePatch(object, patch) }

// enter counts a call and says what becomes of it: done tells whether the server
// is to act, err what the caller gets.
func (s *server) enter(verb string, body any) (done bool, err error) {
	n := len(s.calls)
	s.calls = append(s.calls, received{verb, body})
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
		return false, statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you")
	default:
		return true, nil
	}
}

func (s *server) GetTaskRun(_ context.Context, key types.NamespacedName) (*crds.TaskRun, error) {
	if done, err := s.enter("get taskrun", nil); !done || err != nil {
		return nil, err
	}
	if s.run == nil {
		return nil, notFound("taskruns.tekton.dev", key.Name)
	}
	run := &crds.TaskRun{}
	return run, json.Unmarshal(s.raw, run)
}

func (s *server) GetTask(_ context.Context, key types.NamespacedName) (*crds.Task, error) {
	if done, err := s.enter("get task", nil); !done || err != nil {
		return nil, err
	}
	task, ok := s.tasks[key.Name]
	if !ok {
		return nil, notFound("tasks.tekton.dev", key.Name)
	}
	return task, nil
}

func (s *server) GetStepAction(_ context.Context, key types.NamespacedName) (*crds.StepAction, error) {
	if done, err := s.enter("get stepaction", nil); !done || err != nil {
		return nil, err
	}
	action, ok := s.steps[key.Name]
	if !ok {
		return nil, notFound("stepactions.tekton.dev", key.Name)
	}
	return action, nil
}

func (s *server) GetRequest(_ context.Context, key types.NamespacedName) (*crds.ResolutionRequest, error) {
	if done, err := s.enter("get resolutionrequest", nil); !done || err != nil {
		return nil, err
	}
	if s.request == nil || s.request.Name != key.Name {
		return nil, notFound("resolutionrequests.resolution.tekton.dev", key.Name)
	}
	return s.request, nil
}

func (s *server) CreateRequest(_ context.Context, request *crds.ResolutionRequest) error {
	if done, err := s.enter("create resolutionrequest", request); !done || err != nil {
		return err
	}
	if s.request != nil && s.request.Name == request.Name {
		return apierrors.NewAlreadyExists(schema.GroupResource{Group: crds.GroupResolution, Resource: crds.ResourceResolutionRequests}, request.Name)
	}
	s.request = request
	s.request.CreationTimestamp = metav1.Now()
	return nil
}

func (s *server) GetServiceAccount(_ context.Context, key types.NamespacedName) (*corev1.ServiceAccount, error) {
	if done, err := s.enter("get serviceaccount", nil); !done || err != nil {
		return nil, err
	}
	return nil, notFound("serviceaccounts", key.Name)
}

func (s *server) GetSecret(_ context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if done, err := s.enter("get secret "+key.Name, nil); !done || err != nil {
		return nil, err
	}
	if s.forbidSecrets {
		return nil, statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you")
	}
	secret, ok := s.secrets[key.Name]
	if !ok {
		return nil, notFound("secrets", key.Name)
	}
	return secret, nil
}

func (s *server) ReadLog(_ context.Context, pod types.NamespacedName, container string, _ int64) ([]byte, error) {
	if done, err := s.enter("read log of "+container, nil); !done || err != nil {
		return nil, err
	}
	if s.pods[pod.Name] == nil {
		return nil, notFound("pods", pod.Name)
	}
	return []byte(s.log), nil
}

func (s *server) Warning(context.Context, string, types.UID) (string, error) {
	if done, err := s.enter("list events", nil); !done || err != nil {
		return "", err
	}
	return s.warning, nil
}

func (s *server) GetPod(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	if done, err := s.enter("get pod", nil); !done || err != nil {
		return nil, err
	}
	pod, ok := s.pods[key.Name]
	if !ok {
		return nil, notFound("pods", key.Name)
	}
	return pod.DeepCopy(), nil
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.ParseGroupResource(resource), name)
}

func (s *server) PatchTaskRun(_ context.Context, _ types.NamespacedName, patch []byte) (string, error) {
	return s.patch("patch taskrun", patch)
}

func (s *server) PatchTaskRunStatus(_ context.Context, _ types.NamespacedName, patch []byte) (string, error) {
	return s.patch("patch taskrun/status", patch)
}

func (s *server) patch(verb string, patch []byte) (string, error) {
	var body map[string]any
	check(json.Unmarshal(patch, &body))
	metadata := body["metadata"].(map[string]any)
	version := metadata["resourceVersion"]
	delete(metadata, "resourceVersion")
	if len(metadata) == 0 {
		delete(body, "metadata")
	}
	done, err := s.enter(verb, body)
	if !done {
		return "", err
	}
	if s.run == nil {
		return "", notFound("taskruns.tekton.dev", "x")
	}
	if version != strconv.Itoa(s.version) {
		return "", apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("the object has been modified"))
	}
	if changed := must(merge(s.raw, patch)); s.room > 0 && len(changed) > s.room {
		return "", apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	} else if string(changed) != string(must(merge(s.raw, []byte("{}")))) {
		s.put(changed)
	}
	return strconv.Itoa(s.version), err
}

func (s *server) CreatePod(_ context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	done, err := s.enter("create pod", pod)
	if !done {
		return nil, err
	}
	if s.refuse != nil {
		return nil, s.refuse
	}
	if _, taken := s.pods[pod.Name]; taken {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, pod.Name)
	}
	made := pod.DeepCopy()
	s.uids++
	made.UID = types.UID(fmt.Sprintf("pod-uid-%d", s.uids))
	made.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
	made.Status.Phase = corev1.PodPending
	s.setPod(made)
	if err != nil {
		return nil, err
	}
	return made.DeepCopy(), nil
}

func (s *server) HasClaim(_ context.Context, key types.NamespacedName) (bool, error) {
	if done, err := s.enter("get claim", nil); !done || err != nil {
		return false, err
	}
	return s.claims[key.Name], nil
}

func (s *server) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	done, err := s.enter("create claim", claim)
	switch {
	case !done || err != nil:
		return err
	case s.refuseClaims != nil:
		return s.refuseClaims
	case s.claims[claim.Name]:
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumeclaims"}, claim.Name)
	}
	s.claims[claim.Name] = true
	return nil
}

func (s *server) setPod(pod *corev1.Pod) {
	s.podVersion++
	pod.ResourceVersion = strconv.Itoa(s.podVersion)
	s.pods[pod.Name] = pod
}

func (s *server) DeletePod(_ context.Context, key types.NamespacedName, uid types.UID, version string) (string, error) {
	options := map[string]any{"uid": string(uid)}
	if version != "" {
		options["resourceVersion"] = version
	}
	done, err := s.enter("delete pod", options)
	if pod := s.pods[key.Name]; done && version != "" && pod != nil && pod.ResourceVersion != version {
		return "", apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, key.Name, errors.New("it has changed"))
	}
	if done && s.pods[key.Name] != nil && s.pods[key.Name].UID == uid {
		delete(s.pods, key.Name)
	}
	return "", err
}

func (s *server) StopPod(_ context.Context, key types.NamespacedName, uid types.UID) (string, error) {
	done, err := s.enter("stop pod", map[string]any{"uid": string(uid)})
	if pod := s.pods[key.Name]; done && pod != nil && pod.UID == uid {
		pod.Status.Phase = corev1.PodFailed
		s.setPod(pod)
	}
	return "", err
}

// freeze keeps the caches at what they show now.
func (s *server) freeze() {
	frozen := *s
	frozen.pods = map[string]*corev1.Pod{}
	for name, pod := range s.pods {
		frozen.pods[name] = pod.DeepCopy()
	}
	frozen.tasks = maps.Clone(s.tasks)
	s.frozen = &frozen
}

func (s *server) seen() *server {
	if s.frozen != nil {
		return s.frozen
	}
	return s
}

func (s *server) caches() Caches {
	return Caches{
		Known: func(types.NamespacedName) (types.UID, string, bool) {
			if s.seen().run == nil {
				return "", "", false
			}
			return s.seen().run.UID, s.seen().run.ResourceVersion, true
		},
		TaskRun: func(types.NamespacedName) (run crds.TaskRun, ok bool, err error) {
			s.decodes++
			if s.seen().run == nil {
				return run, false, nil
			}
			err = json.Unmarshal(s.seen().raw, &run)
			return run, true, err
		},
		Head: func(types.NamespacedName) (head Head, ok bool, err error) {
			if s.seen().run == nil {
				return head, false, nil
			}
			err = json.Unmarshal(s.seen().raw, &head)
			return head, true, err
		},
		Task: func(key types.NamespacedName) (crds.Task, bool, error) {
			if task, ok := s.seen().tasks[key.Name]; ok {
				return *task, true, nil
			}
			return crds.Task{}, false, nil
		},
		StepAction: func(key types.NamespacedName) (crds.StepAction, bool, error) {
			if action, ok := s.seen().steps[key.Name]; ok {
				return *action, true, nil
			}
			return crds.StepAction{}, false, nil
		},
		LimitRanges: func(string) ([]corev1.LimitRange, error) { return s.ranges, nil },
		ServiceAccount: func(key types.NamespacedName) (corev1.ServiceAccount, bool, error) {
			account, ok := s.accounts[key.Name]
			if !ok {
				return corev1.ServiceAccount{}, key.Name == "default", nil
			}
			return *account, true, nil
		},
		KnownPod: func(key types.NamespacedName) (types.UID, string, bool) {
			pod, ok := s.seen().pods[key.Name]
			if !ok || pod.Labels[labelTaskRun] == "" {
				return "", "", false
			}
			return pod.UID, pod.ResourceVersion, true
		},
		Pod: func(key types.NamespacedName) (corev1.Pod, bool, error) {
			s.podDecodes++
			pod, ok := s.seen().pods[key.Name]
			if !ok || pod.Labels[labelTaskRun] == "" { // the cache selects by that label
				return corev1.Pod{}, false, nil
			}
			return *pod.DeepCopy(), true, nil
		},
	}
}

func statusError(code int, reason metav1.StatusReason, message string) error {
	if code == 0 {
		code = http.StatusForbidden
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
