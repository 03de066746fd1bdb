package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write golden files anew")

// called is what comes of a command line.
func called(t *testing.T, env map[string]string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, func(k string) string { return env[k] }, &o, &e)
	return code, o.String(), e.String()
}

// sameAs holds text to a golden file.
func sameAs(t *testing.T, golden, text string) {
	t.Helper()
	golden = filepath.Join("testdata", golden)
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("it differs from %s (go test -update writes it):\n%s", golden, text)
	}
}

func TestHelpTellsEveryCommandAndEveryFlagWithItsVariableAndDefault(t *testing.T) {
	code, out, errOut := called(t, nil, "--help")
	if code != 0 || errOut != "" {
		t.Errorf("%d %q", code, errOut)
	}
	sameAs(t, "help.txt", out)
	if _, again, _ := called(t, nil, "help"); again != out {
		t.Errorf("millrace help says something else:\n%s", again)
	}
}

// Of every command: its flags as they can be typed, long and short.
func TestHelpTellsHowAFlagIsShort(t *testing.T) {
	short := 0
	root := millrace(os.Getenv, io.Discard, io.Discard)
	for _, c := range append(root.Commands(), root) {
		args := slices.Concat(strings.Fields(c.CommandPath())[1:], []string{"--help"})
		_, out, _ := called(t, nil, args...)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			want := "\n  --" + f.Name
			if f.Shorthand != "" {
				short++
				want = "\n  -" + f.Shorthand + ", --" + f.Name
			}
			if f.Name != "help" && !strings.Contains(out, want+" (") && !strings.Contains(out, want+"\n") {
				t.Errorf("%v does not tell %q:\n%s", args, want, out)
			}
		})
	}
	if short < 4 { // -v, -f, and -o of two
		t.Errorf("there are %d that are short", short)
	}
}

// What is wrong with the call is told in one line, which names it, and nothing is begun.
func TestAWrongCallIsToldInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"unknown command":       {args: []string{"serve"}, want: `unknown command "serve"`},
		"help of none":          {args: []string{"help", "serve"}, want: `unknown command "serve"`},
		"unknown flag":          {args: []string{"--colour"}, want: "--colour"},
		"bad flag":              {args: []string{"--workers=0"}, want: "--workers"},
		"bad variable":          {env: map[string]string{"WORKERS": "many"}, want: "WORKERS"},
		"bad flag of a command": {args: []string{"config", "-o", "xml"}, want: "table, yaml, json"},
		"stray argument":        {args: []string{"config", "all"}, want: `"all"`},
		"bad file":              {args: []string{"config", "--config=/nowhere"}, want: "/nowhere"},
		"no image and no pod":   {want: "--entrypoint-image is needed"},
		"a collector's name":    {args: []string{"--tracing-endpoint=foo"}, want: "--tracing-endpoint: "},
		"it is the same there":  {args: []string{"config", "--tracing-endpoint=foo"}, want: `endpoint "foo": want http://host:port`},
		"no pairs":              {args: []string{"--tracing-endpoint=http://a", "--tracing-headers=Bearer x"}, want: "--tracing-headers: headers for the collector: pair 1"},
		"two leaders":           {args: []string{"config", "--leader-elect-renew-deadline=1h"}, want: "--leader-elect-renew-deadline"},
	} {
		code, out, errOut := called(t, c.env, c.args...)
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, c.want) || !strings.HasPrefix(errOut, "millrace: ") {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
}

