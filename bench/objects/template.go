package objects

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// template is one encoded object, and where in it the values stand.
type template struct {
	raw   []byte
	holes []hole
}

type hole struct {
	at    int
	value int
	// seconds says that the value is a time in protobuf: seconds since 1970 as
	// a number, which for this century is five bytes long.
	seconds bool
}

const secondsLen = 5

func templates(encoded [][]byte, values []value) []template {
	all := make([]template, len(encoded))
	for i, raw := range encoded {
		all[i] = newTemplate(raw, values)
	}
	return all
}

// newTemplate looks for values. Where two overlap, the one that comes first in
// the list stands.
func newTemplate(raw []byte, values []value) template {
	t := template{raw: raw}
	taken := make([]bool, len(raw))
	text := string(raw)
	mark := func(part string, h hole, within int) {
		for from := 0; ; {
			at := strings.Index(text[from:], part)
			if at < 0 {
				return
			}
			at += from
			from = at + len(part)
			if !slices.Contains(taken[at+within:from], true) {
				for i := at + within; i < from; i++ {
					taken[i] = true
				}
				h.at = at + within
				t.holes = append(t.holes, h)
			}
		}
	}
	for i, v := range values {
		mark(v.text, hole{value: i}, 0)
		if at, err := time.Parse(time.RFC3339, v.text); v.kind == instant && err == nil {
			// Field 1 of a Timestamp; no other number of that size is in a pod.
			mark("\x08"+string(seconds(at)), hole{value: i, seconds: true}, 1)
		}
	}
	return t
}

func seconds(at time.Time) []byte { return binary.AppendUvarint(nil, uint64(at.Unix())) }

// fill appends the object with other texts in the holes.
func (t template) fill(b []byte, texts []string, version string) []byte {
	from := len(b)
	b = append(b, t.raw...)
	object := b[from:]
	for _, h := range t.holes {
		switch text := texts[h.value]; {
		case text == placeholder:
			copy(object[h.at:], version)
		case h.seconds:
			at, _ := time.Parse(time.RFC3339, text) // it was made by later, or is as it was recorded
			binary.PutUvarint(object[h.at:h.at+secondsLen], uint64(at.Unix()))
		default:
			copy(object[h.at:], text)
		}
	}
	return b
}
