package wire_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"millrace/wire"
)

// A writer writes random objects: well-formed JSON with the names of metadata
// in it, now and then twice, with values of the right kind or another. Byte
// mutations seldom reach those corners; this does nothing else.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *writer) space() {
	if w.IntN(20) == 0 {
		w.WriteString(w.pick(" ", "\n", "\t", " \r\n "))
	}
}

// list writes n elements between brackets.
func (w *writer) list(brackets string, n int, element func()) {
	w.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		element()
		w.space()
	}
	w.WriteByte(brackets[1])
}

func (w *writer) member(name string, value func()) {
	w.WriteString(w.spelled(name) + ":")
	value()
}

// spelled is a name in quotes, now and then with an escape.
func (w *writer) spelled(name string) string {
	if w.IntN(20) == 0 && name[0] == 'n' {
		return `"\u006E` + name[1:] + `"`
	}
	return `"` + name + `"`
}

func (w *writer) text() {
	w.WriteString(w.pick(`"a"`, `"b"`, `"c"`, `""`, `"é"`, `"\u00e9\n"`, `"\ud83d\ude00"`, `"\udead"`, `"7"`))
}

// odd writes a value of a kind that may not be wanted; seldom, or no object
// would pass.
func (w *writer) odd(or func()) {
	switch w.IntN(40) {
	case 0:
		w.WriteString(w.pick("5", "true", "-1.5e3", `"x"`, "[]", "{}", "[null]", `{"a":null}`))
	case 1, 2, 3, 4:
		w.WriteString("null")
	default:
		or()
	}
}

func (w *writer) object() {
	w.list("{}", 1+w.IntN(4), func() {
		switch name := w.pick("metadata", "metadata", "kind", "apiVersion", "spec", "Metadata"); name {
		case "metadata":
			w.member(name, func() { w.odd(w.metadata) })
		case "spec", "Metadata":
			w.member(name, func() { w.anything(0) })
		default:
			w.member(name, func() { w.odd(w.text) })
		}
	})
}

func (w *writer) metadata() {
	w.list("{}", w.IntN(12), func() {
		switch name := w.pick("name", "namespace", "uid", "resourceVersion", "generateName", "generation",
			"deletionTimestamp", "creationTimestamp", "labels", "labels", "annotations", "ownerReferences", "ownerReferences",
			"finalizers", "managedFields", "other"); name {
		case "generation":
			w.member(name, func() { w.odd(func() { w.WriteString(w.pick("1", "0", "-0", "12", "9223372036854775807")) }) })
		case "deletionTimestamp", "creationTimestamp":
			w.member(name, func() { w.odd(func() { w.WriteString(`"2026-01-02T03:04:05Z"`) }) })
		case "labels", "annotations":
			w.member(name, func() { w.odd(w.stringMap) })
		case "ownerReferences":
			w.member(name, func() { w.odd(func() { w.list("[]", w.IntN(4), func() { w.odd(w.owner) }) }) })
		case "finalizers":
			w.member(name, func() { w.odd(func() { w.list("[]", w.IntN(3), func() { w.odd(w.text) }) }) })
		case "managedFields":
			w.member(name, func() { w.odd(func() { w.list("[]", w.IntN(3), func() { w.odd(w.manager) }) }) })
		case "other":
			w.member(name, func() { w.anything(0) })
		default:
			w.member(name, func() { w.odd(w.text) })
		}
	})
}

func (w *writer) stringMap() {
	w.list("{}", w.IntN(4), func() { w.member(w.pick("a", "b", "nx"), func() { w.odd(w.text) }) })
}

func (w *writer) owner() {
	w.list("{}", w.IntN(5), func() {
		switch name := w.pick("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"); name {
		case "controller", "blockOwnerDeletion":
			w.member(name, func() { w.odd(func() { w.WriteString(w.pick("true", "false")) }) })
		default:
			w.member(name, func() { w.odd(w.text) })
		}
	})
}

func (w *writer) manager() {
	w.list("{}", w.IntN(4), func() {
		switch name := w.pick("manager", "operation", "time", "fieldsV1"); name {
		case "time":
			w.member(name, func() { w.odd(func() { w.WriteString(`"2026-01-02T03:04:05Z"`) }) })
		case "fieldsV1":
			w.member(name, func() { w.anything(0) })
		default:
			w.member(name, func() { w.odd(w.text) })
		}
	})
}

// anything writes a value that nobody looks into.
func (w *writer) anything(depth int) {
	kind := w.IntN(6)
	if depth > 3 {
		kind %= 4
	}
	switch kind {
	case 0:
		w.text()
	case 1:
		w.WriteString(w.pick("0", "-1", "1.5", "2e9", "1E-3"))
	case 2, 3:
		w.WriteString(w.pick("true", "false", "null"))
	case 4:
		w.list("[]", w.IntN(4), func() { w.anything(depth + 1) })
	case 5:
		w.list("{}", w.IntN(4), func() { w.member(w.pick("a", "b", "n", "env"), func() { w.anything(depth + 1) }) })
	}
}

func TestScanSeesWhatTheOrdinaryDecoderSeesInRandomObjects(t *testing.T) {
	passed := 0
	for seed := range uint64(8000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 1))}
		w.object()
		raw := w.String()

		o, err := wire.Scan(wire.JSON, []byte(raw))
		var want metav1.PartialObjectMetadata
		wantErr := json.Unmarshal([]byte(raw), &want)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("seed %d: scan: %v, decode: %v\n%s", seed, err, wantErr, raw)
		}
		if err != nil {
			continue
		}
		passed++
		agree(t, o, &want)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, raw)
		}
	}
	if passed < 2000 {
		t.Errorf("only %d of the objects were good ones: the test has lost its point", passed)
	}
}
