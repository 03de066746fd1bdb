package metrics

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/workqueue"
)

// A key in each of the states is told, and where dashboards look for the sum of
// ready and dirty keys, they find it.
func TestTheKeysOfAQueueAreToldByState(t *testing.T) {
	r := New()
	trace, watch := Queue[string](r, "q")
	q := workqueue.New(workqueue.Config[string]{Trace: trace, Limiter: workqueue.Exponential(time.Hour, time.Hour)})
	watch(q)
	why := workqueue.Cause{Source: "test", Event: "update"}
	for _, k := range []string{"dirty", "processing"} {
		q.Add(k, why)
		if _, _, err := q.Get(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	q.Add("dirty", why)
	for _, k := range []string{"ready", "ready too", "ready, the third"} {
		q.Add(k, why)
	}
	for _, k := range []string{"one", "two", "three", "four"} {
		q.AddAfter(k, time.Hour, why)
	}
	q.AddRateLimited("fails", why)
	q.AddRateLimited("fails as well", why)
	var got []string
	for _, line := range scrape(t, r) {
		if strings.HasPrefix(line, "workqueue_keys") || strings.HasPrefix(line, "workqueue_depth") {
			got = append(got, line)
		}
	}
	want := []string{
		`workqueue_depth{name="q"} 4`,
		`workqueue_keys{name="q",state="backing_off"} 2`,
		`workqueue_keys{name="q",state="dirty"} 1`,
		`workqueue_keys{name="q",state="processing"} 1`,
		`workqueue_keys{name="q",state="ready"} 3`,
		`workqueue_keys{name="q",state="waiting"} 4`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("scraped\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
