package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// The grid, in pixels: a page 1280 wide, with room around it.
const (
	pageWidth = 1256
	columns   = 24
	rowHeight = 30
	gap       = 8
)

//go:embed page.html
var page string

// A box is a panel as the page has it.
type box struct {
	Kind, Title           string
	Left, Top, Wide, High int
	Inside                template.HTML
}

// draw makes the page.
func draw(ctx context.Context, b board, a *asker) ([]byte, error) {
	view := struct {
		Title, Chosen, From, To string
		High                    int
		Boxes                   []box
	}{Title: b.Title, Chosen: b.chosen(), From: a.from.UTC().Format("15:04:05"), To: a.to.UTC().Format("15:04:05 MST")}
	for _, p := range b.Panels {
		each, err := p.draw(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", p.Title, err)
		}
		view.Boxes = append(view.Boxes, each)
		view.High = max(view.High, each.Top+each.High)
	}
	read, err := template.New("page").Parse(page)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = read.Execute(&out, view)
	return out.Bytes(), err
}

// chosen says what is chosen of each variable.
func (b board) chosen() string {
	var all []string
	for _, each := range b.Templating.List {
		if each.Type == "query" {
			all = append(all, each.Label+": All")
		}
	}
	return strings.Join(all, ", ")
}

// draw asks what the panel asks, and draws the answers in its place.
func (p panel) draw(ctx context.Context, a *asker) (box, error) {
	column := float64(pageWidth+gap) / columns
	left, right := int(float64(p.GridPos.X)*column), int(float64(p.GridPos.X+p.GridPos.W)*column)
	b := box{
		Kind: p.Type, Title: p.Title,
		Left: left, Wide: right - left - gap,
		Top: p.GridPos.Y * (rowHeight + gap), High: p.GridPos.H*(rowHeight+gap) - gap,
	}
	var lines []line
	for _, each := range p.Targets {
		more, err := a.ask(ctx, each)
		if err != nil {
			return box{}, err
		}
		lines = append(lines, more...)
	}
	switch p.Type {
	case "stat":
		b.Inside = p.stat(lines)
	case "timeseries":
		b.Inside = p.timeseries(lines, a, b.Wide, b.High-28)
	}
	return b, nil
}

// stat is the last value of each line, or its name.
func (p panel) stat(lines []line) template.HTML {
	if len(lines) == 0 {
		return noData
	}
	var out strings.Builder
	around := "stats"
	if p.Options.TextMode == "name" {
		around = "stats names"
	}
	fmt.Fprintf(&out, `<div class="%s">`, around)
	for _, each := range lines {
		value := each.points[len(each.points)-1].F
		text, name, class := unit(p.FieldConfig.Defaults.Unit)(value), each.name, "value"
		if p.Options.TextMode == "name" {
			text, name, class = name, "", "name"
		} else if len(lines) == 1 {
			name = ""
		}
		fmt.Fprintf(&out, `<div><small>%s</small><b class="%s" style="color: var(--%s)">%s</b></div>`,
			template.HTMLEscapeString(name), class, p.FieldConfig.Defaults.colour(value), template.HTMLEscapeString(text))
	}
	return template.HTML(out.String() + `</div>`) //nolint:gosec // names and texts are escaped
}

const noData = template.HTML(`<p class="none">No data</p>`)