func TestVersion(t *testing.T) {
	if code, out, errOut := called(t, nil, "version"); code != 0 || !strings.HasPrefix(out, "millrace "+version+" (go1.") || errOut != "" {
		t.Errorf("%d %q %q", code, out, errOut)
	}
	want := versionReport{version, commit(version), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	for _, format := range []string{"json", "yaml"} { // of which JSON is a part
		_, out, _ := called(t, nil, "version", "-o", format)
		var got versionReport
		if err := yaml.UnmarshalStrict([]byte(out), &got); err != nil || got != want || (format == "json") != json.Valid([]byte(out)) {
			t.Errorf("%s: %+v, want %+v (%v)", format, got, want, err)
		}
	}
}

// The manual page that is checked in is the program's.
func TestTheManualPageIsTheProgramsOwn(t *testing.T) {
	code, out, errOut := called(t, nil, "man")
	if code != 0 || errOut != "" {
		t.Errorf("%d %q", code, errOut)
	}
	sameAs(t, "../docs/millrace.1", out)
	for _, r := range new(config).rows() {
		if !strings.Contains(out, strings.ReplaceAll("--"+r.flag, "-", `\-`)) && r.flag != "v" || !strings.Contains(out, r.env) {
			t.Errorf("it says nothing of --%s", r.flag)
		}
	}
}

// A shell completes commands, and words where there are only some.
func TestAShellCanComplete(t *testing.T) {
	if code, out, _ := called(t, nil, "completion", "bash"); code != 0 || !strings.Contains(out, "__start_millrace") {
		t.Errorf("%d %.200q", code, out)
	}
	for words, want := range map[string]string{
		"con":                        "config\t",
		"--entrypoint-mode ":         "auto\nimage-volume\ninit-container\n:4\n",
		"--leader-elect=":            "true\nfalse\n:4\n",
		"config --output ":           "table\nyaml\njson\n:4\n",
		"why a/b --controller ":      "either\ntaskrun\npipelinerun\n:4\n",
		"version -o ":                "text\njson\nyaml\n:4\n",
		"logs --kubeconfig=/nowhere": "", // files, which the shell knows itself
	} {
		if _, out, _ := called(t, nil, append([]string{"__complete"}, strings.Split(words, " ")...)...); !strings.Contains(out, want) {
			t.Errorf("%q is completed to %q, want %q", words, out, want)
		}
	}
}

// As kubectl does, names come from the cluster; where there is none, nothing does.
func TestAShellCanCompleteTheNamesOfRuns(t *testing.T) {
	listed := map[string]string{"/api/v1/namespaces": "ci", "/apis/tekton.dev/v1/namespaces/ci/taskruns": "build", "/apis/tekton.dev/v1/namespaces/ci/pipelineruns": "bump"}
	kubeconfig := kubeconfigOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{},"items":[{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":%q}}]}`, listed[r.URL.Path]) //nolint:errcheck // a test's
	}))
	const noSpace, done = ":6\n", ":4\n" // cobra's ShellCompDirectives
	for words, want := range map[string]string{
		"logs FROM ":                     "ci/\n" + noSpace,
		"logs FROM ci/":                  "ci/build\tTaskRun\nci/bump\tPipelineRun\n" + done,
		"why FROM ci/bui":                "ci/build\tTaskRun\n" + done,
		"logs FROM ci/build ":            done, // one is all that it takes
		"why FROM ci/build --namespace ": "ci\n" + done,
		"FROM --watch-namespace c":       "ci\n" + done,
		"logs FROM --context ":           "a\n" + done,
		"logs FROM --context a ci/bum":   "ci/bump\tPipelineRun\n" + done,
		"logs FROM --context b ci/bum":   done, // there is none
	} {
		args := strings.Split("__complete "+strings.Replace(words, "FROM", "--kubeconfig="+kubeconfig, 1), " ")
		if code, out, _ := called(t, nil, args...); code != 0 || out != want {
			t.Errorf("%q is completed to %q, want %q", words, out, want)
		}
	}
	if code, out, _ := called(t, nil, "__complete", "logs", "--kubeconfig=/nowhere", "ci/"); code != 0 || out != done {
		t.Errorf("without a cluster: %d, %q", code, out)
	}
}

// kubeconfigOf is a file that leads to that server.
func kubeconfigOf(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: " + server.URL + "}}]\n" +
		"contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\ncurrent-context: a\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// A server that has two ConfigMaps.
