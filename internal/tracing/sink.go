package tracing

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/klog/v2"
)

const (
	// mostWaiting spans wait for the collector; more are dropped. A span takes a
	// kilobyte or two.
	mostWaiting = 4096
	// mostAtOnce are sent with one request, and oftenest is how long fewer wait for
	// company.
	mostAtOnce = 512
	oftenest   = 2 * time.Second
	// lastWord is how long the end of the program waits for the collector.
	lastWord = 2 * time.Second
)

// sink takes spans that have ended, and hands them on in batches. It is a span
// processor of the SDK. The SDK's own has a goroutine from the moment that it is made,
// and tells nobody what it drops.
type sink struct {
	exporter sdktrace.SpanExporter
	told     Trace
	waiting  chan sdktrace.ReadOnlySpan
	batch    []sdktrace.ReadOnlySpan // run's: what is to be sent next
	failing  bool                    // run's: the last delivery has failed
}

func newSink(exporter sdktrace.SpanExporter, told Trace) *sink {
	return &sink{exporter: exporter, told: told, waiting: make(chan sdktrace.ReadOnlySpan, mostWaiting)}
}

// OnStart does nothing.
func (*sink) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a span, or drops it. It never waits.
func (s *sink) OnEnd(span sdktrace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	select {
	case s.waiting <- span:
	default:
		s.told.dropped(Full, 1)
	}
}

// Shutdown and ForceFlush do nothing: who calls run ends it.
func (*sink) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (*sink) ForceFlush(context.Context) error { return nil }

// run sends until ctx ends, and then what is left, as far as it gets.
func (s *sink) run(ctx context.Context) {
	tick := time.NewTicker(oftenest)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			s.send(ctx)
		case span := <-s.waiting:
			if s.batch = append(s.batch, span); len(s.batch) == mostAtOnce {
				s.send(ctx)
			}
		}
	}
	s.flush(context.WithoutCancel(ctx))
}

func (s *sink) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastWord)
	defer cancel()
	for more := true; more && ctx.Err() == nil; {
		for more = true; more && len(s.batch) < mostAtOnce; {
			select {
			case span := <-s.waiting:
				s.batch = append(s.batch, span)
			default:
				more = false
			}
		}
		s.send(ctx)
	}
	s.told.dropped(Undelivered, len(s.batch)+len(s.waiting))
}

// send sends the batch. It is kept if ctx has ended, and given up if the collector does
// not take it.
func (s *sink) send(ctx context.Context) {
	if len(s.batch) == 0 {
		return
	}
	err := s.exporter.ExportSpans(ctx, s.batch)
	if ctx.Err() != nil && err != nil {
		return
	}
	if err == nil {
		s.told.delivered(len(s.batch))
	} else {
		s.told.dropped(Undelivered, len(s.batch))
	}
	if failing := err != nil; failing != s.failing {
		s.failing = failing
		s.say(ctx, err)
	}
	clear(s.batch)
	s.batch = s.batch[:0]
}

// say logs when it begins to fail, and when it is well again: not each failure.
func (s *sink) say(ctx context.Context, err error) {
	log := klog.FromContext(ctx)
	if err != nil {
		log.Info("Spans are not delivered, and dropped", "err", err)
		return
	}
	log.Info("Spans are delivered again")
}
