package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"sigs.k8s.io/yaml"
)

// The format of a file for `promtool test rules`, as far as ours go.
type (
	ruleTests struct {
		RuleFiles          []string `json:"rule_files"`
		EvaluationInterval string   `json:"evaluation_interval"`
		Tests              []ruleTest
	}
	ruleTest struct {
		Name          string
		Interval      string
		InputSeries   []inputSeries   `json:"input_series"`
		AlertRuleTest []alertRuleTest `json:"alert_rule_test"`
	}
	inputSeries   struct{ Series, Values string }
	alertRuleTest struct {
		EvalTime  string `json:"eval_time"`
		Alertname string
		ExpAlerts []struct {
			ExpLabels      map[string]string `json:"exp_labels"`
			ExpAnnotations map[string]string `json:"exp_annotations"`
		} `json:"exp_alerts"`
	}
)

// rules are those that are installed, by the name of the alert.
func rules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	roots, err := Overlays(tree)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Render(roots["monitoring"], Release{Image: image, Version: version, Runbooks: runbooks})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := specOfRules(text)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, promQL(), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Fatal(err)
	}
	found := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if _, twice := found[rule.Alert]; twice || rule.Alert == "" {
				t.Errorf("%q is there twice, or is no alert", rule.Alert)
			}
			found[rule.Alert] = rule
		}
	}
	return found
}

func tests(t *testing.T) ruleTests {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all ruleTests
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Whoever renders with links tests with links.
func TestTestsExpectTheLinksThatWereAskedFor(t *testing.T) {
	out := t.TempDir()
	files, err := writeRules(out, []byte("kind: PrometheusRule\nspec: {groups: []}\n"), Release{Runbooks: runbooks})
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(filepath.Join(out, "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(text), " runbook_url: ")
	if links := strings.Count(string(text), " runbook_url: "+runbooks+"#millrace"); n == 0 || links != n {
		t.Errorf("of %d links expected %d are those", n, links)
	}
	if _, err := specOfRules([]byte("kind: Secret\n")); err == nil {
		t.Error("rules were found where there are none")
	}
}

// A rule that never fired in a test may have a typing error; one that was never seen to
// keep still may fire always.
func TestEachAlertIsSeenToFireAndToKeepStill(t *testing.T) {
	fired, still := map[string]bool{}, map[string]bool{}
	for _, test := range tests(t).Tests {
		for _, check := range test.AlertRuleTest {
			for _, alarm := range check.ExpAlerts {
				whole(t, check.Alertname, alarm.ExpAnnotations)
			}
			if len(check.ExpAlerts) > 0 {
				fired[check.Alertname] = true
			} else {
				still[check.Alertname] = true
			}
		}
	}
	for name := range rules(t) {
		if !fired[name] || !still[name] {
			t.Errorf("%s: fires in a test: %v; keeps still in one: %v", name, fired[name], still[name])
		}
	}
}

// whole tells of a text with holes: a label that an alert has not is expanded to nothing,
// and promtool is content if that is what is expected.
func whole(t *testing.T, name string, texts map[string]string) {
	t.Helper()
	holes := regexp.MustCompile(`  |^ | [.,]|<no value>|''`)
	for k, text := range texts {
		if holes.MatchString(text) {
			t.Errorf("%s: %s has a hole: %q", name, k, text)
		}
	}
}

func TestEachAlertSaysWhatToLookAt(t *testing.T) {
	headings := map[string]string{} // and what is said to be their severity
	for _, found := range regexp.MustCompile(`(?m)^#### (\w+)$(?:\n\n\*(\w+)\.\* )?`).FindAllStringSubmatch(page(t), -1) {
		headings[found[1]] = found[2]
	}
	installed := rules(t)
	source, err := os.ReadFile(filepath.Join(tree, "components", "monitoring", "rules.yaml"))
	if err != nil || strings.Count(string(source), " runbook_url: docs/operating.md#millrace") != len(installed) {
		t.Errorf("without an URL of the page, an alert has something else than its path: %v", err)
	}
	for name, rule := range installed {
		if severity := rule.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, severity) {
			t.Errorf("%s has the severity %q", name, severity)
		}
		for _, k := range []string{"summary", "description"} {
			if text := rule.Annotations[k]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: its %s is no sentence: %q", name, k, text)
			}
		}
		if want := runbooks + "#" + strings.ToLower(name); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: its runbook is at %q, want %q", name, rule.Annotations["runbook_url"], want)
		}
		if told, is := headings[name]; !is || told != rule.Labels["severity"] {
			t.Errorf("docs/operating.md has a heading #### %s: %v; its severity is %q, and told as %q", name, is, rule.Labels["severity"], told)
		}
	}
	for heading := range headings {
		if _, is := installed[heading]; strings.HasPrefix(heading, "Millrace") && !is {
			t.Errorf("docs/operating.md has a heading for %s, which is no alert", heading)
		}
	}
}
