package operate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A handover is from the end of one leader to the next.
type handover struct {
	how   string
	bound time.Duration // zero: none is promised
	lease time.Duration // until the next one has the Lease
	write time.Duration // until it first writes for a run
}

// bounds are those of the columns in which handovers are counted.
var bounds = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second}

// table has a line for each way in which a leader ended, in the order in which they came.
func table(all []handover) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-28s %5s   %-15s   %-15s   %s\n", "", "", "has the Lease", "first write", "first writes after")
	fmt.Fprintf(&text, "%-28s %5s   %7s %7s   %7s %7s ", "the leader", "times", "p50", "max", "p50", "max")
	for _, b := range bounds {
		fmt.Fprintf(&text, " %5s", fmt.Sprintf("≤%.0fs", b.Seconds()))
	}
	fmt.Fprintf(&text, " %5s   %s\n", "more", "bound")
	var hows []string
	for _, h := range all {
		if !slices.Contains(hows, h.how) {
			hows = append(hows, h.how)
			text.WriteString(row(h, all))
		}
	}
	return text.String()
}

// row is that of all handovers of one kind.
func row(kind handover, all []handover) string {
	var leases, writes []time.Duration
	counts := make([]int, len(bounds)+1)
	for _, h := range all {
		if h.how != kind.how {
			continue
		}
		leases, writes = append(leases, h.lease), append(writes, h.write)
		column, _ := slices.BinarySearch(bounds, h.write)
		counts[column]++
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%-28s %5d   %7s %7s   %7s %7s ", kind.how, len(leases),
		seconds(median(leases)), seconds(slices.Max(leases)), seconds(median(writes)), seconds(slices.Max(writes)))
	for _, n := range counts {
		cell := "."
		if n > 0 {
			cell = fmt.Sprint(n)
		}
		fmt.Fprintf(&text, " %5s", cell)
	}
	bound := "none"
	if kind.bound > 0 {
		bound = seconds(kind.bound)
	}
	fmt.Fprintf(&text, "   %s\n", bound)
	return text.String()
}

func median(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[(len(of)-1)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

func TestATableHasMedianMaximumAndCounts(t *testing.T) {
	const s = time.Second
	got := table([]handover{
		{"killed", 20 * s, 3 * s, 4 * s}, {"killed", 20 * s, 1 * s, 1 * s}, {"killed", 20 * s, 2 * s, 21 * s},
		{"deleted", 0, s / 2, s * 3 / 4},
	})
	want := `                                     has the Lease     first write       first writes after
the leader                   times       p50     max       p50     max    ≤1s   ≤2s   ≤5s  ≤10s  ≤20s  more   bound
killed                           3     2.00s   3.00s     4.00s  21.00s      1     .     1     .     .     1   20.00s
deleted                          1     0.50s   0.50s     0.75s   0.75s      1     .     .     .     .     .   none
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
