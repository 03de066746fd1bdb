package reflector

import (
	"bytes"
	"errors"
	"fmt"

	"millrace/wire"
)

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/vnd.kubernetes.protobuf"
	// dropManagedFields is KEP-5958's parameter of a media type.
	dropManagedFields = ";drop=metadata.managedFields"
)

// spellings are the ways of asking for the configured format, in the order in
// which they are tried. A server leaves the first for the second, and so on,
// with a 406; there is no way back within a Run.
//
// Where protobuf is asked for, JSON stands beside it, so that a server of
// custom resources, or an aggregated one, need not refuse.
func (c Config) spellings() []string {
	plain := []string{typeJSON}
	if c.Format == wire.Protobuf {
		plain = []string{either(""), typeJSON}
	}
	if !c.DropManagedFields {
		return plain
	}
	if c.Format == wire.Protobuf {
		return append([]string{either(dropManagedFields)}, plain...)
	}
	return append([]string{typeJSON + dropManagedFields}, plain...)
}

// either asks for protobuf, or else for JSON.
func either(parameter string) string {
	return typeProtobuf + parameter + "," + typeJSON + parameter + ";q=0.9"
}

// accept is how a position asks.
func (r *Reflector) accept(p position) string {
	ways := r.cfg.spellings()
	return ways[len(ways)-1-p.spellings]
}

var errTable = errors.New("the answer is a Table, made for people to look at: something on the way asks for as=Table")

// whitespace is what may stand before a JSON value.
const whitespace = " \t\r\n"

// formatOf says how an answer is spelled, by its first bytes. The header
// Content-Type should say the same, but the REST client does not show it, and
// some proxies get it wrong. No two of them begin alike: a JSON value with a
// brace, a protobuf list with "k8s\x00", and a protobuf watch with the length of
// its first frame, whose highest byte is 0, or 1 at the very most.
func formatOf(head []byte) (wire.Format, error) {
	text := bytes.TrimLeft(head, whitespace)
	switch {
	case len(text) == 0:
		return wire.JSON, nil
	case isTable(text):
		return 0, errTable
	case text[0] == '{':
		return wire.JSON, nil
	case head[0] == 'k', head[0] <= 1:
		return wire.Protobuf, nil
	}
	const enough = 80
	return 0, fmt.Errorf("the answer is neither JSON nor Kubernetes protobuf: it begins with %.*q", enough, head)
}

// isTable knows a Table, alone or as the object of an event, as servers spell
// it: they always write kind and apiVersion first.
func isTable(text []byte) bool {
	const table = `{"kind":"Table","apiVersion":"meta.k8s.io/`
	if object, ok := bytes.CutPrefix(text, []byte(`{"type":"ADDED","object":`)); ok {
		text = object
	}
	return bytes.HasPrefix(text, []byte(table))
}

// format waits for the first bytes of the answer, and says how it is spelled.
func (s *stream) format() (wire.Format, error) {
	head := make([]byte, 512)
	for {
		n, err := s.Read(head)
		if n > 0 {
			s.head = head[:n]
			return formatOf(s.head)
		}
		if err != nil {
			return 0, err
		}
	}
}
