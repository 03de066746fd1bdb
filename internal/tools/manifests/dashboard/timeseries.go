package main

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/promql"
)

// Room around a graph, in pixels, and what a legend takes.
const (
	axisLeft   = 66
	axisBelow  = 20
	legendLine = 16
	legendMost = 4 // lines
)

// hue is the colour of a line, by its place.
func hue(n int) string {
	hues := [...]string{"#4e9a51", "#d9a800", "#3f86d8", "#e07b39", "#d64550", "#8f6bc2", "#2aa5a0", "#b8619c", "#7c8a3a", "#6d7f9c"}
	return hues[n%len(hues)]
}

// A graph turns times and values into pixels.
type graph struct {
	from, to   int64 // milliseconds
	top        float64
	wide, high float64 // without the axes
}

func (g graph) x(at int64) float64  { return axisLeft + g.wide*float64(at-g.from)/float64(g.to-g.from) }
func (g graph) y(v float64) float64 { return 4 + g.high*(1-v/g.top) }

// timeseries draws lines over time, with axes and a legend.
func (p panel) timeseries(lines []line, a *asker, wide, high int) template.HTML {
	if len(lines) == 0 {
		return noData
	}
	below, rows := legendOf(lines, wide-16)
	high -= rows*legendLine + 8
	style := p.FieldConfig.Defaults.Custom
	bands := bandsOf(lines, style.Stacking.Mode == "normal")
	step := stepOf(most(bands), p.FieldConfig.Defaults.Unit)
	g := graph{from: a.from.UnixMilli(), to: a.to.UnixMilli(), top: step * math.Max(1, math.Ceil(most(bands)/step)), wide: float64(wide - axisLeft - 14), high: float64(high - axisBelow - 4)}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg width="%d" height="%d">`, wide, high)
	for n := 0; float64(n)*step <= g.top*1.001; n++ {
		v := float64(n) * step
		fmt.Fprintf(&out, `<path class="grid" d="M%d %.1fH%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			axisLeft, g.y(v), axisLeft+g.wide, axisLeft-6, g.y(v)+4, template.HTMLEscapeString(unit(p.FieldConfig.Defaults.Unit)(v)))
	}
	g.times(&out, float64(high))
	for n, each := range bands {
		for _, run := range each.runs(2 * a.step) {
			fmt.Fprintf(&out, `<path d="%s" fill="%s" fill-opacity="%g"/><path d="%s" fill="none" stroke="%s" stroke-width="%g"/>`,
				g.area(run), hue(n), style.FillOpacity/100, g.edge(run), hue(n), style.LineWidth)
			if len(run) == 1 && style.ShowPoints == "auto" { // it has no line
				fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="2" fill="%s"/>`, g.x(run[0].at), g.y(run[0].high), hue(n))
			}
		}
	}
	return template.HTML(out.String()+"</svg>") + below //nolint:gosec // names and texts are escaped
}

// times writes the full minutes under the graph, some six of them.
func (g graph) times(out *strings.Builder, below float64) {
	every := time.Minute
	for g.to-g.from > 7*every.Milliseconds() {
		every *= 2
	}
	for at := time.UnixMilli(g.from).Truncate(every).Add(every); at.UnixMilli() <= g.to; at = at.Add(every) {
		x := g.x(at.UnixMilli())
		fmt.Fprintf(out, `<path class="grid" d="M%.1f 4V%.1f"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, 4+g.high, x, below-5, at.UTC().Format("15:04"))
	}
}

// A band is what lies between two heights, at each time: of what is stacked, the sums
// without and with one line; else nothing and the line.
type band []struct {
	at        int64
	low, high float64
}

func bandsOf(lines []line, stacked bool) []band {
	sums := map[int64]float64{}
	bands := make([]band, len(lines))
	for n, each := range lines {
		for _, point := range each.points {
			if !finite(point) {
				continue
			}
			low := 0.0
			if stacked {
				low = sums[point.T]
				sums[point.T] += point.F
			}
			bands[n] = append(bands[n], struct {
				at        int64
				low, high float64
			}{point.T, low, low + point.F})
		}
	}
	return bands
}

