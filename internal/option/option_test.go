package option_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"millrace/internal/option"
)

type all struct {
	text     string
	duration time.Duration
	choice   string
	number   int
	boolean  bool
	list     []string
}

func (a *all) values() map[string]option.Value {
	return map[string]option.Value{
		"text":     option.Text(&a.text, "x"),
		"duration": option.Duration(&a.duration, time.Minute),
		"choice":   option.Choice(&a.choice, "one", "other"),
		"number":   option.Number(&a.number, 3, 1, 9),
		"boolean":  option.Boolean(&a.boolean, true),
		"list":     option.List(&a.list, "a", "b"),
	}
}

func TestAValueHasPutItsDefault(t *testing.T) {
	var a all
	a.values()
	if want := (all{"x", time.Minute, "one", 3, true, []string{"a", "b"}}); !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
}

func TestWhatIsNotWantedChangesNothingAndIsTold(t *testing.T) {
	for kind, c := range map[string]struct{ text, wants string }{
		"duration": {"5", "duration"}, "choice": {"neither", "one, other"}, "number": {"10", "from 1 to 9"}, "boolean": {"maybe", "true or false"},
	} {
		var a, untouched all
		untouched.values()
		err := a.values()[kind].Set(c.text)
		if err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s %q: %v", kind, c.text, err)
		}
		if !reflect.DeepEqual(a, untouched) {
			t.Errorf("%s %q leaves %+v", kind, c.text, a)
		}
	}
}

func TestStringIsWhatSetTakes(t *testing.T) {
	for kind, text := range map[string]string{"text": "y z", "duration": "1h30m0s", "choice": "other", "number": "9", "boolean": "false", "list": "c,d e"} {
		var a all
		v := a.values()[kind]
		if err := v.Set(text); err != nil || v.String() != text {
			t.Errorf("%s: %q became %q: %v", kind, text, v, err)
		}
	}
}

// A file gives a value in its own type, and in no other.
func TestAFileGivesAValueInItsType(t *testing.T) {
	const file = `{"text": "y", "duration": "2m", "choice": "other", "number": 7, "boolean": false, "list": ["c", "d"]}`
	var given map[string]any
	decoder := json.NewDecoder(strings.NewReader(file))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		t.Fatal(err)
	}
	var a all
	values := a.values()
	for kind, v := range values {
		text, err := v.FromJSON(given[kind])
		if err == nil {
			err = v.Set(text)
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for other, wrong := range given {
			if _, err := v.FromJSON(wrong); err == nil && reflect.TypeOf(wrong) != reflect.TypeOf(given[kind]) {
				t.Errorf("%s takes a %s, %v", kind, other, wrong)
			}
		}
	}
	if want := (all{"y", 2 * time.Minute, "other", 7, false, []string{"c", "d"}}); !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
	for kind, v := range values {
		out, err := json.Marshal(v.JSON())
		in, errIn := json.Marshal(given[kind])
		if kind == "duration" {
			in = []byte(`"2m0s"`)
		}
		if err != nil || errIn != nil || string(out) != string(in) {
			t.Errorf("%s: %s became %s: %v %v", kind, in, out, err, errIn)
		}
	}
}

// What may be shown of a secret is whether there is one; it can be used all the same.
func TestASecretIsNotShown(t *testing.T) {
	to := "x"
	v := option.Secret(&to)
	if to != "" || v.Shown() != "" || v.JSON() != "" {
		t.Errorf("none is %q, shown as %q and %v", to, v.Shown(), v.JSON())
	}
	if err := v.Set("s3cret"); err != nil || to != "s3cret" || v.String() != "s3cret" {
		t.Errorf("%q, %q, %v", to, v.String(), err)
	}
	if v.Shown() != "(secret)" || v.JSON() != "(secret)" {
		t.Errorf("shown as %q and %v", v.Shown(), v.JSON())
	}
	for _, wrong := range []any{map[string]any{"Authorization": "s3cret"}, []any{"s3cret"}, json.Number("53")} {
		if _, err := v.FromJSON(wrong); err == nil || strings.ContainsAny(err.Error(), "35") || !strings.Contains(err.Error(), "want a string") {
			t.Errorf("of %v it says %v", wrong, err)
		}
	}
	var number int
	if n := option.Number(&number, 3, 1, 9); n.Shown() != "3" {
		t.Errorf("3 is shown as %q", n.Shown())
	}
}

func TestAListInAFileHasWordsWithoutCommas(t *testing.T) {
	var a all
	for _, wrong := range []any{[]any{"a,b"}, []any{1}, "a"} {
		if text, err := a.values()["list"].FromJSON(wrong); err == nil {
			t.Errorf("%v became %q", wrong, text)
		}
	}
}

func TestAShellIsToldTheWords(t *testing.T) {
	var a all
	for name, v := range a.values() {
		want := map[string]string{"choice": "one other", "boolean": "true false"}[name]
		if got := strings.Join(v.Words(), " "); got != want {
			t.Errorf("%s takes %q, want %q", name, got, want)
		}
		for _, word := range v.Words() {
			if err := v.Set(word); err != nil {
				t.Errorf("%s does not take %q: %v", name, word, err)
			}
		}
	}
}
