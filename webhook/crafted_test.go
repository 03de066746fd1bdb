package webhook

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// Whoever reaches the port can begin a request and not go on. In this bubble that would
// be a deadlock if somebody else waited for it.
func TestWhoSendsSlowlyKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(Config{AtOnce: 1})
		stuck := func(path string, sent int) (end func()) {
			body, sender := io.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				request := httptest.NewRequest(http.MethodPost, path, body)
				request.Header.Set("Content-Type", "application/json")
				h.ServeHTTP(httptest.NewRecorder(), request)
			}()
			if _, err := sender.Write(bytes.Repeat([]byte(" "), sent)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return func() {
				sender.CloseWithError(io.ErrUnexpectedEOF)
				<-done
			}
		}
		for _, path := range []string{PathDefault, PathValidate, PathConvert} {
			defer stuck(path, 1)()
			defer stuck(path, 0)()
		}
		if r := ask(t, h, PathValidate, review{object: good}); !r.Allowed {
			t.Errorf("got %+v", r)
		}
		large := strings.Replace(good, `"true"`, `"true`+strings.Repeat("#", small)+`"`, 1)
		if r := ask(t, h, PathValidate, review{object: large}); !r.Allowed {
			t.Errorf("a large one: %+v", r)
		}
		defer stuck(PathValidate, small+1)()
		if r := ask(t, h, PathValidate, review{object: good}); !r.Allowed {
			t.Errorf("got %+v", r)
		}
		page := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"tekton.dev/v1","objects":[` + betaTask("a") + `]}}`
		if w := post(h, PathConvert, page); w.Code != http.StatusOK {
			t.Errorf("a conversion: HTTP %d", w.Code)
		}
	})
}

// A step takes three bytes to send and hundreds to keep. The schema, which would refuse
// them, is looked at after we are asked.
func TestAMillionEmptyStepsTakeNoMemory(t *testing.T) {
	h := NewHandler(Config{})
	for _, element := range []string{"{},", "null,", "{\"name\":\"a\\\",\"},"} {
		bomb := review{object: strings.Replace(good, `"steps":[`, `"steps":[`+strings.Repeat(element, 3<<20/len(element)-1000), 1)}.body()
		for _, path := range []string{PathDefault, PathValidate} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := post(h, path, bomb)
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 64 {
				t.Errorf("%s of %q takes %d MiB", path, element, made)
			}
			r := answerOf(t, w)
			if path == PathDefault && (!r.Allowed || len(r.Patch) > 0) {
				t.Errorf("defaults of %q: %+v", element, r)
			}
			if path == PathValidate && (r.Allowed || !strings.Contains(r.Result.Message, "values")) {
				t.Errorf("rules of %q: %+v", element, r)
			}
		}
	}
	commas := strings.Replace(good, `"true"`, `"true #\"`+strings.Repeat(",", 2*mostValues)+`"`, 1)
	if got := ask(t, h, PathValidate, review{object: commas}); !got.Allowed {
		t.Errorf("commas in a script: %+v", got.Result)
	}
}

// What a v1beta1 object had beside lies compressed in an annotation.
func TestAPageOfBombsIsNotConverted(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprintf(zip, `"%s"`, strings.Repeat("0", 1<<19)) //nolint:errcheck // into memory
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := fmt.Sprintf(`{"apiVersion":"tekton.dev/v1","kind":"TaskRun","metadata":{"name":"x","annotations":{"tekton.dev/v1beta1Resources":%q}},"spec":{}}`,
		base64.StdEncoding.EncodeToString(packed.Bytes()))
	objects := make([]string, 500)
	for i := range objects {
		objects[i] = bomb
	}
	if got := conversionOf(t, "tekton.dev/v1beta1", objects[:8]...); len(got.ConvertedObjects) != 8 || len(got.ConvertedObjects[0]) < 1<<19 {
		t.Fatalf("a few of them: %d objects, %+v", len(got.ConvertedObjects), got.Result)
	}
	if got := conversionOf(t, "tekton.dev/v1beta1", objects...); got.Result.Status != "Failure" || !strings.Contains(got.Result.Message, "fewer") || len(got.ConvertedObjects) > 0 {
		t.Errorf("%d objects, %+v", len(got.ConvertedObjects), got.Result)
	}
}
