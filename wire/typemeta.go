package wire

import (
	"fmt"
	"strings"
)

// typeMeta is the pair of members that say what an item of a list is, spelled
// as JSON with their commas, for items that do not say so themselves: built-in
// kinds are listed without kind and apiVersion, and watched with them. With
// this, one state of an object has the same members whichever way it came.
type typeMeta struct{ kind, apiVersion string }

// itemsOf derives what the items are from what the list is: a PodList has Pods.
// A plain List says nothing.
func itemsOf(listKind, apiVersion string) typeMeta {
	kind, ok := strings.CutSuffix(listKind, "List")
	if !ok || kind == "" || apiVersion == "" {
		return typeMeta{}
	}
	return typeMeta{kind: member("kind", kind), apiVersion: member("apiVersion", apiVersion)}
}

func member(name, value string) string {
	b := []byte(`"` + name + `":"`)
	for _, c := range []byte(value) {
		switch {
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, `",`...))
}

// missing is what has to be added to the object that m was read from.
func (t typeMeta) missing(m *meta) string {
	switch {
	case m.kind.to == 0 && m.apiVersion.to == 0:
		return t.kind + t.apiVersion
	case m.kind.to == 0:
		return t.kind
	case m.apiVersion.to == 0:
		return t.apiVersion
	default:
		return ""
	}
}

// join copies an object with more members at its beginning.
func join(head string, object []byte) []byte {
	rest := object[1:]
	if head != "" && onlySpace(rest[:len(rest)-1]) {
		head = head[:len(head)-1] // an empty object: no comma
	}
	raw := make([]byte, 0, len(head)+len(object))
	raw = append(raw, '{')
	raw = append(raw, head...)
	return append(raw, rest...)
}
