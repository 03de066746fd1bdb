package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// shrink makes a picture of at most so many colours, of which a page of boxes and text
// needs few: the most frequent ones that are not nearly the same, and for all others the
// nearest of those. So a thin line keeps its colour, though a hundred shades of the text's
// edges are more frequent.
func shrink(picture []byte, most int) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	size := full.Bounds()
	often := map[color.Color]int{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			often[full.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(often), func(a, b color.Color) int { return cmp.Compare(often[b], often[a]) })
	var colours color.Palette
	for _, c := range all {
		if len(colours) < most && !slices.ContainsFunc(colours, func(other color.Color) bool { return alike(c, other) }) {
			colours = append(colours, c)
		}
	}
	nearest := map[color.Color]uint8{}
	for c := range often {
		nearest[c] = uint8(colours.Index(c))
	}
	small := image.NewPaletted(size, colours)
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[full.At(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

// alike are colours that nobody tells apart: by less than six of 255 in each part.
func alike(a, b color.Color) bool {
	r, g, u, _ := a.RGBA()
	s, h, v, _ := b.RGBA()
	near := func(x, y uint32) bool { return max(x, y)-min(x, y) < 6<<8 }
	return near(r, s) && near(g, h) && near(u, v)
}
