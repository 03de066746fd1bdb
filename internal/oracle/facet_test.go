package oracle

import (
	"encoding/json"
	"strconv"
	"strings"
)

// theirFacet finds in decoded fields what a facet's path leads to, as wire spells
// it: the values one after the other.
func theirFacet(fields map[string]any, path string) string {
	return strings.Join(follow(fields, steps(path)), ", ")
}

// steps takes a path apart, of the few forms that are used here.
func steps(path string) []string {
	path = strings.ReplaceAll(path, `["`, ".")
	path = strings.ReplaceAll(path, `"]`, "")
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' })
}

func follow(at any, steps []string) (found []string) {
	if len(steps) == 0 {
		return scalar(at)
	}
	step, rest := steps[0], steps[1:]
	if !strings.HasPrefix(step, "[") {
		fields, _ := at.(map[string]any)
		return follow(fields[step], rest)
	}
	list, _ := at.([]any)
	switch name, value, only := strings.Cut(strings.Trim(step, "[]"), "="); {
	case name == "#":
		return []string{strconv.Itoa(len(list))}
	case only:
		for _, each := range list {
			if fields, is := each.(map[string]any); is && fields[name] == value {
				return follow(each, rest)
			}
		}
	default:
		for _, each := range list {
			found = append(found, follow(each, rest)...)
		}
	}
	return found
}

func scalar(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool, int64, float64:
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return []string{string(raw)}
	}
	return nil
}
