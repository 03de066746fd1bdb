package objects

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kind says what a text is, and so what may stand in its place.
type kind uint8

const (
	words   kind = iota // names, params, results: each word becomes another
	base                // what the name of a run begins with: words
	name                // of a run: its base, and an end that no other has
	uid                 // a random UUID
	hash                // random hex
	digest              // of an image: one of a few, since images are shared
	instant             // a time: as much later as every other time of the object
	address             // an IP address
	place               // a namespace or a node: one of a few
	version             // the resourceVersion
)

// value is a text that differs between two runs of one file. It may stand in
// many places of a run and of its pod, and is replaced in all of them by one
// other text of the same length.
type value struct {
	text string
	kind kind
}

// placeholder is the resourceVersion of all that is encoded here: as long as
// those of a cluster that has been busy for some weeks.
const placeholder = "400000000"

var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	digests   = regexp.MustCompile(`sha256:([0-9a-f]{64})`)
	hashes    = regexp.MustCompile(`containerd://([0-9a-f]{64})|\b([0-9a-f]{40}|[0-9a-f]{64})\b`)
	instants  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	addresses = regexp.MustCompile(`\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	tokens    = regexp.MustCompile(`[A-Za-z0-9]{6,}`)
	volumes   = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)
)

// values finds what varies in a run: in all of its states and in those of its
// pod, which are given as JSON. The longest come first, so that a text that is
// a part of another does not take its place.
func values(r *recorded, encoded [][]byte) []value {
	keys, all := vocabulary(encoded)
	found := map[string]kind{placeholder: version, r.key.Namespace: place}
	add := func(k kind, text string) {
		if _, known := found[text]; !known && len(text) > 3 {
			found[text] = k
		}
	}
	add(name, r.key.Name)
	add(base, r.runs[0].GetGenerateName())
	for _, u := range uuids.FindAllString(all, -1) {
		add(uid, u)
	}
	for _, d := range digests.FindAllStringSubmatch(all, -1) {
		add(digest, d[1])
	}
	for _, h := range hashes.FindAllStringSubmatch(all, -1) {
		add(hash, cmp.Or(h[1], h[2]))
	}
	for _, i := range instants.FindAllString(all, -1) {
		add(instant, i)
	}
	for _, a := range addresses.FindAllString(all, -1) {
		add(address, a)
	}
	for _, v := range volumes.FindAllString(all, -1) {
		add(hash, v)
	}
	for _, pod := range r.pods {
		add(place, pod.Spec.NodeName)
	}
	for _, text := range variable(r.runs) {
		for _, word := range tokens.FindAllString(text, -1) {
			if !strings.Contains(keys, word) {
				add(words, word)
			}
		}
	}
	list := make([]value, 0, len(found))
	for text, k := range found {
		list = append(list, value{text, k})
	}
	slices.SortFunc(list, func(a, b value) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	return list
}

// variable is the texts in which runs of one Task differ: params, results,
// labels and annotations.
func variable(runs []*unstructured.Unstructured) []string {
	var texts []string
	for _, run := range runs {
		for _, text := range run.GetAnnotations() {
			texts = append(texts, text)
		}
		for key, text := range run.GetLabels() {
			if !strings.HasPrefix(key, "app.kubernetes.io/") {
				texts = append(texts, text)
			}
		}
		params, _, _ := unstructured.NestedFieldNoCopy(run.Object, "spec", "params")
		results, _, _ := unstructured.NestedFieldNoCopy(run.Object, "status", "results")
		walk(valuesIn(params), &texts)
		walk(valuesIn(results), &texts)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// valuesIn is the values of a list of names and values.
func valuesIn(list any) []any {
	items, _ := list.([]any)
	values := make([]any, 0, len(items))
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			values = append(values, fields["value"])
		}
	}
	return values
}

// walk collects the strings in a JSON value.
func walk(v any, into *[]string) {
	switch v := v.(type) {
	case string:
		*into = append(*into, v)
	case []any:
		for _, each := range v {
			walk(each, into)
		}
	case map[string]any:
		for _, each := range v {
			walk(each, into)
		}
	}
}

// vocabulary is the names of all fields, one a line, and all else that is said,
// each of it once. A word that is part of a name must stay.
func vocabulary(encoded [][]byte) (keys, all string) {
	names, texts := map[string]bool{}, map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			texts[v] = true
		case []any:
			for _, each := range v {
				visit(each)
			}
		case map[string]any:
			for key, each := range v {
				// In managedFields an owner's UID, a volume's name or an address is a
				// key, and varies with the rest.
				if strings.HasPrefix(key, "k:") {
					texts[key] = true
				} else {
					names[key] = true
				}
				visit(each)
			}
		}
	}
	for _, raw := range encoded {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			panic(err) // it was encoded here
		}
		visit(v)
	}
	lines := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "\n") }
	return lines(names), lines(texts)
}
