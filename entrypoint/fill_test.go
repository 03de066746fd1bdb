package main

import (
	"os"
	"strings"
	"testing"
)

// give runs a first step that leaves results of its own.
func (p *pod) give(line string) {
	p.t.Helper()
	p.sh("cd " + p.path("steps", "step-0", "results") + " && " + line).wants(0)
}

// Claim 14: a text, an element, a key, and an array that becomes several arguments.
func TestResultsOfEarlierStepsAreFilledIn(t *testing.T) {
	p := newPod(t)
	p.give(`printf foo > text; printf '["a b","$(x)"]' > list; printf '{"url":"example.com"}' > object`)
	c := p.step([]string{
		"-arg", "3", "-text", "<", "-ref", "step-0/text", "-text", ">",
		"-arg", "4", "-ref", "step-0/list[*]",
		"-arg", "5", "-ref", "step-0/list[1]", "-ref", "step-0/object[url]",
		"-env", "RESULT", "-text", "is ", "-ref", "step-0/text",
	}, "sh", "-c", `printf '%s\n' "$0" "$@" "$RESULT"`, "", "", "", "last")
	c.wants(0)
	equal(t, "arguments", c.stdout.String(), "<foo>\na b\n$(x)\n$(x)example.com\nlast\nis foo\n")
}

// Keys of an object may be numbers; whether it is an object is for the result to say.
func TestNumbersAsKeys(t *testing.T) {
	p := newPod(t)
	p.give(`printf ' {"0":"zero","-1":"below"}' > object; printf '["first"]' > list; printf 0 > text`)
	c := p.step([]string{"-arg", "1", "-ref", "step-0/object[0]", "-ref", "step-0/object[-1]", "-ref", "step-0/list[0]"}, "echo", "")
	c.wants(0)
	equal(t, "output", c.stdout.String(), "zerobelowfirst\n")
	p.step([]string{"-arg", "1", "-ref", "step-0/object[1]"}, "echo", "").wants(exitFailed).says("no such key")
	p.step([]string{"-arg", "1", "-ref", "step-0/text[0]"}, "echo", "").wants(exitFailed)
}

// A value that looks like a reference is a value.
func TestFilledValuesAreNotLookedAtAgain(t *testing.T) {
	p := newPod(t)
	p.give(`printf secret > token; printf '$(steps.0.results.token)' > sly`)
	c := p.step([]string{"-arg", "1", "-ref", "step-0/sly"}, "echo", "")
	c.wants(0)
	equal(t, "output", c.stdout.String(), "$(steps.0.results.token)\n")
}

func TestEnvironmentIsFilled(t *testing.T) {
	p := newPod(t)
	p.give(`printf foo > text`)
	c := p.sh("echo $RESULT", "-env", "RESULT", "-text", "is ", "-ref", "step-0/text")
	c.wants(0)
	equal(t, "output", c.stdout.String(), "is foo\n")
}

// Claim 14, the other half.
func TestWhatCannotBeFilledInBreaksTheStep(t *testing.T) {
	for ref, says := range map[string]string{
		"step-0/absent":      "the step has not written it",
		"step-0/text[*]":     "it is no JSON array of strings",
		"step-0/text[0]":     "it is no JSON array of strings",
		"step-0/text[key]":   "it is no JSON object of strings",
		"step-0/list[7]":     "the array has 1 elements",
		"step-0/object[nil]": "the object has no such key",
		"step-0/link":        "it is a link",
		"step-9/text":        "the step has not written it",
	} {
		p := newPod(t)
		p.must(os.WriteFile(p.path("secret"), []byte("token"), 0o600))
		p.give(`printf foo > text; printf '["a"]' > list; printf '{"a":"b"}' > object; ln -s ../../../secret link`)
		c := p.step([]string{"-arg", "1", "-ref", ref}, "echo", "")
		c.wants(exitFailed).tells().says(says)
		equal(t, ref+" posted", c.posted(), "out.err")
	}
}

// A step that means harm puts a link where its directory was, to have the next
// one read a file of its own.
func TestDirectoryOfResultsThatBecameALink(t *testing.T) {
	p := newPod(t)
	p.must(os.Mkdir(p.path("private"), 0o700))
	p.must(os.WriteFile(p.path("private", "token"), []byte("secret"), 0o600))
	p.sh("cd " + p.path("steps", "step-0") + " && rmdir results && ln -s ../../private results").wants(0)
	p.step([]string{"-arg", "1", "-ref", "step-0/token"}, "echo", "").wants(exitFailed).says("results is in the way of a directory: it is a link")
}

func TestReferencesStayInside(t *testing.T) {
	for _, ref := range []string{"../x", "x", "x/", "/x", "step-0/../x", "step-0/..", "./x", "step-0/a/b"} {
		newPod(t).step([]string{"-arg", "1", "-ref", ref}, "echo", "").wants(exitUsage).says("want step/result")
	}
}

// Claim 13.
func TestConditions(t *testing.T) {
	for when, runs := range map[string]bool{
		`[]`: true,
		`[{"input":[{"text":"a"}],"operator":"in","values":[[{"text":"b"}],[{"text":"a"}]]}]`:                                                                                              true,
		`[{"input":[{"text":"a"}],"operator":"notin","values":[[{"text":"a"}]]}]`:                                                                                                          false,
		`[{"input":[{"ref":"step-0/text"}],"operator":"in","values":[[{"text":"foo"}]]}]`:                                                                                                  true,
		`[{"input":[{"text":"b"}],"operator":"in","values":[[{"ref":"step-0/list[*]"}]]}]`:                                                                                                 true,
		`[{"input":[{"text":"$(steps.0.results.text)"}],"operator":"in","values":[[{"text":"foo"}]]}]`:                                                                                     false,
		`[{"input":[{"text":"a"}],"operator":"in","values":[[{"text":"a"}]]},{"input":[{"text":"a"}],"operator":"in","values":[[{"text":"b"}]]}]`:                                          false,
		`[{"input":[{"text":"x"}],"operator":"notin","values":[[{"ref":"step-0/text"}]]},{"input":[{"text":"is "},{"ref":"step-0/text"}],"operator":"in","values":[[{"text":"is foo"}]]}]`: true,
	} {
		p := newPod(t)
		p.give(`printf foo > text; printf '["a","b"]' > list`)
		c := p.sh("echo runs", "-when", when)
		next := p.sh("echo next")
		c.wants(0)
		equal(t, when+" runs", c.stdout.String() == "runs\n", runs)
		if !runs {
			c.tells("3/Reason", reasonSkipped)
		}
		equal(t, "posted", c.posted(), "out")
		next.wants(0)
	}
}

// More than fits into one argument.
func TestLongConditionsComeInPieces(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	conditions := `[{"input":[{"text":"` + long + `"}],"operator":"in","values":[[{"text":"` + long + `"}]]}]`
	c := newPod(t).sh("echo runs", "-when", conditions[:90<<10], "-when", conditions[90<<10:180<<10], "-when", conditions[180<<10:])
	c.wants(0)
	equal(t, "output", c.stdout.String(), "runs\n")
}

func TestConditionThatCannotBeJudged(t *testing.T) {
	p := newPod(t)
	p.give("true")
	p.sh("true", "-when", `[{"input":[{"ref":"step-0/absent"}],"operator":"in","values":[[{"text":"a"}]]}]`).
		wants(exitFailed).tells().says("has not written it")
	for _, wrong := range []string{"{", `[{"operator":"is"}]`, `[{"input":[{"ref":"../x"}],"operator":"in"}]`} {
		newPod(t).sh("true", "-when", wrong).wants(exitUsage)
	}
}
