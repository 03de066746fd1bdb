package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"

	"millrace/internal/option"
	"millrace/internal/settings"
)

func configCommand(getenv func(string) string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "config [flags]",
		Short: "print every setting, and where it comes from",
		Long: "millrace config prints every setting as the controller would have it with these flags, this\n" +
			"environment and this config file, and where each comes from; then those that the cluster holds\n" +
			"in its ConfigMaps, if there is a cluster, and which of them make no difference.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, origins, err := readConfig(c.Flags(), getenv)
			if err != nil {
				return &usageError{err}
			}
			report := configReport{Options: optionsOf(origins)}
			found, err := askCluster(c.Context(), cfg)
			if err != nil {
				report.NoCluster = err.Error()
			} else {
				report.Settings = settingsOf(cfg.namespace, found)
			}
			return report.print(c.OutOrStdout(), format)
		},
	}
	c.Flags().VarP(option.Choice(&format, "table", "yaml", "json"), "output", "o", "table, yaml or json")
	addFlags(c.Flags())
	return c
}

// A configReport is what millrace config prints; its JSON is for programs.
type configReport struct {
	Options  []optionReport  `json:"options"`
	Settings []settingReport `json:"settings,omitempty"`
	// NoCluster is why the settings are not here.
	NoCluster string `json:"noCluster,omitempty"`
}

type optionReport struct {
	Flag  string `json:"flag"`
	Env   string `json:"env"`
	Field string `json:"field,omitempty"` // of the config file
	Value any    `json:"value"`
	From  string `json:"from"`

	text string
}

type settingReport struct {
	ConfigMap string `json:"configMap"`
	Key       string `json:"key"`
	Value     string `json:"value"` // that is in force
	From      string `json:"from"`
	Problem   string `json:"problem,omitempty"`
}

func optionsOf(origins []origin) []optionReport {
	all := make([]optionReport, 0, len(origins))
	for _, o := range origins {
		all = append(all, optionReport{Flag: "--" + o.flag, Env: o.env, Field: o.field, Value: o.to.JSON(), From: o.from, text: o.to.Shown()})
	}
	return all
}

// askCluster reads the ConfigMaps, if there is a cluster to be reached within seconds.
func askCluster(ctx context.Context, cfg config) (map[string]*corev1.ConfigMap, error) {
	rc, err := restConfig(cfg)
	if err != nil {
		return nil, err
	}
	rc.Timeout = 10 * time.Second
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("client of v1: %w", err)
	}
	return getConfigMaps(ctx, cfg.namespace, core)
}

// settingsOf are the keys that are served, then those that make no difference.
func settingsOf(namespace string, found map[string]*corev1.ConfigMap) []settingReport {
	s := settings.New(settings.Trace{})
	given := map[string]map[string]string{}
	for name, configMap := range found {
		s.Take(name, configMap.UID, configMap.Data)
		given[name] = configMap.Data
	}
	all := make([]settingReport, 0, len(settings.Keys()))
	for i, k := range settings.Keys() {
		r := settingReport{ConfigMap: k.ConfigMap, Key: k.Name, Value: s.InForce()[i], From: byDefault}
		if strings.TrimSpace(given[k.ConfigMap][k.Name]) != "" {
			r.From = "ConfigMap " + namespace + "/" + k.ConfigMap
		}
		all = append(all, r)
	}
	for _, c := range s.Complaints() {
		if c.Fault != settings.Invalid {
			all = append(all, settingReport{c.ConfigMap, c.Key, c.Value, "ConfigMap " + namespace + "/" + c.ConfigMap, string(c.Fault) + ", and makes no difference"})
			continue
		}
		for i := range all {
			if r := &all[i]; r.ConfigMap == c.ConfigMap && r.Key == c.Key {
				r.From, r.Problem = byDefault, fmt.Sprintf("%q %s: %s", c.Value, c.Fault, c.Wants)
			}
		}
	}
	return all
}

func (r configReport) print(out io.Writer, format string) error {
	if format == "table" {
		return r.table(out)
	}
	return printAs(out, format, r)
}

// printAs prints a report in json or yaml.
func printAs(out io.Writer, format string, report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil && format == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("print as %s: %w", format, err)
	}
	_, err = fmt.Fprintln(out, strings.TrimSpace(string(text)))
	return err
}

func (r configReport) table(out io.Writer) error {
	options := make([]string, 0, 1+len(r.Options))
	options = append(options, "OPTION\tVALUE\tFROM")
	for _, o := range r.Options {
		options = append(options, o.Flag+"\t"+onOneLine(o.text)+"\t"+o.From)
	}
	if r.NoCluster != "" {
		return errors.Join(aligned(out, options), aligned(out, []string{"", "The settings that a cluster holds were not read: " + r.NoCluster}))
	}
	inCluster := []string{"", "SETTING\tVALUE\tFROM"}
	for _, s := range r.Settings {
		from := s.From
		if s.Problem != "" {
			from += " (" + s.Problem + ")"
		}
		inCluster = append(inCluster, s.ConfigMap+": "+s.Key+"\t"+onOneLine(s.Value)+"\t"+from)
	}
	return errors.Join(aligned(out, options), aligned(out, inCluster))
}

// aligned writes lines whose tabs are columns.
func aligned(out io.Writer, lines []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	if err = errors.Join(err, w.Flush()); err != nil {
		return fmt.Errorf("print the settings: %w", err)
	}
	return nil
}

// onOneLine is a value in a table; an empty one is still there to see.
func onOneLine(text string) string {
	if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Sprintf("%q", text)
	}
	return text
}
