package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"millrace/wire"
)

func dictionary(tb testing.TB, samples ...*wire.Object) *wire.Dictionary {
	tb.Helper()
	d, err := wire.NewDictionary(samples)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func packer(tb testing.TB, samples ...*wire.Object) *wire.Packer {
	tb.Helper()
	p, err := dictionary(tb, samples...).Packer()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func unpacked(tb testing.TB, p *wire.Packed) *wire.Object {
	tb.Helper()
	o, err := p.Object()
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// identical finds what differs in all that can be asked of two objects.
func identical(a, b *wire.Object) error {
	ac, aok := a.Controller()
	bc, bok := b.Controller()
	switch {
	case a.Key() != b.Key(), a.UID() != b.UID(), a.ResourceVersion() != b.ResourceVersion():
		return fmt.Errorf("%s (%s) and %s (%s)", a, a.UID(), b, b.UID())
	case a.Generation() != b.Generation(), a.Deleting() != b.Deleting(), a.Format() != b.Format(), a.Saved() != b.Saved():
		return fmt.Errorf("generation %d, %d; deleting %v, %v; format %s, %s; saved %d, %d",
			a.Generation(), b.Generation(), a.Deleting(), b.Deleting(), a.Format(), b.Format(), a.Saved(), b.Saved())
	case !maps.Equal(maps.Collect(a.Labels()), maps.Collect(b.Labels())), !slices.Equal(a.Owners(), b.Owners()), ac != bc, aok != bok:
		return fmt.Errorf("labels %v, %v; owners %v, %v", maps.Collect(a.Labels()), maps.Collect(b.Labels()), a.Owners(), b.Owners())
	case !bytes.Equal(a.Bytes(), b.Bytes()):
		return fmt.Errorf("bytes\n%s\n%s", a.Bytes(), b.Bytes())
	case a.Size() != b.Size():
		return fmt.Errorf("size %d, %d", a.Size(), b.Size())
	}
	return nil
}

func TestAPackedObjectComesBackAsItWas(t *testing.T) {
	for _, k := range packables {
		t.Run(k.name, func(t *testing.T) {
			p := packer(t, k.some(t, 1, 12)...)
			for _, o := range k.some(t, 2, 50) {
				packed := p.Pack(o)
				if packed == nil {
					t.Fatalf("%s is not packed", o)
				}
				if packed.Key() != o.Key() || packed.UID() != o.UID() || packed.ResourceVersion() != o.ResourceVersion() || packed.String() != o.String() {
					t.Errorf("%s says that it is %s", o, packed)
				}
				if packed.PlainSize() != o.Size() {
					t.Errorf("%s takes %d bytes, and is said to take %d", o, o.Size(), packed.PlainSize())
				}
				if packed.Size() > o.Size()/4 {
					t.Errorf("%s takes %d bytes of %d", o, packed.Size(), o.Size())
				}
				back := unpacked(t, packed)
				if err := identical(o, back); err != nil {
					t.Error(err)
				}
				// What it can do besides is as before, too.
				if wire.Changed(o, back) {
					t.Errorf("%s has changed", o)
				}
				if err := identical(cut(t, o, wire.Path{"metadata", "labels"}), cut(t, back, wire.Path{"metadata", "labels"})); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Whatever is in an object, it comes back, or is not packed at all. Small ones
// are often not: their dictionary is of other random objects.
func TestRandomObjectsComeBackAsTheyWere(t *testing.T) {
	var objects []*wire.Object
	for seed := range uint64(4000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 1))}
		w.object()
		if o, err := wire.Scan(wire.JSON, []byte(w.String())); err == nil {
			objects = append(objects, o)
		}
		objects = append(objects, scanProtobuf(t, randomPod(rand.New(rand.NewPCG(seed, 3)))))
	}
	p, came := packer(t, objects[:200]...), 0
	for i, o := range objects {
		if i%3 == 0 {
			o = cut(t, o, wire.Path{"metadata", "annotations"})
		}
		if packed := p.Pack(o); packed != nil {
			came++
			if err := identical(o, unpacked(t, packed)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if came < len(objects)/3 {
		t.Errorf("only %d of %d objects were packed: the test has lost its point", came, len(objects))
	}
}

func TestWhatPackingDoesNotMakeSmallerStaysPlain(t *testing.T) {
	p := packer(t, scan(t, pod))
	if p.Pack(scan(t, `{"x":[7]}`)) != nil {
		t.Error("an object of no size was packed")
	}
	if p.Pack(scan(t, pod)) == nil {
		t.Error("the dictionary itself was not packed")
	}
	long := strings.Replace(pod, "7b0d2c9e-4c1f-4f0e-8f43-7f7a0c2b9a11", strings.Repeat("u", 300), 1)
	if p.Pack(scan(t, long)) != nil {
		t.Error("an object was packed whose UID is longer than can be told")
	}
}

// Facts stay what the server said, even where Cut has taken them out of the
// bytes. Bytes alone do not bring them back.
func TestAnObjectWhoseFactsWereCutStaysPlain(t *testing.T) {
	p := packer(t, scan(t, pod))
	for _, path := range []string{"labels", "ownerReferences", "generation", "uid"} {
		if p.Pack(cut(t, scan(t, pod), wire.Path{"metadata", path})) != nil {
			t.Errorf("packed without %s", path)
		}
	}
	o := cut(t, scan(t, pod), managedFields, lastApplied)
	if packed := p.Pack(o); packed == nil {
		t.Error("an object without managedFields stays plain")
	} else if got := unpacked(t, packed).Saved(); got != o.Saved() || got == 0 {
		t.Errorf("%d bytes saved, %d before", got, o.Saved())
	}
}

// Of many objects of few kinds, a dictionary has each kind before it has one
// twice.
func TestADictionaryTakesWhatIsDifferent(t *testing.T) {
	var samples, rare []*wire.Object
	for i := range 200 {
		kind := "common"
		if i%50 == 7 {
			kind = "rare"
		}
		o := scan(t, fmt.Sprintf(`{"metadata":{"name":"o%d"},"spec":{"kind":%q,"text":%q}}`, i, kind, text(kind, 3000)))
		if samples = append(samples, o); kind == "rare" {
			rare = append(rare, o)
		}
	}
	p := packer(t, samples...)
	for _, o := range rare {
		if packed := p.Pack(o); packed == nil || packed.BlobLen() > 100 {
			t.Errorf("%s is of a kind that is in no dictionary: %s", o, packed)
		}
	}
}

// text is so many letters that no two kinds have in common.
func text(kind string, n int) string {
	r := rand.New(rand.NewPCG(uint64(kind[0]), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// Objects outlive the dictionary's days as the newest one.
func TestObjectsOfAnOldDictionaryStayReadable(t *testing.T) {
	k := packables[2]
	objects := k.some(t, 3, 30)
	var all []*wire.Packed
	for i, o := range objects {
		all = append(all, packer(t, k.some(t, uint64(i/10), 4+i/10)...).Pack(o))
	}
	for i, p := range all {
		if err := identical(objects[i], unpacked(t, p)); err != nil {
			t.Error(err)
		}
	}
}

func TestADictionaryIsBounded(t *testing.T) {
	if got := dictionary(t, packables[1].some(t, 1, 40)...).Size(); got != wire.DictionarySize {
		t.Errorf("%d bytes", got)
	}
	empty := packer(t)
	o := packables[2].some(t, 1, 1)[0]
	if p := empty.Pack(o); p == nil {
		t.Error("nothing is packed without a sample")
	} else if err := identical(o, unpacked(t, p)); err != nil {
		t.Error(err)
	}
}

func TestManyMayUnpackAtOnce(t *testing.T) {
	objects := packables[2].some(t, 4, 40)
	p := packer(t, objects[:8]...)
	var all []*wire.Packed
	for _, o := range objects {
		all = append(all, p.Pack(o))
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for i, p := range all {
				o, err := p.Object()
				if err == nil {
					err = identical(objects[i], o)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
}

// Memory that is damaged makes an error, or at worst other bytes; never a panic
// or an object of another name.
func TestADamagedBlobIsAnError(t *testing.T) {
	o := packables[2].some(t, 5, 1)[0]
	p := packer(t, packables[2].some(t, 1, 8)...).Pack(o)
	failed := 0
	for i := range p.BlobLen() {
		back, err := p.Damaged(i).Object()
		var decode *wire.DecodeError
		switch {
		case errors.As(err, &decode) && decode.Key == o.Key():
			failed++
		case err != nil:
			t.Errorf("byte %d: %v", i, err)
		case back.Key() != o.Key():
			t.Errorf("byte %d: it is now %s", i, back.Key())
		}
	}
	if failed < p.BlobLen()/4 {
		t.Errorf("%d of %d damages were found", failed, p.BlobLen())
	}
}

// FuzzPack packs any two objects with any third one as dictionary.
func FuzzPack(f *testing.F) {
	f.Add([]byte(pod), []byte(pod))
	f.Add([]byte(`{"metadata":{"labels":{"a":"b","a":"c"}}}`), []byte(`{"metadata":{"name":"a"}}`))
	f.Add(sealed(f, podOf(f, []byte(pod))), []byte(pod))
	f.Fuzz(func(t *testing.T, raw, sample []byte) {
		for _, format := range []wire.Format{wire.JSON, wire.Protobuf} {
			o, err := wire.Scan(format, raw)
			if err != nil {
				continue
			}
			var samples []*wire.Object
			if s, err := wire.Scan(wire.JSON, sample); err == nil {
				samples = append(samples, s)
			}
			packed := packer(t, samples...).Pack(o)
			if packed == nil {
				continue
			}
			back, err := packed.Object()
			if err == nil {
				err = identical(o, back)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestALentObjectIsPackedAsItsOwn(t *testing.T) {
	p, err := dictionary(t, scan(t, pod)).Packer()
	if err != nil {
		t.Fatal(err)
	}
	lending(t, func(way string, o *wire.Object) {
		packed := p.Pack(o)
		if packed == nil {
			t.Fatalf("%s: it does not pack", way)
		}
		back, err := packed.Object()
		if err != nil {
			t.Fatal(err)
		}
		sameObject(t, way, back, o.Own())
	})
	phase := wire.NewFacet(`status.phase`)
	e, err := wire.NewScanner(phase).Events(wire.JSON, strings.NewReader(`{"type":"ADDED","object":`+pod+`}`)).Next()
	if err != nil {
		t.Fatal(err)
	}
	if value, known := p.Pack(e.Object).Facet(phase); value != "Running" || !known {
		t.Errorf("its phase is %q, %t", value, known)
	}
}

// However it was packed, an object comes back as it was.
func TestWhatWasPackedQuicklyComesBackAsItWas(t *testing.T) {
	for _, k := range packables {
		d := dictionary(t, k.some(t, 1, 40)...)
		quick, err := d.QuickPacker()
		if err != nil {
			t.Fatal(err)
		}
		thorough, err := d.Packer()
		if err != nil {
			t.Fatal(err)
		}
		quickly, well := 0, 0
		for _, o := range k.some(t, 2, 100) {
			packed := quick.Pack(o)
			if packed == nil {
				t.Fatalf("%s: %s cannot be packed", k.name, o)
			}
			if back := unpacked(t, packed); !bytes.Equal(back.Bytes(), o.Bytes()) || back.Key() != o.Key() || back.ResourceVersion() != o.ResourceVersion() {
				t.Errorf("%s: %s has come back as %s", k.name, o, back)
			}
			quickly, well = quickly+packed.Size(), well+thorough.Pack(o).Size()
		}
		if float64(quickly) > 1.1*float64(well) {
			t.Errorf("%s: %d bytes, packed quickly, and %d else", k.name, quickly, well)
		}
	}
}
