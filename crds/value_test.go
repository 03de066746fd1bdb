package crds

import (
	"encoding/json"
	"testing"
)

// Claim 3: a value keeps the kind it came in; other JSON becomes its own text.
func TestParamValueKeepsItsKind(t *testing.T) {
	cases := []struct {
		name string
		json string
		want ParamValue
		// What it is written as; empty means: as it came.
		written string
	}{
		{"string", `"a"`, NewString("a"), ""},
		{"empty string", `""`, NewString(""), ""},
		{"string that looks like an array", `"[\"a\"]"`, NewString(`["a"]`), ""},
		{"string with a variable", `"$(params.a[*])"`, NewString("$(params.a[*])"), ""},
		{"array", `["a","b"]`, NewArray("a", "b"), ""},
		{"array of none", `[]`, NewArray(), ""},
		{"object", `{"k":"v"}`, NewObject(map[string]string{"k": "v"}), ""},
		{"object of none", `{}`, NewObject(map[string]string{}), ""},
		{"number", `5`, NewString("5"), `"5"`},
		{"number as written", `1.50e3`, NewString("1.50e3"), `"1.50e3"`},
		{"boolean", `true`, NewString("true"), `"true"`},
		{"null", `null`, NewString(""), `""`},
		{"array of numbers", `[1,2]`, NewString("[1,2]"), `"[1,2]"`},
		{"mixed array", `["a",1]`, NewString(`["a",1]`), `"[\"a\",1]"`},
		{"nested object", `{"k":{"l":"v"}}`, NewString(`{"k":{"l":"v"}}`), `"{\"k\":{\"l\":\"v\"}}"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var param Param
			if err := json.Unmarshal([]byte(`{"name":"p","value":`+c.json+`}`), &param); err != nil {
				t.Fatal(err)
			}
			if !param.Value.Equal(c.want) {
				t.Errorf("read %s as %+v, want %+v", c.json, param.Value, c.want)
			}
			written, err := json.Marshal(param.Value)
			if err != nil {
				t.Fatal(err)
			}
			if c.written == "" {
				c.written = c.json
			}
			if string(written) != c.written {
				t.Errorf("wrote %s, want %s", written, c.written)
			}
		})
	}
}

// A list of results is decoded into one slice again and again: what an element
// held before must not show through.
func TestParamValueIsReplacedWhole(t *testing.T) {
	value := NewObject(map[string]string{"old": "x"})
	if err := json.Unmarshal([]byte(`{"new":"y"}`), &value); err != nil {
		t.Fatal(err)
	}
	if !value.Equal(NewObject(map[string]string{"new": "y"})) {
		t.Errorf("%+v", value)
	}
	if err := json.Unmarshal([]byte(`"s"`), &value); err != nil {
		t.Fatal(err)
	}
	if value.Type != ParamTypeString || value.ObjectVal != nil {
		t.Errorf("the string still holds an object: %+v", value)
	}
}

func TestParamValueZeroIsTheEmptyString(t *testing.T) {
	written, err := json.Marshal(Param{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"p","value":""}`; string(written) != want {
		t.Errorf("wrote %s, want %s", written, want)
	}
	if !(ParamValue{}).Equal(NewString("")) {
		t.Error("the zero value is not the empty string")
	}
}

func TestParamValueRefusesWhatItCannotWriteOrRead(t *testing.T) {
	if _, err := json.Marshal(ParamValue{Type: "set"}); err == nil {
		t.Error("wrote a value of no known type")
	}
	for _, bad := range []string{``, `x`, `[`, `{"k":`, `"a`} {
		if err := new(ParamValue).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("read %q, which is not JSON", bad)
		}
	}
}

func TestParamValueEqual(t *testing.T) {
	values := []ParamValue{
		NewString(""), NewString("a"), NewArray(), NewArray("a"), NewArray("a", "b"),
		NewObject(nil), NewObject(map[string]string{"a": "b"}),
	}
	for i, v := range values {
		for j, w := range values {
			if v.Equal(w) != (i == j) {
				t.Errorf("%+v equals %+v: %t", v, w, v.Equal(w))
			}
		}
	}
	if !NewArray().Equal(NewArray([]string{}...)) || !NewObject(nil).Equal(NewObject(map[string]string{})) {
		t.Error("nil and empty differ")
	}
}

// Any JSON is read, and what is written for it reads as the same value, of the
// same kind: once through the types, a value no longer changes.
func FuzzParamValue(f *testing.F) {
	for _, seed := range []string{`"a"`, `["a"]`, `{"a":"b"}`, `5`, `[1]`, `null`, `[null]`, `{"a":null}`, `{"a":1,"a":"b"}`, "\"\u2028<&>\"", `"\ud800"`, "{\"\xd5\":0}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second ParamValue
		if err := json.Unmarshal(raw, &first); err != nil {
			if json.Valid(raw) {
				t.Fatalf("did not read %q: %v", raw, err)
			}
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("did not write what came of %q: %v", raw, err)
		}
		if err := json.Unmarshal(written, &second); err != nil {
			t.Fatalf("did not read its own %q: %v", written, err)
		}
		if !first.Equal(second) || first.Type != second.Type {
			t.Fatalf("%q became %+v and then %+v", raw, first, second)
		}
	})
}
