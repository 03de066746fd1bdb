package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What a step pays for running under the program: `true` directly and through
// it, by turns, medians. Run with -benchtime 100x.
func BenchmarkStartUp(b *testing.B) {
	message := filepath.Join(b.TempDir(), "message")
	post := filepath.Join(b.TempDir(), "out")
	run := func(name string, args ...string) time.Duration {
		start := time.Now()
		if err := exec.Command(name, args...).Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var direct, through []time.Duration
	for b.Loop() {
		direct = append(direct, run("/bin/true"))
		through = append(through, run(program, "-termination_path", message, "-post_file", post, "-entrypoint", "true"))
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds())
	}
	b.ReportMetric(median(direct), "direct-µs")
	b.ReportMetric(median(through), "through-µs")
	b.ReportMetric(median(through)-median(direct), "cost-µs")
}

// From the end of one step to the start of the next, which waits already:
// seconds with a program that polls each second.
func BenchmarkHandOver(b *testing.B) {
	var gaps []time.Duration
	for b.Loop() {
		p := newPod(b)
		first := p.sh("date +%s%N > ended")
		second := p.sh("date +%s%N > started").start()
		time.Sleep(30 * time.Millisecond)
		first.wants(0)
		if status := second.exit(); status != 0 {
			b.Fatal(second.stderr)
		}
		gaps = append(gaps, nanoseconds(b, p.read("workspace", "started"))-nanoseconds(b, p.read("workspace", "ended")))
	}
	slices.Sort(gaps)
	b.ReportMetric(float64(gaps[len(gaps)/2].Microseconds()), "gap-µs")
}

func nanoseconds(b *testing.B, text string) time.Duration {
	b.Helper()
	d, err := time.ParseDuration(text[:len(text)-1] + "ns")
	if err != nil {
		b.Fatal(err)
	}
	return d
}
