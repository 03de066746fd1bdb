package settings

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// A Fault is why a key of a ConfigMap does not do what it says.
type Fault string

// The faults.
const (
	Invalid   Fault = "is not valid"
	NotServed Fault = "is not served"
	Unknown   Fault = "is not known"
)

// A Complaint is about one key of a ConfigMap, as it is.
type Complaint struct {
	ConfigMap, Key, Value string
	UID                   types.UID // of the ConfigMap
	Fault                 Fault
	// Of an invalid value: what is wanted, and what is in force in its place. Without a
	// good one before, that is a default which nobody has asked for: see Settings.Good.
	Wants, InForce string
	NeverGood      bool
}

// a configMap is one as it was last seen.
type configMap struct {
	uid  types.UID
	data map[string]string
}

// last are texts that were good, by the keys that have had one: empty for a default.
type last map[id]string

type id struct{ configMap, key string }

// A reading is what the ConfigMaps come to.
type reading struct {
	values     *Values
	texts      []string // of the values, in the order of the table
	complaints []Complaint
}

// read parses the ConfigMaps. A value that is not valid leaves the last good one, or
// the default, in force. It is a function of its arguments, and changes good: a key
// whose value is fine has it there then. Of a ConfigMap that nobody has seen yet nobody
// knows.
func read(from map[string]configMap, good last) reading {
	v := new(Values)
	r := reading{values: v}
	var all []Complaint
	served := map[id]bool{}
	for _, k := range v.keys() {
		at := id{k.ConfigMap, k.Name}
		served[at] = true
		given, seen := from[k.ConfigMap]
		text := strings.TrimSpace(given.data[k.Name])
		if err := set(k, text); err != nil {
			before, had := good[at]
			_ = set(k, before) // which it took then
			all = append(all, Complaint{ConfigMap: k.ConfigMap, Key: k.Name, Value: text, UID: given.uid, Fault: Invalid, Wants: err.Error(), InForce: k.Text(), NeverGood: !had})
		} else if seen {
			good[at] = text
		}
		r.texts = append(r.texts, k.Text())
	}
	for name, given := range from {
		for key, value := range given.data {
			value = strings.TrimSpace(value)
			if served[id{name, key}] || value == "" || strings.HasPrefix(key, "_") { // _example is documentation
				continue
			}
			if fault, is := ignored(name, key, value); is {
				all = append(all, Complaint{ConfigMap: name, Key: key, Value: value, UID: given.uid, Fault: fault})
			}
		}
	}
	slices.SortFunc(all, func(a, b Complaint) int {
		return cmp.Or(-cmp.Compare(a.ConfigMap, b.ConfigMap), cmp.Compare(a.Key, b.Key))
	})
	r.complaints = all
	return r
}

// set sets a key, of which an empty text is the default.
func set(k Key, text string) error {
	if text == "" {
		return nil
	}
	return k.value.Set(text)
}
