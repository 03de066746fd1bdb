package conversion

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"

	"millrace/crds"
)

// AnnotationKept is on an object of V1 that has fields of V1Beta1 which V1 has none
// for, and AnnotationKeptV1 the other way round. Their values are JSON; see kept.
const (
	AnnotationKept   = "tekton.dev/v1beta1Kept"
	AnnotationKeptV1 = "tekton.dev/v1Kept"
)

// keptHere is the annotation on an object that has not been converted yet, which
// says what to put back; keptThere that on the result.
func (w walk) keptHere() string { return walk{up: !w.up}.keptThere() }
func (w walk) keptThere() string {
	if w.up {
		return AnnotationKept
	}
	return AnnotationKeptV1
}

// kept is what one version of an object has and the other cannot say.
type kept struct {
	// Kind of the object: others may be handed its annotations.
	Kind string `json:"kind"`
	// Fields are the places that a conversion there and back would change.
	Fields []change `json:"fields"`
}

// A change is what a conversion there and back makes of the fields of one object
// inside an object, and what they were.
type change struct {
	// At is the way there: the name of a field, or an object that says which element
	// of a list (by the name of the element, else by its place).
	At []any `json:"at"`
	// Was is what the conversion makes of the fields, without those that it leaves out.
	Was map[string]any `json:"was,omitempty"`
	// Is what they were, without those that were not there.
	Is map[string]any `json:"is,omitempty"`
}

// lost returns what must be done to got to make it want.
func lost(got, want map[string]any) []change {
	var changes []change
	compareMaps(got, want, nil, &changes)
	return changes
}

func compareMaps(got, want map[string]any, at []any, changes *[]change) {
	here := change{At: slices.Clone(at), Was: map[string]any{}, Is: map[string]any{}}
	for _, name := range names(got, want) {
		was, had := got[name]
		is, has := want[name]
		switch {
		case had && has && equal(was, is):
		case had && has && within(was, is):
			compare(was, is, append(at, name), changes)
		default:
			if had {
				here.Was[name] = was
			}
			if has {
				here.Is[name] = is
			}
		}
	}
	if len(here.Was)+len(here.Is) > 0 {
		*changes = append(*changes, here)
	}
}

