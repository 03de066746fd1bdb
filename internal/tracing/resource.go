package tracing

import (
	"fmt"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// resource is who has made the spans, in the words of OpenTelemetry's conventions. What
// people say of it beats what the program knows of itself, and ServiceName beats a
// service.name among their attributes, as OTEL_SERVICE_NAME does.
//
// It is not the SDK's resource. The SDK adds the variables of the process to that by
// itself, and so would contradict a flag that is there to beat them.
func (c Config) resource() (*resourcepb.Resource, error) {
	given, err := pairs(c.ResourceAttributes, func(pair) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("resource attributes: %w", err)
	}
	known := []pair{
		{"service.name", "millrace"},
		{"service.version", c.Version},
		{"service.instance.id", c.Pod},
		{"k8s.namespace.name", c.Namespace},
		{"k8s.pod.name", c.Pod},
	}
	var who []*commonpb.KeyValue
	at := map[string]int{}
	for _, p := range append(append(known, given...), pair{"service.name", c.ServiceName}) {
		if p.value == "" {
			continue
		}
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: p.value}}
		if i, said := at[p.name]; said {
			who[i].Value = value
			continue
		}
		at[p.name] = len(who)
		who = append(who, &commonpb.KeyValue{Key: p.name, Value: value})
	}
	return &resourcepb.Resource{Attributes: who}, nil
}
