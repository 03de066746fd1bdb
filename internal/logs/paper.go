package logs

import (
	"fmt"
	"io"
	"sync"

	"millrace/internal/terminal"
)

// paper is what is printed on, by many at once: line by line.
type paper struct {
	colour bool

	mu     sync.Mutex
	out    io.Writer
	labels map[string]int // each has a colour of its own, for as long as there are some
}

// colours are those of terminals that can be read on light and on dark.
func colours() []int { return []int{36, 33, 32, 35, 34, 31} }

// line prints one, with the label before it.
func (p *paper) line(label, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, after := "", ""
	if p.colour {
		before, after = fmt.Sprintf("\x1b[%dm", p.colourLocked(label)), "\x1b[0m"
	}
	_, err := fmt.Fprintf(p.out, "%s[%s]%s %s\n", before, terminal.Plain(label, ""), after, text)
	return err
}

func (p *paper) colourLocked(label string) int {
	if p.labels == nil {
		p.labels = map[string]int{}
	}
	n, ok := p.labels[label]
	if !ok {
		n = len(p.labels)
		p.labels[label] = n
	}
	return colours()[n%len(colours())]
}

// notef is said about the logs, and is no line of any.
func (p *paper) notef(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, "-- "+terminal.Plain(fmt.Sprintf(format, args...), "")) //nolint:errcheck // the next line will tell
}
