package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"millrace/internal/option"
)

// A versionReport is what millrace version -o json prints, for programs.
type versionReport struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"` // as it is in runs' annotation pipeline.tekton.dev/release
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func versionCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "say which version this is",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r := versionReport{version, commit(version), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if format != "text" {
				return printAs(c.OutOrStdout(), format, r)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "millrace %s (%s, %s)\n", r.Version, r.GoVersion, r.Platform)
			return err
		},
	}
	c.Flags().VarP(option.Choice(&format, "text", "json", "yaml"), "output", "o", "text, json or yaml")
	return c
}
