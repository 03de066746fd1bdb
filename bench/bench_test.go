package main

import (
	"os"
	"testing"

	"millrace/bench/server"
	"millrace/wire"
)

func TestMain(m *testing.M) {
	server.Main()
	quiet()
	os.Exit(m.Run())
}

// round makes a Go benchmark of an experiment: one iteration is one round, and
// what it reports are the experiment's own numbers.
//
//	go test -bench . -count 5 | benchstat -col /side -
func round(b *testing.B, e experiment) {
	b.Helper()
	prepared, err := e.prepare(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer prepared.close()
	for _, s := range e.sides() {
		b.Run("side="+string(s), func(b *testing.B) {
			sums := make([]float64, len(e.metrics))
			for b.Loop() {
				numbers, err := e.measure(b.Context(), prepared, s)
				if err != nil {
					b.Fatal(err)
				}
				for i := range sums {
					sums[i] += numbers[i]
				}
			}
			for i, m := range e.metrics {
				b.ReportMetric(sums[i]/float64(b.N), m.id+"-"+unitOf(m))
			}
			b.ReportMetric(0, "ns/op") // of a whole round: says nothing
		})
	}
}

// unitOf is the unit as benchmarks spell it: without white space.
func unitOf(m metric) string {
	word := []byte(m.unit)
	for i, c := range word {
		if c == ' ' {
			word[i] = '-'
		}
	}
	return string(word)
}

func BenchmarkEventJSON(b *testing.B)           { round(b, eventExperiments()[0]) }
func BenchmarkEventSmallJSON(b *testing.B)      { round(b, eventExperiments()[1]) }
func BenchmarkEventProtobuf(b *testing.B)       { round(b, eventExperiments()[2]) }
func BenchmarkEventJSONPlain(b *testing.B)      { round(b, eventExperiments()[3]) }
func BenchmarkEventSmallJSONPlain(b *testing.B) { round(b, eventExperiments()[4]) }
func BenchmarkEventProtobufPlain(b *testing.B)  { round(b, eventExperiments()[5]) }
func BenchmarkSync(b *testing.B)                { round(b, syncing()) }
func BenchmarkTaskRunHeap(b *testing.B)         { round(b, restingTaskRuns()) }
func BenchmarkPipelineRunHeap(b *testing.B)     { round(b, restingPipelineRuns()) }

func BenchmarkEventAllocs(b *testing.B) { round(b, allocations()) }
func BenchmarkIndex(b *testing.B)       { round(b, indexing()) }
func BenchmarkGet(b *testing.B)         { round(b, reading()) }
func BenchmarkQueue(b *testing.B)       { round(b, queueing()) }
func BenchmarkBackoff(b *testing.B)     { round(b, backingOff()) }
func BenchmarkStop(b *testing.B)        { round(b, stopping()) }
func BenchmarkPackedPod(b *testing.B) {
	round(b, packing(server.Pods, wire.Protobuf, "pod"))
}
func BenchmarkPackedTaskRun(b *testing.B) {
	round(b, packing(server.TaskRuns, wire.JSON, "taskrun"))
}
func BenchmarkPackedPipelineRun(b *testing.B) {
	round(b, packing(server.PipelineRuns, wire.JSON, "pipelinerun"))
}
