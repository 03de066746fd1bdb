package wire

import (
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// DictionarySize is the most that a Dictionary keeps of its samples. Pods
	// packed with 64 KiB of other pods take 719 bytes, with 32 KiB 738, with
	// 110 KiB 719 again.
	DictionarySize = 64 << 10

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

// NewDictionary makes one of some objects of one resource and one format. They
// should be as different as the resource's objects are: what is in none of them
// does not pack well. Of more than DictionarySize bytes it takes the first ones.
func NewDictionary(samples []*Object) (*Dictionary, error) {
	d := &Dictionary{}
	for _, o := range samples {
		room := DictionarySize - len(d.content)
		d.content = append(d.content, o.raw[:min(room, len(o.raw))]...)
	}
	d.content = slices.Clip(d.content)
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, d.content), zstd.WithDecoderMaxMemory(MaxFrame))
	if err != nil {
		return nil, fmt.Errorf("make a decoder for packed objects: %w", err)
	}
	d.decoder = decoder
	return d, nil
}

// Size is the memory that the dictionary takes, in bytes, without its decoder.
func (d *Dictionary) Size() int { return cap(d.content) }

// unpack makes an object of a blob.
func (d *Dictionary) unpack(f Format, blob string) (*Object, error) {
	b, _ := d.buffers.Get().(*buffers)
	if b == nil {
		b = &buffers{}
	}
	defer d.buffers.Put(b)
	b.frame = append(append(b.frame[:0], frameMagic...), blob...)
	raw, err := d.decoder.DecodeAll(b.frame, b.raw[:0])
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	b.raw = raw
	return d.scanner.Scan(f, raw)
}
