package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"millrace/wire"
)

// ordinarily is what the ordinary decoder makes of a protobuf object.
func ordinarily(raw []byte, into interface{ Unmarshal(data []byte) error }) error {
	body, ok := bytes.CutPrefix(raw, []byte("k8s\x00"))
	if !ok || len(body) == 0 {
		return errors.New("no magic number, or nothing behind it")
	}
	var around runtime.Unknown
	if err := around.Unmarshal(body); err != nil {
		return err
	}
	return into.Unmarshal(around.Raw)
}

// protobufSeeds are the corners of protobuf: what is spelled twice, too long,
// too short, in another kind, or in groups.
func protobufSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	name := tagged(1, 2, []byte("a"))
	meta := func(fields ...[]byte) []byte {
		return around(tb, tagged(1, 2, bytes.Join(fields, nil)))
	}
	label := tagged(11, 2, append(tagged(1, 2, []byte("k")), tagged(2, 2, []byte("v"))...))
	longer := []byte{0x8a, 0x80, 0x00, 0x83, 0x00, 0x0a, 0x01, 'x'} // metadata, tag and length longer than need be
	return [][]byte{
		sealed(tb, podOf(tb, []byte(pod))),
		{}, []byte("k8s\x00"), []byte("k8s\x00\x0a"), []byte("k8s\x01abc"), []byte(`{"metadata":{"name":"a"}}`),
		append(around(tb, nil), tagged(3, 0, []byte{1})...), append(around(tb, nil), tagged(4, 2, []byte("application/json"))...),
		around(tb, nil), around(tb, longer), meta(), meta(name), meta(name, tagged(1, 2, []byte("b"))),
		append(meta(name), tagged(2, 2, tagged(1, 2, tagged(1, 2, []byte("second"))))...),
		around(tb, append(tagged(1, 2, name), tagged(1, 2, label)...)),
		meta(tagged(1, 0, []byte{1})), meta(tagged(7, 2, []byte("x"))),
		meta(tagged(7, 0, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})),
		meta(tagged(7, 0, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})),
		meta(tagged(7, 0, []byte{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00})),
		meta(label, label, tagged(11, 2, nil), tagged(11, 2, tagged(2, 2, []byte("no key")))),
		meta(tagged(11, 2, []byte{0x0a, 0x03, 'k'}), name), // a key that leads into the name
		meta(tagged(11, 2, []byte{0x08, 0x01, 'k'})),       // a key of another kind
		meta(tagged(12, 2, tagged(1, 2, []byte("k"))), tagged(9, 2, nil), tagged(8, 2, tagged(1, 0, []byte{5}))),
		meta(tagged(9, 2, tagged(1, 2, nil))), meta(tagged(8, 2, []byte{0x0a})),
		meta(tagged(13, 2, append(tagged(1, 2, []byte("Kind")), tagged(6, 0, []byte{2})...)), tagged(13, 2, nil)),
		meta(tagged(13, 2, tagged(6, 2, nil))), meta(tagged(14, 0, []byte{1})),
		meta(tagged(17, 2, append(tagged(4, 2, tagged(1, 0, []byte{5})), tagged(7, 2, tagged(1, 2, []byte("{}")))...))),
		meta(tagged(17, 2, tagged(7, 2, tagged(1, 0, []byte{1})))),
		meta(tagged(99, 2, []byte("unknown")), tagged(98, 5, []byte("1234")), tagged(97, 1, []byte("12345678")), tagged(96, 0, []byte{7})),
		meta(tagged(98, 5, []byte("123"))), meta(tagged(97, 1, []byte("1234567"))), meta(tagged(97, 6, nil)),
		meta(tagged(50, 3, tagged(1, 3, tagged(1, 4, tagged(9, 4, nil)))), name), // groups, one in another
		meta(tagged(50, 4, nil)), meta(tagged(50, 3, name)), meta([]byte{0x00, 0x00}),
		meta([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), // a negative length
		meta([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x07}),                               // a huge one
		meta(binary.AppendUvarint(nil, 1<<35|1<<3|2), []byte{1, 'z'}),                  // a number beyond 32 bits
		around(tb, tagged(2, 2, []byte("spec is not looked into"))),
	}
}

// FuzzScanProtobuf holds the scanner against the ordinary decoder, as FuzzScan
// does: either both fail, or both agree. The exception is ErrMapEntry.
func FuzzScanProtobuf(f *testing.F) {
	for _, s := range protobufSeeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { holdAgainstTheOrdinaryDecoder(t, raw) })
}

