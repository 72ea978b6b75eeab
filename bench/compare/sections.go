//go:build linux

package main

import "slices"

// section regenerates what one of the papers measured.
type section struct {
	title  string
	prose  string
	tables []table
	plots  []drawing
}

// table has a row for each size at which one of its columns was measured.
type table struct {
	caption string
	head    string // of the first column
	sizes   []int64
	columns []column
}

// column is one contender's figure; the size comes from the row.
type column struct {
	title     string
	contender string
	fig       figure
}

// drawing is a plot with curves over all sizes that were measured.
type drawing struct {
	file, title, xlabel, ylabel string
	linearY                     bool
	columns                     []column
}

func sections() []section {
	return slices.Concat(
		[]section{fitmpiTable("over loopback", "loopback", loopback, policiesTCP), fitmpiTable("over a 100 Mbit/s link, the paper's network", "100M", link100M, policiesTCP),
			fitmpiTable("over a 1 Gbit/s link", "1G", link1G, policiesTCP), fitmpiTable("over shared memory", "memory", loopback, policiesMemory)},
		[]section{lateSection(), logpSection(), strictSection(), orderSection(), curvesSection(), rawSection()},
		memorySections(),
		[]section{penaltySection(), matmulSection(), limitsSection()},
	)
}

// drawings are the plots of all sections.
func drawings() []drawing {
	var list []drawing
	for _, s := range sections() {
		list = append(list, s.plots...)
	}
	return list
}

// each is a column of the figure for each contender, titled by it.
func each(fig figure, names ...string) []column {
	all := byName(contenders())
	var columns []column
	for _, name := range names {
		columns = append(columns, column{all[name].title, name, fig})
	}
	return columns
}

// Contenders of FiTMPI's Table 1, and what its columns call them.
var (
	policiesTCP = [][2]string{{"caller", "st"}, {"worker", "mt worker"}, {"assist", "mt assist"}, {"openmpi", "Open MPI"},
		{"openmpi-thread", "Open MPI thread"}}
	policiesMemory = [][2]string{{"caller-shm", "st"}, {"worker-shm", "mt worker"}, {"assist-shm", "mt assist"}, {"threads", "threads"},
		{"openmpi-shm", "Open MPI"}, {"mpich-shm", "MPICH"}}
)

func fitmpiTable(where, short string, n network, policies [][2]string) section {
	wait := figure{test: "isend-wait", stat: median, network: n}
	of := func(measure, contender, kind string) column {
		return column{"`" + map[string]string{"isend": "Isend", "wait-send": "Wait", "wait-recv": "Wait"}[measure] + "` " + kind, contender, wait.of(measure)}
	}
	sender := table{caption: "Sender, median microseconds:", head: "bytes", sizes: table1}
	receiver := table{caption: "Receiver, median microseconds, and the part of its computing speed that it keeps:", head: "bytes", sizes: table1}
	for _, measure := range []string{"isend", "wait-send"} {
		for _, p := range policies {
			sender.columns = append(sender.columns, of(measure, p[0], p[1]))
		}
	}
	for _, p := range policies {
		receiver.columns = append(receiver.columns, of("wait-recv", p[0], p[1]))
	}
	for _, p := range policies {
		receiver.columns = append(receiver.columns, column{"kept " + p[1] + " %", p[0], wait.of("kept-recv")})
	}
	var names []string
	for _, p := range policies {
		names = append(names, p[0])
	}
	if !slices.Contains(names, "mpich-shm") {
		names = append(names, "mpich")
	}
	return section{
		title: "FiTMPI, Table 1, " + where,
		prose: "Both ranks compute between `Isend` or `Irecv` and `Wait`, for longer than the transfer takes. " +
			"`st` is the single-threaded library (policy `caller`), `mt` the multi-threaded one (`worker`, `assist`).",
		tables: []table{sender, receiver},
		plots: []drawing{{file: "wait-" + short + ".svg", title: "Wait of the receiver after computing, " + where, xlabel: "bytes", ylabel: "us",
			columns: each(wait.of("wait-recv"), names...)}},
	}
}

