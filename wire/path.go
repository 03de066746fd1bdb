package wire

import (
	"fmt"
	"math/bits"
	"strings"
)

// Path names a field: the names of the members on the way to it, from the root.
// A list on the way is walked through, so that spec.containers.env is the env
// of every container.
type Path []string

// ParsePath reads the notation of messages and documents: names with points
// between them, and in brackets and double quotes what has points itself, as in
// metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"].
func ParsePath(text string) (Path, error) {
	var p Path
	for rest := text; rest != ""; {
		name, after, err := firstName(rest)
		if err != nil {
			return nil, fmt.Errorf("parse path %q: %w", text, err)
		}
		p, rest = append(p, name), after
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("parse path %q: it names nothing", text)
	}
	return p, nil
}

// firstName takes the first name and the point behind it, if any.
func firstName(text string) (name, rest string, err error) {
	if inner, ok := strings.CutPrefix(text, `["`); ok {
		name, rest, ok = strings.Cut(inner, `"]`)
		if !ok {
			return "", "", fmt.Errorf(`%q is not closed by "]`, text)
		}
	} else {
		end := strings.IndexAny(text, ".[")
		if end < 0 {
			end = len(text)
		}
		name, rest = text[:end], text[end:]
	}
	if name == "" {
		return "", "", fmt.Errorf("an empty name before %q", rest)
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if after == "" {
			return "", "", fmt.Errorf("nothing follows the last point")
		}
		return name, after, nil
	}
	if rest != "" && !strings.HasPrefix(rest, `["`) {
		return "", "", fmt.Errorf(`want . or [" at %q`, rest)
	}
	return name, rest, nil
}

// String is the notation that ParsePath reads.
func (p Path) String() string {
	var b strings.Builder
	for i, name := range p {
		switch {
		case strings.ContainsAny(name, `.[`):
			b.WriteString(`["` + name + `"]`)
		case i > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// below takes one step: what is left of the paths that go through the member of
// that name, and whether one of them ends there.
func below(paths []Path, name []byte) (rest []Path, ends bool) {
	for _, p := range paths {
		if len(p) == 0 || p[0] != string(name) {
			continue
		}
		if len(p) == 1 {
			return nil, true
		}
		rest = append(rest, p[1:])
	}
	return rest, false
}

// pathList is what a walk follows, without a list of its own for each turn.
type pathList []Path

// paths is those of a pathList that lead on from where the walk is: a bit for
// each.
type paths uint64

const mostPaths = 64

func firstPaths(n int) paths { return 1<<n - 1 }

// below takes one step: which of the live paths go through the member of that
// name, and whether one of them ends there. steps is how many names have been
// passed on the way here.
func (list pathList) below(live paths, steps int, name []byte) (rest paths, ends bool) {
	for ; live != 0; live &= live - 1 {
		i := bits.TrailingZeros64(uint64(live))
		p := list[i]
		if len(p) <= steps || p[steps] != string(name) {
			continue
		}
		if len(p) == steps+1 {
			return 0, true
		}
		rest |= 1 << i
	}
	return rest, false
}
