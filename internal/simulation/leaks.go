package simulation

import (
	"regexp"
	"runtime"
	"strings"
)

var bubbleOf = regexp.MustCompile(`^goroutine \d+ [^\n]*(synctest bubble \d+)[^\n]*`)

// leaks finds the goroutines of this bubble that should be gone.
func (w *World) leaks() {
	buffer := make([]byte, 1<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	mine := bubbleOf.FindStringSubmatch(stacks[0])
	if mine == nil {
		return
	}
	var left []string
	for _, stack := range stacks[1:] {
		if of := bubbleOf.FindStringSubmatch(stack); of != nil && of[1] == mine[1] && !strings.Contains(stack, "testing/synctest") {
			left = append(left, stack)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.Leaks = strings.Join(left, "\n\n")
}
