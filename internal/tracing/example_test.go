package tracing_test

import (
	"context"
	"fmt"
	"net/http"

	"millrace/internal/tracing"
	"millrace/internal/tracing/tracetest"
	"millrace/reflector"
)

// Two lists of pods, of which one failed, as a collector gets them.
func Example() {
	collector := tracetest.New()
	defer collector.Close()
	tracer, err := tracing.New(tracing.Config{Endpoint: collector.URL, Transport: collector, SamplingRatePerMillion: 1e6})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	source := tracer.Resource("pods").Source(reflector.Trace{}) // for reflector.Config
	source.Moved(reflector.Stopped, reflector.Listing)
	source.Failed(reflector.Failure{Err: fmt.Errorf("the server answers %d", http.StatusServiceUnavailable)})
	source.Moved(reflector.BackingOff, reflector.Listing)
	source.Listed(reflector.List{Pages: 3, Items: 1200})

	cancel() // it ends, and what is left is delivered
	if err := tracer.Run(ctx); err != nil {
		fmt.Println(err)
	}
	for _, span := range collector.Named("list pods") {
		fmt.Println(span.GetName(), tracetest.Attribute(span, "millrace.list.items"), span.GetStatus().GetMessage())
	}
	// Output:
	// list pods  the server answers 503
	// list pods 1200
}
