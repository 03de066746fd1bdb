package variables

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/internal/intime"
)

func someVariables() Set {
	v := New()
	v.SetParams(map[string]crds.ParamValue{
		"x":     crds.NewString("ex"),
		"empty": crds.NewString(""),
		"sly":   crds.NewString("$(params.x)"),
		"half":  crds.NewString("$(params."),
		"array": crds.NewArray("one", "$(params.x)", ""),
		"none":  crds.NewArray(),
	})
	return v
}

func TestText(t *testing.T) {
	v := someVariables()
	for in, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain",
		"$(params.x)":                        "ex",
		"a$(params.x)b$(params.x)c":          "aexbexc",
		`$(params["x"])$(params['x'])`:       "exex",
		"$(params.empty)":                    "",
		"$(params.empty)rest":                "rest",
		"$(params.sly)":                      "$(params.x)",
		"$(params.half)x)":                   "$(params.x)", // joined with what follows, not looked at again
		"$(params.array[0])":                 "one",
		"$(params.array[1])":                 "$(params.x)",
		"$(params.array[3])":                 "$(params.array[3])",
		"$(params.array[-1])":                "$(params.array[-1])",
		"$(params.array)":                    "$(params.array)", // not in a text
		"$(params.array[*])":                 "$(params.array[*])",
		"$(params.unknown) $(date) $(":       "$(params.unknown) $(date) $(",
		"$$(params.x)":                       "$ex",
		"$($(params.x))":                     "$(ex)",
		"$(echo $(params.x) $(date))":        "$(echo ex $(date))",
		")$(params.x)":                       ")ex",
		"$(params.x":                         "$(params.x",
		"$( params.x)":                       "$( params.x)",
		"${params.x}":                        "${params.x}",
		"ünï$(params.x)çødé":                 "ünïexçødé",
		"$(params.x)\x00\xff$(params.empty)": "ex\x00\xff",
	} {
		if got := v.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestElements(t *testing.T) {
	v := someVariables()
	for in, want := range map[string][]string{
		"$(params.array)":      {"one", "$(params.x)", ""},
		"$(params.array[*])":   {"one", "$(params.x)", ""},
		`$(params["array"])`:   {"one", "$(params.x)", ""},
		"$(params.none[*])":    {},
		"$(params.array[0])":   {"one"},
		"$(params.x)":          {"ex"},
		"x $(params.array[*])": {"x $(params.array[*])"},
		"$(params.array))":     {"$(params.array))"},
		"plain":                {"plain"},
		"$(":                   {"$("},
		"":                     {""},
	} {
		if got := v.Elements(in); !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	v := someVariables()
	v.Faults = &Faults{}
	v.Text("$(params.array[7]) $(params.unknown) $(params.array[*])x $(results.r.path) $(context.taskRun.nope) $(context.pipeline.name) $(workspaces.w.path) $(date) $(params.unknown)")
	want := Faults{
		Outside:  []string{"$(params.array[7])"},
		Isolated: []string{"$(params.array[*])"},
		Unknown:  []string{"$(params.unknown)", "$(results.r.path)", "$(context.taskRun.nope)"},
	}
	if !reflect.DeepEqual(*v.Faults, want) {
		t.Errorf("got %+v, want %+v", *v.Faults, want)
	}
}

// A text that is all opening brackets must not take quadratic time.
func TestTextIsLinear(t *testing.T) {
	v := someVariables()
	for _, hostile := range []string{strings.Repeat("$(", 1<<20) + ")", strings.Repeat("$(a)", 1<<18), strings.Repeat("$($(params.x)", 1<<17)} {
		intime.Within(t, 2*time.Second, hostile[:20]+"...", func() { v.Text(hostile) })
	}
}

// FuzzText compares the scanner with a model that looks at each position for each
// name. The model cannot scan its output again, because it never reads it.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "$(params.x)", "$(params.sly)$(params.half)x)", "$($(params.x))", "$(params.array[2])[*])", "$$(params.empty)$(", "\xff$(params.x)"} {
		f.Add(seed)
	}
	v := someVariables()
	values := map[string]string{}
	for name, value := range v.Strings {
		values["$("+name+")"] = value
	}
	for _, scope := range []string{"params.array", "inputs.params.array", `params["array"]`, "params['array']"} {
		for i, value := range v.Arrays["params.array"] {
			values["$("+scope+"["+string(rune('0'+i))+"])"] = value
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		var want strings.Builder
	next:
		for i := 0; i < len(in); {
			for written, value := range values {
				if strings.HasPrefix(in[i:], written) {
					want.WriteString(value)
					i += len(written)
					continue next
				}
			}
			want.WriteByte(in[i])
			i++
		}
		if got := v.Text(in); got != want.String() && !oddIndex(in) {
			t.Errorf("%q became %q, want %q", in, got, want.String())
		}
		if _, whole := reference.Whole(in); !whole {
			if got := v.Elements(in); len(got) != 1 || got[0] != v.Text(in) {
				t.Errorf("as an element %q became %q", in, got)
			}
		}
	})
}

// oddIndex excuses indices that are numbers in another spelling (+1, 01).
func oddIndex(in string) bool {
	return strings.Contains(in, "[+") || strings.Contains(in, "[0") || strings.Contains(in, "[-0")
}

func TestApplyKeepsKindsAndNumbers(t *testing.T) {
	v := someVariables()
	type inner struct {
		Command []string          `json:"command,omitempty"`
		Names   []string          `json:"names"`
		Big     int64             `json:"big"`
		Map     map[string]string `json:"map"`
		Nothing *int              `json:"nothing"`
	}
	got, err := Apply(v, inner{
		Command: []string{"$(params.array)", "$(params.none)"}, Names: []string{"$(params.x)", "$(params.array)"},
		Big: 1<<53 + 1, Map: map[string]string{"$(params.x)": "$(params.x)"},
	})
	want := inner{
		Command: []string{"one", "$(params.x)", ""}, Names: []string{"ex", "$(params.array)"},
		Big: 1<<53 + 1, Map: map[string]string{"$(params.x)": "ex"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestKnown(t *testing.T) {
	v := someVariables()
	v.SetParams(map[string]crds.ParamValue{"object": crds.NewObject(map[string]string{"k": "v"})})
	for name, want := range map[string]bool{
		"params.x": true, "params.x[*]": true, "params.array": true, "params.array[*]": true, "params.array[2]": true, "params.array[3]": false,
		"params.object": true, "params.object[*]": true, "params.object.k": true, "params.object.l": false, "params.y": false, "date": false,
	} {
		if got := v.Known(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
