package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"millrace/workqueue"
)

// clock is how times of day are written: the day is in the first line.
const clock = "15:04:05.000"

// WriteText writes the report for a terminal.
func (r Report) WriteText(w io.Writer) error {
	if err := aligned(w, r.head()); err != nil {
		return err
	}
	if len(r.Events) == 0 {
		_, err := io.WriteString(w, "\nNothing is remembered of this key.\n")
		return err
	}
	return aligned(w, r.events())
}

// aligned writes lines whose columns are separated by tabs.
func aligned(w io.Writer, lines string) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if _, err := io.WriteString(table, lines); err != nil {
		return err
	}
	return table.Flush()
}

// head is how the key stands.
func (r Report) head() string {
	var out strings.Builder
	row := func(name, format string, values ...any) { fmt.Fprintf(&out, name+"\t"+format+"\n", values...) }
	row(r.Controller, "%s, at %s", r.Key, r.Now.Format("2006-01-02 "+clock+" MST"))
	if !r.Leads {
		row("replica", "does not lead: the queue of the one that does knows more")
	}
	row("object", "%s", r.Object)
	if q := r.Quarantine; q != nil {
		row("quarantine", "its newest state is not taken in since %s (%s); asked for again at %s", q.Since.Format(clock), q.Error, q.Next.Format(clock))
	}
	row("queue", "%s", r.Queue.text(r.Now))
	list(row, "running for", r.Queue.Running)
	list(row, "next run for", r.Queue.Next)
	if a := r.Alarm; a != nil {
		row("ALARM", "%s: %d runs in a row since %s; held back for %s, until %s %s", a.Kind, a.Runs, a.Since.Format(clock), short(time.Duration(a.Delay*float64(time.Second))), a.Until.Format(clock), a.Error)
	}
	row("runs", "%d remembered, about %.1f a minute of late", r.Runs, r.PerMinute)
	list(row, "last run for", r.Because)
	return out.String()
}

func list(row func(name, format string, values ...any), name string, causes []Cause) {
	for _, c := range causes {
		row(name, "%s, %s", c, span(c.First, c.Last))
		name = ""
	}
}

func span(first, last time.Time) string {
	if last.Equal(first) {
		return first.Format(clock)
	}
	return first.Format(clock) + " to " + last.Format(clock)
}

// events is what happened, one line each.
func (r Report) events() string {
	var out strings.Builder
	out.WriteString("\nTIME\tAFTER\tSTAGE\tWHAT\n")
	if r.Lost > 0 {
		fmt.Fprintf(&out, "\t\t\t(%d earlier ones are not remembered)\n", r.Lost)
	}
	before := r.Events[0].Time
	for _, e := range r.Events {
		fmt.Fprintf(&out, "%s\t+%s\t%s\t%s\n", e.Time.Format(clock), short(e.Time.Sub(before)), e.Stage, e.Text)
		before = e.Time
	}
	return out.String()
}

func (o *Object) String() string {
	if !o.Cached {
		return o.Resource + ": not in the cache"
	}
	return fmt.Sprintf("%s, resourceVersion %s, %d bytes, %s, uid %s", o.Resource, o.ResourceVersion, o.Bytes, o.Tier, o.UID)
}

func (s Standing) text(now time.Time) string {
	words := []string{s.State}
	if !s.ProcessingSince.IsZero() {
		words = append(words, "for "+short(now.Sub(s.ProcessingSince)))
	}
	if !s.ReadySince.IsZero() {
		words = append(words, "ready for "+short(now.Sub(s.ReadySince)))
	}
	if !s.Due.IsZero() {
		words = append(words, fmt.Sprintf("due at %s, in %s", s.Due.Format(clock), short(s.Due.Sub(now))))
	}
	if s.Ahead {
		words = append(words, "ahead of what is not urgent in its namespace")
	}
	if s.Low {
		words = append(words, "in the low lane")
	}
	if s.Failures > 0 {
		words = append(words, fmt.Sprintf("%d failures in a row", s.Failures))
	}
	return strings.Join(words, ", ")
}

// what is the event on one line.
func (e Event) what() string {
	switch e.Stage {
	case atWorker:
		return e.worked()
	case atPredicate:
		return fmt.Sprintf("%s: dropped by %s%s", e.Cause, e.Predicate, e.behind())
	default:
		return e.queued()
	}
}

func (e Event) worked() string {
	words := []string{"taken after " + short(e.Waited), e.Outcome}
	if !e.Ended.IsZero() && e.Took > 0 {
		words[1] += " in " + short(e.Took)
	}
	if e.RequeueAfter > 0 {
		words = append(words, "again after "+short(e.RequeueAfter))
	}
	if e.Error != "" {
		words = append(words, e.Error)
	}
	return strings.Join(words, ", ")
}

func (e Event) queued() string {
	what := e.Cause.String() + ": "
	switch {
	case e.From != e.To:
		what += e.From + " → " + e.To
	case e.Due.IsZero():
		what += e.To + " already"
	case e.To == workqueue.Processing.String():
		what += "after this run"
	default:
		what += e.To + " still"
	}
	if e.Urgent {
		what += ", urgent"
	}
	if e.Low {
		what += ", low lane"
	}
	if !e.Due.IsZero() {
		what += ", not before " + e.Due.Format(clock)
	}
	if last := e.Cause.Last; last.After(e.Time) {
		what += ", the last at " + last.Format(clock)
	}
	return what + e.behind()
}

// behind is how long the news took from the wire to here.
func (e Event) behind() string {
	if e.Received.IsZero() || e.Behind < time.Microsecond {
		return ""
	}
	return ", received " + short(e.Behind) + " before"
}

// short is a duration with three digits that count.
func short(d time.Duration) string {
	for unit := 1000 * time.Second; unit > 100*time.Nanosecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
