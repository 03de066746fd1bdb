package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a step writes to the termination message, no entry of ours can be
// forged with it, and what is kept of it comes out as it went in.
func FuzzDeclared(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", "[7]", "[[]]", "[null]",
		`[{"key":"r","value":"x","type":1}]`,
		`[{"key":"r","value":"x","type":4},{"key":"Reason","value":"Skipped","type":3}]`,
		`[{"KEY":"r","Value":"\u0000\ud800","TYPE":1,"more":{}}]`,
		`[{"key":"r","value":1,"type":1}]`, `[{"key":"r","value":"x","type":"1"}]`,
		strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed))
	}
	s := step{results: []string{"r"}, stepResults: []string{"s"}}
	f.Fuzz(func(t *testing.T, message []byte) {
		kept, _ := s.declared(message)
		for _, e := range kept {
			if !(e.Type == taskResult && e.Key == "r" || e.Type == stepResult && e.Key == "s") {
				t.Fatalf("kept %+v", e)
			}
		}
		again, all := s.declared(encode(kept))
		if len(again) != len(kept) || !all {
			t.Fatalf("kept %+v, then %+v", kept, again)
		}
		for i := range kept {
			if again[i] != kept[i] {
				t.Fatalf("kept %+v, then %+v", kept[i], again[i])
			}
		}
	})
}

// What is written is what a JSON reader reads, for every result a step can think
// of.
func FuzzEncode(f *testing.F) {
	f.Add("r", "plain")
	f.Add("r", "\x00\x1f\"\\</script>&\u2028\u2029\n")
	f.Add("r", "\xff\xfe\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, key, value string) {
		var got []entry
		if err := json.Unmarshal(encode([]entry{{key, value, taskResult}}), &got); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(value) && got[0].Value != value {
			t.Fatalf("wrote %q, read %q", value, got[0].Value)
		}
		if want := strings.ToValidUTF8(value, "\ufffd"); strings.ReplaceAll(got[0].Value, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Fatalf("wrote %q, read %q", value, got[0].Value)
		}
	})
}

// Flags may be anything: an error at worst.
func FuzzParseStep(f *testing.F) {
	f.Add("-results\x00a,b\x00-entrypoint\x00sh\x00--\x00-c\x00exit")
	f.Add("-script\x00#!\x00-script_file\x00f\x00-timeout\x00-1h\x00-h")
	f.Add("-wait_file_content=maybe")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseStep(strings.Split(line, "\x00"))
		if err != nil {
			return
		}
		if len(s.command) == 0 || s.command[0] == "" || s.timeout < 0 {
			t.Fatalf("accepted %+v", s)
		}
		for _, name := range append(s.results, s.stepResults...) {
			if name == "" || name == ".." || strings.Contains(name, "/") {
				t.Fatalf("accepted result %q", name)
			}
		}
	})
}

func TestTheLastOfEachKeyIsKept(t *testing.T) {
	got := lastOfEach([]entry{{"a", "1", taskResult}, {"b", "2", taskResult}, {"a", "3", stepResult}, {"a", "4", taskResult}})
	want := []entry{{"b", "2", taskResult}, {"a", "3", stepResult}, {"a", "4", taskResult}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		equal(t, "entry", got[i], want[i])
	}
}
