package resolution

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
)

// Patience is how long a request may take. Resolvers end their own after a minute, by
// default; where none is installed nobody does.
const Patience = 2 * time.Minute

// RequestPath is the place of a request on the API server; that of all of a namespace
// without a name.
func RequestPath(namespace, name string) string {
	path := "/apis/" + crds.APIVersionResolution + "/namespaces/" + namespace + "/" + crds.ResourceResolutionRequests
	if name != "" {
		path += "/" + name
	}
	return path
}

// RequestName follows from who asks and what for, as Tekton's does, so that asking
// twice is asking once.
func RequestName(namespace, run string, ref crds.ResolverRef) string {
	sum := fnv.New128a()
	sum.Write([]byte(namespace + "/" + run))
	params := slices.Clone(ref.Params)
	slices.SortStableFunc(params, func(a, b crds.Param) int { return strings.Compare(a.Name, b.Name) })
	for _, param := range params {
		value := param.Value.StringVal
		if param.Value.Type == crds.ParamTypeArray || param.Value.Type == crds.ParamTypeObject {
			raw, err := param.Value.MarshalJSON()
			if err != nil {
				panic(err) // of strings only
			}
			value = string(raw)
		}
		sum.Write([]byte(param.Name + value))
	}
	return ref.Resolver + "-" + hex.EncodeToString(sum.Sum(nil))
}

// Request asks the resolver of a reference for what a run, its owner, refers to.
func Request(namespace, run string, owner metav1.OwnerReference, ref crds.ResolverRef) *crds.ResolutionRequest {
	return &crds.ResolutionRequest{
		TypeMeta: metav1.TypeMeta{APIVersion: crds.APIVersionResolution, Kind: crds.KindResolutionRequest},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: RequestName(namespace, run, ref),
			Labels:          map[string]string{crds.LabelResolver: ref.Resolver},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: crds.ResolutionRequestSpec{Params: ref.Params},
	}
}

// ErrPending is the error of Read for a request that has no answer yet.
var ErrPending = errors.New("no resolver has answered yet")

// Read is what a request was answered with: an object of that kind, and where it was
// found. ErrPending asks for another try; every other error is for good. now is for
// requests that nobody answers.
func Read[T any](request *crds.ResolutionRequest, kind string, now time.Time) (*T, *crds.RefSource, error) {
	switch condition := request.Succeeded(); condition.Status {
	case "True":
		object, err := decode[T](request.Status.Data, kind)
		return object, sourceOf(request.Status), err
	case "False":
		return nil, nil, fmt.Errorf("error requesting remote resource: %s", condition.Message)
	default:
		if now.Sub(request.CreationTimestamp.Time) >= Patience {
			return nil, nil, fmt.Errorf("no resolver has answered ResolutionRequest %q within %s: is there one for %q?", request.Name, Patience, request.Labels[crds.LabelResolver])
		}
		return nil, nil, ErrPending
	}
}

func sourceOf(status crds.ResolutionRequestStatus) *crds.RefSource {
	if status.RefSource != nil {
		return status.RefSource
	}
	return status.Source
}

// decode reads YAML in base64. Only an object of the kind that was asked for is one:
// a repository holds many files.
func decode[T any](data, kind string) (*T, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("the answer of the resolver is not in base64: %w", err)
	}
	if raw, err = yaml.YAMLToJSON(raw); err != nil {
		return nil, fmt.Errorf("the answer of the resolver is no YAML: %w", err)
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		return nil, fmt.Errorf("the answer of the resolver is no object: %w", err)
	}
	if meta.Kind != kind || meta.GroupVersionKind().Group != crds.Group {
		return nil, fmt.Errorf("a %s was asked for, and the resolver has answered with a %q of %q", kind, meta.Kind, meta.APIVersion)
	}
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("decode the answer of the resolver: %w", err)
	}
	return object, nil
}
