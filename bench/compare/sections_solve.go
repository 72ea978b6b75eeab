//go:build linux

package main

import "slices"

// solveSetting is one way in which time to solution is measured.
type solveSetting struct {
	title, prose string
	fig          figure
	sizes        []int64
	ours         string
	names        []string // of all contenders
}

// works are the cases of test solve, and how a reader calls them.
var works = [][2]string{{"work-1", "once"}, {"work-3", "three times"}, {"work-9", "nine times"}}

func solveSettings() []solveSetting {
	f := figure{test: "solve", measure: "iteration", stat: median}
	few := []int64{8, 64 * kb, mb, 4 * mb, 16 * mb}
	return []solveSetting{
		{"Two ranks over TCP", "Over loopback, where the two cores that compute also move the messages.",
			f, solved, "assist", slices.Concat(everyTCP, rawSolve)},
		{"Four ranks over TCP", "Over loopback. Ranks take turns on the cores if there are fewer of these, so this is the mean over all iterations, of the slowest rank.",
			f.of("mean-iteration").among(4), few, "assist", singleTCP},
		{"Two ranks over a 1 Gbit/s link", "The link takes most of the time, and the cores are free meanwhile: here hiding pays.",
			f.on(link1G), few, "assist", slices.Concat(singleTCP, rawSolve)},
		{"Two ranks that share memory", "The peers have no ranks that are threads of one process.",
			f, solved, "assist-shm", everyMem},
	}
}

// figures are those of a setting, work by work and size by size.
func (s solveSetting) figures() []figure {
	var list []figure
	for _, w := range works {
		for _, size := range s.sizes {
			list = append(list, s.fig.with(w[0]).at(size))
		}
	}
	return list
}

// solveSections are of the time to solution.
func solveSections() []section {
	var list []section
	for _, s := range solveSettings() {
		t := table{caption: "Microseconds an iteration:", head: "work, bytes", columns: each(s.fig, s.names...), ours: s.ours}
		for _, w := range works {
			for _, size := range s.sizes {
				t.rows = append(t.rows, row{w[1] + ", " + sizeName(size), func(f figure) figure { return f.with(w[0]).at(size) }})
			}
		}
		list = append(list, section{title: s.title, prose: s.prose, tables: []table{t}})
	}
	return list
}
