package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/reflector"
	"millrace/wire"
)

func (r *Registry) source(resource string) (reflector.Trace, func(*reflector.Reflector)) {
	labels := prometheus.Labels{"resource": resource}
	events := r.counters("informer_events_total", "Events of watches that were given to the next stage, by type.", labels, "type")
	relists := r.counters("informer_relists_total", "Complete lists, by what made them necessary; start is the first one.", labels, "cause")
	failures := r.counters("informer_failures_total", "Exchanges with the server that failed, each followed by a pause, by what was being done.", labels, "state")
	begin(events, wire.Added, wire.Modified, wire.Deleted, wire.Bookmark)
	begin(relists, reflector.CauseStart, reflector.CauseExpired, reflector.CauseRewound, reflector.CauseSilent,
		reflector.CauseGap, reflector.CauseStuck, reflector.CauseMissing, reflector.CauseRejected)
	begin(failures, reflector.WatchListing.String(), reflector.Listing.String(), reflector.Watching.String(), reflector.Probing.String())
	refused := r.counter("informer_refused_objects_total", "Objects that could not be taken in.", labels)
	trace := reflector.Trace{
		Event:   func(t wire.EventType) { events.WithLabelValues(string(t)).Inc() },
		Listed:  func(l reflector.List) { relists.WithLabelValues(string(l.Cause)).Inc() },
		Failed:  func(f reflector.Failure) { failures.WithLabelValues(f.In.String()).Inc() },
		Refused: func(reflector.Refusal) { refused.Inc() },
	}
	age := prometheus.NewDesc("informer_last_event_age_seconds",
		"How long ago the server was last heard in a watch. Bookmarks come once a minute.", nil, labels)
	quarantined := prometheus.NewDesc("quarantined_keys",
		"Objects whose newest state could not be taken in; they are asked for again one by one.", nil, labels)
	return trace, func(source *reflector.Reflector) {
		r.collect(func(send func(*prometheus.Desc, prometheus.ValueType, float64)) {
			status := source.Status()
			send(quarantined, prometheus.GaugeValue, float64(status.Quarantined))
			if last := status.LastEvent; !last.IsZero() {
				send(age, prometheus.GaugeValue, time.Since(last).Seconds())
			}
		}, quarantined, age)
	}
}

// counters makes one vector for each value of labels: the stages of one kind
// share a name, and each has its own constant labels.
func (r *Registry) counters(name, help string, labels prometheus.Labels, variable string) *prometheus.CounterVec {
	return r.make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, []string{variable})
}

// begin makes the series of values that are few and known. One that came with its first
// event would begin at 1, and no rate and no increase would ever see that event.
func begin[V ~string](c *prometheus.CounterVec, values ...V) {
	for _, v := range values {
		c.WithLabelValues(string(v))
	}
}

func (r *Registry) counter(name, help string, labels prometheus.Labels) prometheus.Counter {
	return r.make.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
}
