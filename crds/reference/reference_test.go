package reference

import (
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/crds"
	"millrace/internal/intime"
)

func TestEach(t *testing.T) {
	for in, want := range map[string][]string{
		"":                              nil,
		"$(params.x) $(date)x$(":        {"params.x", "date"},
		"$(echo $(params.x) $(date)) )": {"params.x", "date"},
		"))$($(a)":                      {"a"},
		"$()":                           {""},
		"${a}$(b":                       nil,
	} {
		var got []string
		Each(in, func(name string) { got = append(got, name) })
		if !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", in, got, want)
		}
	}
}

func TestEachOf(t *testing.T) {
	value := crds.ParamValue{StringVal: "$(a)", ArrayVal: []string{"$(b)", "$(c)"}, ObjectVal: map[string]string{"k": "$(d)"}}
	var got []string
	EachOf(value, func(name string) { got = append(got, name) })
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A megabyte of what only begins to be a reference takes no longer than one of them.
func TestEachIsLinear(t *testing.T) {
	for _, piece := range []string{"$(", ")", "$()", "$(a", "$(params.x)"} {
		in := strings.Repeat(piece, 1<<20/len(piece))
		intime.Within(t, 2*time.Second, piece+" over and over", func() { Each(in, func(string) {}) })
	}
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]string{"$(a)": "a", "$(a[*])": "a[*]", "x$(a)": "", "$(a)x": "", "$(a)$(b)": "", "$(a": "", "$(": "", "$": "", ")": "", "": ""} {
		if got, ok := Whole(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q %t", in, got, ok)
		}
	}
}

func TestOf(t *testing.T) {
	for in, want := range map[string]Variable{
		"params.x":           {"x", ""},
		"params.x[*]":        {"x", "[*]"},
		"params.x[3]":        {"x", "[3]"},
		"params.x.key":       {"x", ".key"},
		"params.a.b.c":       {"a", ".b.c"},
		`params["a.b"]`:      {"a.b", ""},
		`params['a.b'][0]`:   {"a.b", "[0]"},
		`params["x"]["key"]`: {"x", `["key"]`},
	} {
		if got, ok := Of("params", in); got != want || !ok {
			t.Errorf("%s: %+v %t, want %+v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "params", "params.", "params[0]", `params[""]`, `params["x`, "paramsx.y", "date", "inputs.params.x"} {
		if got, ok := Of("params", in); ok {
			t.Errorf("%s: %+v, want none", in, got)
		}
	}
}

func TestPartsOfAVariable(t *testing.T) {
	for in, want := range map[string]struct {
		index     int
		indexed   bool
		key       string
		keyed     bool
		wholesale bool
	}{
		"p.x":        {},
		"p.x[*]":     {wholesale: true},
		"p.x[12]":    {index: 12, indexed: true},
		"p.x[a]":     {},
		"p.x.k":      {key: "k", keyed: true},
		`p.x["k.l"]`: {key: "k.l", keyed: true},
		`p.x['k']`:   {key: "k", keyed: true},
		`p.x['k'].l`: {key: "k"},
		"p.x.":       {},
	} {
		v, _ := Of("p", in)
		index, indexed := v.Index()
		key, keyed := v.Key()
		if indexed != want.indexed || indexed && index != want.index || keyed != want.keyed || keyed && key != want.key || v.Whole() != want.wholesale {
			t.Errorf("%s: [%d] %t, .%s %t, whole %t", in, index, indexed, key, keyed, v.Whole())
		}
	}
}

// FuzzOf: every spelling of a name is read as that name, and what is read has been there.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{"x", "a.b", "a-b_c", "", `a"]`, "['", "ünï"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if v, ok := Of("params", name); ok && !strings.Contains(name, v.Name+v.Rest) && !strings.HasSuffix(name, v.Rest) {
			t.Errorf("%q was read as %+v", name, v)
		}
		for i, spelling := range Spellings("params", name) {
			if i == 0 && strings.ContainsAny(name, ".[") || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"'\]`, r) }) {
				continue
			}
			if v, ok := Of("params", spelling); !ok || v != (Variable{Name: name}) {
				t.Errorf("%s: %+v %t", spelling, v, ok)
			}
		}
	})
}

// FuzzWhole: a text is one reference if that is the first, and nothing is around it.
func FuzzWhole(f *testing.F) {
	for _, seed := range []string{"$(a)", "$(", "$()", "$(a", "$($(a)", "$(a))", "x$(a)", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, whole := Whole(text)
		before, first, after, found := Next(text)
		if want := found && before == "" && after == ""; want && !whole || whole && "$("+name+")" != text || want && name != first {
			t.Errorf("%q: %q %t, and the first is %q", text, name, whole, first)
		}
	})
}
