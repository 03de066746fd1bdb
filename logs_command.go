package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"millrace/internal/logs"
)

// logsCommand prints what the steps of a run print.
func logsCommand(getenv func(string) string) *cobra.Command {
	var cluster access
	var cfg logs.Config
	c := &cobra.Command{
		Use:   "logs NAMESPACE/NAME [flags]",
		Short: "print what the steps of a run print",
		Long: "millrace logs prints what the steps of a TaskRun print, in their order, or those of all that a\n" +
			"PipelineRun has made; with -f until the run has ended, and what has not begun is waited for. A\n" +
			"connection that is lost is begun anew where it was, for five minutes; what fails for good is told\n" +
			"at the end, when the others have ended.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeRun,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := keyOf(args[0])
			if err != nil {
				return &usageError{err}
			}
			rc, err := cluster.rest()
			if err != nil {
				return err
			}
			api, err := logs.NewAPI(rc)
			if err != nil {
				return err
			}
			cfg.Colour = getenv("NO_COLOR") == "" && isTerminal(c.OutOrStdout())
			return logs.Print(c.Context(), api, key, cfg, c.OutOrStdout())
		},
	}
	c.Flags().BoolVarP(&cfg.Follow, "follow", "f", false, "wait for what comes, until the run has ended")
	c.Flags().BoolVar(&cfg.Sidecars, "sidecars", false, "print what sidecars print, too: with -f beside the steps, else after them")
	cluster.addFlags(c.Flags())
	return c
}

// isTerminal tells whether somebody reads along, and no program.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
