package wire

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// packWindow is how far back a packer looks for what an object repeats: the
// dictionary, and an object of more than usual size.
const packWindow = 512 << 10

// Packer packs objects with one dictionary. It holds some megabytes of tables,
// and is of no use to who only unpacks: make it for a batch, then drop it. It
// belongs to one goroutine.
type Packer struct {
	dictionary *Dictionary
	encoder    *zstd.Encoder
	frame      []byte
	back       loan // what came back of the object that was packed last
}

// Packer makes a packer that uses d.
//
// Of the encoder's levels it takes the second best. With one dictionary, pods
// take 742, 719 and 719 bytes at the levels default, better and best, in 0.06,
// 0.1 and 2 ms each, and the encoder 3, 9 and 72 MB.
func (d *Dictionary) Packer() (*Packer, error) { return d.packer(zstd.SpeedBetterCompression) }

// QuickPacker makes one that takes a seventh of the time, and a megabyte: for many
// objects at once. They take a twentieth more than Packer's, and up to a seventh where
// that makes the allocator round up to more.
func (d *Dictionary) QuickPacker() (*Packer, error) { return d.packer(zstd.SpeedFastest) }

func (d *Dictionary) packer(level zstd.EncoderLevel) (*Packer, error) {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderDictRaw(0, d.content),
		zstd.WithEncoderLevel(level),
		zstd.WithAllLitEntropyCompression(true), // what no other object has is text all the same
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(packWindow),
		zstd.WithSingleSegment(true),
		zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make an encoder for objects: %w", err)
	}
	return &Packer{dictionary: d, encoder: e}, nil
}

// Pack makes a packed form of o, which stays as it is. It returns nil, and o is
// better kept plain, where the packed form would not be smaller than the bytes,
// or would not come back as o is: that is so for an object of which facts were
// cut, such as its labels, and is found out by unpacking what was packed. An
// object that was lent is packed as Own would keep it.
func (p *Packer) Pack(o *Object) *Packed {
	o = o.Own()
	p.frame = p.encoder.EncodeAll(o.raw, p.frame[:0])
	if len(p.frame)-len(frameMagic) >= len(o.raw) || !fits(o) {
		return nil
	}
	packed := p.seal(o, p.frame[len(frameMagic):])
	if !p.comesBack(packed, o) {
		return nil
	}
	return packed
}

// comesBack unpacks what was packed, and looks whether it is what it was. It keeps
// nothing of that: a copy of every object would be most of what packing allocates.
func (p *Packer) comesBack(packed *Packed, o *Object) (same bool) {
	err := p.dictionary.open(packed.blob(), func(raw []byte) error {
		p.back.scanner = &p.dictionary.scanner
		back, err := p.back.scan(packed.format, raw)
		if err == nil {
			packed.restore(back)
			same = identical(o, back)
		}
		return err
	})
	return err == nil && same
}

// fits says whether the lengths of the strings that stay at hand can be told in
// a Packed. Those of every object that a server has taken can.
func fits(o *Object) bool {
	return len(o.key.Namespace) <= math.MaxUint8 && len(o.key.Name) <= math.MaxUint16 &&
		len(o.uid) <= math.MaxUint8 && len(o.version) <= math.MaxUint8
}

// seal puts an object's strings and its blob into one piece.
func (p *Packer) seal(o *Object, blob []byte) *Packed {
	var b strings.Builder
	b.Grow(len(o.key.Namespace) + len(o.key.Name) + len(o.uid) + len(o.version) + len(blob))
	b.WriteString(o.key.Namespace)
	b.WriteString(o.key.Name)
	b.WriteString(string(o.uid))
	b.WriteString(o.version)
	b.Write(blob)
	return &Packed{
		text:       b.String(),
		dictionary: p.dictionary,
		facets:     o.facets,
		saved:      o.saved,
		plain:      uint32(min(o.Size(), math.MaxUint32)), // no server takes one of so much
		format:     o.format,
		namespace:  uint8(len(o.key.Namespace)),
		name:       uint16(len(o.key.Name)),
		uid:        uint8(len(o.uid)),
		version:    uint8(len(o.version)),
	}
}

// identical says whether two objects, of which b may be lent, are the same in every respect.
func identical(a, b *Object) bool {
	return a.key == b.key && a.uid == b.uid && a.version == b.version &&
		a.generation == b.generation && a.deleting == b.deleting && a.format == b.format &&
		a.saved == b.saved && a.metaFrom == b.metaFrom && a.metaTo == b.metaTo && a.facets == b.facets &&
		slices.Equal(a.labels, b.labels) && slices.Equal(a.owners, b.owners) && sameBytes(a.raw, b)
}

// sameBytes says whether these are the bytes of an object, lent or not.
func sameBytes(raw []byte, o *Object) bool {
	rest, ok := bytes.CutPrefix(raw, o.head())
	return ok && bytes.Equal(rest, o.raw)
}
