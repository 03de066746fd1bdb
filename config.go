package main

import (
	"math"
	"slices"
	"time"

	"millrace/internal/option"
	"millrace/internal/tracing"
	"millrace/shard"
)

// config is every setting of the program that is its own. Nobody else reads flags, the
// environment or the file, and nothing is set later: a change takes a restart. What the
// cluster says is in internal/settings.
type config struct {
	file       string        // that the rest may come from; "" for none
	namespace  string        // where the Lease and the ConfigMaps live
	kubeconfig string        // "" inside a cluster
	managedBy  []string      // values of spec.managedBy that make a run ours
	resolvers  []string      // that runs may refer to besides cluster
	resync     time.Duration // 0: never
	workers    int           // TaskRuns reconciled at once, and as many PipelineRuns
	drain      time.Duration // how long work in hand may take after a stop
	packAfter  time.Duration // 0: never

	watchNamespace string // the only one whose runs are served; "" for all

	bind      string // host:port of /metrics, /healthz and /readyz
	debugBind string // host:port of /debug; "" for none

	webhookBind    string // host:port of the webhook; "" for none
	webhookService string // name of the Service that leads there

	shards        int // replicas that share the work; 0: one leads, and does all of it
	leaderElect   bool
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration

	podName         string // of the pod that this process runs in; "" outside a cluster
	entrypointImage string // "" for the image of podName
	entrypointMode  string // auto, image-volume or init-container
	registryMirror  string

	tracing tracing.Config // as far as it is for people to say

	logFormat string // text or json
	verbosity int
}

// A row of the table that the flags, the environment, the config file, the help text
// and the documentation all come from. A flag beats its variable, which beats the field
// of the file, which beats the default.
type row struct {
	flag  string
	env   string // variables, with ", " between: the first that is set counts
	field string // in the config file, with dots; empty: not there
	to    option.Value
	help  string
}

