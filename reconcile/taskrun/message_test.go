package taskrun

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadReport(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	seven := int32(7)
	for name, c := range map[string]struct {
		message string
		want    report
	}{
		"none":                   {"", report{}},
		"not the entrypoint's":   {"exec: no such file", report{visible: "exec: no such file"}},
		"cut by the kubelet":     {`[{"key":"a","val`, report{visible: `[{"key":"a","val`}},
		"JSON of another shape":  {`{"key":"a"}`, report{visible: `{"key":"a"}`}},
		"badly compressed":       {"tknz:abc", report{visible: "tknz:abc"}},
		"all of it":              {`[{"key":"StartedAt","value":"2026-01-02T03:04:05.678Z","type":3},{"key":"Reason","value":"Skipped","type":3},{"key":"ExitCode","value":"7","type":3}]`, report{startedAt: &at, reason: "Skipped", exitCode: &seven}},
		"the last one counts":    {`[{"key":"r","value":"1","type":1},{"key":"r","value":"2","type":1}]`, report{visible: `[{"key":"r","value":"2","type":1}]`, results: []entry{{"r", "2", 1}}}},
		"types in words":         {`[{"key":"r","value":"1","type":"TaskRunResult"},{"key":"Reason","value":"x","type":"InternalTektonResult"}]`, report{reason: "x", visible: `[{"key":"r","value":"1","type":1}]`, results: []entry{{"r", "1", 1}}}},
		"a result named Reason":  {`[{"key":"Reason","value":"mine","type":1}]`, report{visible: `[{"key":"Reason","value":"mine","type":1}]`, results: []entry{{"Reason", "mine", 1}}}},
		"types that we have not": {`[{"key":"a","value":"b","type":9},{"key":"c","value":"d","type":"?"},{"key":"e","value":"f","type":{}}]`, report{visible: `[{"key":"a","value":"b","type":9},{"key":"c","value":"d","type":0},{"key":"e","value":"f","type":0}]`}},
		"nonsense in our words":  {`[{"key":"StartedAt","value":"yesterday","type":3},{"key":"ExitCode","value":"many","type":3}]`, report{}},
	} {
		if got := readReport(c.message); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// What is small when it is compressed may be endless when it is not.
func TestCompressedMessageHasAnEnd(t *testing.T) {
	for size, fine := range map[int]bool{maxMessageText: true, maxMessageText + 1: false} {
		var packed bytes.Buffer
		w := must(flate.NewWriter(&packed, flate.BestCompression))
		_ = must(w.Write(bytes.Repeat([]byte(" "), size)))
		check(w.Close())
		text, err := decompress(compressedPrefix + base64.StdEncoding.EncodeToString(packed.Bytes()))
		if (err == nil) != fine || fine && len(text) != size {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
	}
}

// Steps write what they like into their termination message.
func FuzzReadReport(f *testing.F) {
	f.Add(`[{"key":"r","value":"1","type":1},{"key":"StartedAt","value":"2026-01-02T03:04:05.678Z","type":3}]`)
	f.Add(`[{"key":1}]`)
	f.Add("tknz:")
	f.Add(`[null,{"type":"\ud800"}]`)
	f.Fuzz(func(_ *testing.T, message string) { readReport(message) })
}
