package dialogue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// A Script is a file of exchanges that follow from each other, in a namespace of
// their own.
type Script struct {
	Name      string
	Exchanges []*Exchange

	preamble string
}

// An Exchange is one request, and the answer that is on record.
type Exchange struct {
	// Title says what the exchange shows.
	Title string
	// Differs is why the model's answer may be another one. Then it has to be.
	Differs string
	// Answer is on record: of the real server, masked. Empty: none yet.
	Answer string

	method, path string
	name         string // by which later requests speak of the answer
	until        int    // asked again until the status is this; 0: asked once
	take         int    // how many events of a watch are awaited; 0: all until it ends
	header       [][2]string
	body         string
	text         string // the request as it stands in the file
}

const (
	titleMark  = "## "
	answerMark = "→ "
)

// Parse reads a script.
func Parse(name, text string) (*Script, error) {
	head, rest, _ := strings.Cut("\n"+text, "\n"+titleMark)
	s := &Script{Name: name, preamble: strings.TrimPrefix(head, "\n")}
	if rest == "" {
		return nil, fmt.Errorf("%s: no exchange begins with %q", name, titleMark)
	}
	for part := range strings.SplitSeq(rest, "\n"+titleMark) {
		e, err := parseExchange(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Exchanges = append(s.Exchanges, e)
	}
	return s, nil
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]+): (.*)$`)

func parseExchange(text string) (*Exchange, error) {
	request, answer, _ := strings.Cut(text, "\n"+answerMark)
	e := &Exchange{text: strings.TrimSpace(request)}
	if answer != "" {
		e.Answer = answerMark + strings.TrimSpace(answer)
	}
	lines := strings.Split(e.text, "\n")
	e.Title, lines = lines[0], lines[1:]
	if len(lines) > 0 {
		if why, differs := strings.CutPrefix(lines[0], "differs: "); differs {
			e.Differs, lines = why, lines[1:]
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%q asks nothing", e.Title)
	}
	if err := e.parseRequest(lines[0]); err != nil {
		return nil, fmt.Errorf("%q: %w", e.Title, err)
	}
	for lines = lines[1:]; len(lines) > 0; lines = lines[1:] {
		h := headerLine.FindStringSubmatch(lines[0])
		if h == nil {
			break
		}
		e.header = append(e.header, [2]string{h[1], h[2]})
	}
	e.body = strings.Join(lines, "\n")
	return e, nil
}

// parseRequest reads a line like
//
//	GET pods?watch=1 as events take 3
func (e *Exchange) parseRequest(line string) error {
	words := strings.Fields(line)
	if len(words) < 2 || len(words)%2 != 0 {
		return fmt.Errorf("%q is no request", line)
	}
	e.method, e.path = words[0], words[1]
	for words = words[2:]; len(words) > 0; words = words[2:] {
		var err error
		switch words[0] {
		case "as":
			e.name = words[1]
		case "until":
			e.until, err = strconv.Atoi(words[1])
		case "take":
			e.take, err = strconv.Atoi(words[1])
		default:
			err = fmt.Errorf("what is %q?", words[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// String is the script as it stands in its file.
func (s *Script) String() string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace(s.preamble) + "\n")
	for _, e := range s.Exchanges {
		fmt.Fprintf(&out, "\n%s%s\n", titleMark, e.text)
		if e.Answer != "" {
			out.WriteString(e.Answer + "\n")
		}
	}
	return out.String()
}

// Compare says how a model's answer differs from the one on record, if it may
// not, and that it does not differ, if it should: an allowance that nobody needs
// any more is to go.
func (e *Exchange) Compare(answer string) string {
	switch {
	case e.Differs == "" && answer != e.Answer:
		return fmt.Sprintf("%s\n%s", e.Title, diff(e.Answer, answer))
	case e.Differs != "" && answer == e.Answer:
		return fmt.Sprintf("%s\nit is said that the answers differ, and they are equal", e.Title)
	default:
		return ""
	}
}

// diff shows two texts by their lines: what is wanted, what came instead.
func diff(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}
