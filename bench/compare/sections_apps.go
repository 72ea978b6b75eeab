//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// place is where an application ran.
type place struct {
	title   string
	ranks   int
	network network
}

var (
	placesTCP = []place{{"1 rank", 1, loopback}, {"2 ranks", 2, loopback}, {"4 ranks", 4, loopback},
		{"2 ranks, 1 Gbit/s link", 2, link1G}}
	placesShm = []place{{"2 ranks", 2, loopback}, {"4 ranks", 4, loopback}}
)

// figureAt is the figure of an application, as it is meant to exchange, at a place and a size.
func (a application) figureAt(measure string, at place, size int64) figure {
	return figure{test: a.name, kase: choose(a.hasOverlap, "overlap", "blocking"), measure: measure, stat: median,
		size: size, ranks: at.ranks, network: at.network}
}

// appMeasure is what the rows of an application show, and how a reader calls it.
type appMeasure struct{ measure, title string }

// rows are the measures of an application, place by place.
func (a application) rows(places []place, measures []appMeasure) []row {
	var list []row
	for _, m := range measures {
		for _, at := range places {
			for _, size := range []int64{a.size, a.quickSize} {
				label := m.title + ", " + at.title + choose(size == a.size, "", fmt.Sprintf(", size %d", size))
				list = append(list, row{label, func(figure) figure { return a.figureAt(m.measure, at, size) }})
			}
		}
	}
	return list
}

// applicationSections are of the applications and of the matrix product.
func applicationSections() []section {
	var list []section
	for _, a := range applications {
		list = append(list, applicationSection(a))
	}
	return append(list, matmulSection())
}

func applicationSection(a application) section {
	times := []appMeasure{{"time", "time"}, {"waited", "waited"}}
	saved := []appMeasure{{savedTime, "ms"}, {savedShare, "%"}}
	s := section{title: a.name, prose: "`" + a.args + "`"}
	for _, w := range []struct {
		title, ours, file string
		places            []place
		names             []string
	}{
		{"TCP", "app-mt", "", placesTCP, appTCP},
		{"shared memory", "app-mt-shm", "-memory", placesShm, appShm},
	} {
		fig := a.figureAt("time", place{}, a.size)
		s.tables = append(s.tables, table{caption: "Over " + w.title + ": ms of a computation, and of that how long the rank waited that waited longest.",
			head: "what, where", columns: each(fig, w.names...), rows: a.rows(w.places, times), ours: w.ours})
		if a.hasOverlap {
			s.tables = append(s.tables, table{caption: "Over " + w.title + ": what overlap saves beside the same program that awaits messages before it computes, in ms, and in % of that program's time.",
				head: "saved, where", columns: each(fig, w.names...), rows: a.rows(w.places, saved)})
		}
		s.plots = append(s.plots, drawing{file: "apps-" + a.name + w.file + ".svg", title: a.name + ", " + w.title, xlabel: "ranks", ylabel: "ms",
			ranks: []int{1, 2, 4}, columns: each(fig, w.names...)})
	}
	return s
}

func matmulSection() section {
	f := figure{test: "matmul", kase: "overlap", measure: "time", stat: median}
	const most = 4
	product := table{caption: "Milliseconds over TCP, by rows of A and workers.", head: "rows, workers", columns: each(f, matmulContenders...), ours: "app-mt"}
	for _, size := range []int64{200, 400, 2400, 4800, 9600, 19200} {
		for workers := 1; workers <= most; workers++ {
			product.rows = append(product.rows, row{fmt.Sprintf("%d, %d", size, workers), func(f figure) figure { return f.at(size).among(workers + 1) }})
		}
	}
	mixed := table{head: "workers", columns: []column{columnOf("of this machine", "app-mt", f.at(240)),
		columnOf("one of them emulated", "matmul-mixed", f.with("overlap"+mixedMark).at(240))},
		caption: "A mixed platform, `" + mixedArgs + "`, in ms. The emulated worker is a program for s390x, whose order of bytes is the other one, under qemu: " +
			"these rows show that both work together, not how fast such a machine is."}
	for workers := 1; workers <= 2; workers++ {
		mixed.rows = append(mixed.rows, row{strconv.Itoa(workers), func(f figure) figure { return f.among(workers + 1) }})
	}
	return section{
		title:  "PMPI, matrix product",
		prose:  "`" + matmulArgs + "`: the master has A and computes nothing; workers multiply.",
		tables: []table{product, mixed},
		plots: []drawing{{file: "apps-matmul.svg", title: "matmul, 19200 rows, TCP", xlabel: "workers", ylabel: "ms",
			ranks: []int{2, 3, 4, 5}, idle: 1, columns: each(f.at(19200), matmulContenders...)}},
	}
}

// applicationHeadlines compare the times of all applications with the same in C.
func applicationHeadlines() []headline {
	var list []headline
	for _, h := range []struct {
		title string
		at    place
	}{
		{"Applications: five beside C, two ranks over TCP", place{ranks: 2}},
		{"Applications: five beside C, two ranks over a 1 Gbit/s link", place{ranks: 2, network: link1G}},
	} {
		var figs []figure
		for _, a := range applications {
			figs = append(figs, a.figureAt("time", h.at, a.size))
		}
		list = append(list, headline{h.title, appsPage, "app-mt", []string{"app-openmpi", "app-mpich"}, figs})
	}
	return list
}

// checkSection is of whether our programs in C measure what others measure.
func checkSection() section {
	s := section{
		title: "Do our programs in C measure what others measure?",
		prose: "Medians of ours over TCP, two ranks, beside benchmarks that are not ours: NetPIPE over MPI (the best of several means), OSU's micro-benchmarks and " +
			"Intel's (means), and how many times ours theirs are. A mean has the long times in it that a median leaves out. " +
			"OSU's `allreduce` is the mean over ranks, IMB's and ours the slowest rank.",
	}
	all := byName(contenders())
	for _, c := range checkedFigures() {
		for _, peer := range []string{"openmpi", "mpich"} {
			t := table{caption: c.what + " of " + all[peer].title + ", " + c.unit + ".", head: "bytes", sizes: checkedSizes, columns: []column{columnOf("ours", peer, c.fig)}}
			for _, by := range c.by {
				name := by + "-" + peer
				title, _, _ := strings.Cut(all[name].title, ",")
				t.columns = append(t.columns, columnOf(title, name, c.fig), column{title: "ratio", contender: name, fig: c.fig, per: []string{peer}})
			}
			s.tables = append(s.tables, t)
		}
	}
	return s
}

// checked is a figure that our programs in C and foreign ones have.
type checked struct {
	what, unit string
	fig        figure
	by         []string // foreign contenders, without the peer in their names
}

func checkedFigures() []checked {
	pingpong := figure{test: "pingpong", kase: checkMark, measure: "half-rtt", stat: median}
	bw := figure{test: "bw", kase: checkMark, measure: "bandwidth", stat: median}
	allreduce := figure{test: "coll", kase: "allreduce" + checkMark, measure: "time", stat: median}
	return []checked{
		{"Half a round trip", "us", pingpong, []string{"netpipe", "osu-latency", "imb-pingpong"}},
		{"Bandwidth of a window", "MB/s", bw, []string{"osu-bw"}},
		{"`allreduce`", "us", allreduce, []string{"osu-allreduce", "imb-allreduce"}},
	}
}
