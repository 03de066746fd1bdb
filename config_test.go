package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"millrace/internal/tracing"
)

func none(string) string { return "" }

// written puts a config file where a test may have one.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const header = "apiVersion: config.millrace.dev/v1alpha1\nkind: ControllerConfiguration\n"

func TestAFlagBeatsItsVariableWhichBeatsTheFileWhichBeatsTheDefault(t *testing.T) {
	file := written(t, header+"workers: 2\nresyncPeriod: 2m\ndrainTimeout: 3s\nleaderElection: {leaderElect: true}\nmanagedBy: [x]\n")
	env := func(k string) string {
		return map[string]string{"CONFIG_FILE": file, "WORKERS": "3", "RESYNC_PERIOD": "1m", "SYSTEM_NAMESPACE": "ci"}[k]
	}
	c, err := parseConfig([]string{"--workers=5", "--leader-elect=false", "--managed-by=a, b", "--resolvers=git,hub", "-v=4"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if c.workers != 5 || c.resync != time.Minute || c.drain != 3*time.Second || c.namespace != "ci" || c.leaderElect || c.bind != ":9090" || c.verbosity != 4 {
		t.Errorf("got %+v", c)
	}
	if !c.mayResolve("git") || !c.mayResolve("hub") || c.mayResolve("http") || c.mayResolve("") {
		t.Errorf("resolvers = %q", c.resolvers)
	}
	if strings.Join(c.managedBy, "|") != "a|b" {
		t.Errorf("managedBy = %q", c.managedBy)
	}
}

// The forms that manifests and people have used since the first version.
func TestFlagsHaveTheFormsOfKubernetes(t *testing.T) {
	for _, args := range [][]string{{"--leader-elect"}, {"--leader-elect=true"}, {"--workers", "7"}, {"-v", "2"}, {"-v=2"}, {"--v=2"}, {"--managed-by="}} {
		_, err := parseConfig(args, none)
		if wrong := args[0] == "--managed-by="; (err != nil) != wrong {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestBadSettingsAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want string
	}{
		"not a number":      {args: []string{"--workers=many"}, want: "--workers"},
		"no workers":        {args: []string{"--workers=0"}, want: "from 1"},
		"unknown flag":      {args: []string{"--colour"}, want: "--colour"},
		"unknown mode":      {args: []string{"--entrypoint-mode=copy"}, want: "auto, image-volume, init-container"},
		"bad variable":      {env: map[string]string{"DRAIN_TIMEOUT": "soon"}, want: "DRAIN_TIMEOUT"},
		"two namespaces":    {args: []string{"--watch-namespace=a,b"}, want: `--watch-namespace="a,b": must be one namespace; install once for each of several`},
		"no namespace":      {args: []string{"--watch-namespace=Team_A"}, want: `--watch-namespace="Team_A" is not the name of a namespace: a lowercase`},
		"nowhere":           {args: []string{"--namespace="}, want: `--namespace must not be empty`},
		"no Service":        {args: []string{"--webhook-service=a.b"}, want: `--webhook-service="a.b" is not the name of a Service`},
		"an empty Service":  {args: []string{"--webhook-service="}, want: `--webhook-service must not be empty`},
		"no pod":            {env: map[string]string{"POD_NAME": "millrace_0"}, want: `--pod-name="millrace_0" is not the name of a pod`},
		"a port alone":      {args: []string{"--bind-address=9090"}, want: `--bind-address="9090": want host:port, or :port`},
		"a port's name":     {args: []string{"--webhook-bind-address=:https"}, want: `--webhook-bind-address=":https": want host:port`},
		"no such port":      {args: []string{"--debug-bind-address=:70000"}, want: `--debug-bind-address=":70000": want host:port`},
		"no probes":         {args: []string{"--bind-address="}, want: "--bind-address must not be empty"},
		"a port twice":      {args: []string{"--debug-bind-address=127.0.0.1:9090"}, want: "--debug-bind-address=127.0.0.1:9090 is what --bind-address=:9090 has: give it another port"},
		"no image":          {args: []string{"--entrypoint-image=Mill race"}, want: `--entrypoint-image="Mill race" is not the name of an image`},
		"no mirror":         {args: []string{"--registry-mirror=mirror"}, want: "--registry-mirror=mirror"},
		"no URL":            {args: []string{"--tracing-traces-endpoint=collector:4318"}, want: `--tracing-traces-endpoint: endpoint "collector:4318": want http://host:port`},
		"no attribute":      {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_RESOURCE_ATTRIBUTES": "a"}, want: "--tracing-resource-attributes: resource attributes: pair 1"},
		"a short lease":     {args: []string{"--leader-elect-lease-duration=900ms", "--leader-elect-renew-deadline=500ms", "--leader-elect-retry-period=100ms"}, want: "--leader-elect-lease-duration=900ms: must be a second at least"},
		"no pause":          {args: []string{"--leader-elect-retry-period=0s"}, want: "--leader-elect-retry-period=0s: must be positive"},
		"lease too short":   {args: []string{"--leader-elect-lease-duration=5s"}, want: "--leader-elect-lease-duration"},
		"retry too long":    {args: []string{"--leader-elect-retry-period=9s"}, want: "--leader-elect-retry-period"},
		"nobody's runs":     {args: []string{"--managed-by=,"}, want: "--managed-by"},
		"no such file":      {args: []string{"--config=/nowhere"}, want: "/nowhere"},
		"unknown field":     {file: header + "wrokers: 2\n", want: `unknown field "wrokers" (did you mean "workers"?)`},
		"in an object":      {file: header + "leaderElection: {leaseDuraton: 2s}\n", want: `"leaderElection.leaseDuraton" (did you mean "leaderElection.leaseDuration"?)`},
		"a flag's name":     {file: header + "resync-period: 2s\n", want: `did you mean "resyncPeriod"?`},
		"nothing near":      {file: header + "colour: red\n", want: `unknown field "colour"`},
		"an object":         {file: header + "workers: {a: 1}\n", want: "workers is map[a:1]: want an integer"},
		"no object":         {file: header + "logging: text\n", want: `unknown field "logging"`},
		"another type":      {file: header + "workers: \"2\"\n", want: "workers is 2: want an integer"},
		"not a whole":       {file: header + "workers: 1.5\n", want: "want an integer from 1"},
		"not a bool":        {file: header + "leaderElection: {leaderElect: \"yes\"}\n", want: "want a boolean"},
		"twice":             {file: header + "workers: 1\nworkers: 2\n", want: `"workers"`},
		"another version":   {file: "apiVersion: config.millrace.dev/v2\nkind: ControllerConfiguration\n", want: "apiVersion is config.millrace.dev/v2: want config.millrace.dev/v1alpha1"},
		"no kind":           {file: "apiVersion: config.millrace.dev/v1alpha1\n", want: "there is no kind: want ControllerConfiguration"},
		"empty":             {file: "", want: "there is no apiVersion: want config.millrace.dev/v1alpha1"},
		"no fields":         {file: "- a\n", want: "want fields"},
		"no YAML":           {file: "a: [\n", want: "yaml"},
		"two documents":     {file: header + "---\n" + header, want: "one YAML document"},
		"a value too small": {file: header + "workers: 0\n", want: "workers=\"0\": want an integer from 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.file != "" || name == "empty" {
				c.args = append(c.args, "--config="+written(t, c.file))
			}
			_, err := parseConfig(c.args, func(k string) string { return c.env[k] })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %s", err, c.want)
			}
			if err != nil && c.file != "" && !strings.Contains(err.Error(), "millrace.yaml") {
				t.Errorf("error %v does not name the file", err)
			}
		})
	}
}

// What only looks as if it could not be.
func TestGoodSettingsAreTaken(t *testing.T) {
	for name, args := range map[string][]string{
		"no pages, no webhook":     {"--debug-bind-address=", "--webhook-bind-address=", "--webhook-service="},
		"any free port":            {"--bind-address=127.0.0.1:0", "--debug-bind-address=127.0.0.1:0", "--webhook-bind-address=:0"},
		"one port, two addresses":  {"--bind-address=127.0.0.1:9090", "--debug-bind-address=[::1]:9090"},
		"by digest":                {"--entrypoint-image=registry:5000/a@sha256:" + strings.Repeat("0", 64)},
		"nothing is traced":        {"--tracing-headers=Bearer x", "--tracing-resource-attributes=a"},
		"nobody is elected":        {"--leader-elect=false", "--leader-elect-lease-duration=0s"},
		"the namespace of its own": {"--namespace=team-a", "--watch-namespace=team-a"},
	} {
		if _, err := parseConfig(args, none); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The variables that everything has which OpenTelemetry is in: those for traces alone beat
// those for all signals, a flag beats both, and no flag is contradicted by a variable that
// is more special.
func TestOpenTelemetrysVariablesAreTaken(t *testing.T) {
	of := func(pairs ...string) map[string]string {
		env := map[string]string{}
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			env["OTEL_"+name] = value
		}
		return env
	}
	const base, traces = "EXPORTER_OTLP_ENDPOINT=http://base", "EXPORTER_OTLP_TRACES_ENDPOINT=http://traces/x"
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want tracing.Config
	}{
		"a base":           {env: of(base), want: tracing.Config{Endpoint: "http://base"}},
		"a URL":            {env: of(traces), want: tracing.Config{TracesEndpoint: "http://traces/x"}},
		"both":             {env: of(base, traces), want: tracing.Config{Endpoint: "http://base", TracesEndpoint: "http://traces/x"}},
		"a flag":           {[]string{"--tracing-endpoint=http://flag"}, of(base, traces), "", tracing.Config{Endpoint: "http://flag"}},
		"a flag for none":  {[]string{"--tracing-endpoint="}, of(base, traces), "", tracing.Config{}},
		"a flag for a URL": {[]string{"--tracing-traces-endpoint=http://flag"}, of(base, traces), "", tracing.Config{Endpoint: "http://base", TracesEndpoint: "http://flag"}},
		"flags for both":   {[]string{"--tracing-traces-endpoint=http://flag/x", "--tracing-endpoint=http://flag"}, of(base, traces), "", tracing.Config{Endpoint: "http://flag", TracesEndpoint: "http://flag/x"}},
		"a file":           {nil, of(base), "tracing: {tracesEndpoint: http://file/x}\n", tracing.Config{Endpoint: "http://base"}},
		"headers":          {env: of("EXPORTER_OTLP_HEADERS=a=b"), want: tracing.Config{Headers: "a=b"}},
		"headers twice":    {env: of("EXPORTER_OTLP_HEADERS=a=b", "EXPORTER_OTLP_TRACES_HEADERS=c=d"), want: tracing.Config{Headers: "c=d"}},
		"authorities":      {env: of("EXPORTER_OTLP_CERTIFICATE=/a", "EXPORTER_OTLP_TRACES_CERTIFICATE=/b"), want: tracing.Config{CertificateFile: "/b"}},
		"who":              {env: of("SERVICE_NAME=ci", "RESOURCE_ATTRIBUTES=a=b,c=d"), want: tracing.Config{ServiceName: "ci", ResourceAttributes: "a=b,c=d"}},
		"who, by a flag":   {[]string{"--tracing-service-name=me"}, of("SERVICE_NAME=ci"), "", tracing.Config{ServiceName: "me"}},
	} {
		if c.file != "" {
			c.args = append(c.args, "--config="+written(t, header+c.file))
		}
		got, err := parseConfig(c.args, func(k string) string { return c.env[k] })
		c.want.SamplingRatePerMillion = 1e6
		if diff := cmp.Diff(c.want, got.tracing, cmpopts.IgnoreFields(tracing.Config{}, "Trace")); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// An empty value is from who has emptied it.
func TestWhatGivesWayToAFlagIsFromThatFlag(t *testing.T) {
	traces := map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a/x", "KUBECONFIG": "/nowhere"}
	for want, c := range map[string]struct {
		env  map[string]string
		args []string
	}{
		`--tracing-traces-endpoint "" flag --tracing-endpoint`:                                         {traces, []string{"config", "--tracing-endpoint=http://b:1"}},
		`--tracing-traces-endpoint "" default`:                                                         {nil, []string{"config", "--tracing-endpoint=http://b:1"}},
		`--tracing-traces-endpoint http://a/x environment variable OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`: {traces, []string{"config"}},
	} {
		code, out, errOut := called(t, c.env, c.args...)
		if out = regexp.MustCompile(" +").ReplaceAllString(out, " "); code != 0 || !strings.Contains(out, want+"\n") {
			t.Errorf("%d, %q: want %s in\n%s", code, errOut, want, out)
		}
	}
}

// Whoever asks what is in force learns that there are headers, and where they are from.
func TestSecretsAreNotShown(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=s3cret", "KUBECONFIG": "/nowhere"}
	for _, format := range []string{"table", "json", "yaml"} {
		code, out, errOut := called(t, env, "config", "-o", format)
		if code != 0 || strings.Contains(out+errOut, "s3cret") || !strings.Contains(out, "(secret)") || !strings.Contains(out, "environment variable OTEL_EXPORTER_OTLP_HEADERS") {
			t.Errorf("%s: %d\n%s%s", format, code, out, errOut)
		}
	}
}

// In the form of a map, or of a list, people write headers elsewhere.
func TestASecretInTheWrongFormIsNotShown(t *testing.T) {
	for _, headers := range []string{`{Authorization: "Bearer s3cr3t"}`, `["Authorization=Bearer s3cr3t"]`} {
		code, out, errOut := called(t, nil, "config", "--config="+written(t, header+"tracing: {headers: "+headers+"}\n"))
		if code != exitUsage || strings.Contains(out+errOut, "s3cr3t") || !strings.Contains(errOut, "tracing.headers is secret, and not shown: want a string") {
			t.Errorf("%s: %d\n%s%s", headers, code, out, errOut)
		}
	}
}

// Every row can be said in the file, but those that are not the same for all who may
// read it; and a row is found again under the names that it has.
func TestEveryRowHasItsNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range new(config).rows() {
		for _, name := range append(strings.Split(r.env, ", "), "--"+r.flag, r.field) {
			if name != "" && seen[name] {
				t.Errorf("%s is twice in the table", name)
			}
			seen[name] = true
		}
		if r.flag == "" || r.env == "" || r.help == "" || r.field == "" && r.flag != "config" && r.flag != "pod-name" {
			t.Errorf("%+v", r)
		}
	}
}

func FuzzConfigFile(f *testing.F) {
	for _, text := range []string{header, header + "workers: 3\nlogging: {format: json, verbosity: 2}\n", header + "resolvers: [git]\n---\n", "a: &a [*a]", "{}", header + "workers: 1e3"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c config
		origins := []origin{}
		for _, r := range c.rows() {
			origins = append(origins, origin{row: r})
		}
		given, err := parseConfigFile(raw, fieldsOf(origins))
		if err != nil {
			return
		}
		for field := range given {
			if _, ok := fieldsOf(origins)[field]; !ok {
				t.Errorf("%q gives %s, which is no field", raw, field)
			}
		}
	})
}
