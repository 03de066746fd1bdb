package main

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/internal/man"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", DisableFlagsInUseLine: true,
		Short: "print the manual page, for man(1)",
		Long: "millrace man prints this page as man(1) reads it:\n" +
			"millrace man > /usr/local/share/man/man1/millrace.1",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), manual(c.Root()))
			return err
		},
	}
}

// manual is the page of the whole program.
func manual(root *cobra.Command) string {
	return man.Page(root, man.Config{
		Variable: func(f *pflag.Flag) string {
			if env := f.Annotations[envAnnotation]; len(env) > 0 {
				return env[0]
			}
			return ""
		},
		Sections: []man.Section{
			{Title: "FILES", Paragraphs: []string{
				"The file that --config names is YAML of apiVersion " + configAPIVersion + " and kind " + configKind + ". A value is taken from the first that has it: the flag, its environment variable, the field of the file, the default; millrace config tells which.",
				"What belongs to the runs of a cluster is in its ConfigMaps feature-flags and config-defaults, in the namespace of the install, with Tekton's keys.",
			}},
			{Title: "SIGNALS", Paragraphs: []string{
				"SIGTERM and SIGINT have the controller finish what it has in hand, for as long as --drain-timeout, and give its Lease back. A second one ends it at once.",
			}},
			{Title: "EXIT STATUS", Paragraphs: []string{
				"0 when all went well, 1 when something failed, 2 when a flag, a variable or the file is wrong, and nothing was begun; 130 or 143 when a second SIGINT or SIGTERM has ended it.",
			}},
			{Title: "SHELL COMPLETION", Paragraphs: []string{
				"millrace completion bash (or zsh, fish, powershell) prints what makes the shell complete commands, flags, and the names of runs and namespaces of the cluster: source <(millrace completion bash)",
			}},
			{Title: "SEE ALSO", Paragraphs: []string{"kubectl(1), https://tekton.dev/docs/pipelines/"}},
		},
	})
}
