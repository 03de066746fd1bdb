package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// caps is a PipelineRun as large as they come: 500 tasks that hang on each other, 64 KiB
// of parameters, and a matrix of 256 combinations.
func caps() string {
	var params, tasks strings.Builder
	for i := range 64 {
		fmt.Fprintf(&params, `{"name":"p%d","value":%q},`, i, strings.Repeat("v", 1000))
	}
	for i := range 499 {
		fmt.Fprintf(&tasks, `{"name":"t%d","taskRef":{"name":"build"},"params":[{"name":"a","value":"$(params.p%d)"}`, i, i%64)
		for _, before := range []int{1, 7, 31} {
			if i >= before {
				fmt.Fprintf(&tasks, `,{"name":"r%d","value":"$(tasks.t%d.results.out)"}`, before, i-before)
			}
		}
		tasks.WriteString(`],"when":[{"input":"$(params.p1)","operator":"notin","values":["x"]}]},`)
	}
	var numbers [16]string
	for i := range numbers {
		numbers[i] = fmt.Sprintf(`"%d"`, i)
	}
	row := "[" + strings.Join(numbers[:], ",") + "]"
	return `{"apiVersion":"tekton.dev/v1","kind":"PipelineRun","metadata":{"name":"caps","namespace":"ci"},"spec":{"params":[` + strings.TrimSuffix(params.String(), ",") +
		`],"pipelineSpec":{"tasks":[` + tasks.String() + `{"name":"fan","taskRef":{"name":"build"},"matrix":{"params":[{"name":"x","value":` + row + `},{"name":"y","value":` + row + `}]}}]}}}`
}

// latencies runs requests one after the other and reports the worst of them.
func latencies(b *testing.B, path, body string) {
	b.Helper()
	h := NewHandler(Config{})
	var took []time.Duration
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		began := time.Now()
		w := post(h, path, body)
		took = append(took, time.Since(began))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"allowed":true`) {
			b.Fatalf("HTTP %d: %.500s", w.Code, w.Body)
		}
	}
	slices.Sort(took)
	for name, at := range map[string]int{"p50-ms": len(took) / 2, "p99-ms": len(took) * 99 / 100, "max-ms": len(took) - 1} {
		b.ReportMetric(float64(took[at].Microseconds())/1000, name)
	}
}

func BenchmarkAdmissionAtTheCaps(b *testing.B) {
	run := caps()
	cancelled := strings.Replace(run, `"spec":{`, `"spec":{"status":"Cancelled",`, 1)
	for _, path := range []string{PathDefault, PathValidate} {
		b.Run("create"+path, func(b *testing.B) { latencies(b, path, review{kind: "PipelineRun", object: run}.body()) })
		b.Run("update"+path, func(b *testing.B) {
			latencies(b, path, review{kind: "PipelineRun", operation: "UPDATE", object: cancelled, old: run}.body())
		})
	}
}
