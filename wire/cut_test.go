package wire_test

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"millrace/wire"
)

var (
	managedFields = wire.Path{"metadata", "managedFields"}
	lastApplied   = wire.Path{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}
)

func scan(tb testing.TB, raw string) *wire.Object {
	tb.Helper()
	o, err := wire.Scan(wire.JSON, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func cut(tb testing.TB, o *wire.Object, paths ...wire.Path) *wire.Object {
	tb.Helper()
	c, err := o.Cut(paths...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestCutTakesAFieldAndItsCommaAndNothingElse(t *testing.T) {
	tests := []struct{ name, in, path, want string }{
		{"the only one", `{"a":1}`, `a`, `{}`},
		{"the first", `{"a":1, "b":2}`, `a`, `{"b":2}`},
		{"the last", `{"a":1 ,"b":2}`, `b`, `{"a":1 }`},
		{"one between", `{"a":1,"b":2,"c":3}`, `b`, `{"a":1,"c":3}`},
		{"white space around", "{ \"a\" : 1 ,\n \"b\" : 2\n}", `a`, "{ \"b\" : 2\n}"},
		{"several in a row", `{"a":1,"b":2,"c":3,"a":4}`, `a`, `{"b":2,"c":3}`},
		{"all of one name", `{"a":1,"a":2}`, `a`, `{}`},
		{"one that is not there", `{"b":1}`, `a`, `{"b":1}`},
		{"within a map that stays, empty", `{"m":{"a":1},"n":2}`, `m.a`, `{"m":{},"n":2}`},
		{"a name with points", `{"m":{"a.b/c":1,"d":2}}`, `m["a.b/c"]`, `{"m":{"d":2}}`},
		{"a name spelled with escapes", `{"\u0061":1,"b":2}`, `a`, `{"b":2}`},
		{"another case is another name", `{"A":1}`, `a`, `{"A":1}`},
		{"through a list", `{"l":[{"a":1,"b":2},{"b":3},[{"a":4}],5]}`, `l.a`, `{"l":[{"b":2},{"b":3},[{}],5]}`},
		{"below what is no object", `{"a":"x","b":null}`, `a.b`, `{"a":"x","b":null}`},
		{"what looks like it in a string", `{"b":"\"a\":1,","a":1}`, `a`, `{"b":"\"a\":1,"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := wire.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			got := cut(t, scan(t, test.in), path)
			if string(got.Bytes()) != test.want {
				t.Errorf("cut %s of %s: %s, want %s", path, test.in, got.Bytes(), test.want)
			}
			if got.Saved() != len(test.in)-len(test.want) {
				t.Errorf("saved %d, want %d", got.Saved(), len(test.in)-len(test.want))
			}
		})
	}
}

func TestCutOfSeveralPathsAtOnce(t *testing.T) {
	in := `{"metadata":{"name":"x","managedFields":[{}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","k":"v"}},"spec":{"a":1},"status":{}}`
	got := cut(t, scan(t, in), managedFields, lastApplied, wire.Path{"status"})
	want := `{"metadata":{"name":"x","annotations":{"k":"v"}},"spec":{"a":1}}`
	if string(got.Bytes()) != want {
		t.Errorf("%s, want %s", got.Bytes(), want)
	}
}

func TestCutLeavesTheObjectItWasCutFromAlone(t *testing.T) {
	o := scan(t, pod)
	c := cut(t, o, managedFields, lastApplied)
	if string(o.Bytes()) != pod || o.Saved() != 0 {
		t.Error("the original has changed")
	}
	if c.Size() >= o.Size() || c.Saved() == 0 {
		t.Errorf("size %d after %d, saved %d", c.Size(), o.Size(), c.Saved())
	}
	if again := cut(t, c, managedFields, lastApplied); again != c {
		t.Error("where there is nothing to cut, the result is not the object itself")
	}
}

func TestWhatScanHasReadStaysKnownAfterACut(t *testing.T) {
	o := scan(t, pod)
	c := cut(t, o, wire.Path{"metadata"})
	if c.Key() != o.Key() || c.UID() != o.UID() || len(c.Owners()) != 1 {
		t.Errorf("key %v, uid %q, %d owners", c.Key(), c.UID(), len(c.Owners()))
	}
	if got := cut(t, c, managedFields, wire.Path{"spec"}); bytes.Contains(got.Bytes(), []byte("spec")) {
		t.Errorf("after metadata was cut, spec cannot be: %s", got.Bytes())
	}
}

func TestCutInStepsIsCutAtOnce(t *testing.T) {
	o := scan(t, pod)
	paths := []wire.Path{{"spec", "containers", "env"}, lastApplied, managedFields, {"kind"}, {"status", "conditions"}}
	steps := o
	for _, p := range paths {
		steps = cut(t, steps, p)
	}
	once := cut(t, o, paths...)
	if !bytes.Equal(steps.Bytes(), once.Bytes()) || steps.Saved() != once.Saved() {
		t.Errorf("in steps:\n%s\nat once:\n%s", steps.Bytes(), once.Bytes())
	}
}

func TestCutRefusesAPathWithoutNames(t *testing.T) {
	if _, err := scan(t, pod).Cut(wire.Path{}); err == nil {
		t.Error("no error")
	}
}

func TestACutPodDecodesToAPodWithoutThoseFields(t *testing.T) {
	o := scan(t, pod)
	want, err := wire.Decode[corev1.Pod](o)
	if err != nil {
		t.Fatal(err)
	}
	want.ManagedFields = nil
	delete(want.Annotations, lastApplied[2])
	got, err := wire.Decode[corev1.Pod](cut(t, o, managedFields, lastApplied))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// fuzzPaths are cut out of whatever the fuzzer makes up.
var fuzzPaths = []wire.Path{managedFields, lastApplied, {"a"}, {"spec", "a"}, {"spec", "b", "n"}, {"metadata", "labels", "a"}}

// FuzzCut holds Cut against decoding, deleting and encoding.
func FuzzCut(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if o, err := wire.Scan(wire.JSON, raw); err == nil {
			checkCut(t, o)
		}
	})
}

func TestCutIsDecodeDeleteEncodeForRandomObjects(t *testing.T) {
	for seed := range uint64(5000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 2))}
		w.object()
		if o, err := wire.Scan(wire.JSON, []byte(w.String())); err == nil {
			checkCut(t, o)
		}
	}
}

func checkCut(t *testing.T, o *wire.Object) {
	t.Helper()
	for _, paths := range [][]wire.Path{fuzzPaths, fuzzPaths[:2]} {
		want := generic(t, o.Bytes())
		for _, p := range paths {
			remove(want, p)
		}
		c := cut(t, o, paths...)
		if got := generic(t, c.Bytes()); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut of\n%s\nis\n%s\nwant %v", o.Bytes(), c.Bytes(), want)
		}
		if again := cut(t, c, paths...); again != c {
			t.Fatalf("a second cut of\n%s\nhas found something:\n%s", c.Bytes(), again.Bytes())
		}
		if _, err := wire.Scan(wire.JSON, c.Bytes()); err != nil {
			t.Fatalf("a cut object does not scan: %v\n%s", err, c.Bytes())
		}
	}
}

// generic decodes without a type, keeping numbers as they are spelled.
func generic(t *testing.T, raw []byte) any {
	t.Helper()
	d := stdjson.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v:\n%s", err, raw)
	}
	return v
}

func remove(v any, p wire.Path) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			remove(e, p)
		}
	case map[string]any:
		if len(p) == 1 {
			delete(v, p[0])
			return
		}
		remove(v[p[0]], p[1:])
	}
}
