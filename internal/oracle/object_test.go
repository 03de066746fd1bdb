package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// object is one object as the server has it.
type object struct {
	key     types.NamespacedName
	uid     types.UID
	version int
	fields  map[string]any // all of it but what is named above
}

// newObject makes up fields. The same key, UID and version have the same fields,
// on both servers.
func newObject(key types.NamespacedName, uid types.UID, version int) object {
	r := rand.New(rand.NewPCG(uint64(version), uint64(len(uid))))
	annotations := map[string]any{}
	if r.IntN(2) == 0 {
		annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"a":"\"b"}`
	}
	if r.IntN(2) == 0 {
		annotations["note"] = "é \u2028 \"quoted\" \\ </script> \x01 𝄞"
	}
	meta := map[string]any{
		"creationTimestamp": "2026-01-02T03:04:05Z",
		"generation":        version,
		"labels":            map[string]any{"colour": []string{"red", "green", ""}[r.IntN(3)], "managedFields": "a trap"},
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	if r.IntN(2) == 0 {
		meta["managedFields"] = []any{map[string]any{"manager": "m", "fieldsV1": map[string]any{"f:metadata": map[string]any{}}}}
	}
	return object{key, uid, version, map[string]any{"metadata": meta, "spec": someValue(r, 3), "status": someValue(r, 2)}}
}

// someValue is any JSON value, at most so deep.
func someValue(r *rand.Rand, depth int) any {
	leaves := []any{nil, true, "", "text", 0, -7, int64(1) << 53, 1.5, 1e21, "0x", "\t\n"}
	n := r.IntN(len(leaves) + 2*depth)
	switch {
	case n < len(leaves):
		return leaves[n]
	case n%2 == 0:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, someValue(r, depth-1))
		}
		return list
	}
	fields := map[string]any{}
	for i := range r.IntN(4) {
		fields[[]string{"a", "metadata", "é", "managedFields"}[i]] = someValue(r, depth-1)
	}
	return fields
}

// text is the object as a watch shows it.
func (o object) text() string { return o.encode(map[string]any{"apiVersion": "v1", "kind": "Pod"}) }

// item is the object as a list shows it: without what the list says for all.
func (o object) item() string { return o.encode(map[string]any{}) }

func (o object) encode(into map[string]any) string {
	meta := map[string]any{"namespace": o.key.Namespace, "name": o.key.Name, "uid": o.uid, "resourceVersion": strconv.Itoa(o.version)}
	maps.Copy(meta, o.fields["metadata"].(map[string]any))
	maps.Copy(into, o.fields)
	into["metadata"] = meta
	raw, err := json.Marshal(into)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// bookmarkAt is the object of a BOOKMARK event.
func bookmarkAt(version int, endsInitial bool) string {
	annotations := ""
	if endsInitial {
		annotations = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d","creationTimestamp":null%s}}`, version, annotations)
}
