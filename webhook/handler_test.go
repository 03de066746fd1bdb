package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/validation"
)

// A review is what an API server sends, with what a test leaves out filled in.
type review struct {
	kind, version, group string // default: TaskRun of tekton.dev/v1
	operation            admissionv1.Operation
	subresource          string
	object, old          string
}

func (r review) body() string {
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	raw := func(s string) string { return or(s, "null") }
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","name":"build","namespace":"ci",
		"kind":{"group":%q,"version":%q,"kind":%q},"resource":{"group":"g","version":"v","resource":"r"},"subResource":%q,
		"operation":%q,"userInfo":{},"dryRun":true,"object":%s,"oldObject":%s}}`,
		or(r.group, "tekton.dev"), or(r.version, "v1"), or(r.kind, "TaskRun"), r.subresource, or(string(r.operation), "CREATE"), raw(r.object), raw(r.old))
}

// post sends a body as an API server does.
func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

// ask sends a review and returns the answer, which must be one.
func ask(t *testing.T, h http.Handler, path string, r review) *admissionv1.AdmissionResponse {
	t.Helper()
	return answerOf(t, post(h, path, r.body()))
}

func answerOf(t *testing.T, w *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("HTTP %d, %v: %s", w.Code, err, w.Body)
	}
	if answer.APIVersion != "admission.k8s.io/v1" || answer.Kind != "AdmissionReview" || answer.Request != nil || answer.Response.UID != "u-1" {
		t.Fatalf("not the answer to the question: %s", w.Body)
	}
	return answer.Response
}

const (
	good = `{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":{"name":"build"},"spec":{"taskSpec":{"steps":[{"image":"busybox","script":"true"}]}}}`
	bad  = `{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":{"name":"build"},"spec":{"taskSpec":{"steps":[{"name":"UPPER","image":"busybox"},{"image":"busybox","command":["a"],"script":"b"}]}}}`
)

func TestAnObjectInOrderPasses(t *testing.T) {
	if r := ask(t, NewHandler(Config{}), PathValidate, review{object: good}); !r.Allowed || r.Result != nil || len(r.Patch) > 0 {
		t.Errorf("got %+v", r)
	}
}

func TestARefusalNamesItsFields(t *testing.T) {
	r := ask(t, NewHandler(Config{}), PathValidate, review{object: bad})
	if r.Allowed || r.Result == nil || r.Result.Code != http.StatusUnprocessableEntity || r.Result.Reason != metav1.StatusReasonInvalid || r.Result.Status != metav1.StatusFailure {
		t.Fatalf("got %+v", r)
	}
	d := r.Result.Details
	if d == nil || d.Name != "build" || d.Kind != "TaskRun" || d.Group != "tekton.dev" {
		t.Fatalf("details: %+v", d)
	}
	fields := map[string]string{}
	for _, c := range d.Causes {
		fields[c.Field] = c.Message
	}
	for _, want := range []string{"spec.taskSpec.steps[0].name", "spec.taskSpec.steps[1].script"} {
		if fields[want] == "" || !strings.Contains(r.Result.Message, want) {
			t.Errorf("nothing is said of %s: %v, %s", want, fields, r.Result.Message)
		}
	}
}

func TestOptionsAreAskedForAtEachRequest(t *testing.T) {
	var o validation.Options
	h := NewHandler(Config{Options: func() validation.Options { return o }})
	const enum = `{"metadata":{"name":"t"},"spec":{"params":[{"name":"p","enum":["a"]}],"steps":[{"image":"x","command":["echo","$(params.p)"]}]}}`
	if r := ask(t, h, PathValidate, review{kind: "Task", object: enum}); r.Allowed {
		t.Error("an enum passes although it is off")
	}
	o.ParamEnum = true
	if r := ask(t, h, PathValidate, review{kind: "Task", object: enum}); !r.Allowed {
		t.Errorf("now that it is on: %+v", r.Result)
	}
	o.Defaults = defaulting.Defaults{ServiceAccount: "robot"}
	if r := ask(t, h, PathDefault, review{object: good}); !bytes.Contains(r.Patch, []byte("robot")) {
		t.Errorf("patch: %s", r.Patch)
	}
}

