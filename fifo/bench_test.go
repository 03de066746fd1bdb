package fifo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"millrace/fifo"
	"millrace/wire"
)

// BenchmarkUpdatePop is one event of a known object through the FIFO.
func BenchmarkUpdatePop(b *testing.B) {
	s := store{}
	f := fifo.New(s, fifo.Config{})
	states := []*wire.Object{obj(b, "a", "u1", "1"), obj(b, "a", "u1", "2")}
	take := func(e fifo.Entry) error { s[e.Key] = e.Deltas[0].Object; return nil }
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := f.Update(states[i%2]); err != nil {
			b.Fatal(err)
		}
		if err := f.Pop(context.Background(), take); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvent is an event of a run of 10 KB, from the bytes of the stream to a
// store: as far as it is read, as far as it is kept, and all the way.
func BenchmarkEvent(b *testing.B) {
	frame := fmt.Sprintf(`{"type":"MODIFIED","object":%s}`+"\n", run("1"))
	frame += fmt.Sprintf(`{"type":"MODIFIED","object":%s}`+"\n", run("2"))
	bench := func(name string, each func(*wire.Object) error) {
		b.Run(name, func(b *testing.B) {
			events := new(wire.Scanner).Events(wire.JSON, &endless{text: frame})
			b.SetBytes(int64(len(frame) / 2))
			b.ReportAllocs()
			for b.Loop() {
				e, err := events.Next()
				if err == nil {
					err = each(e.Object)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	keep := cutting("metadata", "managedFields")
	s := store{}
	f := fifo.New(s, fifo.Config{Transform: keep})
	bench("read", func(*wire.Object) error { return nil })
	bench("kept", func(o *wire.Object) error { _, err := keep(o); return err })
	bench("popped", func(o *wire.Object) error {
		if err := f.Update(o); err != nil {
			return err
		}
		return f.Pop(context.Background(), s.take)
	})
}

// run is a TaskRun of the 10 KB class, with four labels and an owner.
func run(version string) string {
	var steps, fields []string
	for i := range 16 {
		steps = append(steps, fmt.Sprintf(`{"name":"step-%d","image":"registry.example.com/team/image@sha256:%064d","container":"step-step-%d","terminated":{"exitCode":0,"reason":"Completed","startedAt":"2026-09-01T10:00:%02dZ","containerID":"containerd://%064d"},"inputs":[],"outputs":[{"name":"digest","type":"string","value":"sha256:%064d"}]}`, i, i, i, i, i, i))
		fields = append(fields, fmt.Sprintf(`"k:{\"name\":\"step-%d\"}":{".":{},"f:container":{},"f:image":{},"f:name":{},"f:terminated":{".":{},"f:exitCode":{},"f:reason":{}}}`, i))
	}
	return fmt.Sprintf(`{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":{"generation":1,"labels":{"app.kubernetes.io/managed-by":"millrace","tekton.dev/pipelineRun":"build-7","tekton.dev/pipelineTask":"compile","tekton.dev/memberOf":"tasks"},"managedFields":[{"apiVersion":"tekton.dev/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{%s}},"manager":"millrace","operation":"Update","subresource":"status","time":"2026-09-01T10:00:00Z"}],"name":"build-7-compile","namespace":"ci","ownerReferences":[{"apiVersion":"tekton.dev/v1","blockOwnerDeletion":true,"controller":true,"kind":"PipelineRun","name":"build-7","uid":"0c1f0d3a-90bd-4d5c-9d55-0e6a59d0f6a2"}],"resourceVersion":%q,"uid":"7b0d2c9e-4c1f-4f0e-8f43-7f7a0c2b9a11"},"spec":{"params":[{"name":"revision","value":"main"}],"serviceAccountName":"default","taskRef":{"kind":"Task","name":"compile"},"timeout":"1h0m0s"},"status":{"conditions":[{"lastTransitionTime":"2026-09-01T10:00:00Z","message":"Not all Steps in the Task have finished executing","reason":"Running","status":"Unknown","type":"Succeeded"}],"podName":"build-7-compile-pod","startTime":"2026-09-01T10:00:00Z","steps":[%s]}}`,
		strings.Join(fields, ","), version, strings.Join(steps, ","))
}

// endless is a stream of the same text for ever.
type endless struct {
	text string
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// BenchmarkRelistUnchanged is a list of ten thousand objects, none of which has
// changed.
func BenchmarkRelistUnchanged(b *testing.B) {
	s := store{}
	var objects []*wire.Object
	for i := range 10000 {
		o := obj(b, fmt.Sprintf("p%05d", i), fmt.Sprint("u", i), fmt.Sprint(i+1))
		objects = append(objects, o)
		s[o.Key()] = o
	}
	f := fifo.New(s, fifo.Config{})
	b.ReportAllocs()
	for b.Loop() {
		f.Begin()
		for _, o := range objects {
			if err := f.Item(o); err != nil {
				b.Fatal(err)
			}
		}
		f.Commit("20000")
		for !f.Idle() {
			if err := f.Pop(context.Background(), s.take); err != nil {
				b.Fatal(err)
			}
		}
	}
}
