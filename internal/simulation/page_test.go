package simulation

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files anew")

// A plan in which a pod is made twice, with all that a timeline can have.
func aTimeline() *Result {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	r := &Result{
		Plan: Plan{Seed: 7, Workload: Storm, Chaos: 1, Only: map[string]bool{"user run: blue/a": true, "another webhook's No: millrace-0.1 create pods/blue/a-pod #1": true}},
		Lines: []Line{
			{At: at(300), Text: "millrace-0.1 starts", Actor: "millrace-0.1"},
			{At: at(310), Text: "millrace-1.1 starts", Actor: "millrace-1.1"},
			{At: at(400), Text: "millrace-0.1 get leases/tekton-pipelines/millrace-controller #1 → 404 NotFound", Actor: "millrace-0.1"},
			{At: at(5000), Text: "user create taskruns/blue/a #1 → 200 @1005", Actor: "user", Run: "blue/a"},
			{At: at(5100), Text: "user create taskruns/blue/b #1 → 200 @1006", Actor: "user", Run: "blue/b"},
			{At: at(5200), Text: "millrace-0.1 watch taskruns #1 is told ADDED blue/a@1005  ⚡ event twice", Actor: "millrace-0.1", Run: "blue/a"},
			{At: at(5300), Text: "millrace-0.1 create pods/blue/a-pod #1 → 400 BadRequest  ⚡ another webhook's No", Actor: "millrace-0.1", Run: "blue/a"},
			{At: at(5400), Text: "⚡ API server restarts, for 2s"},
			{At: at(7500), Text: "⚡ pods/blue/a-pod is in for: evicted", Actor: "kubelet", Run: "blue/a"},
			{At: at(3700000), Text: "millrace-1.1 create pods/blue/a-pod #2 → 200 @1010", Actor: "millrace-1.1", Run: "blue/a"},
			{At: at(3700000), Text: "✗ I3: blue/a-pod is made <twice>"},
			{At: at(3701000), Text: "garbage collector delete pods/blue/a-pod #1 → 200", Actor: "garbage collector", Run: "blue/a"},
		},
		Violations: []Violation{{"I3", at(3700000), "blue/a-pod is made <twice>"}},
		Lasted:     time.Hour + 5*time.Minute,
		First:      map[string]time.Duration{"user run: blue/a": at(5000), "another webhook's No: millrace-0.1 create pods/blue/a-pod #1": at(5300)},
	}
	r.Fired = []string{"another webhook's No: millrace-0.1 create pods/blue/a-pod #1", "user run: blue/a"}
	return r
}

func TestATimelineIsATextAndAPage(t *testing.T) {
	text, html := aTimeline().Tell("abcdef1")
	for file, got := range map[string][]byte{"testdata/timeline.txt": []byte(text), "testdata/timeline.html": html} {
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is different (go test -update writes it anew):\n%s", file, got)
		}
	}
}

func TestAPageStandsAlone(t *testing.T) {
	_, html := aTimeline().Tell("abcdef1")
	if found := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|src=|url\(|@import|https?:|javascript:|<[^>]*\son[a-z]+=`).FindAll(html, -1); found != nil {
		t.Errorf("the page has %q", found)
	}
	if bytes.Contains(html, []byte("<twice>")) || !bytes.Contains(html, []byte("&lt;twice&gt;")) {
		t.Error("what a violation says is not escaped")
	}
	if bytes.Contains(html, []byte("ZgotmplZ")) {
		t.Error("the template puts text where none may be")
	}
}

// Whoever follows a link, or filters, gets somewhere.
func TestEveryLinkAndFilterOfAPageLeadsSomewhere(t *testing.T) {
	_, raw := aTimeline().Tell("abcdef1")
	html := string(raw)
	ids := map[string]int{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[id[1]]++; ids[id[1]] > 1 {
			t.Errorf("there are two of %s", id[1])
		}
	}
	links := regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(links) < 8 {
		t.Errorf("there are %d links", len(links))
	}
	for _, link := range links {
		if ids[link[1]] == 0 {
			t.Errorf("nothing is at #%s", link[1])
		}
	}
	for _, used := range regexp.MustCompile(`:has\(#([a-z0-9-]+):checked\)`).FindAllStringSubmatch(html, -1) {
		if ids[used[1]] == 0 {
			t.Errorf("no filter is %s", used[1])
		}
	}
	for _, of := range regexp.MustCompile(`data-run="(\d+)" style`).FindAllStringSubmatch(html, -1) {
		if ids["run-"+of[1]] == 0 {
			t.Errorf("no filter shows the lines of run %s", of[1])
		}
	}
}

func TestTheTagsOfAPageAreClosed(t *testing.T) {
	_, html := aTimeline().Tell("abcdef1")
	html = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllFunc(html, func(style []byte) []byte {
		if opened, closed := bytes.Count(style, []byte("{")), bytes.Count(style, []byte("}")); opened != closed {
			t.Errorf("the style opens %d braces and closes %d", opened, closed)
		}
		return nil
	})
	var open []string
	for _, tag := range regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`).FindAllSubmatch(html, -1) {
		name := string(tag[2])
		switch {
		case slices.Contains([]string{"meta", "input"}, name):
		case len(tag[1]) == 0:
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %q", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%q are left open", open)
	}
}

// Each line is in its actor's lane, and a page has a lane for each replica.
func TestEachLineIsInItsLane(t *testing.T) {
	p := aTimeline().page("abcdef1")
	var lanes []string
	for _, l := range p.Lanes {
		lanes = append(lanes, l.Name)
	}
	if want := []string{"users", "API server", "millrace-0", "millrace-1", "kubelets"}; !slices.Equal(lanes, want) {
		t.Errorf("lanes are %q", lanes)
	}
	for _, row := range p.Rows {
		lane := lanes[row.Column-1]
		ok := lane == "API server" && slices.Contains([]string{"API server", "garbage collector"}, row.Who) ||
			lane == "users" && row.Who == "user" || lane == "kubelets" && row.Who == "kubelet" || strings.HasPrefix(row.Who, lane+".")
		if !ok {
			t.Errorf("%q of %s is in the lane of %s", row.Text, row.Who, lane)
		}
	}
}

func TestALongTimelineKeepsWhatMatters(t *testing.T) {
	r := aTimeline()
	for range mostRows {
		r.Lines = append(r.Lines, Line{At: time.Hour, Text: "user patch taskruns/blue/b #1 → 200", Actor: "user", Run: "blue/b"})
	}
	p := r.page("abcdef1")
	if len(p.Rows) > 20 || p.LeftOut < mostRows || len(p.Rows)+p.LeftOut != len(r.Lines) {
		t.Errorf("%d rows, %d left out, of %d lines", len(p.Rows), p.LeftOut, len(r.Lines))
	}
	if !slices.ContainsFunc(p.Rows, func(row row) bool { return row.Breach }) {
		t.Error("the breach is left out")
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00.000000", 62*time.Second + 1234*time.Microsecond: "1:02.001234", time.Hour + 3*time.Second: "1:00:03.000000",
	} {
		if got := clock(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}
