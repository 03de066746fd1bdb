package wire

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

func (in *interner) get(b []byte) string {
	if in == nil || len(b) > internLength {
		return string(b)
	}
	if s, ok := in.young[string(b)]; ok {
		return s
	}
	s, ok := in.old[string(b)]
	if !ok {
		s = string(b)
	}
	in.put(s)
	return s
}

func (in *interner) put(s string) {
	if in.young == nil || len(in.young) >= internCount {
		in.old, in.young = in.young, make(map[string]string)
	}
	in.young[s] = s
}
