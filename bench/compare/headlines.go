//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// headline is a row of the first page: how one thing compares, in one number.
type headline struct {
	title string
	page  string // where its tables are
	ours  string
	peers []string
	figs  []figure // of several the geometric mean of their gains counts
}

// headlines are the rows of the first page.
func headlines() []headline {
	var list []headline
	for _, s := range solveSettings() {
		list = append(list, headline{"Time to solution: " + lower(s.title), solvePage, s.ours, peersOf(s.ours), s.figures()})
	}
	for _, way := range []struct {
		name, ours string
	}{{"TCP", "assist"}, {"shared memory", "assist-shm"}} {
		list = append(list,
			headline{"Latency: 8 bytes, " + way.name, "pairs", way.ours, peersOf(way.ours), []figure{halfRoundTrip.at(8)}},
			headline{"Messages a second: 8 bytes, " + way.name, "pairs", way.ours, peersOf(way.ours), []figure{shortRate.at(8)}},
			headline{"Bandwidth: ping-pong of 1 MiB, " + way.name, "pairs", way.ours, peersOf(way.ours), []figure{halfRoundTrip.bandwidth().at(mb)}})
	}
	list = append(list, headline{"Bandwidth: stream of 64 KiB, TCP", "pairs", "assist", peersTCP, []figure{streaming.at(64 * kb)}},
		headline{"Bandwidth: ping-pong of 1 MiB, 1 Gbit/s link", "networks", "assist", peersTCP, []figure{halfRoundTrip.bandwidth().on(link1G).at(mb)}})
	for _, s := range collectiveSettings() {
		list = append(list, headline{"Collectives: " + lower(s.title), "collectives", s.ours, peersOf(s.ours), s.figures()})
	}
	list = append(list, applicationHeadlines()...)
	match := figure{test: "match", measure: "per-message", size: 10000}
	late := figure{test: "send", kase: "late-receiver", measure: "send", size: 256 * kb}
	job := figure{test: "scale", ranks: 64}
	ring := figure{test: "scale", kase: "ring", measure: "mean-per-message", size: 8}
	return append(list,
		headline{"Matching: 10,000 waiting messages, in order", "pairs", "assist", peersTCP, []figure{match.with("unexpected-inorder")}},
		headline{"Matching: 10,000 waiting messages, in reverse", "pairs", "assist", peersTCP, []figure{match.with("unexpected-reverse")}},
		headline{"Overlap: `Send` of 256 KiB to a rank that computes 100 ms", "overlap", "assist", peersTCP, []figure{late}},
		headline{"Start-up: a whole job of 64 ranks, TCP", "jobs", "assist", peersTCP, []figure{job.with(wallCase).of("wall")}},
		headline{"Start-up: a whole job of 64 ranks, shared memory", "jobs", "assist-shm", peersShm, []figure{job.with(wallCase).of("wall")}},
		headline{"Many ranks: a ring of 64 on these cores, TCP", "jobs", "assist", peersTCP, []figure{ring.among(64)}},
		headline{"Many ranks: a ring of 16 on these cores, shared memory", "jobs", "assist-shm", peersShm, []figure{ring.among(16)}},
		headline{"Memory: a rank of 64, TCP", "jobs", "assist", peersTCP, []figure{job.of("rss")}})
}

// peersOf are those whose best ours is compared with.
func peersOf(ours string) []string {
	return choose(strings.HasSuffix(ours, "-shm"), peersShm, peersTCP)
}

// lower is a title in the middle of a line.
func lower(title string) string { return strings.ToLower(title[:1]) + title[1:] }

// line is a headline with what was measured for it.
type line struct {
	headline headline
	gains    []gain // by machine, the page's own first
	beside   string // the figures on the page's own machine, in words
}

// lines are the headlines that were measured on the page's own machine: first where we are slower,
// last where we are faster.
func (p *page) lines() []line {
	var list []line
	for _, h := range headlines() {
		l := line{headline: h}
		for _, m := range p.machines {
			l.gains = append(l.gains, mean(m.figures.gainsOf(h)))
		}
		if l.gains[0].isKnown() {
			l.beside = p.beside(h)
			list = append(list, l)
		}
	}
	slices.SortStableFunc(list, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.gains[0].side(), b.gains[0].side()), cmp.Compare(a.gains[0].value, b.gains[0].value))
	})
	return list
}

// gainsOf are the gains of the figures of a headline.
func (f *figures) gainsOf(h headline) []gain {
	var list []gain
	for _, fig := range h.figs {
		list = append(list, f.gain(h.ours, h.peers, fig))
	}
	return list
}

// beside says what was measured: the figure of both, or of many how many are on which side.
func (p *page) beside(h headline) string {
	gains := p.figures.gainsOf(h)
	if len(h.figs) > 1 {
		var n [faster + 1]int
		for _, g := range gains {
			n[g.side()]++
		}
		return fmt.Sprintf("mean of %d: %d slower, %d even, %d faster", len(gains)-n[unknownSide], n[slower], n[even], n[faster])
	}
	all := byName(contenders())
	ours, peer := p.figures.of(h.ours, h.figs[0]), p.figures.of(gains[0].peer, h.figs[0])
	return fmt.Sprintf("%s, %s %s", quantity(ours), strings.TrimSuffix(all[gains[0].peer].title, " (shm)"), quantity(peer))
}

// quantity is a figure with its unit and no range, and a mark if that is wide.
func quantity(s spread) string {
	unit, x := s.unit, s.median
	switch unit {
	case "bytes":
		unit, x = "MB", x/1e6
	case "1/s":
		unit, x = "million a second", x/1e6
	}
	return choose(s.isWide(), "≈", "") + number(x) + " " + unit
}
