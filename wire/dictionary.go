package wire

import (
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// DictionarySize is the most that a Dictionary keeps of its samples. Of some
	// thirty kinds of runs, all told, a pod takes 895 bytes of the heap with 112
	// KiB and 820 with 224; a TaskRun 646 and 591.
	DictionarySize = 224 << 10

	// frameMagic begins every zstd frame. Packed objects are kept without it:
	// four bytes for each, and nobody ever looks whether it is one.
	frameMagic = "\x28\xb5\x2f\xfd"
)

// Dictionary is what the objects of a resource have in common, as bytes of some
// of them. Packed objects refer to it, so it lives as long as the last of them,
// whatever dictionaries come after it. It may be used by any number of
// goroutines.
//
// It is the bare bytes of its samples. One with entropy tables, trained from as
// many objects again, made pods and TaskRuns at most two bytes smaller.
type Dictionary struct {
	content []byte
	decoder *zstd.Decoder
	scanner Scanner   // unpacked objects share their strings again
	buffers sync.Pool // of *buffers
}

// buffers is where a packed object is unpacked.
type buffers struct{ frame, raw []byte }

// NewDictionary makes one of some objects of one resource. Give it more than
// DictionarySize holds, a few hundred: it takes those that have most in common
// with the others and least with each other, then of the rest what there is room
// for. What is in none of them does not pack well.
func NewDictionary(samples []*Object) (*Dictionary, error) {
	objects := make([][]byte, len(samples))
	for i, o := range samples {
		objects[i] = o.raw[:min(len(o.raw), DictionarySize)]
	}
	d := &Dictionary{content: slices.Concat(choose(objects)...)}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, d.content), zstd.WithDecoderMaxMemory(MaxFrame))
	if err != nil {
		return nil, fmt.Errorf("make a decoder for packed objects: %w", err)
	}
	d.decoder = decoder
	return d, nil
}

// choose is what a dictionary takes of some objects, the best last: what is near
// costs less to refer to.
func choose(objects [][]byte) [][]byte {
	var chosen [][]byte
	room := DictionarySize
	take := func(i int) {
		n := min(room, len(objects[i]))
		chosen, room = append(chosen, objects[i][:n]), room-n
		objects[i] = nil
	}
	for _, i := range cover(objects, DictionarySize) {
		take(i)
	}
	for i := range objects {
		take(i)
	}
	slices.Reverse(chosen)
	return chosen
}

// Size is the memory that the dictionary takes, in bytes, without its decoder.
func (d *Dictionary) Size() int { return cap(d.content) }

// unpack makes an object of a blob.
func (d *Dictionary) unpack(f Format, blob string) (o *Object, err error) {
	err = d.open(blob, func(raw []byte) error {
		o, err = d.scanner.Scan(f, raw)
		return err
	})
	return o, err
}

// open has read read the bytes of a blob, which are lent.
func (d *Dictionary) open(blob string, read func(raw []byte) error) error {
	b, _ := d.buffers.Get().(*buffers)
	if b == nil {
		b = &buffers{}
	}
	defer d.buffers.Put(b)
	b.frame = append(append(b.frame[:0], frameMagic...), blob...)
	raw, err := d.decoder.DecodeAll(b.frame, b.raw[:0])
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	b.raw = raw
	return read(raw)
}
