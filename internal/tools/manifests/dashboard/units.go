package main

import (
	"math"
	"strconv"
)

// unit is how a number is written, by Grafana's name of its unit; nil if it is not known.
func unit(name string) func(float64) string {
	switch name {
	case "short":
		return func(v float64) string { return scaled(v, 1000, "", " K", " Mil", " Bil") }
	case "ops":
		return func(v float64) string { return scaled(v, 1000, " ops/s", "K ops/s", "M ops/s") }
	case "bytes":
		return func(v float64) string { return scaled(v, 1024, " B", " KiB", " MiB", " GiB") }
	case "percentunit":
		return func(v float64) string { return digits(100*v) + "%" }
	case "s":
		return seconds
	default:
		return nil
	}
}

// scaled has a name for each power.
func scaled(v, power float64, names ...string) string {
	n := 0
	for n < len(names)-1 && math.Abs(v) >= power {
		v, n = v/power, n+1
	}
	return digits(v) + names[n]
}

func seconds(v float64) string {
	for _, each := range []struct {
		many float64
		name string
	}{{86400, " days"}, {3600, " hours"}, {60, " min"}, {1, " s"}, {1e-3, " ms"}} {
		if math.Abs(v) >= each.many {
			return digits(v/each.many) + each.name
		}
	}
	if v == 0 {
		return "0 s"
	}
	return digits(v*1e6) + " µs"
}

// digits are three that count.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	places := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	factor := math.Pow10(places)
	return strconv.FormatFloat(math.Round(v*factor)/factor, 'f', -1, 64)
}
