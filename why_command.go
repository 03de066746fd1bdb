package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/option"
	"millrace/internal/why"
)

// whyCommand prints what /debug/key says of a key, of the replica that works on it.
func whyCommand() *cobra.Command {
	var cluster access
	var server, controller string
	at := why.Install{Lease: leaseName}
	c := &cobra.Command{
		Use:   "why NAMESPACE/NAME [flags]",
		Short: "say why a run was reconciled, and when it will be again",
		Long: "millrace why asks the replica that works on a TaskRun or PipelineRun what it remembers of it: who\n" +
			"asked for it and when, what each stage did, what came of each reconcile, and what it waits for.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeRun,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := keyOf(args[0])
			if err != nil {
				return &usageError{err}
			}
			q := why.Question{Key: key, Controllers: []string{"taskrun", "pipelinerun"}}
			if controller != "either" {
				q.Controllers = []string{controller}
			}
			if server != "" {
				return why.At(c.Context(), server, q, c.OutOrStdout())
			}
			rc, err := cluster.rest()
			if err != nil {
				return err
			}
			return why.In(c.Context(), rc, at, q, c.OutOrStdout())
		},
	}
	for _, row := range []struct {
		flag string
		to   option.Value
		help string
	}{
		{"controller", option.Choice(&controller, "either", "taskrun", "pipelinerun"), "taskrun or pipelinerun, where a TaskRun and a PipelineRun have one name"},
		{"namespace", option.Text(&at.Namespace, "tekton-pipelines"), "namespace of the install"},
		{"selector", option.Text(&at.Labels, "app.kubernetes.io/name=millrace,app.kubernetes.io/component=controller"), "labels of the controller's pods"},
		{"port", option.Text(&at.Port, "6060"), "port of the controller's --debug-bind-address"},
		{"service-account", option.Text(&at.ServiceAccount, "millrace-debug"), "ServiceAccount of the install that may get /debug/*; a token of it is asked for"},
		{"server", option.Text(&server, ""), "URL to ask instead, as of kubectl port-forward: http://127.0.0.1:6060"},
	} {
		c.Flags().Var(row.to, row.flag, row.help)
	}
	cluster.addFlags(c.Flags())
	return c
}

func keyOf(text string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("%q is no NAMESPACE/NAME", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
