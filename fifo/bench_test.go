package fifo_test

import (
	"context"
	"fmt"
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
