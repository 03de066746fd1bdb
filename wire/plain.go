package wire

import (
	"encoding/binary"
	"math/bits"
)

// pastPlain returns the place of the first byte from i on that ends a string,
// escapes, is a control character, or is beyond ASCII. Most of an object is the
// inside of strings, so this is where a scan spends its time: it looks at eight
// bytes at once, as one number.
func pastPlain(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if found := special(binary.LittleEndian.Uint64(data[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && special(uint64(data[i])|blanks) == 0 {
		i++
	}
	return i
}

const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	blanks = ' ' * ones &^ 0xff // seven plain bytes, and room for one
)

// special sets the high bit of each byte that is not plain. A subtraction sets
// it where the byte was smaller, and also where it was beyond ASCII, which is
// not plain either. Of several, the lowest is exact; a borrow may make those
// above it wrong, which nobody looks at.
func special(x uint64) uint64 {
	return ((x ^ '"'*ones - ones) | (x ^ '\\'*ones - ones) | (x - ' '*ones) | x) & highs
}