func TestWhatIsNoReviewIsAnsweredWithAStatus(t *testing.T) {
	h := NewHandler(Config{Limit: 4096})
	request := func(method, media, body string) *http.Request {
		r := httptest.NewRequest(method, PathValidate, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		return r
	}
	const json1 = "application/json"
	for name, c := range map[string]struct {
		*http.Request

		code int
		says string
	}{
		"a GET":             {request(http.MethodGet, json1, ""), 405, "POST"},
		"no type":           {request(http.MethodPost, "", "{}"), 415, "application/json"},
		"another type":      {request(http.MethodPost, "application/yaml", "{}"), 415, "yaml"},
		"nothing":           {request(http.MethodPost, json1, ""), 400, "JSON"},
		"no JSON":           {request(http.MethodPost, json1, "{"), 400, "JSON"},
		"another document":  {request(http.MethodPost, json1, `{"apiVersion":"v1","kind":"Pod"}`), 400, "AdmissionReview"},
		"an older version":  {request(http.MethodPost, json1, `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}`), 400, "admission.k8s.io/v1"},
		"no request":        {request(http.MethodPost, json1, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), 400, "no request"},
		"a request of text": {request(http.MethodPost, json1, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":"x"}`), 400, "JSON"},
		"too much":          {request(http.MethodPost, json1, strings.Repeat(" ", 4097)), 413, "4096"},
		"a charset is fine": {request(http.MethodPost, json1+"; charset=utf-8", "{"), 400, "JSON"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, c.Request)
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
			t.Errorf("%s: %v: %s", name, err, w.Body)
		}
		if w.Code != c.code || status.Code != int32(c.code) || status.Kind != "Status" || status.Reason == "" || !strings.Contains(status.Message, c.says) {
			t.Errorf("%s: HTTP %d: %s", name, w.Code, w.Body)
		}
	}
}

func TestTheLimitIsThatOfAnAPIServer(t *testing.T) {
	h := NewHandler(Config{})
	large := review{kind: "Task", object: `{"spec":{"description":"` + strings.Repeat("x", 3<<20-2000) + `","steps":[{"image":"x"}]}}`}.body()
	if len(large) > 3<<20 {
		t.Fatal(len(large))
	}
	if w := post(h, PathDefault, large); w.Code != http.StatusOK {
		t.Errorf("just under 3 MiB: %d", w.Code)
	}
	if w := post(h, PathDefault, large+strings.Repeat(" ", 3<<20)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("more: %d", w.Code)
	}
}

func TestAKindThatNobodyKnowsIsRefused(t *testing.T) {
	for _, r := range []review{{kind: "Pod", group: "core"}, {version: "v1beta1"}, {kind: "CustomRun"}} {
		r.object = good
		for _, path := range []string{PathDefault, PathValidate} {
			got := ask(t, NewHandler(Config{}), path, r)
			if got.Allowed || got.Result.Code != http.StatusBadRequest || !strings.Contains(got.Result.Message, "knows nothing of") {
				t.Errorf("%s %+v: %+v", path, r, got)
			}
		}
	}
}

func TestAPanicIsTheAnswerToOneRequest(t *testing.T) {
	angry := true
	codes := map[int]int{}
	h := NewHandler(Config{
		AtOnce: 1, // a slot that a panic kept would be missed at once
		Options: func() validation.Options {
			if angry {
				panic("a rule with a bug")
			}
			return validation.Options{}
		},
		Trace: Trace{Answered: func(_ string, code int, _ time.Duration) { codes[code]++ }},
	})
	if w := post(h, PathValidate, review{object: good}.body()); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "InternalError") {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
	angry = false
	if r := ask(t, h, PathValidate, review{object: good}); !r.Allowed {
		t.Error("the next one is refused")
	}
	if codes[500] != 1 || codes[200] != 1 {
		t.Errorf("told of %v", codes)
	}
}

func TestWhatNeedsNoDecisionPasses(t *testing.T) {
	deleting := strings.Replace(bad, `"name":"build"`, `"name":"build","deletionTimestamp":"2026-11-30T09:00:00Z"`, 1)
	labelled := strings.Replace(bad, `"name":"build"`, `"name":"build","labels":{"a":"b"}`, 1)
	for name, r := range map[string]review{
		"a deletion":                   {operation: admissionv1.Delete, old: bad},
		"a status":                     {operation: admissionv1.Update, subresource: "status", object: bad, old: good},
		"a connection":                 {operation: admissionv1.Connect, object: bad},
		"a finalizer on its way out":   {operation: admissionv1.Update, object: deleting, old: good},
		"a label on what is not right": {operation: admissionv1.Update, object: labelled, old: bad},
	} {
		for _, path := range []string{PathDefault, PathValidate} {
			if got := ask(t, NewHandler(Config{}), path, r); !got.Allowed || len(got.Patch) > 0 {
				t.Errorf("%s, %s: %+v", name, path, got)
			}
		}
	}
}

func TestAnUpdateMayKeepWhatWasWrong(t *testing.T) {
	h := NewHandler(Config{})
	changed := strings.Replace(bad, `"spec":{`, `"spec":{"serviceAccountName":"robot",`, 1)
	r := ask(t, h, PathValidate, review{operation: admissionv1.Update, object: changed, old: bad})
	if !r.Allowed || len(r.Warnings) < 2 || !strings.HasPrefix(r.Warnings[0], "was wrong before: spec.taskSpec.steps[0].name") {
		t.Errorf("got %+v", r)
	}
	worse := strings.Replace(changed, `"busybox"`, `""`, 1)
	if r = ask(t, h, PathValidate, review{operation: admissionv1.Update, object: worse, old: bad}); r.Allowed || len(r.Result.Details.Causes) != 1 {
		t.Errorf("with one more thing wrong: %+v", r)
	}
}

func TestTheSpecOfAStartedRunStays(t *testing.T) {
	started := strings.Replace(good, `"spec"`, `"status":{"startTime":"2026-11-30T09:00:00Z","conditions":[{"type":"Succeeded","status":"Unknown"}]},"spec"`, 1)
	defaulted := strings.Replace(started, `"spec":{`, `"spec":{"serviceAccountName":"default",`, 1)
	cancelled := strings.Replace(started, `"spec":{`, `"spec":{"status":"TaskRunCancelled",`, 1)
	other := strings.Replace(started, `"spec":{`, `"spec":{"serviceAccountName":"robot",`, 1)
	for name, c := range map[string]struct {
		object string
		passes bool
	}{"the same with its defaults": {defaulted, true}, "a cancellation": {cancelled, true}, "another account": {other, false}} {
		r := ask(t, NewHandler(Config{}), PathValidate, review{operation: admissionv1.Update, object: c.object, old: started})
		if r.Allowed != c.passes {
			t.Errorf("%s: %+v", name, r)
		}
		if !c.passes && r.Result.Details.Causes[0].Field != "spec.serviceAccountName" {
			t.Errorf("%s: %+v", name, r.Result.Details)
		}
	}
}

func TestAPatchChangesWhatDefaultsChangeAndNothingElse(t *testing.T) {
	// A field that no type knows, an empty list, a number in another spelling, and a name
	// that a JSON pointer has to escape: they stay as they are.
	const odd = `{"kind":"TaskRun","metadata":{"name":"build","labels":{"a/b~c":"1"},"annotations":{}},"spec":{"inTheFuture":{"n":12345678901234567890},
		"params":[],"timeout":"3600s","taskSpec":{"params":[{"name":"p","soon":true},{"name":"q","default":["a"]}],"steps":[{"image":"x"}]}},"status":null}`
	h := NewHandler(Config{})
	r := ask(t, h, PathDefault, review{object: odd})
	if !r.Allowed || r.PatchType == nil || *r.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("got %+v", r)
	}
	patched := apply(t, odd, r.Patch)
	for _, kept := range []string{`"inTheFuture":{"n":12345678901234567890}`, `"params":[]`, `"timeout":"3600s"`, `"soon":true`, `"a/b~c":"1"`, `"status":null`} {
		if !strings.Contains(patched, kept) {
			t.Errorf("%s is gone: %s", kept, patched)
		}
	}
	var want, got crds.TaskRun
	decode(t, odd, &want)
	decode(t, patched, &got)
	defaulting.Defaults{}.TaskRun(&want)
	if a, b := encode(want), encode(got); !bytes.Equal(a, b) {
		t.Errorf("patched: %s\nwant:    %s", b, a)
	}
	if r = ask(t, h, PathDefault, review{object: patched}); len(r.Patch) > 0 || r.PatchType != nil {
		t.Errorf("what has its defaults is patched: %s", r.Patch)
	}
}

func TestEveryKindHasDefaultsAndRules(t *testing.T) {
	h := NewHandler(Config{})
	for _, r := range []review{
		{kind: "Task", object: `{"spec":{"params":[{"name":"p","default":["a"]}],"steps":[]}}`},
		{kind: "TaskRun", object: `{"spec":{}}`},
		{kind: "Pipeline", object: `{"spec":{"params":[{"name":"p","default":["a"]}],"tasks":[{"name":"UP","taskRef":{"name":"t"}}]}}`},
		{kind: "PipelineRun", object: `{"spec":{}}`},
		{kind: "StepAction", version: "v1beta1", object: `{"spec":{"params":[{"name":"p","default":["a"]}]}}`},
		{kind: "StepAction", version: "v1alpha1", object: `{"spec":{"params":[{"name":"p","default":["a"]}]}}`},
		{kind: "CustomRun", version: "v1beta1", object: `{"spec":{}}`},
		{kind: "ResolutionRequest", group: "resolution.tekton.dev", version: "v1beta1", object: `{"spec":{"params":[{"name":"a","value":"1"},{"name":"a","value":"2"}]}}`},
	} {
		if got := ask(t, h, PathValidate, r); got.Allowed {
			t.Errorf("%s: nothing is wrong with %s", r.kind, r.object)
		}
		got := ask(t, h, PathDefault, r)
		if !got.Allowed || len(got.Patch) == 0 && r.kind != "ResolutionRequest" {
			t.Errorf("%s: no defaults for %s: %+v", r.kind, r.object, got)
		}
	}
}

// Chains passes over a run that says it was signed, so nobody may create one that does.
func TestARunIsNotCreatedSigned(t *testing.T) {
	h := NewHandler(Config{})
	const metadata = `"metadata":{"name":"build","annotations":{%s"chains.tekton.dev/signed":"true","results.tekton.dev/record":"a/b"}}`
	object := func(kind, more string) string {
		spec := `{"taskRef":{"name":"t"}}`
		if kind == "PipelineRun" {
			spec = `{"pipelineRef":{"name":"p"}}`
		}
		return fmt.Sprintf(`{"kind":%q,`+metadata+`,"spec":%s}`, kind, more, spec)
	}
	annotations := func(raw string, by []byte) map[string]string {
		var o metav1.PartialObjectMetadata
		decode(t, apply(t, raw, by), &o)
		return o.Annotations
	}
	for _, kind := range []string{"TaskRun", "PipelineRun"} {
		all, some := object(kind, ""), object(kind, `"mine":"stays","x.chains.tekton.dev/y":"stays",`)
		if got := annotations(all, ask(t, h, PathDefault, review{kind: kind, object: all}).Patch); len(got) != 0 {
			t.Errorf("%s: %v", kind, got)
		}
		if got := annotations(some, ask(t, h, PathDefault, review{kind: kind, object: some}).Patch); len(got) != 2 || got["mine"] != "stays" {
			t.Errorf("%s: %v", kind, got)
		}
		dying := strings.Replace(all, `"name":"build"`, `"name":"build","deletionTimestamp":"2026-11-30T09:00:00Z"`, 1)
		if got := annotations(dying, ask(t, h, PathDefault, review{kind: kind, object: dying}).Patch); len(got) != 0 {
			t.Errorf("%s that says that it is being deleted: %v", kind, got)
		}
		update := review{kind: kind, operation: admissionv1.Update, object: some, old: strings.Replace(all, `{"name":"`, `{"name":"other-`, 2)}
		if got := annotations(some, ask(t, h, PathDefault, update).Patch); len(got) != 4 {
			t.Errorf("%s, as Chains updates it: %v", kind, got)
		}
	}
	task := `{"metadata":{"name":"t","annotations":{"chains.tekton.dev/signed":"true"}},"spec":{"params":[{"name":"p"}],"steps":[]}}`
	if got := annotations(task, ask(t, h, PathDefault, review{kind: "Task", object: task}).Patch); len(got) != 1 {
		t.Errorf("a Task is nothing that anybody signs: %v", got)
	}
}

func TestWhatDoesNotFitItsTypeIsForTheSchemaToSayFirst(t *testing.T) {
	h := NewHandler(Config{})
	r := review{object: `{"metadata":{"name":"x"},"spec":{"retries":"many"}}`}
	if got := ask(t, h, PathDefault, r); !got.Allowed || len(got.Patch) > 0 {
		t.Errorf("defaults: %+v", got)
	}
	if got := ask(t, h, PathValidate, r); got.Allowed || got.Result.Details.Causes[0].Field != "spec.retries" {
		t.Errorf("rules: %+v", got.Result)
	}
}

func TestAWarningIsAsLongAsItIsShown(t *testing.T) {
	long := "$(params.p)" + strings.Repeat("ä", 400)
	if got := short(long); utf8.RuneCountInString(got) != 255 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
	}
	if got := short("as it is"); got != "as it is" {
		t.Error(got)
	}
	inline := `{"metadata":{"name":"t"},"spec":{"params":[{"name":"p"}],"steps":[{"image":"x","script":"echo $(params.p)"}]}}`
	if got := ask(t, NewHandler(Config{}), PathValidate, review{kind: "Task", object: inline}); !got.Allowed || len(got.Warnings) == 0 {
		t.Errorf("a parameter in a script: %+v", got)
	}
}

// A field of an older version that v1 has none for is kept, and its author is told that
// it does nothing.
func TestFieldsOfAnOlderVersionAreWarnedOf(t *testing.T) {
	kept := strings.Replace(good, `"name":"build"}`, `"name":"build","annotations":{"tekton.dev/v1beta1Kept":"{\"kind\":\"TaskRun\",\"fields\":[{\"at\":[\"spec\",\"taskSpec\",\"steps\",{\"index\":0,\"of\":1}],\"is\":{\"tty\":true}}]}"}}`, 1)
	got := ask(t, NewHandler(Config{}), PathValidate, review{object: kept})
	if !got.Allowed || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "spec.taskSpec.steps[0].tty: ") {
		t.Errorf("got %+v", got)
	}
}

func decode(t *testing.T, raw string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), into); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, object string, raw []byte) string {
	t.Helper()
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatalf("%v: %s does not fit %s", err, raw, object)
	}
	return string(out)
}
