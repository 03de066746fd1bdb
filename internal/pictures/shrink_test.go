package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// A line of one pixel keeps its colour, though there are more shades of grey than colours
// and each of them is more frequent; and shades that nobody tells apart become one.
func TestAThinLineKeepsItsColour(t *testing.T) {
	full := image.NewRGBA(image.Rect(0, 0, 256, 20))
	for x := range 256 {
		for y := range 20 {
			full.Set(x, y, color.RGBA{uint8(x), uint8(x), uint8(x), 255})
		}
	}
	red := color.RGBA{214, 69, 80, 255}
	for x := range 10 {
		full.Set(x, 7, red)
	}
	var in bytes.Buffer
	if err := png.Encode(&in, full); err != nil {
		t.Fatal(err)
	}
	out, err := shrink(in.Bytes(), 64)
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if got := small.At(3, 7); got != red {
		t.Errorf("the line is %v", got)
	}
	paletted, is := small.(*image.Paletted)
	if !is || len(paletted.Palette) > 64 {
		t.Errorf("it has %T, more colours than were asked for", small)
	}
	for x := range 256 {
		r, _, _, _ := small.At(x, 0).RGBA()
		if off := int(r>>8) - x; off < -5 || off > 5 {
			t.Errorf("a grey of %d is %d", x, r>>8)
		}
	}
}
