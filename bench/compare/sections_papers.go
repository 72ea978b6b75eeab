//go:build linux

package main

import "slices"

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
		return columnOf("`"+map[string]string{"isend": "Isend", "wait-send": "Wait", "wait-recv": "Wait"}[measure]+"` "+kind, contender, wait.of(measure))
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
		receiver.columns = append(receiver.columns, columnOf("kept "+p[1]+" %", p[0], wait.of("kept-recv")))
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

func logpSection() section {
	f := figure{test: "logp"}
	names := []string{"assist", "worker", "caller"}
	var columns []column
	for _, m := range []string{"os", "or", "osb", "orb"} {
		for _, name := range names {
			columns = append(columns, columnOf(m+" "+name, name, f.of(m)))
		}
	}
	var ways []column
	for _, m := range []string{"one-way", "model"} {
		for _, name := range names {
			ways = append(ways, columnOf(m+" "+name, name, f.of(m)))
		}
	}
	var link []column
	for _, m := range []string{"os", "or", "L", "one-way", "model"} {
		link = append(link, columnOf(m, "assist", f.on(link1G).of(m)))
	}
	var slow []column
	for _, name := range []string{"assist", "caller"} {
		for _, m := range []string{"os", "or", "osb", "orb", "L", "one-way", "model"} {
			slow = append(slow, columnOf(m+" "+name, name, f.on(link100M).of(m)))
		}
	}
	var constants []column
	for _, m := range []string{"L", "gs", "gr"} {
		for _, name := range names {
			constants = append(constants, columnOf(m+" "+name, name, f.of(m)))
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
			{caption: "Over a link of 100 Mbit/s, as the paper's:", head: "bytes", sizes: logpSizes, columns: slow},
			{head: "bytes", sizes: logpSizes, columns: []column{columnOf("G assist", "assist", f.of("G")), columnOf("G worker", "worker", f.of("G")), columnOf("G caller", "caller", f.of("G"))}},
		},
		plots: []drawing{{file: "logp.svg", title: "Overheads of the extended LogP model, FitMPI", xlabel: "bytes", ylabel: "us", columns: columns[:12:12]}},
	}
}

var logpSizes = []int64{8, 64, 512, kb, 4 * kb, 16 * kb, 64 * kb, 256 * kb, mb}

func rawSection() section {
	f := figure{test: "pingpong", measure: "half-rtt", asRate: true}
	names := slices.Concat([]string{"assist", "openmpi", "mpich"}, rawTCP, []string{"netpipe"})
	var sweep []column
	for _, limit := range eagerLimits {
		sweep = append(sweep, columnOf(limit, "assist", f.with("@"+limit)))
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
	s := section{
		title: "MPI.NET, the abstraction penalty",
		prose: "Half round trips in us: bytes given to the engine itself (`raw`), and through the typed interface. Then allocations of an operation.",
	}
	for _, w := range [][2]string{{"assist", "TCP"}, {"assist-shm", "shared memory"}, {"threads", "threads of a process"}} {
		var columns []column
		for _, kase := range []string{"raw", "bytes", "float64", "struct", "recvnew", "object", "objectnew"} {
			columns = append(columns, columnOf(kase, w[0], f.with(kase)))
		}
		if s.plots == nil {
			s.plots = []drawing{{file: "penalty.svg", title: "Abstraction penalty, half round trip", xlabel: "bytes", ylabel: "us", columns: columns}}
		}
		s.tables = append(s.tables, table{caption: "Over " + w[1] + ".", head: "bytes", sizes: []int64{8, 64, kb, 4 * kb, 16 * kb, 64 * kb, mb}, columns: columns})
	}
	s.tables = append(s.tables,
		table{head: "", columns: []column{columnOf("allocations", "assist", figure{test: "alloc", measure: "allocs", size: 8})}, rows: allocRows()})
	return s
}

func allocRows() []row {
	var rows []row
	for _, kase := range []string{"send-recv", "isend-irecv", "persistent", "recvnew", "object", "barrier", "bcast", "allreduce", "iallreduce"} {
		rows = append(rows, row{kase, func(f figure) figure { return f.with(kase) }})
	}
	return rows
}

func limitsSection() section {
	f := figure{test: "limits", ranks: 1}
	sizes := []int64{kb, 4 * kb, 16 * kb, 64 * kb, 256 * kb, mb, 4 * mb, 16 * mb, 64 * mb}
	return section{
		title: "What this machine can do",
		prose: "Copying memory within one thread, in MB/s; a system call in ns; round trips between two threads by a futex, an eventfd and a pipe, and a switch between threads, in us.",
		tables: []table{
			{head: "bytes", sizes: sizes, columns: []column{columnOf("memcpy", "limits", f.with("memcpy").of("bandwidth"))}},
			{head: "", sizes: []int64{0}, columns: []column{
				columnOf("system call", "limits", f.with("syscall").of("time")),
				columnOf("futex", "limits", f.with("futex").of("round-trip").among(2)),
				columnOf("eventfd", "limits", f.with("eventfd").of("round-trip").among(2)),
				columnOf("pipe", "limits", f.with("pipe").of("round-trip").among(2)),
				columnOf("context switch", "limits", f.with("context-switch").of("switch").among(2)),
			}},
		},
	}
}
