//go:build linux

package summary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// imbalance looks for ranks for which the others wait in collectives. What the rank that waits
// least in them waits is what they take; what the others wait longer is lost.
func (j *job) imbalance() *Finding {
	if len(j.ranks) < 2 {
		return nil
	}
	part := func(r *rank) float64 { return share(r.collective(), r.time) }
	byPart := func(a, b *rank) int { return cmp.Compare(part(a), part(b)) }
	least, most := part(slices.MinFunc(j.ranks, byPart)), part(slices.MaxFunc(j.ranks, byPart))
	var busy, idle []*rank
	lost, busyPart, idlePart := 0.0, 0.0, 0.0
	for _, r := range j.ranks {
		lost += (part(r) - least) * r.time
		if part(r) < (least+most)/2 {
			busy, busyPart = append(busy, r), busyPart+part(r)
		} else {
			idle, idlePart = append(idle, r), idlePart+part(r)
		}
	}
	if lost <= 0 || len(busy) == 0 {
		return nil
	}
	f := &Finding{Kind: Imbalance, Ranks: numbers(busy), Victims: numbers(idle), Seconds: lost, Share: share(lost, j.time)}
	f.Op, f.At = longest(idle, func(s *telemetry.Site) bool { return s.Kind == engine.WaitCollective })
	busyPart, idlePart = busyPart/float64(len(busy)), idlePart/float64(len(idle))
	if len(busy) <= len(j.ranks)/2 || len(idle) > len(busy) {
		f.Text = fmt.Sprintf("%s waited %s of the time for collectives, the others %s on average, most of it%s: %s more to do.",
			names(f.Ranks), Percent(busyPart), Percent(idlePart), place(f), has(len(busy)))
	} else {
		f.Text = fmt.Sprintf("%s waited %s of the time for collectives, most of it%s, the others %s on average: %s less to do.",
			names(f.Victims), Percent(idlePart), place(f), Percent(busyPart), has(len(idle)))
	}
	f.Advice = "Divide the work more evenly between the ranks."
	return f
}

func has(n int) string {
	if n == 1 {
		return "it has"
	}
	return "they have"
}
