package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is every setting of the program. Nobody else reads flags or the
// environment, and nothing is set later: a change takes a restart.
type config struct {
	namespace  string        // where the Lease and the ConfigMaps live
	kubeconfig string        // "" inside a cluster
	managedBy  []string      // values of spec.managedBy that make a run ours
	resolvers  []string      // that runs may refer to besides cluster
	resync     time.Duration // 0: never
	workers    int           // TaskRuns reconciled at once, and as many PipelineRuns
	drain      time.Duration // how long work in hand may take after a stop
	packAfter  time.Duration // 0: never

	bind      string // host:port of /metrics, /healthz and /readyz
	debugBind string // host:port of /debug; "" for none

	leaderElect   bool
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration

	podName         string // of the pod that this process runs in; "" outside a cluster
	entrypointImage string // "" for the image of podName
	entrypointMode  string // auto, image-volume or init-container
	registryMirror  string

	logFormat string // text or json
	verbosity int
}

// An option is one row of the table that the help text, the flags and the
// environment all come from. A flag beats its variable, which beats the default.
type option struct {
	flag, env string
	set       flag.Value
	help      string
}

func (c *config) options() []option {
	return []option{
		{"namespace", "SYSTEM_NAMESPACE", text(&c.namespace, "tekton-pipelines"), "namespace of the install: its Lease and ConfigMaps"},
		{"kubeconfig", "KUBECONFIG", text(&c.kubeconfig, ""), "file that tells how to reach the cluster; not needed inside one"},
		{"managed-by", "MANAGED_BY", list(&c.managedBy, "tekton.dev/pipeline"), "values of spec.managedBy that are ours, separated by commas; runs without a value are ours if tekton.dev/pipeline is among them"},
		{"resolvers", "RESOLVERS", list(&c.resolvers, ""), "resolvers that runs may refer to, separated by commas, such as git,hub: each is asked by a ResolutionRequest, and somebody else's controller (Tekton's resolvers, say) answers; the resolver cluster is built in and needs no word"},
		{"resync-period", "RESYNC_PERIOD", duration(&c.resync, 10*time.Hour), "how often every run is reconciled though nothing changed; it repairs no missed event; 0 for never"},
		{"workers", "WORKERS", number(&c.workers, 16), "how many TaskRuns are reconciled at once, and how many PipelineRuns"},
		{"drain-timeout", "DRAIN_TIMEOUT", duration(&c.drain, 25*time.Second), "how long reconciles in hand may take after the program was told to stop"},
		{"pack-after", "PACK_AFTER", duration(&c.packAfter, 10*time.Minute), "how long nobody must have read a cached object before it is compressed in memory; what belongs to a run at work never is; 0 for never"},
		{"bind-address", "BIND_ADDRESS", text(&c.bind, ":9090"), "host:port that serves /metrics, /healthz and /readyz"},
		{"debug-bind-address", "DEBUG_BIND_ADDRESS", text(&c.debugBind, "127.0.0.1:6060"), "host:port that serves /debug/pipeline, /debug/key and /debug/pprof: to the machine itself, and to others with a token that may get these paths; empty for none"},
		{"leader-elect", "LEADER_ELECT", boolean(&c.leaderElect, true), "work only while holding the Lease millrace-controller; caches are kept warm all the time"},
		{"leader-elect-lease-duration", "LEADER_ELECT_LEASE_DURATION", duration(&c.leaseDuration, 15*time.Second), "how long others wait for a leader that has gone silent"},
		{"leader-elect-renew-deadline", "LEADER_ELECT_RENEW_DEADLINE", duration(&c.renewDeadline, 10*time.Second), "how long the leader tries to renew before it stops working"},
		{"leader-elect-retry-period", "LEADER_ELECT_RETRY_PERIOD", duration(&c.retryPeriod, 2*time.Second), "pause between tries to get or renew the Lease"},
		{"pod-name", "POD_NAME", text(&c.podName, ""), "name of the pod that the program runs in; the Deployment sets the variable"},
		{"entrypoint-image", "ENTRYPOINT_IMAGE", text(&c.entrypointImage, ""), "image that holds /entrypoint, as the nodes can pull it (default: the image of the pod that the program runs in)"},
		{"entrypoint-mode", "ENTRYPOINT_MODE", choice(&c.entrypointMode, "auto", "image-volume", "init-container"), "how the entrypoint reaches a run's pod: auto, image-volume or init-container; auto takes image volumes where the server has them (1.35 on) and falls back where a node cannot"},
		{"registry-mirror", "REGISTRY_MIRROR", text(&c.registryMirror, ""), "http(s)://host:port of a registry that is asked for the entrypoint of every image, whatever registry the image names"},
		{"logging-format", "LOGGING_FORMAT", choice(&c.logFormat, "text", "json"), "text or json"},
		{"v", "LOG_LEVEL", number(&c.verbosity, 0), "verbosity of the log: 0 is quiet when all is well, 4 tells why each key was reconciled"},
	}
}

