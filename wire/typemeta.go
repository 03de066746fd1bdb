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

// head appends what has to stand before an object, in place of its bracket, so
// that it has what m has not found in it. Mostly that is nothing.
func (t typeMeta) head(to []byte, m *meta, object []byte) []byte {
	lacksKind := m.kind.to == 0 && t.kind != ""
	lacksVersion := m.apiVersion.to == 0 && t.apiVersion != ""
	if !lacksKind && !lacksVersion {
		return to
	}
	to = append(to, '{')
	if lacksKind {
		to = append(to, t.kind...)
	}
	if lacksVersion {
		to = append(to, t.apiVersion...)
	}
	if onlySpace(object[1 : len(object)-1]) {
		to = to[:len(to)-1] // an empty object: no comma
	}
	return to
}
