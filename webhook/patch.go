package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch leads from an object as it came to what it is to be. Before and after are that
// object as its type spells it, without and with the change: so a field that the type
// does not know, or spells in another way, is in neither difference, and stays.
func patch(came, before, after []byte) ([]operation, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	var trees [3]any
	for i, raw := range [][]byte{came, before, after} {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber() // which keeps large ones as they are
		if err := decoder.Decode(&trees[i]); err != nil {
			return nil, fmt.Errorf("read an object: %w", err)
		}
	}
	var p patcher
	p.differ(trees[0], trees[1], trees[2])
	return p.operations, nil
}

type patcher struct {
	path       []string // where differ is
	operations []operation
}

func (p *patcher) add(op string, value any) {
	p.operations = append(p.operations, operation{op, "/" + strings.Join(p.path, "/"), value})
}

// at goes a step down for as long as f runs.
func (p *patcher) at(name string, f func()) {
	p.path = append(p.path, escape(name))
	f()
	p.path = p.path[:len(p.path)-1]
}

// differ walks the three trees together, as far as they have the same shape. The value
// that came is there: one that is not is added as a whole, one step above.
func (p *patcher) differ(came, before, after any) {
	switch after := after.(type) {
	case map[string]any:
		c, is := came.(map[string]any)
		if b, too := before.(map[string]any); is && too {
			p.members(c, b, after)
			return
		}
	case []any:
		c, is := came.([]any)
		if b, too := before.([]any); is && too && len(c) == len(after) && len(b) == len(after) {
			for i := range after {
				p.at(strconv.Itoa(i), func() { p.differ(c[i], b[i], after[i]) })
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		p.add("replace", after)
	}
}

func (p *patcher) members(came, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		p.at(name, func() {
			if had := came[name]; had != nil {
				p.differ(had, before[name], after[name])
			} else if !reflect.DeepEqual(before[name], after[name]) {
				p.add("add", after[name])
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		_, stays := after[name]
		if _, has := came[name]; has && !stays {
			p.at(name, func() { p.add("remove", nil) })
		}
	}
}

// escape writes a name as a part of a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