// within tells whether the difference between two values lies in objects inside
// them.
func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		_, ok := b.(map[string]any)
		return ok
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) && !within(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func compare(got, want any, at []any, changes *[]change) {
	switch got := got.(type) {
	case map[string]any:
		want, _ := want.(map[string]any) // within has looked, here and below
		compareMaps(got, want, at, changes)
	case []any:
		want, _ := want.([]any)
		had, has := places(got), places(want)
		for i := range got {
			if !equal(got[i], want[i]) {
				which := element(elementName(got[i]), i, len(got), had, has)
				compare(got[i], want[i], append(at, which), changes)
			}
		}
	}
}

// element says which one of a list is meant: that with its name, if that is its own
// before and after, else the one at its place in a list of that length.
func element(name string, i, of int, had, has map[string]int) any {
	before, ok := had[name]
	after, still := has[name]
	if ok && still && before == i && after == i {
		return map[string]any{"name": name}
	}
	return map[string]any{"index": int64(i), "of": int64(of)}
}

func elementName(value any) string {
	m, _ := value.(map[string]any)
	for _, field := range []string{"name", "pipelineTaskName"} {
		if name, _ := m[field].(string); name != "" {
			return name
		}
	}
	return ""
}

// places are where the elements of a list are, by their names, where no two share one.
func places(list []any) map[string]int {
	at, shared := map[string]int{}, map[string]bool{}
	for i, value := range list {
		name := elementName(value)
		if _, twice := at[name]; twice {
			shared[name] = true
		}
		at[name] = i
	}
	delete(at, "")
	maps.DeleteFunc(at, func(name string, _ int) bool { return shared[name] })
	return at
}

func names(a, b map[string]any) []string {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// putBack makes the changes, except where something else is by now what was
// changed.
func putBack(object map[string]any, changes []change) {
	way := follower{}
	for _, c := range changes {
		if there, ok := way.follow(object, c.At).(map[string]any); ok && c.allowed() && c.fits(there) {
			for name := range c.Was {
				delete(there, name)
			}
			maps.Copy(there, c.Is)
		}
	}
}

// allowed tells whether the change is one that a conversion could have made: within
// spec and status, or of annotations. Anybody may write an annotation, and one that
// changed a name would make the API server refuse the whole list that it is in.
func (c change) allowed() bool {
	if len(c.At) == 0 {
		return only(c.Was, "spec", "status") && only(c.Is, "spec", "status") && isObject(c.Is["spec"]) && isObject(c.Is["status"])
	}
	switch {
	case c.At[0] == "spec" || c.At[0] == "status":
		return true
	case c.At[0] != "metadata":
		return false
	case len(c.At) == 1:
		annotations, _ := c.Is["annotations"].(map[string]any)
		return only(c.Was, "annotations") && only(c.Is, "annotations") && isTexts(c.Is["annotations"]) && unsigned(annotations)
	default:
		return len(c.At) == 2 && c.At[1] == "annotations" && isTexts(c.Is) && unsigned(c.Is)
	}
}

// unsigned tells whether no annotation is among these that admission would have dropped:
// no conversion leaves one of those out, so that none is ever to be put back.
func unsigned(annotations map[string]any) bool {
	for name := range annotations {
		if crds.IsReservedAnnotation(name) {
			return false
		}
	}
	return true
}

func only(m map[string]any, fields ...string) bool {
	for name := range m {
		if !slices.Contains(fields, name) {
			return false
		}
	}
	return true
}

// fits tells whether the fields are as the conversion made them.
func (c change) fits(there map[string]any) bool {
	for _, name := range names(c.Was, c.Is) {
		now, has := there[name]
		was, had := c.Was[name]
		if has != had || has && !equal(now, was) {
			return false
		}
	}
	return true
}

// A follower finds places in an object, and remembers which elements the lists have
// that it came by: a list of many steps may have a change in each.
type follower map[*any]map[string]int

// follow returns what lies at the end of the way, or nil.
func (f follower) follow(value any, at []any) any {
	for _, step := range at {
		switch here := value.(type) {
		case map[string]any:
			name, _ := step.(string)
			value = here[name]
		case []any:
			i, ok := f.place(here, step)
			if !ok {
				return nil
			}
			value = here[i]
		default:
			return nil
		}
	}
	return value
}

func (f follower) place(list []any, step any) (i int, ok bool) {
	which, _ := step.(map[string]any)
	name, named := which["name"].(string)
	if !named {
		i, ok := which["index"].(int64)
		return int(i), ok && equal(which["of"], int64(len(list))) && i >= 0 && i < int64(len(list))
	}
	if len(list) == 0 {
		return 0, false
	}
	known, ok := f[&list[0]]
	if !ok {
		known = places(list)
		f[&list[0]] = known
	}
	i, ok = known[name]
	return i, ok
}

// remember writes down what must be done after a conversion back, if anything.
func (w walk) remember(converted, original map[string]any) error {
	changes := w.changes(converted, original)
	if len(changes) == 0 {
		return nil
	}
	if _, taken := annotationOf(converted, w.keptThere()); taken {
		deleteAnnotation(converted, w.keptThere()) // and one more thing to put back
		changes = w.changes(converted, original)
	}
	kind, _ := original["kind"].(string)
	text, err := json.Marshal(kept{kind, changes})
	if err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %w", w.keptThere(), err)
	}
	setAnnotation(converted, w.keptThere(), string(text))
	return nil
}

// changes are what a conversion back would leave to do, but for the annotation that a
// conversion back writes itself.
func (w walk) changes(converted, original map[string]any) []change {
	back := walk{up: !w.up}.there(cloneMap(converted))
	deleteAnnotation(back, w.keptHere())
	if text, ok := annotationOf(original, w.keptHere()); ok {
		setAnnotation(back, w.keptHere(), text)
	}
	return lost(back, original)
}

// takeKept returns what was kept for an object of that kind, and takes the annotation
// out. One of another kind was handed on, one that cannot be read is a user's own: both
// are annotations like any other.
func takeKept(object map[string]any, annotation string) []change {
	text, ok := annotationOf(object, annotation)
	if !ok {
		return nil
	}
	var k kept
	if json.Unmarshal([]byte(text), &k) != nil || k.Kind != object["kind"] {
		return nil
	}
	deleteAnnotation(object, annotation)
	return k.Fields
}
