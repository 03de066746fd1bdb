package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"millrace/wire"
)

// protobufList reads a list; bad items stop it.
func protobufList(r io.Reader) ([]*wire.Object, wire.ListMeta, error) {
	var items []*wire.Object
	meta, err := new(wire.Scanner).List(wire.Protobuf, r, func(o *wire.Object, err error) error {
		if err == nil {
			items = append(items, o.Own())
		}
		return err
	})
	return items, meta, err
}

// listOf is a list of a kind, of a body.
func listOf(tb testing.TB, kind string, body ...[]byte) []byte {
	tb.Helper()
	return append([]byte("k8s\x00"), marshalled(tb, &runtime.Unknown{
		TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind},
		Raw:      bytes.Join(body, nil),
	})...)
}

func item(tb testing.TB, name string) []byte {
	tb.Helper()
	return tagged(2, 2, marshalled(tb, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

var aPodList = func() *corev1.PodList {
	left := int64(3)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "77", Continue: "next", RemainingItemCount: &left},
	}
	for i := range 3000 {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: "ci", Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: strings.Repeat("n", i%300)},
		})
	}
	return list
}()

func TestAProtobufListOfThousandsIsReadInAnyPieces(t *testing.T) {
	var streamed bytes.Buffer
	encoder := protobuf.NewSerializerWithOptions(nil, nil, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})
	if err := encoder.Encode(aPodList, &streamed); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"at once":     bytes.NewReader(sealed(t, aPodList)),
		"streamed":    &streamed,
		"bytewise":    iotest.OneByteReader(bytes.NewReader(sealed(t, aPodList))),
		"halves":      iotest.HalfReader(bytes.NewReader(sealed(t, aPodList))),
		"end with it": iotest.DataErrReader(bytes.NewReader(sealed(t, aPodList))),
	} {
		t.Run(name, func(t *testing.T) {
			items, about, err := protobufList(r)
			if err != nil || len(items) != len(aPodList.Items) {
				t.Fatalf("%d items, %v", len(items), err)
			}
			check(t, "about", about, wire.ListMeta{ResourceVersion: "77", Continue: "next", RemainingItemCount: 3})
			for i, o := range items {
				p, err := wire.Decode[corev1.Pod](o)
				want := aPodList.Items[i]
				if err != nil || p.Kind != "Pod" || p.APIVersion != "v1" || p.Name != want.Name || p.Spec.NodeName != want.Spec.NodeName {
					t.Fatalf("item %d: %v %v %v", i, p.TypeMeta, o, err)
				}
			}
		})
	}
}

func TestAProtobufObjectIsTheSameFromAListAndFromAWatch(t *testing.T) {
	p := podOf(t, []byte(pod))
	items, _, err := protobufList(bytes.NewReader(listOf(t, "PodList", tagged(2, 2, marshalled(t, p)))))
	if err != nil {
		t.Fatal(err)
	}
	e, err := protobufEvents(framed(t, "ADDED", sealed(t, p))).Next()
	if err != nil || !bytes.Equal(items[0].Bytes(), e.Object.Bytes()) || !bytes.Equal(items[0].Bytes(), scanProtobuf(t, p).Bytes()) {
		t.Errorf("%v:\n%q\n%q", err, items[0].Bytes(), e.Object.Bytes())
	}
}

