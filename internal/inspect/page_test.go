package inspect

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func served(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	New("v1", func() bool { return true }).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK || w.Body.Len() == 0 {
		t.Fatalf("%s: %d", path, w.Code)
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("%s may load: %q", path, csp)
	}
	return w.Body.String()
}

// Claim 6. The name of SVG's namespace is a name, and nobody asks for it.
func TestThePageAsksForNothingFromElsewhere(t *testing.T) {
	for path := range page() {
		text := strings.ReplaceAll(served(t, path), `"http://www.w3.org/2000/svg"`, "")
		if found := regexp.MustCompile(`(?i)(?:https?:|wss?:)?//[a-z0-9]|@import|url\(|<script>|<style|\son[a-z]+=|javascript:`).FindAllString(text, -1); found != nil {
			t.Errorf("%s has %q", path, found)
		}
	}
}

// Claim 6. What is a string of the program's own may be markup; nothing else is.
func TestTheScriptMakesNoMarkupOfText(t *testing.T) {
	js := served(t, "/debug/pipeline.js")
	if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser`).FindAllString(js, -1); found != nil {
		t.Errorf("the script uses %q", found)
	}
}

// What the page and its script name of each other is there, once.
func TestPageScriptAndStyleFitTogether(t *testing.T) {
	html, css, js := served(t, "/debug/pipeline"), served(t, "/debug/pipeline.css"), served(t, "/debug/pipeline.js")
	ids := map[string]int{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		ids[id[1]]++
	}
	used := 0
	for _, re := range []*regexp.Regexp{
		regexp.MustCompile(`\$\("([^"]+)"\)`), regexp.MustCompile(`aria-labelledby="([^"]+)"`),
		regexp.MustCompile(`href="#([^"]+)"`), regexp.MustCompile(`#([a-z]+) \{`),
	} {
		for _, m := range re.FindAllStringSubmatch(html+css+js, -1) {
			if used++; ids[m[1]] != 1 {
				t.Errorf("%s: there are %d of #%s", m[0], ids[m[1]], m[1])
			}
		}
	}
	if used < 20 {
		t.Errorf("only %d uses of ids were found", used)
	}
	for _, file := range regexp.MustCompile(`(?:href|src)="([a-z.]+)"`).FindAllStringSubmatch(html, -1) {
		if page()["/debug/"+file[1]] == nil {
			t.Errorf("%s is not served", file[1])
		}
	}
}

// The fields that the script reads are those that a snapshot and a report have.
func TestTheScriptReadsFieldsThatThereAre(t *testing.T) {
	js := served(t, "/debug/pipeline.js")
	for prefix, fields := range map[string][]string{
		"c": append(tags[ControllerSnapshot](), "source", "event", "name", "oldRV", "newRV", "count"), // c is a Cause, too
		"r": append(tags[ResourceSnapshot](), tags[Report]()...),
		"q": append(tags[Quarantine](), tags[Standing]()...),
		"a": tags[Alarm](), "k": tags[HotKey](), "now": tags[Snapshot](),
	} {
		fields = append(fields, "textContent", "className", "length") // of elements that are called so
		for _, m := range regexp.MustCompile(`\b`+prefix+`\.([a-zA-Z]+)\b`).FindAllStringSubmatch(js, -1) {
			if !slices.Contains(fields, m[1]) {
				t.Errorf("%s: there is no such field", m[0])
			}
		}
	}
}

// Each tag is closed, in order.
func TestTheTagsOfThePageAreClosed(t *testing.T) {
	var open []string
	for _, tag := range regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`).FindAllStringSubmatch(served(t, "/debug/pipeline"), -1) {
		switch {
		case slices.Contains([]string{"meta", "input", "link"}, tag[2]):
		case tag[1] == "":
			open = append(open, tag[2])
		case len(open) == 0 || open[len(open)-1] != tag[2]:
			t.Fatalf("</%s> closes %q", tag[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%q are left open", open)
	}
}

// Light and dark name the same colours, and who wants no motion gets none.
func TestTheStyleServesLightAndDarkAndThoseWhoWantNoMotion(t *testing.T) {
	css := served(t, "/debug/pipeline.css")
	roots := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(css, -1)
	if len(roots) != 2 {
		t.Fatalf("%d sets of colours", len(roots))
	}
	names := func(set string) (all []string) {
		for _, m := range regexp.MustCompile(`(--[a-z-]+):`).FindAllStringSubmatch(set, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	if light, dark := names(roots[0][1]), names(roots[1][1]); !slices.Equal(light, dark) {
		t.Errorf("light has %q, dark %q", light, dark)
	}
	for _, m := range regexp.MustCompile(`var\((--[a-z-]+)\)`).FindAllStringSubmatch(css, -1) {
		if !slices.Contains(names(roots[0][1]), m[1]) {
			t.Errorf("%s is no colour", m[1])
		}
	}
	outside := regexp.MustCompile(`(?s)@media \(prefers-reduced-motion: no-preference\) \{.*?\n\}`).ReplaceAllString(css, "")
	if strings.Contains(outside, "animation:") || strings.Contains(outside, "transition") {
		t.Error("something moves for those who want no motion")
	}
}
