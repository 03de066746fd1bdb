package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// patch leads from an object as it came to what it is to be. Before and after are that
// object as its type spells it, without and with the change: so a field that the type
// does not know, or spells in another way, is in neither difference, and stays.
func patch(came, before, after []byte) ([]operation, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	var p patcher
	err := p.differ("", came, before, after)
	return p.operations, err
}

type patcher struct{ operations []operation }

func (p *patcher) add(op, path string, value json.RawMessage) {
	p.operations = append(p.operations, operation{op, path, value})
}

// differ walks the three texts together, as far as they have the same shape, and does not
// look into what has not changed: the same encoder has written before and after. The value
// that came is there: one that is not is added as a whole, one step above.
func (p *patcher) differ(path string, came, before, after json.RawMessage) error {
	switch {
	case bytes.Equal(before, after):
		return nil
	case objects(came, before, after):
		return p.members(path, came, before, after)
	case lists(came, before, after):
		var c, b, a []json.RawMessage
		if err := decodeAll(came, &c, before, &b, after, &a); err != nil {
			return err
		}
		if len(c) != len(a) || len(b) != len(a) {
			break
		}
		for i := range a {
			if err := p.differ(path+"/"+strconv.Itoa(i), c[i], b[i], a[i]); err != nil {
				return err
			}
		}
		return nil
	}
	p.add("replace", path, after)
	return nil
}

func (p *patcher) members(path string, came, before, after json.RawMessage) error {
	var c, b, a map[string]json.RawMessage
	if err := decodeAll(came, &c, before, &b, after, &a); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		at := path + "/" + escape(name)
		had, has := c[name]
		if has && string(had) != "null" {
			if err := p.differ(at, had, b[name], a[name]); err != nil {
				return err
			}
		} else if !bytes.Equal(b[name], a[name]) {
			p.add("add", at, a[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		_, stays := a[name]
		if _, has := c[name]; has && !stays {
			p.add("remove", path+"/"+escape(name), nil)
		}
	}
	return nil
}

// objects tells whether all are, and lists likewise.
func objects(texts ...json.RawMessage) bool { return begin('{', texts) }

func lists(texts ...json.RawMessage) bool { return begin('[', texts) }

func begin(with byte, texts []json.RawMessage) bool {
	return !slices.ContainsFunc(texts, func(text json.RawMessage) bool {
		return !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte{with})
	})
}

func decodeAll(came []byte, c any, before []byte, b any, after []byte, a any) error {
	return errors.Join(json.Unmarshal(came, c), json.Unmarshal(before, b), json.Unmarshal(after, a))
}

// escape writes a name as a part of a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