func TestABadItemDoesNotSpoilAProtobufList(t *testing.T) {
	for _, bad := range [][]byte{
		tagged(2, 2, nil),
		tagged(2, 2, []byte{0x0a, 0x7f}),
		tagged(2, 2, tagged(1, 2, slices.Concat(tagged(1, 2, []byte("bad")), tagged(11, 0, []byte{1})))),
		tagged(2, 2, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
	} {
		var told []string
		_, err := new(wire.Scanner).List(wire.Protobuf, bytes.NewReader(listOf(t, "PodList", item(t, "a"), bad, item(t, "b"))), func(o *wire.Object, err error) error {
			if scan, ok := errors.AsType[*wire.ScanError](err); ok && o == nil {
				told = append(told, "bad "+scan.Key.Name)
				return nil
			}
			told = append(told, o.Key().Name)
			return err
		})
		if err != nil || len(told) != 3 || told[0] != "a" || !strings.HasPrefix(told[1], "bad") || told[2] != "b" {
			t.Errorf("%q: %q, %v", bad, told, err)
		}
	}
}

func TestProtobufItemsAreHandedOverBeforeTheListHasArrived(t *testing.T) {
	r, w := io.Pipe()
	seen := make(chan string)
	done := make(chan error)
	go func() {
		_, err := new(wire.Scanner).List(wire.Protobuf, r, func(o *wire.Object, err error) error {
			seen <- o.Key().Name
			return err
		})
		done <- err
	}()
	// Two items, and all of a third but its last byte. What stands behind the
	// body, contentEncoding and contentType, has no bytes of its own here.
	whole := listOf(t, "PodList", item(t, "a"), item(t, "b"), item(t, "c"))
	const behind = len("\x1a\x00\x22\x00")
	last := len(whole) - behind - 1
	if _, err := w.Write(whole[:last]); err != nil {
		t.Fatal(err)
	}
	check(t, "first", <-seen, "a")
	check(t, "second", <-seen, "b")
	if _, err := w.Write(whole[last:]); err != nil {
		t.Fatal(err)
	}
	check(t, "third", <-seen, "c")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, "end", <-done, nil)
}

