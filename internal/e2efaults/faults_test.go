//go:build e2e

package e2efaults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A scenario is something that goes wrong, and a controller that has to come
// through: what it does then is checked by recovered, with which most end.
type scenario struct {
	name string
	// numbers are those of the faults in docs/reliability.md.
	numbers []int
	try     func(*stage)
	// alone: it would disturb others, so it has the cluster for itself.
	alone bool
	// long ones are begun first.
	long bool
}

func scenarios() []scenario {
	return slices.Concat(watches(), lists(), answers(), connections(), writes(), crashes(), pipelines(), staleness(), leases(), rights(), pods(), webhooks(), certificates(), objects(), processes(), clocks(), plans(), wholeCluster())
}

var (
	list     = flag.Bool("list", false, "print the scenarios with the numbers of their faults, and try none")
	parallel = flag.Int("at-once", 12, "how many scenarios are tried at once, of those that do not disturb others")

	passed, failed atomic.Int32
	printing       sync.Mutex
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *list {
		fmt.Print(table())
		return
	}
	code := m.Run()
	fmt.Printf("scenarios=%d passed=%d failed=%d\n", passed.Load()+failed.Load(), passed.Load(), failed.Load())
	os.Exit(code)
}

// table is what -list prints.
func table() string {
	var text strings.Builder
	for _, sc := range scenarios() {
		numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(sc.numbers), " ", ", "), "[]")
		fmt.Fprintf(&text, "%-56s %s\n", sc.name, numbers)
	}
	return text.String()
}

func TestTheListIsTheOneThatIsWrittenDown(t *testing.T) {
	const golden = "testdata/scenarios.txt"
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(golden, []byte(table()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != table() {
		t.Errorf("%s is not what -list prints (%v); UPDATE=1 writes it anew", golden, err)
	}
	if n := len(scenarios()); n < 40 {
		t.Errorf("%d scenarios", n)
	}
}

func TestFaults(t *testing.T) {
	c := startCluster(t)
	// Those that need the cluster for themselves come first: go test holds the
	// others back until these are through.
	alone, together := split(scenarios(), func(sc scenario) bool { return sc.alone })
	for _, sc := range alone {
		t.Run(sc.name, func(t *testing.T) { try(t, c, sc) })
	}
	long, short := split(together, func(sc scenario) bool { return sc.long })
	places := newPlaces(*parallel)
	for _, sc := range slices.Concat(long, short) {
		t.Run(sc.name, func(t *testing.T) {
			leave := places.queue()
			t.Parallel()
			defer leave()()
			try(t, c, sc)
		})
	}
}

// startCluster makes one, and has its witness look until the test is over.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := newCluster()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var looks sync.WaitGroup
	looks.Go(func() { c.witness.run(ctx) })
	t.Cleanup(func() {
		stop()
		looks.Wait()
	})
	return c
}

func try(t *testing.T, c *cluster, sc scenario) {
	t.Helper()
	begun := time.Now()
	s := (*stage)(nil)
	t.Cleanup(func() { progress(sc, begun, s, t.Failed()) })
	s = newStage(t, c, sc.name)
	sc.try(s)
}

func split(all []scenario, is func(scenario) bool) (those, others []scenario) {
	for _, sc := range all {
		if is(sc) {
			those = append(those, sc)
		} else {
			others = append(others, sc)
		}
	}
	return those, others
}

// places are taken in the order of the queue. (What go test lets go in parallel, it
// lets go in any order.)
type places struct {
	free chan struct{}
	next chan struct{} // closed when it is the turn of who queues next
}

func newPlaces(n int) *places {
	p := &places{free: make(chan struct{}, n), next: make(chan struct{})}
	close(p.next)
	return p
}

// queue is called by one after the other. What it returns waits for a place, and
// returns what gives it back.
func (p *places) queue() (take func() (leave func())) {
	mine, next := p.next, make(chan struct{})
	p.next = next
	return func() func() {
		<-mine
		p.free <- struct{}{}
		close(next)
		return func() { <-p.free }
	}
}

// progress is one line for each scenario as it ends.
func progress(sc scenario, begun time.Time, s *stage, fails bool) {
	printing.Lock()
	defer printing.Unlock()
	verdict := "PASS"
	if passed.Add(1); fails {
		passed.Add(-1)
		failed.Add(1)
		verdict = "FAIL"
		if s != nil {
			verdict += "  " + s.failed + "  (" + s.dir + "/timeline.txt)"
		}
	}
	fmt.Printf("%-56s %6.1f s  %s\n", sc.name, time.Since(begun).Seconds(), verdict)
}

// switched is a switch that anybody may ask for and turn.
type switched struct{ on atomic.Bool }

func (s *switched) isOn() bool   { return s.on.Load() }
func (s *switched) turn(on bool) { s.on.Store(on) }
