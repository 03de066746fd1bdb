package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An expectation is what a file asks of its runs. Its zero value is not one:
// use parseExpectation, which knows the default.
type expectation struct {
	refused bool   // kubectl create must fail
	status  string // of the condition Succeeded
	reason  string // "" for any
	message string // a part of the message; "" for any
}

var expectLine = regexp.MustCompile(`(?m)^#\s*expect:\s*(\S+)((?:\s+\w+=(?:"(?:[^"\\]|\\.)*"|\S+))*)\s*$`)
var expectField = regexp.MustCompile(`(\w+)=(?:("(?:[^"\\]|\\.)*")|(\S+))`)

// parseExpectation finds a file's "# expect:" comment. A comment that it
// cannot read is an error: a misspelt expectation must not pass as the default.
func parseExpectation(text string) (expectation, error) {
	m := expectLine.FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, "# expect:") {
			return expectation{}, fmt.Errorf(`the "# expect:" comment cannot be read: want refused or Succeeded=STATUS, then reason=… and message="…"`)
		}
		return expectation{status: "True"}, nil
	}
	var e expectation
	if status, ok := strings.CutPrefix(m[1], "Succeeded="); ok {
		e.status = status
	} else if m[1] == "refused" {
		e.refused = true
	} else {
		return e, fmt.Errorf("expect: %q is neither refused nor Succeeded=STATUS", m[1])
	}
	for _, f := range expectField.FindAllStringSubmatch(m[2], -1) {
		value := f[3]
		if f[2] != "" {
			var err error
			if value, err = strconv.Unquote(f[2]); err != nil {
				return e, fmt.Errorf("expect: %s=%s: %w", f[1], f[2], err)
			}
		}
		switch f[1] {
		case "reason":
			e.reason = value
		case "message":
			e.message = value
		default:
			return e, fmt.Errorf("expect: unknown word %q", f[1])
		}
	}
	return e, nil
}

// A condition is what a run says of itself.
type condition struct{ status, reason, message string }

func (c condition) String() string {
	if c.status == "" {
		return "no condition Succeeded"
	}
	return fmt.Sprintf("Succeeded=%s %s: %s", c.status, c.reason, c.message)
}

func (e expectation) met(c condition) bool {
	return c.status == e.status && (e.reason == "" || e.reason == c.reason) && strings.Contains(c.message, e.message)
}

// hopeless tells whether a run has ended in a way that it cannot leave.
func (e expectation) hopeless(c condition) bool {
	return (c.status == "True" || c.status == "False") && !e.met(c)
}
