package graph

import (
	"fmt"
	"testing"

	"millrace/crds"
)

// The time for one task must not grow with their number: ns/task is printed.
func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{50, 500, 5000} {
		spec := layered(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, faults := draw(spec); len(faults) > 0 {
					b.Fatal(faults)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// layered is a pipeline in rows of ten, of which each needs five of the row before.
func layered(n int) *crds.PipelineSpec {
	spec := &crds.PipelineSpec{}
	for i := range n {
		t := crds.PipelineTask{Name: fmt.Sprint("t", i)}
		for j := range 5 {
			if i < 10 {
				break
			}
			before := fmt.Sprint("t", i/10*10-10+(i+j)%10)
			if j%2 == 0 {
				t.RunAfter = append(t.RunAfter, before)
			} else {
				t.Params = append(t.Params, crds.Param{Name: fmt.Sprint("p", j), Value: crds.NewString("$(tasks." + before + ".results.r)")})
			}
		}
		spec.Tasks = append(spec.Tasks, t)
	}
	return spec
}
