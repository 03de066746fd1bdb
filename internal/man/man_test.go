package man_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/internal/man"
)

// mill is a program with a command.
func mill() *cobra.Command {
	root := &cobra.Command{Use: "mill [flags]", Short: "mill grinds.", Run: func(*cobra.Command, []string) {}}
	root.Flags().Int("stones", 2, "how many grind")
	root.Flags().BoolP("wet", "w", false, "with water")
	clean := &cobra.Command{Use: "clean NAME [flags]", Short: "clean a stone", Long: ".clean it\n'twas dirty: C:\\stone", Run: func(*cobra.Command, []string) {}}
	clean.Flags().Int("stones", 2, "how many grind") // which root has, too
	clean.Flags().String("wet", "", `with what "water"`)
	root.AddCommand(clean)
	return root
}

func page() string {
	return man.Page(mill(), man.Config{
		Variable: func(f *pflag.Flag) string { return map[string]string{"stones": "STONES"}[f.Name] },
		Sections: []man.Section{{"SEE ALSO", []string{"baker(1)", `a "miller"`}}},
	})
}

func TestEverythingIsThere(t *testing.T) {
	want := `.TH "MILL" "1" "" "mill"
.SH "NAME"
mill \- grinds
.SH "SYNOPSIS"
\fBmill\fR [flags]
.br
\fBmill clean\fR NAME [flags]
.SH "DESCRIPTION"
mill grinds.
.TP
\fB\-\-stones\fR \fIint\fR
how many grind (default 2). Variable: STONES
.TP
\fB\-w\fR, \fB\-\-wet\fR
with water (default false)
.SH "COMMANDS"
.SS "clean"
\&.clean it
\&'twas dirty: C:\estone
.TP
\fB\-\-wet\fR \fIstring\fR
with what "water"
.SH "SEE ALSO"
baker(1)
.PP
a "miller"
`
	if got := page(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// What is a request to the formatter, and what is an escape, is one of ours.
func TestTextIsText(t *testing.T) {
	ours := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|br)( ".*")?$`)
	escape := regexp.MustCompile(`\\(f[BIR]|e|-|&|\(dq)`)
	for line := range strings.Lines(page()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, ".") && !ours.MatchString(line) || strings.HasPrefix(line, "'") {
			t.Errorf("is taken for a request: %s", line)
		}
		if strings.Contains(escape.ReplaceAllString(line, ""), `\`) {
			t.Errorf("is taken for an escape: %s", line)
		}
	}
}
