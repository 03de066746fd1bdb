package main

import "testing"

func TestAFileAsksForSucceededUnlessItSaysOtherwise(t *testing.T) {
	for text, want := range map[string]expectation{
		"kind: TaskRun\n": {status: "True"},
		"# expect: Succeeded=False reason=Failed\nkind: TaskRun":            {status: "False", reason: "Failed"},
		"# expect: refused message=steps\n":                                 {refused: true, message: "steps"},
		"# about it\n# expect: Succeeded=False message=\"a \\\"b\\\" c\"\n": {status: "False", message: `a "b" c`},
	} {
		got, err := parseExpectation(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestAMisspeltExpectationIsAnError(t *testing.T) {
	for _, text := range []string{
		"# expect: Success=True\n", "# expect: Succeeded=True because=x\n", "# expect:\n", "x # expect: Succeeded=True\n",
	} {
		if e, err := parseExpectation(text); err == nil {
			t.Errorf("%q: read as %+v", text, e)
		}
	}
}

func TestARunThatEndedOtherwiseIsHopeless(t *testing.T) {
	want := expectation{status: "True"}
	for c, hopeless := range map[condition]bool{
		{}:                                  false,
		{status: "Unknown"}:                 false,
		{status: "True"}:                    false,
		{status: "False", reason: "Failed"}: true,
	} {
		if want.hopeless(c) != hopeless {
			t.Errorf("%v: hopeless is not %v", c, hopeless)
		}
	}
	if failed := (expectation{status: "False", message: "code 3"}); failed.met(condition{status: "False", message: "code 4"}) {
		t.Error("another message passes")
	}
}
