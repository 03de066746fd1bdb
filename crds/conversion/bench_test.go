package conversion

import (
	"fmt"
	"testing"
)

// Claim 6: the time for a step is the same, however many there are.
func BenchmarkConvert(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		steps := make([]any, n)
		for i := range steps {
			steps[i] = map[string]any{"name": fmt.Sprintf("step-%d", i), "image": "busybox", "script": "echo",
				"resources": map[string]any{"limits": map[string]any{"cpu": "1"}}, "tty": true}
		}
		task := map[string]any{"apiVersion": V1Beta1, "kind": "Task", "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"steps": steps}}
		b.Run(fmt.Sprintf("%d steps, there and back", n), func(b *testing.B) {
			for b.Loop() {
				back := convert(b, convert(b, task, V1), V1Beta1)
				if len(back["spec"].(map[string]any)["steps"].([]any)) != n {
					b.Fatal("steps are lost")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/step")
		})
	}
}
