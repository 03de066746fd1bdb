package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// String is the plan as a text, from which ParsePlan makes it again: words of the
// form name=value, of which "only" comes as often as there are things that happen.
// It has no apostrophe, so that a shell takes it between two.
//
//	seed=7 workload="storm" chaos=1 only="429: millrace-0.1 create pods/blue/a-pod #1" only="user run: blue/a"
//	seed=7 workload="cancel" crash=3:unanswered
//	seed=7 workload="cancel" stale=pods:2:5
//	seed=7 workload="cancel" unseen=millrace-0.1:pods/blue/a-pod#3:taskruns/blue/a#2
func (p Plan) String() string {
	words := []string{fmt.Sprintf("seed=%d workload=%s", p.Seed, quoted(p.Workload))}
	if p.Chaos != 0 {
		words = append(words, "chaos="+strconv.FormatFloat(p.Chaos, 'g', -1, 64))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Only)) {
		words = append(words, "only="+quoted(name))
	}
	if p.Only != nil && len(p.Only) == 0 {
		words = append(words, "only=")
	}
	if c := p.Crash; c != nil {
		words = append(words, fmt.Sprintf("crash=%d:%s", c.Write, moments()[c.When]))
	}
	if s := p.Stale; s != nil {
		words = append(words, fmt.Sprintf("stale=%s:%d:%d", s.Resource, s.Seen, s.Lost))
	}
	if u := p.Unseen; u != nil {
		words = append(words, fmt.Sprintf("unseen=%s:%s:%s", u.Actor, u.Event, u.Until))
	}
	return strings.Join(words, " ")
}

func quoted(s string) string { return strings.ReplaceAll(strconv.Quote(s), "'", `\u0027`) }

// moments are the words for when a process dies.
func moments() map[apiserver.Moment]string {
	return map[apiserver.Moment]string{
		apiserver.BeforeActing: "unsent", apiserver.BeforeAnswering: "unanswered", apiserver.AfterAnswering: "answered",
	}
}

// ParsePlan reads the text of a plan.
func ParsePlan(text string) (Plan, error) {
	var p Plan
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return p, fmt.Errorf("a plan has words like name=value, and not %q", rest)
		}
		var value string
		var err error
		if value, rest, err = valueOf(after); err == nil {
			err = p.set(name, value)
		}
		if err != nil {
			return p, fmt.Errorf("%s of a plan: %w", name, err)
		}
	}
	if p.Workload == "" {
		return p, fmt.Errorf("the plan %q names no workload", text)
	}
	return p, nil
}

// valueOf cuts the value off that the text begins with.
func valueOf(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, " ")
		return value, rest, nil
	}
	prefix, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("%q: %w", text, err)
	}
	value, err = strconv.Unquote(prefix)
	return value, text[len(prefix):], err
}

func (p *Plan) set(name, value string) (err error) {
	if name != "workload" && name != "only" && strings.ContainsFunc(value, unfit) {
		return fmt.Errorf("%q has characters that it cannot have", value)
	}
	switch name {
	case "seed":
		seed, err := strconv.ParseUint(value, 10, 64)
		p.Seed = turnstile.Seed(seed)
		return err
	case "workload":
		p.Workload = value
	case "chaos":
		p.Chaos, err = strconv.ParseFloat(value, 64)
		if !(p.Chaos >= 0 && p.Chaos < 1e6) { // so that it is a number
			return fmt.Errorf("%s is no multiple", value)
		}
	case "only":
		if p.Only == nil {
			p.Only = map[string]bool{}
		}
		if value != "" {
			p.Only[value] = true
		}
	case "crash":
		p.Crash, err = parseCrash(value)
	case "stale":
		p.Stale, err = parseStale(value)
	case "unseen":
		p.Unseen, err = parseUnseen(value)
	default:
		return fmt.Errorf("there is no such thing")
	}
	return err
}

func unfit(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\'' }

func parseCrash(value string) (*Crash, error) {
	write, when, _ := strings.Cut(value, ":")
	n, err := strconv.Atoi(write)
	if err != nil {
		return nil, err
	}
	for moment, word := range moments() {
		if word == when {
			return &Crash{Write: n, When: moment}, nil
		}
	}
	return nil, fmt.Errorf("%q is none of unsent, unanswered, answered", when)
}

func parseStale(value string) (*Stale, error) {
	parts := strings.Split(value, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not RESOURCE:SEEN:LOST", value)
	}
	seen, err := strconv.Atoi(parts[1])
	if err != nil {
		return nil, err
	}
	lost, err := strconv.Atoi(parts[2])
	return &Stale{Resource: parts[0], Seen: seen, Lost: lost}, err
}

func parseUnseen(value string) (*Unseen, error) {
	parts := strings.Split(value, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not PROCESS:CHANGE:CHANGE", value)
	}
	event, err := parseChange(parts[1])
	if err != nil {
		return nil, err
	}
	until, err := parseChange(parts[2])
	return &Unseen{Actor: parts[0], Event: event, Until: until}, err
}

func parseChange(value string) (Change, error) {
	path, nth, _ := strings.Cut(value, "#")
	parts := strings.Split(path, "/")
	n, err := strconv.Atoi(nth)
	if err != nil || len(parts) != 3 {
		return Change{}, fmt.Errorf("%q is not RESOURCE/NAMESPACE/NAME#NTH", value)
	}
	return Change{Resource: parts[0], Key: types.NamespacedName{Namespace: parts[1], Name: parts[2]}, Nth: n}, nil
}
