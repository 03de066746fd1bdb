package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// A board is what of Grafana's JSON is drawn.
type board struct {
	Title      string
	Panels     []panel
	Templating struct{ List []variable }
}

// A variable of the type query is one that the user chooses a value of, or all.
type variable struct{ Name, Label, Type, AllValue string }

// A panel lies on a grid of 24 columns.
type panel struct {
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Panels      []json.RawMessage // of a row that is folded up
	Targets     []target
	Repeat      string
	FieldConfig struct {
		Defaults  defaults
		Overrides []json.RawMessage
	}
	Options struct {
		ReduceOptions struct{ Calcs []string }
		TextMode      string
		GraphMode     string
	}
	Transformations []json.RawMessage
}

type target struct{ Expr, LegendFormat string }

type defaults struct {
	Unit       string
	Min        *float64
	Thresholds *struct {
		Mode  string
		Steps []threshold
	}
	Custom struct {
		FillOpacity float64
		LineWidth   float64
		ShowPoints  string
		Stacking    struct{ Mode string }
	}
}

// A threshold is the colour of what is not less than its value. The first has none.
type threshold struct {
	Color string
	Value *float64
}

// readBoard refuses what could not be drawn as it is meant.
func readBoard(text []byte) (board, error) {
	var b board
	if err := json.Unmarshal(text, &b); err != nil { //nolint:musttag // the fields are named as Grafana names them, but for the first letter
		return board{}, err
	}
	var all []error
	for _, p := range b.Panels {
		if err := p.check(); err != nil {
			all = append(all, fmt.Errorf("panel %q: %w", p.Title, err))
		}
	}
	return b, errors.Join(all...)
}

// written is a query as Grafana sends it while All is chosen: $__rate_interval are four
// scrapes, and $__range is the time that is shown.
func (b board) written(expr string, every, shown time.Duration) string {
	values := []string{"$__rate_interval", model.Duration(4 * every).String(), "$__range", model.Duration(shown).String()}
	for _, each := range b.Templating.List {
		if each.Type == "query" {
			values = append(values, "$"+each.Name, each.AllValue)
		}
	}
	return strings.NewReplacer(values...).Replace(expr)
}

// check is an error for what the drawer does not know.
func (p panel) check() error {
	if len(p.FieldConfig.Overrides) > 0 || len(p.Transformations) > 0 || p.Repeat != "" {
		return errors.New("overrides, transformations and repetition are not known")
	}
	switch p.Type {
	case "row":
		if len(p.Panels) > 0 {
			return errors.New("the row is folded up")
		}
		return nil
	case "stat":
		if !slices.Equal(p.Options.ReduceOptions.Calcs, []string{"lastNotNull"}) || p.Options.GraphMode != "none" {
			return errors.New("of a stat only the last value is known, without a graph")
		}
	case "timeseries":
		if mode := p.FieldConfig.Defaults.Custom.Stacking.Mode; mode != "none" && mode != "normal" {
			return fmt.Errorf("the mode of stacking %q is not known", mode)
		}
		if points := p.FieldConfig.Defaults.Custom.ShowPoints; points != "never" && points != "auto" {
			return fmt.Errorf("points shown %q are not known", points)
		}
	default:
		return fmt.Errorf("the kind %q is not known", p.Type)
	}
	if from := p.FieldConfig.Defaults.Min; from == nil || *from != 0 {
		return errors.New("only axes from 0 on are known")
	}
	return p.FieldConfig.Defaults.check()
}

func (d defaults) check() error {
	if unit(d.Unit) == nil {
		return fmt.Errorf("the unit %q is not known", d.Unit)
	}
	if d.Thresholds != nil && d.Thresholds.Mode != "absolute" {
		return fmt.Errorf("the mode of thresholds %q is not known", d.Thresholds.Mode)
	}
	for _, each := range d.thresholds() {
		if !slices.Contains(colours(), each.Color) {
			return fmt.Errorf("the colour %q is not known", each.Color)
		}
	}
	return nil
}

// colours that thresholds may have; the page has a variable for each.
func colours() []string { return []string{"green", "orange", "red", "text"} }

// thresholds without any are as Grafana's documentation says: green, and red from 80 on.
func (d defaults) thresholds() []threshold {
	if d.Thresholds != nil {
		return d.Thresholds.Steps
	}
	eighty := 80.0
	return []threshold{{Color: "green"}, {Color: "red", Value: &eighty}}
}

// colour is that of a value.
func (d defaults) colour(value float64) string {
	colour := "text"
	for _, each := range d.thresholds() {
		if each.Value == nil || value >= *each.Value {
			colour = each.Color
		}
	}
	return colour
}
