package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/internal/complete"
	"millrace/internal/option"
)

// A completion is what a shell is told that a word may become.
type completion = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// completeWords has a shell complete what flags take, of this command and those below it:
// where there are only some words, these; where it is a namespace, those of the cluster.
func completeWords(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := completion(nil)
		if v, is := f.Value.(option.Value); is && len(v.Words()) > 0 {
			complete = cobra.FixedCompletions(v.Words(), cobra.ShellCompDirectiveNoFileComp)
		}
		switch f.Name {
		case "namespace", "watch-namespace":
			complete = completeNamespace
		case "context":
			complete = completeContext
		}
		if complete != nil {
			// It fails for a flag that there is not, and for one that has it already.
			_ = c.RegisterFlagCompletionFunc(f.Name, complete)
		}
	})
	for _, sub := range c.Commands() {
		completeWords(sub)
	}
}

// completeRun completes the argument NAMESPACE/NAME from the cluster.
func completeRun(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cluster := clusterOf(c)
	if cluster == nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, whole := cluster.Runs(c.Context(), word)
	if !whole {
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func completeNamespace(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cluster := clusterOf(c)
	if cluster == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cluster.Namespaces(c.Context(), word), cobra.ShellCompDirectiveNoFileComp
}

func completeContext(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	file, err := accessOf(c.Flags()).config().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(file.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// clusterOf is the cluster that the command would ask; nil where there is none.
func clusterOf(c *cobra.Command) *complete.Cluster {
	config := accessOf(c.Flags()).config()
	rc, err := config.ClientConfig()
	if err != nil {
		return nil
	}
	own, _, err := config.Namespace()
	if err != nil {
		return nil
	}
	cluster, err := complete.New(rc, own)
	if err != nil {
		return nil
	}
	return cluster
}