func (c *config) rows() []row {
	const anything, million = math.MaxInt32, 1_000_000
	return []row{
		{"config", "CONFIG_FILE", "", option.Text(&c.file, ""), "file with settings, of kind ControllerConfiguration; flags and environment variables override it"},
		{"namespace", "SYSTEM_NAMESPACE", "namespace", option.Text(&c.namespace, "tekton-pipelines"), "namespace of the install: its Lease and ConfigMaps"},
		{"watch-namespace", "WATCH_NAMESPACE", "watchNamespace", option.Text(&c.watchNamespace, ""), "the one namespace whose runs are served, and whose objects they may refer to: all that is asked for is in it, so that a Role there is enough; empty for all"},
		{"kubeconfig", "KUBECONFIG", "clientConnection.kubeconfig", option.Text(&c.kubeconfig, ""), "file that tells how to reach the cluster; not needed inside one"},
		{"managed-by", "MANAGED_BY", "managedBy", option.List(&c.managedBy, "tekton.dev/pipeline"), "values of spec.managedBy that are ours, separated by commas; runs without a value are ours if tekton.dev/pipeline is among them"},
		{"resolvers", "RESOLVERS", "resolvers", option.List(&c.resolvers), "resolvers that runs may refer to, separated by commas, such as git,hub: each is asked by a ResolutionRequest, and somebody else's controller (Tekton's resolvers, say) answers; the resolver cluster is built in and need not be named"},
		{"resync-period", "RESYNC_PERIOD", "resyncPeriod", option.Duration(&c.resync, 10*time.Hour), "how often every run is reconciled though nothing changed; it repairs no missed event; 0 for never"},
		{"workers", "WORKERS", "workers", option.Number(&c.workers, 16, 1, anything), "how many TaskRuns are reconciled at once, and how many PipelineRuns"},
		{"drain-timeout", "DRAIN_TIMEOUT", "drainTimeout", option.Duration(&c.drain, 25*time.Second), "how long reconciles in hand may take after the program was told to stop"},
		{"pack-after", "PACK_AFTER", "packAfter", option.Duration(&c.packAfter, 10*time.Minute), "how long a cached object has to be unread before it is compressed in memory; what belongs to a run at work never is; 0 for never"},
		{"bind-address", "BIND_ADDRESS", "bindAddress", option.Text(&c.bind, ":9090"), "host:port that serves /metrics, /healthz and /readyz"},
		{"debug-bind-address", "DEBUG_BIND_ADDRESS", "debug.bindAddress", option.Text(&c.debugBind, "127.0.0.1:6060"), "host:port that serves /debug/pipeline, /debug/key and /debug/pprof: to the machine itself, and to others with a token that may get these paths; empty for none"},
		{"webhook-bind-address", "WEBHOOK_BIND_ADDRESS", "webhook.bindAddress", option.Text(&c.webhookBind, ":8443"), "host:port that serves the webhook, which every replica has; empty for none"},
		{"webhook-service", "WEBHOOK_SERVICE", "webhook.service", option.Text(&c.webhookService, "millrace-webhook"), "name of the Service by which the API server reaches the webhook"},
		{"shards", "SHARDS", "sharding.shards", option.Number(&c.shards, 0, 0, shard.Most), "how many replicas share the namespaces, at most: any others stand by. 0: one replica leads, and does all of the work"},
		{"leader-elect", "LEADER_ELECT", "leaderElection.leaderElect", option.Boolean(&c.leaderElect, true), "work only while holding the Lease millrace-controller; caches are kept warm all the time"},
		{"leader-elect-lease-duration", "LEADER_ELECT_LEASE_DURATION", "leaderElection.leaseDuration", option.Duration(&c.leaseDuration, 15*time.Second), "how long others wait for a leader that has gone silent"},
		{"leader-elect-renew-deadline", "LEADER_ELECT_RENEW_DEADLINE", "leaderElection.renewDeadline", option.Duration(&c.renewDeadline, 10*time.Second), "how long the leader tries to renew before it stops working"},
		{"leader-elect-retry-period", "LEADER_ELECT_RETRY_PERIOD", "leaderElection.retryPeriod", option.Duration(&c.retryPeriod, time.Second), "pause between tries to get or renew the Lease"},
		{"pod-name", "POD_NAME", "", option.Text(&c.podName, ""), "name of the pod that the program runs in; the Deployment sets the variable"},
		{"entrypoint-image", "ENTRYPOINT_IMAGE", "entrypoint.image", option.Text(&c.entrypointImage, ""), "image that holds /entrypoint, by a name that the nodes can pull (default: the image of the pod that the program runs in)"},
		{"entrypoint-mode", "ENTRYPOINT_MODE", "entrypoint.mode", option.Choice(&c.entrypointMode, "auto", "image-volume", "init-container"), "how the entrypoint reaches a run's pod: auto, image-volume or init-container; auto takes image volumes where the server has them (1.35 on) and falls back where a node cannot"},
		{"registry-mirror", "REGISTRY_MIRROR", "registryMirror", option.Text(&c.registryMirror, ""), "http(s)://host:port of a registry that is asked for the entrypoint of every image, whatever registry the image names"},
		{"tracing-endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", "tracing.endpoint", option.Text(&c.tracing.Endpoint, ""), "http(s)://host:port of a collector of OpenTelemetry that takes OTLP over HTTP, without the /v1/traces, which is added; empty for no tracing"},
		{"tracing-traces-endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "tracing.tracesEndpoint", option.Text(&c.tracing.TracesEndpoint, ""), "URL that spans are sent to as it stands, for a collector with a path of its own; it overrides --tracing-endpoint, unless that comes from a source of higher precedence"},
		{"tracing-sampling-rate-per-million", "TRACING_SAMPLING_RATE_PER_MILLION", "tracing.samplingRatePerMillion", option.Number(&c.tracing.SamplingRatePerMillion, million, 0, million), "how many of a million runs are traced, of those that bring no span context; the others follow theirs"},
		{"tracing-certificate-file", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE, OTEL_EXPORTER_OTLP_CERTIFICATE", "tracing.certificateFile", option.Text(&c.tracing.CertificateFile, ""), "file with the authorities, in PEM, by which an https collector is trusted (default: the system's)"},
		{"tracing-headers", "OTEL_EXPORTER_OTLP_TRACES_HEADERS, OTEL_EXPORTER_OTLP_HEADERS", "tracing.headers", option.Secret(&c.tracing.Headers), "headers for the collector, such as a token: name=value,name=value, the values URL-encoded; as a flag they are seen by all who see the process"},
		{"tracing-headers-file", "TRACING_HEADERS_FILE", "tracing.headersFile", option.Text(&c.tracing.HeadersFile, ""), "file with such headers, which override those of --tracing-headers by name"},
		{"tracing-service-name", "OTEL_SERVICE_NAME", "tracing.serviceName", option.Text(&c.tracing.ServiceName, ""), "service.name of the spans (default: that of --tracing-resource-attributes, or else millrace)"},
		{"tracing-resource-attributes", "OTEL_RESOURCE_ATTRIBUTES", "tracing.resourceAttributes", option.Text(&c.tracing.ResourceAttributes, ""), "attributes of all spans: name=value,name=value, the values URL-encoded; they override service.version and what else the program says of itself"},
		{"logging-format", "LOGGING_FORMAT", "logging.format", option.Choice(&c.logFormat, "text", "json"), "text or json"},
		{"v", "LOG_LEVEL", "logging.verbosity", option.Number(&c.verbosity, 0, 0, anything), "verbosity of the log: 0 is quiet when all is well, 2 tells why each key was reconciled"},
	}
}

// mayResolve tells whether runs may refer to the resolver of that name.
func (c config) mayResolve(resolver string) bool { return slices.Contains(c.resolvers, resolver) }
