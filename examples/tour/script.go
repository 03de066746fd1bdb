package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/chaintest"
)

// A scene is some sentences, and what is done then.
type scene struct {
	sentences []string
	line      string // the command, as it is written
	command   chaintest.Command
}

// read reads a story, without what came of it when it was written down.
func read(story string) ([]scene, error) {
	var scenes []scene
	for block := range strings.SplitSeq(story, "\n\n") {
		s, err := readBlock(strings.TrimSpace(block))
		if err != nil {
			return nil, err
		}
		if s.line != "" {
			scenes = append(scenes, s)
		}
	}
	if len(scenes) == 0 {
		return nil, errors.New("a story without commands")
	}
	return scenes, nil
}

func readBlock(block string) (s scene, err error) {
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			s.sentences = append(s.sentences, strings.TrimSpace(line[1:]))
		case line == "----" || s.line != "":
			return s, nil
		default:
			s.line = line
			verb, args, err := datadriven.ParseLine(line)
			if err != nil {
				return s, fmt.Errorf("read %q: %w", line, err)
			}
			s.command = chaintest.CommandOf(verb, args)
		}
	}
	return s, nil
}