func configMapServer(t *testing.T, flags, defaults map[string]string) string {
	t.Helper()
	return kubeconfigOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := map[string]map[string]string{
			"/api/v1/namespaces/tekton-pipelines/configmaps/feature-flags":   flags,
			"/api/v1/namespaces/tekton-pipelines/configmaps/config-defaults": defaults,
		}[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if data == nil {
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)) //nolint:errcheck // a test's
			return
		}
		configMap := corev1.ConfigMap{Data: data}
		configMap.APIVersion, configMap.Kind = "v1", "ConfigMap"
		json.NewEncoder(w).Encode(configMap) //nolint:errcheck // a test's
	}))
}

// Each value is printed with where it comes from, those of the cluster too; and what
// makes no difference there is said to.
func TestConfigPrintsEveryValueAndWhereItComesFrom(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("millrace.yaml", []byte(header+"workers: 4\nmanagedBy: [a, b]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := configMapServer(t, map[string]string{"keep-pod-on-cancel": "true", "enable-artifacts": "true", "enable-magic": "true"},
		map[string]string{"default-timeout-minutes": "1h", "default-pod-template": "nodeSelector: {disk: ssd}\nhostNetwork: true\n"})
	env := map[string]string{"KUBECONFIG": kubeconfig, "RESYNC_PERIOD": "1h"}
	code, out, errOut := called(t, env, "config", "--config=millrace.yaml", "--bind-address=:8080")
	if code != 0 || errOut != "" {
		t.Fatalf("%d %q", code, errOut)
	}
	for _, want := range []string{
		"--namespace tekton-pipelines default",
		"feature-flags: keep-pod-on-cancel true ",
		"file millrace.yaml: workers", "environment variable RESYNC_PERIOD", "flag --bind-address",
		"ConfigMap tekton-pipelines/feature-flags",
		`default ("1h" is not valid: want a number of minutes`,
		"ConfigMap tekton-pipelines/feature-flags (is not served, and makes no difference)",
		"ConfigMap tekton-pipelines/feature-flags (is not known, and makes no difference)",
	} {
		if !strings.Contains(regexp.MustCompile(" +").ReplaceAllString(out, " "), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}

	for format, parse := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(raw []byte, to any) error { return yaml.UnmarshalStrict(raw, to) },
	} {
		_, out, _ := called(t, env, "config", "--config=millrace.yaml", "-o", format)
		var r configReport
		if err := parse([]byte(out), &r); err != nil {
			t.Fatalf("%s: %v\n%s", format, err, out)
		}
		values := map[string]string{}
		for _, o := range r.Options {
			text, err := json.Marshal(o.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[o.Flag] = string(text) + " " + o.From
		}
		for _, s := range r.Settings {
			values[s.Key] = s.Value + " " + s.From
		}
		for name, want := range map[string]string{
			"--workers": "4 file millrace.yaml: workers", "--managed-by": `["a","b"] file millrace.yaml: managedBy`, "--leader-elect": "true default",
			"--resync-period": `"1h0m0s" environment variable RESYNC_PERIOD`, "default-timeout-minutes": "60 default",
			"keep-pod-on-cancel": "true ConfigMap tekton-pipelines/feature-flags",
		} {
			if values[name] != want {
				t.Errorf("%s: %s is %s, want %s", format, name, values[name], want)
			}
		}
	}
}

// Without a cluster the rest is printed, and that there is none.
func TestConfigNeedsNoCluster(t *testing.T) {
	for name, env := range map[string]map[string]string{"no kubeconfig": {}, "nobody there": {"KUBECONFIG": "/nowhere"}} {
		code, out, errOut := called(t, env, "config")
		if code != 0 || errOut != "" || !strings.Contains(out, "--workers") || !strings.Contains(out, "were not read: ") {
			t.Errorf("%s: %d %q\n%s", name, code, errOut, out)
		}
	}
}
