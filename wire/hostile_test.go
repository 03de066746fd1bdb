package wire_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"millrace/wire"
)

// repeated is n elements between commas.
func repeated(n int, element func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String()
}

func same(s string) func(int) string { return func(int) string { return s } }

// hostile is objects that are all of one thing.
var hostile = map[string]string{
	"labels":             `{"metadata":{"name":"a","labels":{` + repeated(100000, func(i int) string { return fmt.Sprintf(`"%x":""`, i) }) + `}}}`,
	"one label":          `{"metadata":{"name":"a","labels":{` + repeated(100000, same(`"":""`)) + `}}}`,
	"long labels":        `{"metadata":{"name":"a","labels":{` + repeated(1000, func(i int) string { return fmt.Sprintf(`"%d":"%s"`, i, strings.Repeat("x", 1000)) }) + `}}}`,
	"coded labels":       `{"metadata":{"name":"a","labels":{` + repeated(100000, func(i int) string { return fmt.Sprintf(`"\n%x":"\n"`, i) }) + `}}}`,
	"empty owners":       `{"metadata":{"name":"a","ownerReferences":[` + repeated(10000, same(`{}`)) + `]}}`,
	"owners":             `{"metadata":{"name":"a","ownerReferences":[` + repeated(10000, func(i int) string { return fmt.Sprintf(`{"kind":"K%d","name":"n%d","uid":"u%d"}`, i, i, i) }) + `]}}`,
	"managed fields":     `{"metadata":{"name":"a","managedFields":[` + repeated(10000, same(`{"manager":"m","fieldsV1":{"f:a":{}}}`)) + `]}}`,
	"annotations":        `{"metadata":{"name":"a","annotations":{` + repeated(100000, func(i int) string { return fmt.Sprintf(`"%d":""`, i) }) + `}}}`,
	"finalizers":         `{"metadata":{"name":"a","finalizers":[` + repeated(100000, same(`""`)) + `]}}`,
	"depth":              `{"metadata":{"name":"a"},"x":` + strings.Repeat(`{"a":[`, 4999) + strings.Repeat(`]}`, 4999) + `}`,
	"a long name":        `{"metadata":{"name":"` + strings.Repeat("n", 1<<20) + `"}}`,
	"results":            `{"metadata":{"name":"a"},"status":{"results":[` + repeated(100000, func(i int) string { return fmt.Sprintf(`{"name":"%d"}`, i) }) + `]}}`,
	"results over again": `{"metadata":{"name":"a"},"status":{` + repeated(20000, same(`"results":[{"name":"x"},{"name":"y"}]`)) + `}}`,
	"conditions":         `{"metadata":{"name":"a"},"status":{"conditions":[` + repeated(20000, func(i int) string { return fmt.Sprintf(`{"type":"Ready","status":"%d"}`, i) }) + `]}}`,
}

// mostRetained is how many bytes are held for each byte of the wire, at most. It
// is the owner {} that needs so many; all others need less than ten.
const mostRetained = 32

func TestAHostileObjectIsHeldInProportionToItsBytes(t *testing.T) {
	facets := []wire.Facet{wire.NewFacet(`status.results[].name`), wire.NewFacet(`status.results[#]`), wire.NewFacet(`status.conditions[type=Ready].status`)}
	for what, raw := range hostile {
		t.Run(what, func(t *testing.T) {
			s := wire.NewScanner(facets...)
			stream := `{"type":"ADDED","object":` + raw + "}\n" + strings.Repeat(event("ADDED", "small", "1"), 40)
			r := s.Events(wire.JSON, strings.NewReader(stream))
			before := heap()
			o := next(t, r).Own()
			for range 40 {
				next(t, r)
			}
			held := int(heap() - before)
			if held > mostRetained*len(raw)+256<<10 {
				t.Errorf("%d bytes are held for %d bytes", held, len(raw))
			}
			if what != "empty owners" && held > 10*len(raw)+256<<10 {
				t.Errorf("%d bytes are held for %d bytes, which are not owners", held, len(raw))
			}
			if size := o.Size(); size > mostRetained*len(raw) || size < len(raw) {
				t.Errorf("it says that it has %d bytes, of %d", size, len(raw))
			}
			runtime.KeepAlive(o)
			// Without it there are the shared strings left, which are few and short.
			if left := heap() - before; left > 2<<20 {
				t.Errorf("%d bytes are left of it", left)
			}
			runtime.KeepAlive(s)
			runtime.KeepAlive(r)
			runtime.KeepAlive(stream)
		})
	}
}

