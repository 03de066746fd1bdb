package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"millrace/internal/option"
)

// A source is where values of the table come from.
type source struct {
	strength int                      // what is given here beats what a weaker one gives
	name     func(row) string         // of a row's value there, for people
	text     func(row) (string, bool) // false: it is not given there
}

// An origin is a row, with the name of the source that its value is from.
type origin struct {
	row

	from     string
	strength int // of that source
}

const byDefault = "default"

// Strengths of sources; that of a default is 0.
const (
	inFile = 1 + iota
	inEnvironment
	inFlag
)

// parseConfig reads flags, environment and file. The error names the flag, the variable
// or the field, and the value.
func parseConfig(args []string, getenv func(string) string) (config, error) {
	flags := pflag.NewFlagSet("millrace", pflag.ContinueOnError)
	addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	c, _, err := readConfig(flags, getenv)
	return c, err
}

// addFlags adds those of the table. What they are set to is checked then; it counts
// when all sources are known: see readConfig.
func addFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, r := range new(config).rows() {
		shorthand := ""
		if len(r.flag) == 1 {
			shorthand = r.flag // -v=4, as in Kubernetes
		}
		f := flags.VarPF(r.to, r.flag, shorthand, r.help)
		f.Annotations = map[string][]string{envAnnotation: {r.env}}
		if r.to.Type() == "boolean" {
			f.NoOptDefVal = "true" // --leader-elect stands without a value, likewise
		}
	}
}

// envAnnotation is of a flag: the environment variable that may stand in its place.
const envAnnotation = "env"

// readConfig puts together what flags that are parsed, the environment, and the file
// that one of them names, say; the origins are all rows in the order of the table.
func readConfig(flags *pflag.FlagSet, getenv func(string) string) (config, []origin, error) {
	var c config
	origins := make([]origin, 0, len(c.rows()))
	for _, r := range c.rows() {
		origins = append(origins, origin{row: r, from: byDefault})
	}
	given, environment := fromFlags(flags), fromEnvironmentVariables(getenv)
	if err := take(origins, environment, given); err != nil { // to learn which file
		return c, nil, err
	}
	if c.file != "" {
		file, err := fromFile(c.file, origins)
		if err != nil {
			return c, nil, err
		}
		if err := take(origins, file, environment, given); err != nil {
			return c, nil, err
		}
	}
	yield(origins, "tracing-traces-endpoint", "tracing-endpoint")
	return c, origins, c.check()
}

// take sets what the sources give, where a later one beats those before it.
func take(origins []origin, sources ...source) error {
	for _, from := range sources {
		for i, o := range origins {
			text, ok := from.text(o.row)
			if !ok {
				continue
			}
			if err := o.to.Set(text); err != nil {
				return fmt.Errorf("%s=%q: %w", from.name(o.row), text, err)
			}
			origins[i].from, origins[i].strength = from.name(o.row), from.strength
		}
	}
	return nil
}

// yield empties what would beat another flag's value and comes from a weaker source than
// that: the other one's source is then why it is empty.
func yield(origins []origin, flag, to string) {
	find := func(flag string) *origin {
		return &origins[slices.IndexFunc(origins, func(o origin) bool { return o.flag == flag })]
	}
	weak, strong := find(flag), find(to)
	if weak.to.String() != "" && weak.strength < strong.strength && weak.to.Set("") == nil {
		weak.from, weak.strength = strong.from, strong.strength
	}
}

func fromFlags(flags *pflag.FlagSet) source {
	given := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return source{
		strength: inFlag,
		name:     func(r row) string { return "flag --" + r.flag },
		text:     func(r row) (string, bool) { text, ok := given[r.flag]; return text, ok },
	}
}

func fromEnvironmentVariables(getenv func(string) string) source {
	first := func(r row) (name, text string) {
		for name := range strings.SplitSeq(r.env, ", ") {
			if text := getenv(name); text != "" {
				return name, text
			}
		}
		return r.env, ""
	}
	return source{
		strength: inEnvironment,
		name:     func(r row) string { name, _ := first(r); return "environment variable " + name },
		text:     func(r row) (string, bool) { _, text := first(r); return text, text != "" },
	}
}

// fromFile reads the config file, of which every field must be a row's.
func fromFile(name string, origins []origin) (source, error) {
	given, err := readConfigFile(name, fieldsOf(origins))
	return source{
		strength: inFile,
		name:     func(r row) string { return "file " + name + ": " + r.field },
		text:     func(r row) (string, bool) { text, ok := given[r.field]; return text, ok },
	}, err
}

func fieldsOf(origins []origin) map[string]option.Value {
	fields := map[string]option.Value{}
	for _, o := range origins {
		if o.field != "" {
			fields[o.field] = o.to
		}
	}
	return fields
}
