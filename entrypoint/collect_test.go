package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Claim 17, the first half.
func TestLargeMessagesAreCompressed(t *testing.T) {
	p := newPod(t)
	c := p.sh("yes 0123456789 | head -c 20000 > "+p.path("results", "r"), "-results", "r", "-compress").wants(0)
	raw, err := os.ReadFile(c.message)
	p.must(err)
	text, ok := strings.CutPrefix(string(raw), compressedPrefix)
	if !ok || len(raw) > maxMessage {
		t.Fatalf("%d bytes: %.60s", len(raw), raw)
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	p.must(err)
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	p.must(err)
	var entries []entry
	p.must(json.Unmarshal(plain, &entries))
	equal(t, "bytes of the result", len(entries[0].Value), 20000)

	p.sh("printf small > "+p.path("results", "r"), "-results", "r", "-compress").wants(0).tells("1/r", "small")
	p.sh("head -c 8000 /dev/urandom | base64 -w0 > "+p.path("results", "r"), "-results", "r", "-compress").
		wants(exitFailed).tells().says("Termination message is above max allowed size 4096, caused by large task result.")
}

// collector runs `entrypoint results` in the pod.
func (p *pod) collector(flags ...string) *exec.Cmd {
	p.t.Helper()
	c := exec.Command(program, append([]string{"results", "-results_dir", p.path("results"), "-steps_dir", p.path("steps")}, flags...)...)
	c.Stdout, c.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	return c
}

// Claim 17, the second half: it waits for all steps, whatever becomes of them.
func TestResultsAreCollected(t *testing.T) {
	p := newPod(t)
	c := p.collector("-wait_file", p.path("run", "0", "out")+","+p.path("run", "1", "out"),
		"-results", "large,absent,link,huge", "-step_result", "step-0/own", "-step_result", "step-0/none", "-max_size", "100000")
	p.must(c.Start())
	p.must(os.WriteFile(p.path("secret"), []byte("token"), 0o600))
	p.sh("cd "+p.path("results")+" && yes x€ | head -n 10000 | tr -d '\\n' > large && ln -s ../secret link && truncate -s 1G huge && printf mine > "+
		p.path("steps", "step-0", "results", "own"), "-results", "large", "-step_results", "own", "-results_elsewhere").wants(0).tells()
	p.sh("exit 1").wants(1)
	p.must(c.Wait())
	var got []collected
	for line := range bytes.Lines(c.Stdout.(*bytes.Buffer).Bytes()) {
		if len(line) > 16<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	for d := json.NewDecoder(c.Stdout.(*bytes.Buffer)); ; {
		var line collected
		if err := d.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if last := len(got) - 1; last >= 0 && got[last].Name == line.Name {
			got[last].Value += line.Value
			continue
		}
		got = append(got, line)
	}
	want := []collected{{Name: "large", Value: strings.Repeat("x€", 10000)}, {Name: "huge", Size: 1 << 30}, {Step: "step-0", Name: "own", Value: "mine"}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %.200v, want %.200v", got, want)
	}
	if told := c.Stderr.(*bytes.Buffer).String(); !strings.Contains(told, "result link is left out: it is a link") {
		t.Errorf("told %q", told)
	}
}

func TestNamesOfCollectedResultsStayInside(t *testing.T) {
	for _, flags := range [][]string{{"-results", "../x"}, {"-results", ".."}, {"-step_result", "../x"}, {"-step_result", "x"}} {
		c := newPod(t).collector(flags...)
		if _ = c.Run(); c.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%v: %d", flags, c.ProcessState.ExitCode())
		}
	}
}
