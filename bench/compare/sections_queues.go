//go:build linux

package main

import (
	"slices"
	"strconv"
)

// bothWays are the ways of two ranks to a figure: over TCP and in memory.
var bothWays = []struct {
	name, ours string
	names      []string
}{{"TCP", "assist", networkMPI}, {"memory", "assist-shm", fastMem}}

// queueSections are of two ranks beside more than the two messages of a ping-pong.
func queueSections() []section {
	return []section{duplexSection(), queuedSection(), multiSection(), histogramSection()}
}

func duplexSection() section {
	f := figure{test: "duplex", measure: "ratio", stat: median}
	of := func(where string, f figure, names []string) table {
		return table{caption: "Over " + where + ".", head: "bytes", sizes: []int64{8, kb, 64 * kb, mb}, columns: each(f, names...)}
	}
	return section{
		title: "Both ways at once",
		prose: "After McMPI: the time of two exchanges in which both ranks send at once, divided by that of a round trip, measured together: as many messages each way. " +
			"1 is a network as fast in both directions at once as in one, 2 one that takes turns.",
		tables: []table{
			of("loopback TCP", f, networkMPI), of("shared memory", f, fastMem), of("a 1 Gbit/s link", f.on(link1G), networkMPI),
			of("a 100 Mbit/s link", f.on(link100M), networkMPI), duplexTimes(loopback), duplexTimes(link1G), duplexTimes(link100M),
		},
	}
}

// duplexTimes has the times whose ratio is shown, beside plain programs.
func duplexTimes(n network) table {
	t := table{caption: "Over " + n.String() + ", the times themselves, in us.", head: "bytes, what", ours: "assist",
		columns: each(figure{test: "duplex", measure: "time", stat: median, network: n}, slices.Concat(networkMPI, networkRaw)...)}
	for _, size := range []int64{8, kb, 64 * kb, mb} {
		for _, k := range [][2]string{{"pingpong", "there and back"}, {"pingping", "twice both ways"}} {
			t.rows = append(t.rows, row{sizeName(size) + ", " + k[1], func(f figure) figure { return f.with(k[0]).at(size) }})
		}
	}
	return t
}

// queueCases are the cases of test queued, and how a reader calls them.
var queueCases = [][2]string{
	{"none", "nothing waits"}, {"posted-100", "100 receives wait"}, {"posted-1000", "1,000 receives wait"},
	{"unexpected-100", "100 messages wait"}, {"unexpected-1000", "1,000 messages wait"},
}

func queuedSection() section {
	s := section{
		title: "Latency beside queues, and wildcards",
		prose: "After McMPI: half a round trip, in us, while receives wait that do not match, or messages that are unexpected, at both ranks; then with any source and any tag.",
	}
	for _, w := range bothWays {
		t := table{caption: "In " + w.name + ".", head: "bytes, what waits", columns: each(figure{test: "queued", measure: "half-rtt"}, w.names...), ours: w.ours}
		for _, size := range []int64{8, kb, 64 * kb, mb} {
			for _, k := range queueCases {
				t.rows = append(t.rows, row{sizeName(size) + ", " + k[1], func(f figure) figure { return f.with(k[0]).at(size) }})
			}
		}
		s.tables = append(s.tables, t, table{caption: "Any source and any tag, in " + w.name + ".", head: "bytes", sizes: []int64{8, kb, 64 * kb},
			columns: each(halfRoundTrip.with("any"), w.names...), ours: w.ours})
	}
	return s
}

func multiSection() section {
	s := section{
		title: "All pairs of ranks at once",
		prose: "After McMPI, Multi-PingPong (half a round trip) and Multi-PingPing (an exchange) in memory, in us, of the slowest pair.",
	}
	for _, m := range [][2]string{{"pingpong", "half-rtt"}, {"pingping", "exchange"}} {
		t := table{caption: "Multi-" + m[0] + ".", head: "bytes, ranks", columns: each(figure{test: "multi", kase: m[0], measure: m[1]}, fastMem...), ours: "assist-shm"}
		for _, size := range []int64{8, 64 * kb} {
			for _, ranks := range []int{2, 4, 8} {
				t.rows = append(t.rows, row{sizeName(size) + ", " + strconv.Itoa(ranks), func(f figure) figure { return f.at(size).among(ranks) }})
			}
		}
		s.tables = append(s.tables, t)
	}
	return s
}

// shares are the contenders whose latencies have histograms.
var shares = slices.Concat([]string{"assist", "worker", "openmpi", "mpich"}, networkRaw, []string{"raw-go-conn", "raw-go-hold"})

func histogramSection() section {
	f := figure{test: "histogram", measure: "half-rtt", stat: median}
	s := section{
		title: "How latencies are distributed",
		prose: "After McMPI: half round trips over loopback TCP. The plots have the share of all in bins of a quarter of an octave.",
		tables: []table{
			{caption: "Half of them take less, in us.", head: "bytes", sizes: []int64{8, 64 * kb}, columns: each(f, shares...), ours: "assist"},
			{caption: "One of 1,000 takes longer, in us.", head: "bytes", sizes: []int64{8, 64 * kb}, columns: each(f.of("p999"), shares...), ours: "assist"},
		},
	}
	for _, size := range []int64{8, 64 * kb} {
		bytes := strconv.FormatInt(size, 10)
		s.plots = append(s.plots, drawing{file: "histogram-" + bytes + ".svg", title: "Half round trips of " + sizeName(size) + " bytes", xlabel: "ns", ylabel: "%", linearY: true,
			columns: each(figure{test: "histogram", kase: bytes, measure: "share"}, shares...)})
	}
	return s
}
