package dialogue_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"millrace/internal/simulation/dialogue"
)

const small = `# A small script.

## Something is made.
POST configmaps as made
{metadata: {name: a}}
→ 201 application/json
{metadata: {name: a, uid: uid1}}

## It is read.
differs: for the sake of this test
GET configmaps/${made.metadata.name}?uid=${made.metadata.uid} until 200
Accept: application/json
→ 200 application/json
{}
`

func parse(t *testing.T, text string) *dialogue.Script {
	t.Helper()
	s, err := dialogue.Parse("small", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAScriptIsWrittenAsItWasRead(t *testing.T) {
	if got := parse(t, small).String(); got != small {
		t.Errorf("got\n%s", got)
	}
	for _, bad := range []string{"", "## Nothing is asked.\n", "## A word too many.\nGET pods as\n", "## Never.\nGET pods until when\n", "## What?\nGET pods how many\n"} {
		if _, err := dialogue.Parse("bad", bad); err == nil {
			t.Errorf("%q is taken for a script", bad)
		}
	}
}

func TestAnAllowanceIsForADifference(t *testing.T) {
	both := parse(t, small).Exchanges
	for i, want := range []struct{ equal, different string }{{"", "201"}, {"they are equal", ""}} {
		e := both[i]
		if got := e.Compare(e.Answer); want.equal == "" && got != "" || !strings.Contains(got, want.equal) {
			t.Errorf("%s, equal: %q", e.Title, got)
		}
		if got := e.Compare("→ 500"); want.different == "" && got != "" || !strings.Contains(got, want.different) {
			t.Errorf("%s, different: %q", e.Title, got)
		}
	}
}

// played asks two exchanges of a server that answers so.
func played(t *testing.T, first, second string) []string {
	t.Helper()
	answers := []string{first, second}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answers[min(len(asked), 2)-1]))
	}))
	defer server.Close()
	s := &dialogue.Server{URL: server.URL, Client: server.Client(), Pause: func(context.Context) error { return nil }}
	got, err := s.Play(t.Context(), parse(t, small), "here")
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /api/v1/namespaces/here/configmaps/a?uid="; len(asked) != 2 || !strings.HasPrefix(asked[1], want) {
		t.Errorf("asked %q", asked)
	}
	return got
}

func TestWhatIsDrawnKeepsItsEqualityAndItsOrder(t *testing.T) {
	one, other := "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	got := played(t,
		`{"metadata":{"name":"a","namespace":"here","uid":"`+one+`","resourceVersion":"7000","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{}]}}`,
		`{"metadata":{"resourceVersion":"6999"},"items":[`+
			`{"metadata":{"name":"b","uid":"`+other+`","resourceVersion":"6998"}},`+
			`{"metadata":{"name":"c","uid":"`+one+`","resourceVersion":"7001"}}],`+
			`"message":"in record (7000) of `+one+`, 7001 of 555 in 2"}`)
	for i, want := range []string{
		`→ 200 application/json
{metadata: {creationTimestamp: TIME, name: a, namespace: NS, resourceVersion: v2, uid: uid1}}`,
		`→ 200 application/json
items:
  - {metadata: {name: b, resourceVersion: v1, uid: uid2}}
  - {metadata: {name: c, resourceVersion: v3, uid: uid1}}
message: "in record (v2) of uid1, N of N in 2"
metadata: {resourceVersion: v1+}`,
	} {
		if got[i] != want {
			t.Errorf("got\n%s\nwant\n%s", got[i], want)
		}
	}
}

func TestABookmarkThatIsSaidTwiceIsOne(t *testing.T) {
	const (
		event    = `{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}`
		bookmark = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}`
		end      = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	)
	got := played(t, `{"metadata":{"name":"a","uid":"11111111","resourceVersion":"7"}}`, "["+strings.Join([]string{event, event, bookmark, bookmark, end, bookmark}, ",")+"]")
	const want = `→ 200 application/json
- {object: {metadata: {name: a, resourceVersion: v1}}, type: MODIFIED}
- {object: {metadata: {name: a, resourceVersion: v1}}, type: MODIFIED}
- {object: {metadata: {resourceVersion: v1+}}, type: BOOKMARK}
-
  object: {metadata: {annotations: {k8s.io/initial-events-end: "true"}, resourceVersion: v1+}}
  type: BOOKMARK
- {object: {metadata: {resourceVersion: v1+}}, type: BOOKMARK}`
	if got[1] != want {
		t.Errorf("got\n%s\nwant\n%s", got[1], want)
	}
}