func lateSection() section {
	send := figure{test: "send", kase: "late-receiver", measure: "send"}
	recv := figure{test: "send", measure: "recv"}
	names := []string{"caller", "worker", "assist", "openmpi", "openmpi-thread", "mpich"}
	sizes := []int64{kb, 16 * kb, 64 * kb, 256 * kb, 512 * kb, mb, 16 * mb}
	plotOf := func(file, title string, fig figure) drawing {
		return drawing{file: file, title: title, xlabel: "bytes", ylabel: "us", columns: each(fig, names...)}
	}
	tableOf := func(caption string, fig figure) table {
		return table{caption: caption, head: "bytes", sizes: sizes, columns: each(fig, names...)}
	}
	return section{
		title: "FiTMPI, Figures 5 to 7: time in Send and Recv with partners that are late",
		prose: "A partner is late because it computes for 100 ms. `Send` should cost a copy while the library buffer has room, " +
			"and `Recv` of a message that has arrived a copy too.",
		tables: []table{
			tableOf("Figures 5 and 6, time in `Send` with a late receiver, us:", send),
			tableOf("Figure 7, time in `Recv` of a message that arrived while the receiver computed, us:", recv.with("arrived")),
			tableOf("Time in `Recv` while the sender computes after its `Isend`, us:", recv.with("sender-computes")),
			tableOf("Time in `Recv` when the sender computes before its `Send`, us:", recv.with("late-sender")),
		},
		plots: []drawing{
			plotOf("send-late-receiver.svg", "Time in Send, receiver 100 ms late (FiTMPI Fig. 5, 6)", send),
			plotOf("recv-arrived.svg", "Time in Recv of an arrived message (FiTMPI Fig. 7)", recv.with("arrived")),
			plotOf("recv-sender-computes.svg", "Time in Recv while the sender computes", recv.with("sender-computes")),
		},
	}
}

func logpSection() section {
	f := figure{test: "logp"}
	names := []string{"assist", "worker", "caller"}
	var columns []column
	for _, m := range []string{"os", "or", "osb", "orb"} {
		for _, name := range names {
			columns = append(columns, column{m + " " + name, name, f.of(m)})
		}
	}
	var ways []column
	for _, m := range []string{"one-way", "model"} {
		for _, name := range names {
			ways = append(ways, column{m + " " + name, name, f.of(m)})
		}
	}
	var link []column
	for _, m := range []string{"os", "or", "L", "one-way", "model"} {
		link = append(link, column{m, "assist", f.on(link1G).of(m)})
	}
	var constants []column
	for _, m := range []string{"L", "gs", "gr"} {
		for _, name := range names {
			constants = append(constants, column{m + " " + name, name, f.of(m)})
		}
	}
	return section{
		title: "FiTMPI, the extended LogP model",
		prose: "`os` and `or` are what a message costs the host, `osb` and `orb` what a buffered one costs the computing thread, `L` the latency, " +
			"`gs` and `gr` the gaps between small messages, all in us, and `G` the gap per byte in ns. `one-way` is half a round trip, " +
			"`model` what the model predicts for it: `os + L + or` of the smallest message, and `G` for each further byte. Over loopback the sender's system call does the receiver's part too: the overheads overlap, and `L` is 0.",
		tables: []table{
			{head: "bytes", sizes: logpSizes, columns: columns},
			{head: "bytes", sizes: logpSizes, columns: constants},
			{head: "bytes", sizes: logpSizes, columns: ways},
			{caption: "Over a link of 1 Gbit/s:", head: "bytes", sizes: logpSizes, columns: link},
			{head: "bytes", sizes: logpSizes, columns: []column{{"G assist", "assist", f.of("G")}, {"G worker", "worker", f.of("G")}, {"G caller", "caller", f.of("G")}}},
		},
		plots: []drawing{{file: "logp.svg", title: "Overheads of the extended LogP model, FitMPI", xlabel: "bytes", ylabel: "us", columns: columns[:12:12]}},
	}
}

var logpSizes = []int64{8, 64, 512, kb, 4 * kb, 16 * kb, 64 * kb, 256 * kb, mb}

func strictSection() section {
	f := figure{test: "overlap", kase: "exchange", measure: "overlap", stat: median}
	names := []string{"assist", "worker", "openmpi", "openmpi-thread"}
	return section{
		title: "Overlap of an exchange",
		prose: "Over loopback both cores copy, so that an exchange cannot be hidden behind computation on both; a link of limited rate leaves the cores free and is strict.",
		plots: []drawing{
			{file: "overlap-loopback.svg", title: "Overlap of an exchange, loopback", xlabel: "bytes", ylabel: "%", linearY: true,
				columns: each(f, append(slices.Clone(names), "mpich")...)},
			{file: "overlap-1G.svg", title: "Overlap of an exchange, 1 Gbit/s link", xlabel: "bytes", ylabel: "%", linearY: true, columns: each(f.on(link1G), names...)},
		},
	}
}

func orderSection() section {
	f := figure{test: "match", measure: "per-message"}
	var columns []column
	for _, kase := range []string{"unexpected-inorder", "unexpected-reverse", "posted-inorder", "posted-reverse"} {
		for _, c := range each(f.with(kase), "assist", "openmpi", "mpich") {
			c.title = kase + ", " + c.title
			columns = append(columns, c)
		}
	}
	return section{
		title:  "McMPI, tags in order and in reverse order",
		prose:  "Nanoseconds per message, by the number of messages or receives that wait. The thesis has 45 of them.",
		tables: []table{{head: "depth", sizes: []int64{45, 1000, 10000}, columns: columns}},
		plots:  []drawing{{file: "match.svg", title: "Cost of matching", xlabel: "messages that wait", ylabel: "ns per message", columns: columns[:6:6]}},
	}
}

