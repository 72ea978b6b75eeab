//go:build linux

package main

import (
	"slices"
	"strconv"
)

// collectiveSetting is one way in which collectives are measured.
type collectiveSetting struct {
	title string
	ranks int
	sizes []int64
	ours  string
	names []string
}

func collectiveSettings() []collectiveSetting {
	sizes := []int64{8, 64 * kb, mb}
	return []collectiveSetting{
		{"Two ranks over TCP", 2, sizes, "assist", fastTCP},
		{"Four ranks over TCP", 4, sizes, "assist", fastTCP},
		{"Two ranks in memory", 2, sizes, "assist-shm", fastMem},
		{"Four ranks in memory", 4, sizes, "assist-shm", fastMem},
	}
}

// rows are the collectives and sizes of a setting.
func (s collectiveSetting) rows() []row {
	var list []row
	for _, kase := range blockingCollectives {
		sizes := s.sizes
		if kase == "barrier" {
			sizes = []int64{0}
		}
		for _, size := range sizes {
			list = append(list, row{"`" + kase + "`" + choose(size == 0, "", ", "+sizeName(size)), func(f figure) figure { return f.with(kase).at(size) }})
		}
	}
	return list
}

// fig is what is measured of every collective, each call after a barrier.
func (s collectiveSetting) fig() figure { return figure{test: "coll", measure: "time", ranks: s.ranks} }

// inARow is the same of calls that follow each other.
func (s collectiveSetting) inARow() figure {
	return figure{test: "coll", measure: "in-a-row", ranks: s.ranks}
}

// figures are those of all rows.
func (s collectiveSetting) figures() []figure {
	var list []figure
	for _, r := range s.rows() {
		list = append(list, r.at(s.fig()))
	}
	return list
}

func collectiveSections() []section {
	var list []section
	for _, s := range collectiveSettings() {
		list = append(list, section{
			title: s.title,
			tables: []table{
				{caption: "Microseconds a call, each after a barrier, at the rank where it takes longest:", head: "what, bytes of a rank",
					rows: s.rows(), columns: each(s.fig(), s.names...), ours: s.ours},
				{caption: "Microseconds a call, of many in a row:", head: "what, bytes of a rank",
					rows: s.rows(), columns: each(s.inARow(), s.names...), ours: s.ours},
			},
		})
	}
	return list
}

// jobSections are of whole jobs: starting them, their memory, and many ranks on few cores.
func jobSections() []section { return []section{startSection(), manyRanksSection()} }

// Contenders of jobs of 64 ranks in memory: peers are asked only for how long the whole job takes.
var ownMem = []string{"threads", "assist-shm"}

func startSection() section {
	job := figure{test: "scale", kase: wallCase, measure: "wall", ranks: 64}
	f := figure{test: "scale"}
	var rows []row
	for _, ranks := range []int{2, 16, 64} {
		rows = append(rows, ofRanks(ranks)...)
	}
	return section{
		title: "Starting a job, and what its ranks take",
		prose: "The whole job is `Init`, `Barrier`, a ring once and `Finalize`, from the start of the launcher to its end. " +
			"Memory is the largest resident set of a rank, without the library that draws plots; descriptors are the most that a rank has open.",
		tables: []table{
			{caption: "The whole job of 64 ranks over TCP, ms.", head: "", sizes: []int64{0}, columns: each(job, fastTCP...), ours: "assist"},
			{caption: "The whole job of 64 ranks in memory, ms.", head: "", sizes: []int64{0}, columns: each(job, fastShm...), ours: "assist-shm"},
			{caption: "Over TCP.", head: "", rows: rows, columns: each(f, fastTCP...), ours: "assist"},
			{caption: "In memory.", head: "", rows: rows, columns: each(f, ownMem...)},
		},
	}
}

// ofRanks are the rows of what is measured of jobs of so many ranks.
func ofRanks(ranks int) []row {
	n := strconv.Itoa(ranks) + " ranks: "
	of := func(measure string) func(figure) figure {
		return func(f figure) figure { return f.of(measure).among(ranks) }
	}
	return []row{
		{n + "from the start of a process to the end of its first `Barrier`, ms", of("init")},
		{n + "memory of a rank, bytes", of("rss")},
		{n + "descriptors of a rank", of("fds")},
	}
}

func manyRanksSection() section {
	f := figure{test: "scale", kase: "ring", size: 8}
	var rows, few []row
	for _, ranks := range []int{2, 16, 64} {
		n := strconv.Itoa(ranks) + " ranks, "
		rows = append(rows,
			row{n + "median", func(f figure) figure { return f.of("per-message").among(ranks) }},
			row{n + "whole ring", func(f figure) figure { return f.of("mean-per-message").among(ranks) }})
		if ranks == 16 {
			few = slices.Clone(rows)
		}
	}
	return section{
		title: "Many ranks on few cores",
		prose: "A ring in which all ranks send at once: microseconds of all cores per message of 8 bytes. First the median repetition, each as long as it was at the rank where it was longest; " +
			"ranks that share a core take turns, so that few repetitions of each rank are long. Then the whole ring, without that.",
		tables: []table{
			{caption: "Over TCP.", head: "", rows: rows, columns: each(f, fastTCP...), ours: "assist"},
			{caption: "In memory.", head: "", rows: few, columns: each(f, fastMem...), ours: "assist-shm"},
			{caption: "In memory, 64 ranks.", head: "", rows: rows[len(few):], columns: each(f, ownMem...)},
		},
	}
}
