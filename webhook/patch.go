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
	p.differ("", trees[0], trees[1], trees[2])
	return p.operations, nil
}

type patcher struct{ operations []operation }

func (p *patcher) add(op, path string, value any) {
	p.operations = append(p.operations, operation{op, path, value})
}

// differ walks the three trees together, as far as they have the same shape. The value
// that came is there: what is not is added as a whole, one step above.
func (p *patcher) differ(path string, came, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch after := after.(type) {
	case map[string]any:
		came, is := came.(map[string]any)
		if before, too := before.(map[string]any); is && too {
			p.members(path, came, before, after)
			return
		}
	case []any:
		came, is := came.([]any)
		if before, too := before.([]any); is && too && len(came) == len(after) && len(before) == len(after) {
			for i := range after {
				p.differ(path+"/"+strconv.Itoa(i), came[i], before[i], after[i])
			}
			return
		}
	}
	p.add("replace", path, after)
}

func (p *patcher) members(path string, came, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		at := path + "/" + escape(name)
		switch had, has := came[name]; {
		case has && had != nil:
			p.differ(at, had, before[name], after[name])
		case !reflect.DeepEqual(before[name], after[name]):
			p.add("add", at, after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		_, stays := after[name]
		if _, has := came[name]; has && !stays {
			p.add("remove", path+"/"+escape(name), nil)
		}
	}
}

// escape writes a name as a part of a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
