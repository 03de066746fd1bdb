package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
)

// shrink makes a picture of at most so many colours, of which a page of boxes and text
// needs few: the most frequent ones, and for all others the nearest of those.
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
	colours := make(color.Palette, 0, len(often))
	for c := range often {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int { return cmp.Compare(often[b], often[a]) })
	colours = colours[:min(len(colours), most)]
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
