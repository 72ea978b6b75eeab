//go:build linux

package summary

import (
	"fmt"
	"math"
	"strings"
)

// Quantities for people: three digits, and a unit that fits.

// Duration is a number of seconds.
func Duration(s float64) string {
	switch {
	case s <= 0:
		return "0 s"
	case s < 999.5e-6:
		return digits(s*1e6) + " µs"
	case s < 999.5e-3:
		return digits(s*1e3) + " ms"
	case s < 599.5:
		return digits(s) + " s"
	case s < 2*3600:
		return digits(s/60) + " min"
	default:
		return digits(s/3600) + " h"
	}
}

// Bytes is a number of bytes.
func Bytes(n float64) string { return scaled(n, 1024, " B", " KiB", " MiB", " GiB", " TiB", " PiB") }

// Count is a number of things.
func Count(n float64) string { return scaled(n, 1000, "", " k", " M", " G", " T") }

func scaled(n, base float64, units ...string) string {
	i := 0
	for ; i < len(units)-1 && n >= min(base, 999.5); i++ {
		n /= base
	}
	if i == 0 {
		return fmt.Sprintf("%.0f%s", n, units[0])
	}
	return digits(n) + units[i]
}

// digits is x with three digits, fewer after the point if x is large.
func digits(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// Percent is a share of 1.
func Percent(share float64) string { return fmt.Sprintf("%.0f%%", math.Round(100*share)) }

// names is ascending ranks: "rank 3", "ranks 0, 2 and 5-7", "41 ranks" if that would be long.
func names(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if j > i+1 {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		} else {
			for k := i; k <= j; k++ {
				parts = append(parts, fmt.Sprint(ranks[k]))
			}
		}
		i = j + 1
	}
	if len(parts) > 8 {
		return fmt.Sprintf("%d ranks", len(ranks))
	}
	return "ranks " + listed(parts)
}

// listed puts commas and an "and" between words.
func listed(parts []string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