func curvesSection() section {
	pingpong := figure{test: "pingpong", measure: "half-rtt"}
	pingping := figure{test: "pingping", measure: "exchange"}
	tcp := []string{"assist", "worker", "caller", "openmpi", "openmpi-thread", "mpich", "raw-spin-cubic"}
	return section{
		title: "McMPI, ping-pong and ping-ping",
		prose: "Points are first sextiles; bars go from the minimum to the second sextile.",
		plots: []drawing{
			{file: "pingpong-tcp.svg", title: "Ping-pong over TCP, half round trip", xlabel: "bytes", ylabel: "us", columns: each(pingpong, tcp...)},
			{file: "pingping-tcp.svg", title: "Ping-ping over TCP", xlabel: "bytes", ylabel: "us", columns: each(pingping, fastTCP...)},
		},
	}
}

func rawSection() section {
	f := figure{test: "pingpong", measure: "half-rtt", asRate: true}
	names := slices.Concat([]string{"assist", "openmpi", "mpich"}, rawTCP, []string{"netpipe"})
	var sweep []column
	for _, limit := range eagerLimits {
		sweep = append(sweep, column{limit, "assist", f.with("@" + limit)})
	}
	sizes := []int64{kb, 4 * kb, 16 * kb, 64 * kb, 128 * kb, 256 * kb, 512 * kb, mb, 4 * mb, 16 * mb}
	sweepSizes := []int64{8 * kb, 16 * kb, 32 * kb, 64 * kb, 96 * kb, 128 * kb, 192 * kb, 256 * kb, 384 * kb, 512 * kb, 768 * kb, mb, 2 * mb, 4 * mb}
	return section{
		title: "MPICH over MP_Lite: throughput against raw TCP, and the threshold",
		prose: "Ping-pong throughput in MB/s. The second table and plot have FitMPI with `FITMPI_EAGER_MAX` from 16K to 1M: no curve should dip behind its threshold.",
		tables: []table{
			{head: "bytes", sizes: sizes, columns: each(f, names...)},
			{caption: "By `FITMPI_EAGER_MAX`:", head: "bytes", sizes: sweepSizes, columns: sweep},
		},
		plots: []drawing{
			{file: "throughput.svg", title: "Ping-pong throughput over TCP", xlabel: "bytes", ylabel: "MB/s", columns: each(f, names...)},
			{file: "threshold.svg", title: "Ping-pong throughput by FITMPI_EAGER_MAX", xlabel: "bytes", ylabel: "MB/s", linearY: true, columns: sweep},
		},
	}
}

func penaltySection() section {
	f := figure{test: "penalty", measure: "half-rtt"}
	var columns []column
	for _, kase := range []string{"raw", "bytes", "float64", "struct", "recvnew", "object", "objectnew"} {
		columns = append(columns, column{kase, "assist", f.with(kase)})
	}
	return section{
		title:  "MPI.NET, the abstraction penalty",
		prose:  "Half round trips in us: bytes given to the engine itself (`raw`), and through the typed interface.",
		tables: []table{{head: "bytes", sizes: []int64{8, 64, kb, 4 * kb, 16 * kb, 64 * kb, mb}, columns: columns}},
		plots:  []drawing{{file: "penalty.svg", title: "Abstraction penalty, half round trip", xlabel: "bytes", ylabel: "us", columns: columns}},
	}
}

func matmulSection() section {
	f := figure{test: "matmul", measure: "time"}
	return section{
		title: "PMPI, matrix product",
		prose: "A (n x 1200) times B (1200 x 500) with [examples/matmul](../examples/matmul), wall time in ms. One rank computes by itself; of two, one hands out the work and one computes.",
		tables: []table{{head: "n", sizes: []int64{240, 2400, 4800}, columns: []column{
			{"1 rank", "matmul-1", f.among(1)}, {"2 ranks", "matmul-2", f.among(2)}}}},
	}
}

func limitsSection() section {
	f := figure{test: "limits", ranks: 1}
	sizes := []int64{kb, 4 * kb, 16 * kb, 64 * kb, 256 * kb, mb, 4 * mb, 16 * mb, 64 * mb}
	return section{
		title: "What this machine can do",
		prose: "Copying memory within one thread, in MB/s; a system call in ns; round trips between two threads by a futex, an eventfd and a pipe, and a switch between threads, in us.",
		tables: []table{
			{head: "bytes", sizes: sizes, columns: []column{{"memcpy", "limits", f.with("memcpy").of("bandwidth")}}},
			{head: "", sizes: []int64{0}, columns: []column{
				{"system call", "limits", f.with("syscall").of("time")},
				{"futex", "limits", f.with("futex").of("round-trip").among(2)},
				{"eventfd", "limits", f.with("eventfd").of("round-trip").among(2)},
				{"pipe", "limits", f.with("pipe").of("round-trip").among(2)},
				{"context switch", "limits", f.with("context-switch").of("switch").among(2)},
			}},
		},
	}
}