// holdAgainstTheOrdinaryDecoder reports whether the input was an object.
func holdAgainstTheOrdinaryDecoder(t *testing.T, raw []byte) bool {
	t.Helper()
	before := string(raw)
	o, err := wire.Scan(wire.Protobuf, raw)
	if string(raw) != before {
		t.Fatal("the scan has changed its input")
	}
	var want metav1.PartialObjectMetadata
	wantErr := ordinarily(raw, &want)
	if errors.Is(err, wire.ErrMapEntry) || errors.Is(err, wire.ErrManyOwners) {
		return false
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("scan: %v, decode: %v\n%q", err, wantErr, raw)
	}
	if err != nil {
		return false
	}
	agree(t, o, &want)
	again, err := wire.Scan(wire.Protobuf, o.Bytes())
	if err != nil || !bytes.Equal(again.Bytes(), o.Bytes()) {
		t.Fatalf("what is kept does not scan to itself: %v", err)
	}
	decodesAsTheOrdinaryDecoder(t, o, raw)
	cutsAsTheOrdinaryDecoder(t, o, &want)
	return true
}

func decodesAsTheOrdinaryDecoder(t *testing.T, o *wire.Object, raw []byte) {
	t.Helper()
	var want corev1.Pod
	wantErr := ordinarily(raw, &want)
	got, err := wire.Decode[corev1.Pod](o)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("decode: %v, ordinarily: %v", err, wantErr)
	}
	if err == nil && !bytes.Equal(marshalled(t, &got), marshalled(t, &want)) {
		t.Fatalf("decoded:\n%v\nwant:\n%v", got, want)
	}
}

// cutsAsTheOrdinaryDecoder cuts, and compares with a decoded object that has
// lost the same fields.
func cutsAsTheOrdinaryDecoder(t *testing.T, o *wire.Object, want *metav1.PartialObjectMetadata) {
	t.Helper()
	cut, err := o.Cut(managedFields, lastApplied, wire.Path{"metadata", "ownerReferences", "name"})
	if err != nil {
		t.Fatal(err)
	}
	want.ManagedFields = nil
	delete(want.Annotations, lastApplied[2])
	for i := range want.OwnerReferences {
		want.OwnerReferences[i].Name = ""
	}
	got, err := wire.Decode[metav1.PartialObjectMetadata](cut)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(marshalled(t, &got), marshalled(t, want)) {
		t.Fatalf("cut:\n%v\nwant:\n%v", got, want)
	}
	if twice, err := cut.Cut(managedFields, lastApplied, wire.Path{"metadata", "ownerReferences", "name"}); err != nil || twice != cut {
		t.Fatalf("a second cut is not the same as one: %v", err)
	}
	if wire.Changed(o, cut, lastApplied, wire.Path{"metadata", "ownerReferences", "name"}) {
		t.Fatal("what was cut counts as changed though it is excepted")
	}
	if saved := len(o.Bytes()) - len(cut.Bytes()); saved != cut.Saved()-o.Saved() || cap(cut.Bytes()) != len(cut.Bytes()) {
		t.Fatalf("%d bytes less, %d saved, %d in a slice of %d", saved, cut.Saved(), len(cut.Bytes()), cap(cut.Bytes()))
	}
}

// A tagger writes random messages with the numbers of metadata in them, of the
// right kind or another; mutations of bytes seldom make those.
type tagger struct{ *rand.Rand }

func (w tagger) message(depth int) []byte {
	var b []byte
	for range w.IntN(6) {
		b = append(b, w.field(depth)...)
	}
	return b
}

func (w tagger) field(depth int) []byte {
	number := 1 + w.IntN(18)
	switch w.IntN(30) {
	case 0:
		return tagged(number, 1, []byte("12345678"))
	case 1:
		return tagged(number, 5, []byte("1234"))
	case 2:
		return tagged(number, 3, append(w.message(depth+1), tagged(number, 4, nil)...))
	case 3:
		return []byte{byte(w.IntN(256)), byte(w.IntN(256))}
	case 4, 5, 6:
		return tagged(number, 0, []byte{0x80 | byte(w.IntN(128)), byte(w.IntN(128))})
	default:
		return w.block(depth, number)
	}
}

func (w tagger) block(depth, number int) []byte {
	numbers := number == 7 || number == 10 || depth > 1 && number == 6
	switch {
	case numbers:
		return tagged(number, 0, []byte{byte(w.IntN(128))})
	case depth == 0 && number > 3:
		return tagged(1, 2, w.message(1))
	case depth == 0 && number == 1 || depth == 1 && number > 10:
		return tagged(number, 2, w.message(depth+1))
	default:
		texts := []string{"", "a", "b", "\xff", lastApplied[2], strings.Repeat("long", 40)}
		return tagged(number, 2, []byte(texts[w.IntN(len(texts))]))
	}
}

func TestScanSeesWhatTheOrdinaryDecoderSeesInRandomMessages(t *testing.T) {
	good, bad := 0, 0
	for seed := range uint64(20000) {
		w := tagger{rand.New(rand.NewPCG(seed, 3))}
		if holdAgainstTheOrdinaryDecoder(t, around(t, w.message(0))) {
			good++
		} else {
			bad++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if good < 4000 || bad < 4000 {
		t.Errorf("%d good messages and %d bad ones: the test has lost its point", good, bad)
	}
}
