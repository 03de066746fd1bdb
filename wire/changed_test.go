package wire_test

import (
	stdjson "encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"millrace/wire"
)

func TestChangedLooksAtContentNotAtSpelling(t *testing.T) {
	status := wire.Path{"status"}
	tests := []struct {
		name   string
		a, b   string
		except []wire.Path
		want   bool
	}{
		{name: "the same bytes", a: `{"a":1}`, b: `{"a":1}`},
		{name: "another value", a: `{"a":1}`, b: `{"a":2}`, want: true},
		{name: "another kind of value", a: `{"a":1}`, b: `{"a":"1"}`, want: true},
		{name: "order of members", a: `{"a":1,"b":{"c":2,"d":3}}`, b: `{"b":{"d":3,"c":2},"a":1}`},
		{name: "white space", a: `{"a":[1,{"b":2}]}`, b: "{ \"a\" :\n[ 1 , { \"b\" : 2 } ] }"},
		{name: "escapes in a value", a: `{"a":"<é>"}`, b: `{"a":"\u003c\u00e9\u003e"}`},
		{name: "escapes in a name", a: `{"a":1,"b":2}`, b: `{"b":2,"\u0061":1}`},
		{name: "order of a list", a: `{"a":[1,2]}`, b: `{"a":[2,1]}`, want: true},
		{name: "length of a list", a: `{"a":[1,2]}`, b: `{"a":[1]}`, want: true},
		{name: "a member more", a: `{"a":1}`, b: `{"a":1,"b":null}`, want: true},
		{name: "a member less", a: `{"a":1,"b":1}`, b: `{"a":1}`, want: true},
		{name: "a member with an empty name", a: `{"spec":{}}`, b: `{"spec":{"":1}}`, want: true},
		{name: "an empty map is not none", a: `{"a":{}}`, b: `{}`, want: true},
		{name: "resourceVersion never counts", a: `{"metadata":{"name":"x","resourceVersion":"1"}}`, b: `{"metadata":{"name":"x","resourceVersion":"2"}}`},
		{name: "managedFields never count", a: `{"metadata":{"managedFields":[{"manager":"a"}]}}`, b: `{"metadata":{"managedFields":[]}}`},
		{name: "managedFields elsewhere do", a: `{"spec":{"managedFields":1}}`, b: `{"spec":{"managedFields":2}}`, want: true},
		{name: "an excepted field", a: `{"spec":1,"status":{"x":1}}`, b: `{"spec":1,"status":{"x":2}}`, except: []wire.Path{status}},
		{name: "an excepted field that is new", a: `{"spec":1}`, b: `{"spec":1,"status":{"x":2}}`, except: []wire.Path{status}},
		{name: "a field beside it", a: `{"spec":1,"status":1}`, b: `{"spec":2,"status":1}`, except: []wire.Path{status}, want: true},
		{name: "a map with excepted fields only is as good as none", a: `{"metadata":{}}`, b: `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`, except: []wire.Path{lastApplied}},
		{name: "a map with another field too is not", a: `{"metadata":{}}`, b: `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"}}}`, except: []wire.Path{lastApplied}, want: true},
		{name: "an exception through a list", a: `{"l":[{"a":1,"b":1}]}`, b: `{"l":[{"b":1,"a":2}]}`, except: []wire.Path{{"l", "a"}}},
		{name: "of a name that comes twice the last counts", a: `{"a":1,"a":2}`, b: `{"a":2}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := scan(t, test.a), scan(t, test.b)
			if got := wire.Changed(a, b, test.except...); got != test.want {
				t.Errorf("changed: %v, want %v", got, test.want)
			}
			if got := wire.Changed(b, a, test.except...); got != test.want {
				t.Errorf("the other way round: %v, want %v", got, test.want)
			}
		})
	}
}

func TestChangedSaysYesWhereItIsTooDeepToLook(t *testing.T) {
	deep := func(inner string) *wire.Object {
		return scan(t, strings.Repeat(`{"a":`, 200)+inner+strings.Repeat(`}`, 200))
	}
	for _, now := range []string{`{"c":2,"b":1}`, `{"b": 1,"c":2}`} {
		if !wire.Changed(deep(`{"b":1,"c":2}`), deep(now)) {
			t.Error("not changed, which nobody can have seen")
		}
	}
}

// FuzzChanged holds Changed against comparing what the ordinary decoder makes
// of two objects.
func FuzzChanged(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []byte(seeds[(i+1)%len(seeds)]))
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, err := wire.Scan(wire.JSON, a)
		if err != nil {
			return
		}
		checkUnchangedByEncoding(t, x)
		if y, err := wire.Scan(wire.JSON, b); err == nil {
			checkChanged(t, x, y)
		}
	})
}

func TestChangedIsDecodeAndCompareForRandomObjects(t *testing.T) {
	var good []*wire.Object
	for seed := range uint64(3000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 3))}
		w.list("{}", w.IntN(3), func() { w.member(w.pick("a", "spec"), func() { w.anything(1) }) })
		good = append(good, scan(t, w.String()))
	}
	same := 0
	for i, o := range good {
		checkUnchangedByEncoding(t, o)
		if !checkChanged(t, o, good[(i*7+1)%len(good)]) {
			same++
		}
	}
	if same < 100 {
		t.Errorf("only %d pairs were equal: the test has lost its point", same)
	}
}

// checkChanged compares both answers; the right one is returned.
func checkChanged(t *testing.T, x, y *wire.Object) bool {
	t.Helper()
	want := !reflect.DeepEqual(counting(t, x), counting(t, y))
	if got := wire.Changed(x, y); got != want {
		t.Fatalf("changed: %v, want %v\n%s\n%s", got, want, x.Bytes(), y.Bytes())
	}
	return want
}

// counting is the decoded object without what never counts.
func counting(t *testing.T, o *wire.Object) any {
	t.Helper()
	v := generic(t, o.Bytes())
	remove(v, managedFields)
	remove(v, wire.Path{"metadata", "resourceVersion"})
	if top, ok := v.(map[string]any); ok {
		if m, ok := top["metadata"].(map[string]any); ok && len(m) == 0 {
			delete(top, "metadata") // as good as none
		}
	}
	return v
}

func checkUnchangedByEncoding(t *testing.T, o *wire.Object) {
	t.Helper()
	raw, err := stdjson.MarshalIndent(generic(t, o.Bytes()), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	again, err := wire.Scan(wire.JSON, raw)
	if err != nil {
		return // last of two names won, and it does not scan
	}
	if wire.Changed(o, again) {
		t.Fatalf("changed by encoding it again:\n%s\n%s", o.Bytes(), raw)
	}
}
