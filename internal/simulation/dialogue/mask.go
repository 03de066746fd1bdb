package dialogue

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mask has a name for everything that no two servers have in common: an equal one
// for what is equal, and a greater one for a version that is later.
type mask struct {
	namespace string
	names     map[string]string // of UIDs, and of what the server named
	versions  []uint64          // of objects, in their order
	drawn     []*regexp.Regexp  // names that the server drew
	own       map[string]bool   // numbers that the script writes itself
}

var drawing = regexp.MustCompile(`generateName: ([^,}]+)`)

// masked are the answers as they are recorded.
func masked(namespace string, answers []*answer) []string {
	m := &mask{namespace: namespace, names: map[string]string{}, own: map[string]bool{}}
	for _, a := range answers {
		for _, n := range numeral.FindAllString(a.asked, -1) {
			m.own[n] = true
		}
		for _, drawn := range drawing.FindAllStringSubmatch(a.asked, -1) {
			m.drawn = append(m.drawn, regexp.MustCompile(regexp.QuoteMeta(drawn[1])+`[a-z0-9]{5}\b`))
		}
		m.learn(a.body)
	}
	slices.Sort(m.versions)
	m.versions = slices.Compact(m.versions)
	lines := make([]string, 0, len(answers))
	for _, a := range answers {
		lines = append(lines, m.record(a))
	}
	return lines
}

// learn collects what is to have names.
func (m *mask) learn(value any) {
	switch x := value.(type) {
	case []any:
		for _, each := range x {
			m.learn(each)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			m.learn(x[key])
		}
		m.learnMeta(x)
	case string:
		for _, names := range m.drawn {
			for _, name := range names.FindAllString(x, -1) {
				m.name(name, name[:len(name)-5]+"…")
			}
		}
	}
}

func (m *mask) learnMeta(x map[string]any) {
	meta, _ := x["metadata"].(map[string]any)
	if uid, ok := meta["uid"].(string); ok {
		m.name(uid, "uid")
	}
	if version, ok := number(meta["resourceVersion"]); ok && !ofTheServer(x) {
		m.versions = append(m.versions, version)
	}
}

// name gives one of a kind its number.
func (m *mask) name(drawn, kind string) {
	if m.names[drawn] != "" {
		return
	}
	n := 1
	for _, other := range m.names {
		if strings.HasPrefix(other, kind) {
			n++
		}
	}
	m.names[drawn] = fmt.Sprint(kind, n)
}

func number(value any) (uint64, bool) {
	text, _ := value.(string)
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// ofTheServer tells whether the version is that of lists and bookmarks: one of
// the whole server, on which others may be at work.
func ofTheServer(x map[string]any) bool {
	_, list := x["items"]
	_, table := x["rows"]
	meta, _ := x["metadata"].(map[string]any)
	_, named := meta["name"]
	return list || table || !named
}

// record is one answer: the status, what matters of the header, the body.
func (m *mask) record(a *answer) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s%d %s", answerMark, a.code, a.header.Get("Content-Type"))
	for _, name := range []string{"Retry-After", "Warning", "Allow", "Location"} {
		for _, value := range a.header.Values(name) {
			fmt.Fprintf(&out, "\n%s: %s", http.CanonicalHeaderKey(name), m.text(value))
		}
	}
	if a.body != nil {
		out.WriteString("\n" + printed(m.value("", a.body)))
	}
	return strings.TrimSpace(out.String())
}

// value masks what stands in a field.
func (m *mask) value(field string, value any) any {
	switch x := value.(type) {
	case []any:
		all := make([]any, 0, len(x))
		for _, each := range x {
			next := m.value("", each)
			if n := len(all); n == 0 || !isBookmark(next) || !reflect.DeepEqual(next, all[n-1]) {
				all = append(all, next)
			}
		}
		return all
	case map[string]any:
		return m.object(field, x)
	case string:
		switch field {
		case "creationTimestamp", "deletionTimestamp":
			return "TIME"
		case "continue":
			if x != "" {
				return "CONTINUE"
			}
		case "message":
			return m.message(x)
		}
		return m.text(x)
	default:
		return value
	}
}

// isBookmark tells of an event that it is one. A server says twice how far it has come
// where its clock, which goes by whole seconds there, comes to the end of a watch early.
func isBookmark(event any) bool {
	x, _ := event.(map[string]any)
	return x["type"] == "BOOKMARK"
}

func (m *mask) object(field string, x map[string]any) map[string]any {
	all := make(map[string]any, len(x))
	for key, each := range x {
		// Which manager owns which field is a matter of server-side apply.
		if key == "managedFields" && field == "metadata" {
			continue
		}
		all[key] = m.value(key, each)
	}
	meta, ok := all["metadata"].(map[string]any)
	if version, is := number(meta["resourceVersion"]); ok && is {
		meta["resourceVersion"] = m.version(version, ofTheServer(x))
	}
	return all
}

// version is the number of a version among those that objects of the script had.
// One of the server is named by the last of those that it has seen.
func (m *mask) version(v uint64, ofServer bool) string {
	i, found := slices.BinarySearch(m.versions, v)
	switch {
	case ofServer && !found:
		return fmt.Sprintf("v%d+", i)
	case ofServer:
		return fmt.Sprintf("v%d+", i+1)
	default:
		return fmt.Sprintf("v%d", i+1)
	}
}

// text masks what is drawn within a text.
func (m *mask) text(text string) string {
	for _, drawn := range slices.Sorted(maps.Keys(m.names)) {
		text = strings.ReplaceAll(text, drawn, m.names[drawn])
	}
	return strings.ReplaceAll(text, m.namespace, "NS")
}

var (
	numeral = regexp.MustCompile(`\b[0-9]{2,}\b`)
	record  = regexp.MustCompile(`in record \(([0-9]+)\)`) // of the object
)

// message masks the numbers of a text too, but for the script's own.
func (m *mask) message(text string) string {
	text = record.ReplaceAllStringFunc(m.text(text), func(found string) string {
		v, _ := number(record.FindStringSubmatch(found)[1])
		return fmt.Sprintf("in record (%s)", m.version(v, false))
	})
	return numeral.ReplaceAllStringFunc(text, func(n string) string {
		if m.own[n] {
			return n
		}
		return "N"
	})
}
