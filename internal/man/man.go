// Package man writes the manual page of a program from its commands: what --help says of
// each, on one page, in the macros of man(7).
//
//	cobra.Command, and those below it ──Page──▶ millrace.1 ──man──▶ somebody without a browser
//
// What it promises:
//
//  1. Every command and every flag is there once, with its default, and the variable that
//     may stand in its place (TestEverythingIsThere).
//  2. No text of ours is taken for a macro or an escape (TestTextIsText).
//
// Cobra has a writer of manual pages too: one page for each command, by way of Markdown, and
// it knows nothing of variables.
package man

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Config is what the commands do not say themselves.
type Config struct {
	// Variable is the environment variable that may stand in place of a flag. Default:
	// there are none.
	Variable func(*pflag.Flag) string
	// Sections stand behind the commands, in their order.
	Sections []Section
}

// A Section is a heading and paragraphs.
type Section struct {
	Title      string
	Paragraphs []string
}

// Page is the page of a program: of root, which is its name, and of the commands below.
func Page(root *cobra.Command, cfg Config) string {
	p := &page{variable: cfg.Variable}
	p.macro("TH", strings.ToUpper(root.Name()), "1", "", root.Name())
	p.macro("SH", "NAME")
	p.line(text(root.Name()) + ` \- ` + text(about(root.Short, root.Name())))
	p.macro("SH", "SYNOPSIS")
	p.synopsis(root)
	p.macro("SH", "DESCRIPTION")
	p.line(text(cmp.Or(root.Long, root.Short)))
	p.flags(root, nil)
	p.macro("SH", "COMMANDS")
	for _, c := range root.Commands() {
		p.macro("SS", c.Name())
		p.line(text(cmp.Or(c.Long, c.Short)))
		p.flags(c, root)
	}
	for _, s := range cfg.Sections {
		p.macro("SH", s.Title)
		for i, paragraph := range s.Paragraphs {
			if i > 0 {
				p.macro("PP")
			}
			p.line(text(paragraph))
		}
	}
	return p.String()
}

type page struct {
	strings.Builder

	variable func(*pflag.Flag) string
}

// macro is a request to the formatter, with what it is about.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(text(arg), `"`, `\(dq`) + `"`)
	}
	p.WriteString("\n")
}

func (p *page) line(text string) { p.WriteString(text + "\n") }

// synopsis is a line for each command.
func (p *page) synopsis(root *cobra.Command) {
	for i, c := range append([]*cobra.Command{root}, root.Commands()...) {
		if i > 0 {
			p.macro("br")
		}
		p.line(`\fB` + text(c.CommandPath()) + `\fR` + text(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	}
}

// flags are those of one command, each a paragraph with its name hung out. One that is told
// of above already, as where a command takes what the program takes, is left out.
func (p *page) flags(c, above *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden || above != nil && told(above, f) {
			return
		}
		p.macro("TP")
		p.line(names(f))
		p.line(text(p.usage(f)))
	})
}

func names(f *pflag.Flag) string {
	name := `\fB` + text("--"+f.Name) + `\fR`
	if len(f.Name) == 1 {
		name = `\fB` + text("-"+f.Name) + `\fR`
	} else if f.Shorthand != "" {
		name = `\fB` + text("-"+f.Shorthand) + `\fR, ` + name
	}
	if kind := f.Value.Type(); kind != "bool" && kind != "boolean" {
		name += ` \fI` + text(kind) + `\fR`
	}
	return name
}

func (p *page) usage(f *pflag.Flag) string {
	usage := f.Usage
	if f.DefValue != "" && !strings.Contains(usage, "(default") {
		usage += " (default " + f.DefValue + ")"
	}
	if p.variable != nil {
		if v := p.variable(f); v != "" {
			usage += ". Variable: " + v
		}
	}
	return usage
}

// told tells whether the command has the flag, and it means the same there.
func told(above *cobra.Command, f *pflag.Flag) bool {
	same := above.Flags().Lookup(f.Name)
	return same != nil && same.Usage == f.Usage
}

// text is text for the formatter: a backslash begins no escape, a dash is the sign on the
// keyboard, and no line begins with what is a request.
func text(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// about is a sentence without the name that stands before it, and without its full stop.
func about(short, name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(short, name+" "), ".")
}