// parseConfig reads flags and environment. The error names the flag or the
// variable and the value; flag.ErrHelp means that help was printed to out.
func parseConfig(args []string, getenv func(string) string, out io.Writer) (config, error) {
	var c config
	options := c.options()
	flags := flag.NewFlagSet("millrace", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, o := range options {
		if v := getenv(o.env); v != "" {
			if err := o.set.Set(v); err != nil {
				return c, fmt.Errorf("environment variable %s=%q: %w", o.env, v, err)
			}
		}
		flags.Var(o.set, o.flag, o.help)
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return c, errors.Join(err, usage(out, options))
	}
	if err != nil {
		return c, fmt.Errorf("%w (millrace --help lists the flags)", err)
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: millrace takes flags only (millrace --help lists them)", flags.Arg(0))
	}
	return c, c.check()
}

// mayResolve tells whether runs may refer to the resolver of that name.
func (c config) mayResolve(resolver string) bool { return slices.Contains(c.resolvers, resolver) }

func (c *config) check() error {
	switch {
	case c.namespace == "":
		return errors.New("--namespace must not be empty")
	case c.workers < 1:
		return fmt.Errorf("--workers=%d: at least 1 is needed", c.workers)
	case c.resync < 0:
		return fmt.Errorf("--resync-period=%s: must not be negative; 0 for never", c.resync)
	case c.drain <= 0:
		return fmt.Errorf("--drain-timeout=%s: must be positive", c.drain)
	case c.packAfter < 0:
		return fmt.Errorf("--pack-after=%s: must not be negative; 0 for never", c.packAfter)
	case len(c.managedBy) == 0:
		return errors.New("--managed-by must name at least one value")
	case c.leaderElect && c.renewDeadline >= c.leaseDuration:
		return fmt.Errorf("--leader-elect-renew-deadline=%s must be less than --leader-elect-lease-duration=%s, or two leaders could overlap", c.renewDeadline, c.leaseDuration)
	case c.leaderElect && float64(c.retryPeriod)*1.2 >= float64(c.renewDeadline):
		return fmt.Errorf("--leader-elect-retry-period=%s must be well below --leader-elect-renew-deadline=%s (by a fifth at least)", c.retryPeriod, c.renewDeadline)
	}
	return nil
}

func usage(out io.Writer, options []option) error {
	var text strings.Builder
	text.WriteString("millrace serves Tekton's API (tekton.dev/v1) on a Kubernetes cluster.\n\nusage: millrace [flags]\n\n")
	for _, o := range options {
		text.WriteString("  --" + o.flag + " (" + o.env + ")\n        " + o.help)
		if d := o.set.String(); d != "" && !strings.Contains(o.help, "(default:") {
			text.WriteString(" (default " + d + ")")
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// The kinds of values that options have. The flag package's own value types
// are not exported, and its Var functions would have the table twice.
type value[T any] struct {
	to    *T
	parse func(string) (T, error)
	print func(T) string
}

func (v value[T]) Set(s string) error {
	parsed, err := v.parse(s)
	if err == nil {
		*v.to = parsed
	}
	return err
}

// String is also called on a zero value, by the flag package.
func (v value[T]) String() string {
	if v.to == nil {
		return ""
	}
	return v.print(*v.to)
}

// boolValue lets --leader-elect stand without a value, as flags of Kubernetes do.
type boolValue struct{ value[bool] }

func (boolValue) IsBoolFlag() bool { return true }

func text(to *string, def string) flag.Value {
	*to = def
	same := func(s string) string { return s }
	return value[string]{to, func(s string) (string, error) { return s, nil }, same}
}

func duration(to *time.Duration, def time.Duration) flag.Value {
	*to = def
	return value[time.Duration]{to, time.ParseDuration, time.Duration.String}
}

func number(to *int, def int) flag.Value {
	*to = def
	return value[int]{to, strconv.Atoi, strconv.Itoa}
}

func boolean(to *bool, def bool) flag.Value {
	*to = def
	return boolValue{value[bool]{to, strconv.ParseBool, strconv.FormatBool}}
}

// choice takes one of the words; the first is the default.
func choice(to *string, words ...string) flag.Value {
	*to = words[0]
	parse := func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("want one of %s", strings.Join(words, ", "))
		}
		return s, nil
	}
	return value[string]{to, parse, func(s string) string { return s }}
}

func list(to *[]string, def string) flag.Value {
	*to = strings.Fields(def)
	parse := func(s string) ([]string, error) {
		var words []string
		for word := range strings.SplitSeq(s, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
		return words, nil
	}
	return value[[]string]{to, parse, func(l []string) string { return strings.Join(l, ",") }}
}
