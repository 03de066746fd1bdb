package wire

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Limits of an interner. A namespace, a label key, a label value that repeats,
// a kind: all are short. Names of a workload's labels number in the hundreds;
// 4096 leaves room for label values that come and go with each run.
const (
	internLength = 128
	internCount  = 4096
)

// interner hands out one string for equal bytes, so that fifty thousand objects
// share one "app.kubernetes.io/name".
//
// It is bounded: two generations of at most internCount strings. When the young
// one is full it becomes the old one and the old one is dropped; a string that
// is asked for again in the meantime moves to the young one. So strings that
// repeat stay, and strings that were unique pass through. A dropped string
// lives on in the objects that hold it.
//
// nil works, and shares nothing.
type interner struct{ young, old map[string]string }

// get is the shared string for a text that may be borrowed.
func (in *interner) get(text string) string {
	if in == nil || len(text) > internLength {
		return strings.Clone(text)
	}
	if s, ok := in.young[text]; ok {
		return s
	}
	s, ok := in.old[text]
	if !ok {
		s = strings.Clone(text)
	}
	in.put(s)
	return s
}

func (in *interner) put(s string) {
	switch {
	case in.young == nil:
		in.young = map[string]string{}
	case len(in.young) >= internCount && in.old == nil:
		in.young, in.old = map[string]string{}, in.young
	case len(in.young) >= internCount:
		in.young, in.old = in.old, in.young
		clear(in.young) // and keep its room: it will be filled again
	}
	in.young[s] = s
}

// share is a string to be kept, the same one for all objects of a Scanner. A nil
// Scanner shares nothing.
func (s *Scanner) share(text string) string {
	if s == nil {
		return strings.Clone(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strings.get(text)
}

// facetTexts is how many are shared. What few objects have in common need not be.
const facetTexts = 1024

// shareFacets is the facets that an object is to keep.
func (s *Scanner) shareFacets(text string) *facets {
	if text == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.facets[text]; known != nil {
		return known
	}
	if s.facets == nil || len(s.facets) >= facetTexts {
		s.facets = map[string]*facets{}
	}
	f := &facets{tree: s.tree, text: strings.Clone(text)}
	s.facets[f.text] = f
	return f
}

// shareFacts does so for all that was lent to an object, in its place.
func (s *Scanner) shareFacts(o *Object) {
	var in *interner
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		in = &s.strings
	}
	for i := range o.labels {
		l := &o.labels[i]
		l.key, l.value = in.get(l.key), in.get(l.value)
	}
	for i := range o.owners {
		w := &o.owners[i]
		w.APIVersion, w.Kind, w.Name, w.UID = in.get(w.APIVersion), in.get(w.Kind), in.get(w.Name), types.UID(in.get(string(w.UID)))
	}
}