// heap is what is in use. What a sync.Pool keeps, of another test's dictionary it may be,
// goes with the second collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMoreOwnersThanAnObjectCanHaveAreRefused(t *testing.T) {
	const most = 1 << 15
	raw := func(n int) string {
		return `{"metadata":{"name":"a","namespace":"n","ownerReferences":[` + repeated(n, same(`{}`)) + `]}}`
	}
	check(t, "as many as can be", len(scan(t, raw(most)).Owners()), most)
	_, err := wire.Scan(wire.JSON, []byte(raw(most+1)))
	bad, ok := errors.AsType[*wire.ScanError](err)
	if !ok || !errors.Is(err, wire.ErrManyOwners) || bad.Key.String() != "n/a" {
		t.Errorf("one more: %v", err)
	}
	meta := append(tagged(1, 2, []byte("a")), []byte(strings.Repeat(string(tagged(13, 2, nil)), most))...)
	if _, err := wire.Scan(wire.Protobuf, around(t, tagged(1, 2, meta))); err != nil {
		t.Errorf("in protobuf: %v", err)
	}
	meta = append(meta, tagged(13, 2, nil)...)
	if _, err := wire.Scan(wire.Protobuf, around(t, tagged(1, 2, meta))); !errors.Is(err, wire.ErrManyOwners) {
		t.Errorf("in protobuf, one more: %v", err)
	}
}

// Size is what a cache adds up, and what a person reads as its memory.
func TestSizeIsTheMemoryThatAnObjectTakes(t *testing.T) {
	phase := wire.NewFacet(`status.phase`)
	for name, raw := range map[string]string{"pod": pod, "big pod": string(bigPod)} {
		const n = 2000
		s := wire.NewScanner(phase)
		objects := make([]*wire.Object, n)
		before := heap()
		for i := range objects {
			o, err := s.Scan(wire.JSON, []byte(strings.Replace(raw, "hello-pod", fmt.Sprintf("pod-%05d", i), 1)))
			if err != nil {
				t.Fatal(err)
			}
			objects[i] = o
		}
		held, said := int(heap()-before)/n, objects[0].Size()
		// What they share is counted with each; what the allocator rounds up is not.
		if held < said*80/100 || held > said*115/100 {
			t.Errorf("a %s takes %d bytes and says %d", name, held, said)
		}
		runtime.KeepAlive(objects)
	}
}

// Of an object that is packed, too, and whose facets are nobody else's.
func TestSizeIsTheMemoryThatAPackedObjectTakes(t *testing.T) {
	const n = 500
	s := wire.NewScanner(wire.NewFacet(`status.log`))
	p, err := dictionary(t, scan(t, pod)).Packer()
	if err != nil {
		t.Fatal(err)
	}
	packed := make([]*wire.Packed, n)
	before, said := heap(), 0
	for i := range packed {
		log := fmt.Sprintf(`,"log":%q`, strings.Repeat(fmt.Sprintf("%05d ", i), 150))
		o, err := s.Scan(wire.JSON, []byte(strings.Replace(pod, `"phase":"Running"`, `"phase":"Running"`+log, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if packed[i] = p.Pack(o); packed[i] == nil {
			t.Fatal("it does not pack")
		}
		said += packed[i].Size()
	}
	held := int(heap() - before)
	if held < said*80/100 || held > said*120/100 {
		t.Errorf("%d bytes each, and they say %d", held/n, said/n)
	}
	runtime.KeepAlive(packed)
}
