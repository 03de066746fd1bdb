package main

import (
	"fmt"
	"os"
	"time"
)

// progress tells how far a step is, in one line that is redrawn where somebody looks,
// and else in a line now and then.
type progress struct {
	out      *os.File
	terminal bool
	began    time.Time
	said     time.Time
}

// seldom is how often a log gets a line of a step that goes on.
const seldom = 15 * time.Second

func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, began: time.Now()}
}

// at says that a step is at done of all.
func (p *progress) at(step string, done, all int, note string) {
	now := time.Now()
	if !p.terminal && now.Sub(p.said) < seldom {
		return
	}
	p.said = now
	p.line(step, fmt.Sprintf("%7s of %7s  %s", thousands(done), thousands(all), note), !p.terminal)
}

// done says what a step came to.
func (p *progress) done(step, what string) { p.line(step, what, true) }

func (p *progress) line(step, what string, keep bool) {
	begin, end := "", "\n"
	if p.terminal {
		begin = "\r\x1b[K"
	}
	if !keep {
		end = ""
	}
	took := time.Since(p.began).Round(time.Second)
	_, _ = fmt.Fprintf(p.out, "%s%3d:%02d  %-34s  %s%s", begin, int(took.Minutes()), int(took.Seconds())%60, step, what, end)
}