// finite has a place in a graph: a quantile of nothing has none.
func finite(p promql.FPoint) bool { return !math.IsNaN(p.F) && !math.IsInf(p.F, 0) }

// most is the greatest height.
func most(bands []band) (top float64) {
	for _, each := range bands {
		for _, point := range each {
			top = math.Max(top, point.high)
		}
	}
	return top
}

// runs are the parts of a band without a hole that long.
func (b band) runs(hole time.Duration) (all []band) {
	start := 0
	for n := range b {
		if n == len(b)-1 || b[n+1].at-b[n].at >= hole.Milliseconds() {
			all = append(all, b[start:n+1])
			start = n + 1
		}
	}
	return all
}

// edge is the upper side of a band, area what it encloses; both as SVG's paths.
func (g graph) edge(b band) string {
	var out strings.Builder
	for n, each := range b {
		fmt.Fprintf(&out, "%c%.1f %.1f", command(n), g.x(each.at), g.y(each.high))
	}
	return out.String()
}

func (g graph) area(b band) string {
	var out strings.Builder
	out.WriteString(g.edge(b))
	for _, each := range slices.Backward(b) {
		fmt.Fprintf(&out, "L%.1f %.1f", g.x(each.at), g.y(each.low))
	}
	return out.String() + "Z"
}

// command moves to the first point, and draws a line to each other.
func command(n int) byte {
	if n == 0 {
		return 'M'
	}
	return 'L'
}

// stepOf is what lies between two lines of the grid: 1, 2 or 5 of a power of ten, of KiB or
// minutes where it is as much as that; some four make the height.
func stepOf(top float64, unit string) float64 {
	if top <= 0 {
		top = 1
	}
	scale := 1.0
	for unit == "bytes" && top/scale >= 1024 {
		scale *= 1024
	}
	if unit == "s" && top > 60 {
		scale = 60
	}
	rough := top / scale / 4
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= rough {
			return factor * power * scale
		}
	}
	return 10 * power * scale
}

// legendOf names the lines, and says how many lines of text that takes. Where there is no
// room for all it names the highest, and how many more there are: in Grafana one scrolls.
func legendOf(lines []line, wide int) (template.HTML, int) {
	order := make([]int, len(lines))
	for n := range order {
		order[n] = n
	}
	rows, named := folded(lines, order, wide)
	if named < len(lines) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].highest(), lines[a].highest()) })
		rows, named = folded(lines, order, wide)
	}
	var out strings.Builder
	for _, n := range order[:named] {
		fmt.Fprintf(&out, `<span><s style="background: %s"></s>%s</span>`, hue(n), template.HTMLEscapeString(lines[n].name))
	}
	if more := len(lines) - named; more > 0 {
		fmt.Fprintf(&out, `<i>and %d more</i>`, more)
	}
	return template.HTML(`<div class="legend">` + out.String() + `</div>`), rows //nolint:gosec // names are escaped
}

// folded says how many lines of text there are, and how many names have room in them. Each
// letter is taken to be as wide as most are at the most.
func folded(lines []line, order []int, wide int) (rows, named int) {
	const letter, around, more = 7, 26, 80
	rows, used := 1, 0
	for named, n := range order {
		takes := around + letter*utf8.RuneCountInString(lines[n].name)
		if used > 0 && used+takes > wide && rows < legendMost {
			rows, used = rows+1, 0
		}
		if rows == legendMost && used+takes > wide-more {
			return rows, named
		}
		used += takes
	}
	return rows, len(order)
}

func (l line) highest() float64 {
	top := 0.0
	for _, point := range l.points {
		if finite(point) {
			top = math.Max(top, point.F)
		}
	}
	return top
}
