package reflector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// blind is a sink that looks at nothing.
type blind struct{}

func (blind) Begin()                    {}
func (blind) Item(*wire.Object) error   { return nil }
func (blind) Keep(types.NamespacedName) {}
func (blind) Found(*wire.Object) error  { return nil }
func (blind) Gone(types.NamespacedName) {}
func (blind) Commit(string)             {}
func (blind) Abort()                    {}
func (blind) Add(*wire.Object) error    { return nil }
func (blind) Update(*wire.Object) error { return nil }
func (blind) Delete(*wire.Object) error { return nil }
func (blind) Bookmark(string)           {}
func (blind) Resync()                   {}

const benchEvents = 1000

// benchStream is a watch of objects of some 2 KB each.
func benchStream() []byte {
	var b bytes.Buffer
	filler := strings.Repeat("x", 1800)
	for i := range benchEvents {
		fmt.Fprintf(&b, `{"type":"MODIFIED","object":{"metadata":{"name":"pod-%d","namespace":"default","uid":"u","resourceVersion":"%d"},"spec":{"x":%q}}}`+"\n", i, i+10, filler)
	}
	return b.Bytes()
}

// What the reflector adds to reading the frames, which BenchmarkFramesAlone
// measures: the two allocate the same.
func BenchmarkEvent(b *testing.B) {
	stream := benchStream()
	r := New(nil, "pods", blind{}, Config{})
	b.ReportAllocs()
	b.SetBytes(int64(len(stream) / benchEvents))
	for i := 0; i < b.N; i += benchEvents {
		o := outcome{rv: "9"}
		if err := r.follow(r.scanner.Events(wire.JSON, bytes.NewReader(stream)), &o, &mending{}); !isEOF(err) {
			b.Fatal(err)
		}
	}
}

func BenchmarkFramesAlone(b *testing.B) {
	stream := benchStream()
	var scanner wire.Scanner
	b.ReportAllocs()
	b.SetBytes(int64(len(stream) / benchEvents))
	for i := 0; i < b.N; i += benchEvents {
		events := scanner.Events(wire.JSON, bytes.NewReader(stream))
		for {
			if _, err := events.Next(); err != nil {
				if !isEOF(err) {
					b.Fatal(err)
				}
				break
			}
		}
	}
}
