package main

import (
	"os"
	"strings"
)

// A style is how a terminal shows who says what; empty for what is none.
type style struct{ colour map[string]string }

const plain = "\x1b[0m"

// styleOf has colours for a terminal, unless somebody wants none (no-color.org).
func styleOf(f *os.File) style {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("NO_COLOR") != "" {
		return style{}
	}
	return style{map[string]string{
		"sentence": "\x1b[1m", "command": "\x1b[2m",
		"server": "\x1b[35m", "reflector": "\x1b[34m", "fifo": "\x1b[94m", "indexer": "\x1b[36m",
		"handler": "\x1b[31m", "queue": "\x1b[33m", "worker": "\x1b[32m",
	}}
}

func (s style) in(colour, text string) string {
	if s.colour[colour] == "" {
		return text
	}
	return s.colour[colour] + text + plain
}

// scene is what is shown of one: the sentences, the command, and what the stages said,
// each in its colour.
func (s style) scene(of scene, said string) string {
	var text strings.Builder
	for _, sentence := range of.sentences {
		text.WriteString(s.in("sentence", sentence) + "\n")
	}
	text.WriteString("    " + s.in("command", "› "+of.line) + "\n")
	for line := range strings.Lines(said) {
		who, _, _ := strings.Cut(line, " ")
		text.WriteString("    " + s.in(who, strings.TrimSuffix(line, "\n")) + "\n")
	}
	text.WriteString("\n")
	return text.String()
}
