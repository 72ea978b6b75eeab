//go:build linux

package main

import (
	"slices"
	"strconv"
)

// Figures that several sections and headlines share.
var (
	halfRoundTrip = figure{test: "pingpong", measure: "half-rtt"}
	streaming     = figure{test: "bw", measure: "bandwidth"}
	shortRate     = figure{test: "rate", measure: "rate"}
)

var (
	shortSizes = []int64{1, 8, 64, 512, kb, 4 * kb, 16 * kb, 64 * kb}
	longSizes  = []int64{kb, 4 * kb, 16 * kb, 64 * kb, 128 * kb, 256 * kb, 512 * kb, mb, 4 * mb, 16 * mb}
)

// pairSections are of two ranks that send to each other.
func pairSections() []section {
	return []section{pairsTCPSection(), pairsMemorySection(), orderSection()}
}

func pairsTCPSection() section {
	pingping := figure{test: "pingping", measure: "exchange"}
	curves := []string{"assist", "worker", "caller", "openmpi", "openmpi-thread", "mpich", "raw-spin-cubic"}
	tcp := slices.Concat(everyTCP, []string{"raw-spin", "raw-block"})
	throughput := slices.Concat(fastTCP, rawTCP)
	return section{
		title: "Over TCP",
		prose: "Over loopback. In plots, points are first sextiles; bars go from the minimum to the second sextile.",
		tables: []table{
			{caption: "Latency: half a round trip, in us.", head: "bytes", sizes: shortSizes, columns: each(halfRoundTrip, tcp...), ours: "assist"},
			{caption: "Bandwidth of a ping-pong, in MB/s.", head: "bytes", sizes: longSizes, columns: each(halfRoundTrip.bandwidth(), throughput...), ours: "assist"},
			{caption: "Bandwidth of a stream, window of 64 messages (16 from 1 MiB), in MB/s.", head: "bytes",
				sizes: []int64{8, 64, kb, 8 * kb, 64 * kb, mb, 4 * mb}, columns: each(streaming, slices.Concat(allTCP, rawTCP)...), ours: "assist"},
			{caption: "Messages a second, window of 64.", head: "bytes", sizes: []int64{8}, columns: each(shortRate, allTCP...), ours: "assist"},
			{caption: "Both ranks send at once and then receive, in us.", head: "bytes", sizes: slices.Concat(shortSizes, []int64{mb, 16 * mb}),
				columns: each(pingping, fastTCP...), ours: "assist"},
		},
		plots: []drawing{
			{file: "pingpong-tcp.svg", title: "Ping-pong over TCP, half round trip", xlabel: "bytes", ylabel: "us", columns: each(halfRoundTrip, curves...)},
			{file: "pingping-tcp.svg", title: "Ping-ping over TCP", xlabel: "bytes", ylabel: "us", columns: each(pingping, fastTCP...)},
		},
	}
}

func pairsMemorySection() section {
	memcpy := columnOf("memcpy", "limits", figure{test: "limits", kase: "memcpy", measure: "bandwidth", ranks: 1})
	rates := append(each(halfRoundTrip.bandwidth(), allMem...), memcpy)
	return section{
		title: "In memory",
		prose: "Between processes of one host, and for FitMPI between ranks that are threads of one process, which the peers do not have. " +
			"`memcpy` is one thread copying memory that its caches may hold.",
		tables: []table{
			{caption: "Latency: half a round trip, in us.", head: "bytes", sizes: shortSizes, columns: each(halfRoundTrip, allMem...), ours: "assist-shm"},
			{caption: "Bandwidth of a ping-pong, in MB/s.", head: "bytes", sizes: longSizes, columns: rates, ours: "assist-shm"},
			{caption: "Messages a second, window of 64.", head: "bytes", sizes: []int64{8}, columns: each(shortRate, allMem...), ours: "assist-shm"},
		},
		plots: []drawing{
			{file: "pingpong-memory.svg", title: "Ping-pong in memory, half round trip", xlabel: "bytes", ylabel: "us", columns: each(halfRoundTrip, allMem...)},
			{file: "throughput-memory.svg", title: "Ping-pong throughput in memory", xlabel: "bytes", ylabel: "MB/s", columns: rates},
		},
	}
}

// orders are the cases of test match.
var orders = [][2]string{
	{"unexpected-inorder", "messages wait, taken in order"}, {"unexpected-reverse", "messages wait, taken in reverse"},
	{"posted-inorder", "receives wait, sent in order"}, {"posted-reverse", "receives wait, sent in reverse"},
}

func orderSection() section {
	f := figure{test: "match", measure: "per-message"}
	t := table{caption: "Nanoseconds a message, by how many messages or receives wait.", head: "what, how many", columns: each(f, fastTCP...), ours: "assist"}
	var curves []column
	for _, o := range orders {
		for _, depth := range []int64{45, 1000, 10000} {
			t.rows = append(t.rows, row{o[1] + ", " + strconv.FormatInt(depth, 10), func(f figure) figure { return f.with(o[0]).at(depth) }})
		}
		for _, c := range each(f.with(o[0]), fastTCP...) {
			c.title = o[0] + ", " + c.title
			curves = append(curves, c)
		}
	}
	return section{
		title:  "Matching: tags in order and in reverse order",
		prose:  "After the McMPI thesis, which has 45 of them.",
		tables: []table{t},
		plots:  []drawing{{file: "match.svg", title: "Cost of matching", xlabel: "messages that wait", ylabel: "ns per message", columns: curves[:6:6]}},
	}
}
