package resolution

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// ClusterResolver is the name of the resolver that takes objects of other namespaces.
const ClusterResolver = "cluster"

// Cluster is the object that a reference to the cluster resolver means, if it is of
// that kind. Parameters are Tekton's: name, and, if they are not those that are meant
// anyway, kind and namespace; others are passed over.
func Cluster(ref crds.ResolverRef, kind, namespace string) (types.NamespacedName, error) {
	key := types.NamespacedName{Namespace: namespace}
	for _, param := range ref.Params {
		value := param.Value
		if value.Type != crds.ParamTypeString && value.Type != "" {
			return key, fmt.Errorf("cluster resolver: param %q is no string", param.Name)
		}
		switch param.Name {
		case "name":
			key.Name = value.StringVal
		case "namespace":
			key.Namespace = value.StringVal
		case "kind":
			if !strings.EqualFold(value.StringVal, kind) {
				return key, fmt.Errorf("cluster resolver: a %s is needed here, and kind is %q", kind, value.StringVal)
			}
		}
	}
	if key.Name == "" || key.Namespace == "" {
		return key, fmt.Errorf("missing required cluster resolver params: name and namespace must be there")
	}
	return key, nil
}

// Within refuses an object of another namespace where one alone is served; served is
// empty where all are.
func Within(served string, key types.NamespacedName) error {
	if served == "" || served == key.Namespace {
		return nil
	}
	return fmt.Errorf("cluster resolver: the controller serves the namespace %s alone, and %s is of %s", served, key.Name, key.Namespace)
}

// Provenance is that of a run which begins with such an object: with found, where a
// resolver says that it is from, or else with the object itself. settings, which may be
// nil, is not changed.
func Provenance(settings *crds.Provenance, found *crds.RefSource, kind string, object metav1.Object, spec any) *crds.Provenance {
	var p crds.Provenance
	if settings != nil {
		p = *settings
	}
	p.RefSource = found
	if found != nil {
		return &p
	}
	if source, err := Source(kind, object, spec); err == nil {
		p.RefSource = source
	}
	return &p
}

// Source tells from which object of which spec something was taken.
func Source(kind string, object metav1.Object, spec any) (*crds.RefSource, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec of %s %s: %w", kind, object.GetName(), err)
	}
	digest := sha256.Sum256(raw)
	return &crds.RefSource{
		URI:    fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s@%s", crds.APIVersion, object.GetNamespace(), strings.ToLower(kind), object.GetName(), object.GetUID()),
		Digest: map[string]string{"sha256": hex.EncodeToString(digest[:])},
	}, nil
}