func TestAProtobufListThatBreaksOffIsAnError(t *testing.T) {
	whole := listOf(t, "PodList", tagged(1, 2, tagged(2, 2, []byte("7"))), item(t, "a"), item(t, "b"))
	inner := len(whole) - len("\x1a\x00\x22\x00")
	for n := range inner {
		if _, _, err := protobufList(bytes.NewReader(whole[:n])); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	// All that was announced is there when it ends between two fields that stand
	// behind the list.
	for n := inner; n <= len(whole); n++ {
		within := (n-inner)%2 == 1
		items, _, err := protobufList(bytes.NewReader(whole[:n]))
		if errors.Is(err, io.ErrUnexpectedEOF) != within || len(items) != 2 {
			t.Errorf("after %d bytes: %d items, %v", n, len(items), err)
		}
	}
}

func TestWhatIsNoProtobufListIsRefused(t *testing.T) {
	raw := tagged(2, 2, item(t, "a"))
	podList := slices.Concat([]byte("k8s\x00"), tagged(1, 2, tagged(2, 2, []byte("PodList"))))
	one := tagged(1, 2, tagged(1, 2, []byte("a")))
	for name, body := range map[string][]byte{
		"nothing":               {},
		"JSON":                  []byte(`{"kind":"PodList","items":[]}`),
		"no body":               append([]byte("k8s\x00"), tagged(1, 2, tagged(2, 2, []byte("PodList")))...),
		"a pod":                 sealed(t, podOf(t, []byte(pod))),
		"a list of anything":    listOf(t, "List", item(t, "a")),
		"what it is comes late": slices.Concat([]byte("k8s\x00"), raw, tagged(1, 2, tagged(2, 2, []byte("PodList")))),
		"two lists":             append(listOf(t, "PodList", item(t, "a")), raw...),
		"bad metadata":          listOf(t, "PodList", tagged(1, 2, tagged(4, 2, nil))),
		"an item too long":      listOf(t, "PodList", []byte{0x12, 0x7f}),
		"an item that begins in the list and ends behind it":  slices.Concat(podList, tagged(2, 2, []byte{0x12, byte(len(one))}), one),
		"a length that begins in the list and ends behind it": slices.Concat(podList, tagged(2, 2, []byte{0x12}), []byte{byte(len(one))}, one),
		"a group":           listOf(t, "PodList", tagged(5, 3, nil)),
		"a negative length": listOf(t, "PodList", []byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
		"no number":         listOf(t, "PodList", []byte{0x02, 0x00}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := protobufList(bytes.NewReader(body)); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestAnEmptyProtobufListIsAList(t *testing.T) {
	items, about, err := protobufList(bytes.NewReader(sealed(t, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "7"},
	})))
	if err != nil || len(items) != 0 || about.ResourceVersion != "7" {
		t.Errorf("%d items, %+v, %v", len(items), about, err)
	}
}

func TestTheCallerCanStopAProtobufList(t *testing.T) {
	enough := errors.New("enough")
	n := 0
	_, err := new(wire.Scanner).List(wire.Protobuf, bytes.NewReader(sealed(t, aPodList)), func(*wire.Object, error) error {
		n++
		return enough
	})
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("%d items, %v", n, err)
	}
}

// FuzzProtobufList: what the ordinary decoder takes as a list of pods' metadata
// has the same items here; what it refuses may be taken up to where it is bad.
func FuzzProtobufList(f *testing.F) {
	f.Add(listOf(f, "PodList", tagged(1, 2, tagged(2, 2, []byte("7"))), item(f, "a"), item(f, "b")))
	f.Add(listOf(f, "List", item(f, "a")))
	for _, s := range protobufSeeds(f) {
		f.Add(s)
		f.Add(listOf(f, "PodList", tagged(2, 2, s), item(f, "b")))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		items, about, err := protobufList(bytes.NewReader(raw))
		if len(items) > len(raw) {
			t.Fatalf("%d bytes have %d items", len(raw), len(items))
		}
		bytewise, aboutBytewise, errBytewise := protobufList(iotest.OneByteReader(bytes.NewReader(raw)))
		if len(items) != len(bytewise) || about != aboutBytewise || fmt.Sprint(err) != fmt.Sprint(errBytewise) {
			t.Fatalf("%d items, %v; bytewise %d, %v", len(items), err, len(bytewise), errBytewise)
		}
		if err != nil {
			return
		}
		var want metav1.PartialObjectMetadataList
		if err := ordinarily(raw, &want); err != nil {
			t.Fatalf("the ordinary decoder refuses it: %v", err)
		}
		check(t, "items", len(items), len(want.Items))
		check(t, "resourceVersion", about.ResourceVersion, want.ResourceVersion)
		for i := range items {
			agree(t, items[i], &want.Items[i])
		}
	})
}

// What a newer server adds, to the list or to what stands around it, is passed
// over.
func TestUnknownFieldsOfAProtobufListArePassedOver(t *testing.T) {
	unknown := slices.Concat(tagged(90, 0, []byte{0x80, 0x01}), tagged(91, 1, []byte("12345678")), tagged(92, 2, []byte("text")), tagged(93, 5, []byte("1234")))
	what := slices.Concat(unknown, tagged(1, 2, []byte("v1")), tagged(2, 2, []byte("PodList")), unknown)
	about := slices.Concat(unknown, tagged(2, 2, []byte("7")), tagged(5, 2, []byte("shard")))
	body := slices.Concat(unknown, tagged(1, 2, about), unknown, item(t, "a"), unknown, item(t, "b"), unknown)
	list := slices.Concat([]byte("k8s\x00"), unknown, tagged(1, 2, what), unknown, tagged(2, 2, body), unknown)
	items, meta, err := protobufList(iotest.OneByteReader(bytes.NewReader(list)))
	if err != nil || len(items) != 2 || meta.ResourceVersion != "7" {
		t.Errorf("%d items, %+v, %v", len(items), meta, err)
	}
}

// A list may be longer than MaxFrame, an item not.
func TestAnItemThatIsTooLongIsNotReadToItsEnd(t *testing.T) {
	long := binary.AppendUvarint([]byte{0x12}, wire.MaxFrame+1)
	head := binary.AppendUvarint(slices.Concat([]byte("k8s\x00"), tagged(1, 2, tagged(2, 2, []byte("PodList"))), []byte{0x12}), 1<<40)
	r := io.MultiReader(bytes.NewReader(slices.Concat(head, item(t, "a"), long)), iotest.ErrReader(errors.New("it has read on")))
	items, _, err := protobufList(r)
	if !errors.Is(err, wire.ErrTooLarge) || len(items) != 1 {
		t.Errorf("%d items, %v", len(items), err)
	}
}

func TestAnErrorOfTheSourceEndsAProtobufList(t *testing.T) {
	gone := errors.New("connection reset")
	whole := sealed(t, aPodList)
	for _, n := range []int{0, 3, 5, 20, 1000, len(whole)} {
		if _, _, err := protobufList(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(gone))); !errors.Is(err, gone) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}
