package wire_test

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"millrace/wire"
)

// facetsOf scans an object for facets.
func facetsOf(tb testing.TB, raw string, facets ...wire.Facet) *wire.Object {
	tb.Helper()
	o, err := wire.NewScanner(facets...).Scan(wire.JSON, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestAFacetIsTheValueAtItsPath(t *testing.T) {
	const run = `{"kind":"TaskRun","metadata":{"name":"a","finalizers":["x","y"],"annotations":{"a.b/c":"note"}},
		"spec":{"retries":3,"debug":false,"none":null,"list":["p",2,true,null,{}]},
		"status":{"conditions":[{"status":"True","type":"Ready"},{"reason":"Done","status":"False","type":"Succeeded"},{"type":"Succeeded","status":"late"}],
			"results":[{"name":"one"},{"value":"no name"},{"name":"two\u00e9"},7],"retriesStatus":[{},{}]}}`
	for path, want := range map[string][]string{
		`kind`:                          {"TaskRun"},
		`metadata.name`:                 {"a"},
		`metadata.annotations["a.b/c"]`: {"note"},
		`metadata.finalizers[]`:         {"x", "y"},
		`spec.retries`:                  {"3"},
		`spec.debug`:                    {"false"},
		`spec.none`:                     nil,
		`spec.missing`:                  nil,
		`spec`:                          nil,
		`spec.list`:                     nil,
		`spec.list[]`:                   {"p", "2", "true"},
		`spec.list[#]`:                  {"5"},
		`spec.missing[#]`:               {"0"},
		`spec.retries[#]`:               {"0"},
		`spec.retries.below`:            nil,
		`status.conditions[type=Succeeded].status`:    {"False"},
		`status.conditions[type=Succeeded].reason`:    {"Done"},
		`status.conditions[type=Ready].status`:        {"True"},
		`status.conditions[type=Ready].reason`:        nil,
		`status.conditions[type=Unknown].status`:      nil,
		`status.conditions[].type`:                    {"Ready", "Succeeded", "Succeeded"},
		`status.conditions[#]`:                        {"3"},
		`status.results[].name`:                       {"one", "twoé"},
		`status.retriesStatus[#]`:                     {"2"},
		`status.conditions.type`:                      nil,
		`status.results[name=one].name`:               {"one"},
		`status.conditions[status=late]["type"]`:      {"Succeeded"},
		`status["conditions"][reason=Done]["status"]`: {"False"},
	} {
		f := wire.NewFacet(path)
		got, known := facetsOf(t, run, f).FacetValues(f)
		if !slices.Equal(got, want) || !known {
			t.Errorf("%s: %q, %v, want %q", path, got, known, want)
		}
		first, known := facetsOf(t, run, f).Facet(f)
		if !known || len(want) == 0 && first != "" || len(want) > 0 && first != want[0] {
			t.Errorf("%s: %q, %v", path, first, known)
		}
	}
}

func TestAllFacetsOfAScannerAreFoundInOnePass(t *testing.T) {
	paths := []string{`status.results[].name`, `status.conditions[type=A].status`, `status.conditions[type=A].reason`,
		`status.conditions[type=B].status`, `status.conditions[].type`, `status.conditions[#]`, `status.results[#]`, `spec.x`, `status.conditions[type=A].status`}
	var list []wire.Facet
	for _, p := range paths {
		list = append(list, wire.NewFacet(p))
	}
	o := facetsOf(t, `{"status":{"results":[{"name":"r"}],"conditions":[{"type":"B","status":"b"},{"type":"A","status":"a","reason":"why"}]}}`, list...)
	var got []string
	for _, f := range list {
		values, _ := o.FacetValues(f)
		got = append(got, strings.Join(values, ","))
	}
	if want := []string{"r", "a", "why", "b", "B,A", "2", "1", "", "a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAFacetSaysTheSameWhicheverWayAnObjectCameAndStays(t *testing.T) {
	phase, ready := wire.NewFacet(`status.phase`), wire.NewFacet(`status.conditions[type=Ready].status`)
	s := wire.NewScanner(phase, ready)
	see := func(way string, o *wire.Object) {
		t.Helper()
		p, known := o.Facet(phase)
		r, also := o.Facet(ready)
		if p != "Running" || r != "True" || !known || !also {
			t.Errorf("%s: phase %q, %v; ready %q, %v", way, p, known, r, also)
		}
	}
	e, err := s.Events(wire.JSON, strings.NewReader(`{"type":"ADDED","object":`+pod+`}`)).Next()
	if err != nil {
		t.Fatal(err)
	}
	see("event", e.Object)
	own := e.Object.Own()
	see("its own", own)
	see("cut", cut(t, e.Object, managedFields))
	see("cut later, of the status itself", cut(t, own, wire.Path{"status"}))
	_, err = s.List(wire.JSON, strings.NewReader(`{"kind":"PodList","apiVersion":"v1","items":[`+pod+`]}`), func(o *wire.Object, err error) error {
		see("item", o)
		see("item, owned", o.Own())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFacetsAreAtHandWhileAnObjectIsPacked(t *testing.T) {
	phase, none, other := wire.NewFacet(`status.phase`), wire.NewFacet(`status.none`), wire.NewFacet(`status.podIP`)
	o := facetsOf(t, pod, phase, none)
	d, err := wire.NewDictionary([]*wire.Object{o})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Packer()
	if err != nil {
		t.Fatal(err)
	}
	packed := p.Pack(o)
	if packed == nil {
		t.Fatal("it does not come back as it was")
	}
	again, err := packed.Object()
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[wire.Facet]string{phase: "Running true", none: " true", other: " false"} {
		for _, ask := range []func(wire.Facet) (string, bool){packed.Facet, again.Facet} {
			value, known := ask(f)
			check(t, f.String(), fmt.Sprint(value, " ", known), want)
		}
	}
	var values [2]string
	if known := packed.Facets([]wire.Facet{none, phase}, values[:]); !known || values != [2]string{"", "Running"} {
		t.Errorf("both: %q, %v", values, known)
	}
	if packed.Facets([]wire.Facet{phase, other}, values[:]) {
		t.Error("what the scanner has not looked for is said to be known")
	}
	if values, known := packed.FacetValues(phase); !known || !slices.Equal(values, []string{"Running"}) {
		t.Errorf("%q, %v", values, known)
	}
}

func TestObjectsWithTheSameFacetsShareThem(t *testing.T) {
	phase := wire.NewFacet(`status.phase`)
	s := wire.NewScanner(phase)
	value := func() string {
		o, err := s.Scan(wire.JSON, []byte(pod))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := o.Facet(phase)
		return v
	}
	a, b := value(), value()
	if unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("they are held twice")
	}
}

func TestWhoseFacetsAreNotKnownIsTold(t *testing.T) {
	name, other := wire.NewFacet(`status.results[].name`), wire.NewFacet(`spec.x`)
	results := func(n, length int) string {
		item := fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", length))
		return `{"spec":{"x":"y"},"status":{"results":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}}`
	}
	for what, o := range map[string]*wire.Object{
		"read alone":               scan(t, results(1, 1)),
		"without such a facet":     facetsOf(t, results(1, 1), wire.NewFacet(`spec.z`)),
		"a hostile number of them": facetsOf(t, results(100000, 0), name, other),
	} {
		for _, f := range []wire.Facet{name, other} {
			if v, known := o.Facet(f); known || v != "" {
				t.Errorf("%s: %s is %.40q, %v", what, f, v, known)
			}
			if v, known := o.FacetValues(f); known || v != nil {
				t.Errorf("%s: %s is %.40q, %v", what, f, v, known)
			}
		}
	}
	// What has no room is not known, and what has some is, whichever comes first.
	for what, o := range map[string]*wire.Object{
		"one long value":  facetsOf(t, results(1, 1025), name, other),
		"a hostile value": facetsOf(t, results(1, 1<<20), other, name),
		"many values":     facetsOf(t, results(300, 3), name, other),
	} {
		if v, known := o.Facet(name); known || v != "" {
			t.Errorf("%s: it is %.40q, %v", what, v, known)
		}
		if v, known := o.FacetValues(name); known || v != nil {
			t.Errorf("%s: it is %.40q, %v", what, v, known)
		}
		if v, known := o.Facet(other); !known || v != "y" {
			t.Errorf("%s: beside it is %q, %v", what, v, known)
		}
		values := make([]string, 2)
		if o.Facets([]wire.Facet{other, name}, values) || values[1] != "" {
			t.Errorf("%s: both are known: %.40q", what, values)
		}
		if bytes := o.Own().Size(); bytes > len(o.Bytes())+2<<10 {
			t.Errorf("%s: %d bytes are held of %d", what, bytes, len(o.Bytes()))
		}
	}
	for what, o := range map[string]*wire.Object{
		"a value that just fits": facetsOf(t, results(1, 1010), name, other),
		"values that just fit":   facetsOf(t, results(250, 3), name, other),
	} {
		if _, known := o.Facet(name); !known {
			t.Errorf("%s: not known", what)
		}
	}
	if v, known := facetsOf(t, pod, name).Facet(wire.Facet{}); known || v != "" {
		t.Errorf("the zero facet: %q, %v", v, known)
	}
}

// The border is the same whatever comes last: a list that is not there, one
// without items, a text.
func TestNoMoreThanAKibibyteOfFacetsIsKnown(t *testing.T) {
	a := wire.NewFacet(`a`)
	for size := range 20 {
		size += 1010
		first := 3+size <= 1<<10            // how many, how long, the text
		last := !first || 3+size+3 <= 1<<10 // how many, how long, 0
		for _, other := range []struct{ path, member string }{{`b[#]`, ``}, {`b[#]`, `,"b":[]`}, {`b`, `,"b":"0"`}} {
			raw := fmt.Sprintf(`{"a":%q%s}`, strings.Repeat("x", size), other.member)
			b := wire.NewFacet(other.path)
			o := facetsOf(t, raw, a, b)
			one, knownFirst := o.Facet(a)
			two, knownLast := o.Facet(b)
			if knownFirst != first || knownLast != last || knownFirst != (len(one) == size) || knownLast != (two == "0") {
				t.Errorf("a text of %d bytes and %s: known %t, of %d bytes, and %t, %q", size, other.path, knownFirst, len(one), knownLast, two)
			}
			if all := o.Facets([]wire.Facet{b, a}, make([]string, 2)); all != (first && last) {
				t.Errorf("a text of %d bytes and %s: both are known: %t", size, other.path, all)
			}
		}
	}
}

func TestAPathThatCannotBeReadIsNamed(t *testing.T) {
	for _, path := range []string{``, `.`, `a.`, `.a`, `a..b`, `[]`, `[#]`, `[a=b].c`, `a[`, `a[]b`, `a[x]`, `a[=b].c`, `a["b`, `a[""]`,
		`a[#].b`, `a[#][#]`, `a[].b[]`, `a[].b[#]`, `a[b=c]`, `a[b=c]d`} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, strconv.Quote(path)) {
					t.Errorf("%q: %s", path, said)
				}
			}()
			wire.NewFacet(path)
		}()
	}
	if f := wire.NewFacet(`a["b.c"].d[e=f.g/h]["i"]`); f.String() != `a["b.c"].d[e=f.g/h]["i"]` {
		t.Error(f)
	}
}

// fuzzFacets are asked of whatever the fuzzer makes up.
var fuzzFacets = func() []wire.Facet {
	var list []wire.Facet
	for _, path := range []string{
		`a`, `a.b`, `a[]`, `a[#]`, `a[a=b].n`, `a[].a`, `a[b=a].b[].a`, `a.n[a=1].b`, `spec`, `spec.a`, `spec.a.b`, `spec.b[]`, `spec[].a`,
		`spec[#]`, `spec[a=a].b`, `spec[b=true].a`, `spec.env[].n`, `kind`, `metadata.name`, `metadata.generation`, `metadata.finalizers[]`,
		`metadata.finalizers[#]`, `metadata.labels.a`, `metadata.ownerReferences[kind=a].name`, `metadata.ownerReferences[].uid`,
		`status.conditions[type=Ready].status`, `Metadata.a`, `Metadata[].b`,
	} {
		list = append(list, wire.NewFacet(path))
	}
	return list
}()

// FuzzFacets holds facets against decoding into a map and looking there.
func FuzzFacets(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		`{"a":[{"b":"a","b":[{"a":"x"},{"a":null,"a":"y"}]},{"a":"b","n":5}]}`,
		`{"a":{"b":1},"a":{"n":[{"b":2,"a":1},{"a":1,"b":3}]}}`,
		`{"spec":[{"a":"a","b":"\ud83d"},{"b":true,"a":1e5}],"kind":null}`,
		"{\"spec\":{\"a\":\"\xff\",\"b\":[\"\",0,-1.5E+3,[\"in\"]]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(checkFacets)
}

func TestFacetsAreDecodeAndLookForRandomObjects(t *testing.T) {
	for seed := range uint64(5000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 9))}
		w.object()
		checkFacets(t, []byte(w.String()))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkFacets(t *testing.T, raw []byte) {
	t.Helper()
	scanner := wire.NewScanner(fuzzFacets...)
	o, err := scanner.Scan(wire.JSON, raw)
	if plain, err2 := wire.Scan(wire.JSON, raw); (err != nil) != (err2 != nil) {
		t.Fatalf("with facets: %v, without: %v", err, err2)
	} else if err != nil {
		return
	} else {
		check(t, "without facets", string(plain.Bytes()), string(o.Bytes()))
	}
	v := generic(t, raw)
	total, many := 0, 0
	for _, f := range fuzzFacets {
		want := look(v, f.String())
		for _, s := range want {
			total, many = total+len(s), many+1
		}
		got, known := o.FacetValues(f)
		if known && !slices.Equal(got, want) {
			t.Fatalf("%s is %q, want %q in\n%s", f, got, want, raw)
		}
	}
	values := make([]string, len(fuzzFacets))
	all := o.Facets(fuzzFacets, values)
	for i, f := range fuzzFacets {
		if one, known := o.Facet(f); one != values[i] || all && !known {
			t.Fatalf("%s is %q, %v, and %q, %v together with the others, in\n%s", f, one, known, values[i], all, raw)
		}
	}
	if _, known := o.Facet(fuzzFacets[0]); !known && total+2*many < 900 {
		t.Fatalf("not known, of %d values of %d bytes:\n%s", many, total, raw)
	}
}

// look finds what a facet's path leads to in a decoded object.
func look(v any, path string) []string {
	if path == "" {
		switch v := v.(type) {
		case string:
			return []string{v}
		case stdjson.Number:
			return []string{v.String()}
		case bool:
			return []string{fmt.Sprint(v)}
		}
		return nil
	}
	list, _ := v.([]any)
	inner, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	switch {
	case strings.HasPrefix(path, "[#]"):
		return []string{fmt.Sprint(len(list))}
	case strings.HasPrefix(path, "[]"):
		var values []string
		for _, e := range list {
			values = append(values, look(e, strings.TrimPrefix(rest, "."))...)
		}
		return values
	case strings.HasPrefix(path, "["):
		name, value, _ := strings.Cut(inner, "=")
		for _, e := range list {
			if m, ok := e.(map[string]any); ok && slices.Equal(look(m[name], ""), []string{value}) {
				return look(e, strings.TrimPrefix(rest, "."))
			}
		}
		return nil
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	m, _ := v.(map[string]any)
	if strings.HasSuffix(path, "[#]") && m == nil {
		return []string{"0"}
	}
	return look(m[path[:end]], strings.TrimPrefix(path[end:], "."))
}
