//go:build linux

package main

// overlapSections are of what is hidden behind computation, and of what it costs.
func overlapSections() []section {
	exchange := figure{test: "overlap", kase: "exchange", stat: median}
	return []section{
		lateSection(),
		savedSection("An exchange over a 1 Gbit/s link", "The link leaves the cores free while it is busy.", "overlap-1G.svg", exchange.on(link1G), "assist", allTCP),
		savedSection("An exchange over loopback TCP", "Loopback has no network: the cores that compute copy the messages, so that there is little to hide them behind.",
			"overlap-loopback.svg", exchange, "assist", allTCP),
		savedSection("An exchange in memory", "As over loopback, the cores that compute copy.", "overlap-memory.svg", exchange, "assist-shm", allMem),
		savedCollectivesSection(),
		workerSection(),
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
		return table{caption: caption, head: "bytes", sizes: sizes, columns: each(fig, names...), ours: "assist"}
	}
	return section{
		title: "Send and Recv with a partner that computes",
		prose: "FiTMPI, Figures 5 to 7. The partner computes for 100 ms. What takes 100 ms waited for it; what takes less did not.",
		tables: []table{
			tableOf("Figures 5 and 6: time in `Send`, us, while the receiver computes before its `Recv`.", send),
			tableOf("Time in `Recv`, us, while the sender computes after its `Isend`.", recv.with("sender-computes")),
			tableOf("Figure 7: time in `Recv`, us, of a message that arrived while the receiver computed.", recv.with("arrived")),
		},
		plots: []drawing{
			plotOf("send-late-receiver.svg", "Time in Send, receiver 100 ms late (FiTMPI Fig. 5, 6)", send),
			plotOf("recv-sender-computes.svg", "Time in Recv while the sender computes", recv.with("sender-computes")),
			plotOf("recv-arrived.svg", "Time in Recv of an arrived message (FiTMPI Fig. 7)", recv.with("arrived")),
		},
	}
}

// Captions of tables of what overlap saves.
const (
	aloneCaption = "The exchange alone, us."
	savedCaption = "Time saved, us, and in % of the exchange alone: of the exchange and as much computing one after the other, " +
		"each undisturbed, less both together. Below 0, overlap costs time."
)

// savedColumns are two for each contender: the time saved, and its share.
func savedColumns(fig figure, names []string) []column {
	var columns []column
	for _, c := range each(fig.of(savedTime), names...) {
		title := c.title
		c.title += ", us"
		columns = append(columns, c, columnOf(title+", %", c.contender, fig.of(savedShare)))
	}
	return columns
}

func savedSection(title, prose, file string, fig figure, ours string, names []string) section {
	return section{
		title: title, prose: prose,
		tables: []table{
			{caption: aloneCaption, head: "bytes", sizes: large, columns: each(fig.of("pure"), names...), ours: ours},
			{caption: savedCaption, head: "bytes", sizes: large, columns: savedColumns(fig, names)},
		},
		plots: []drawing{{file: file, title: "Time saved by overlap: " + lower(title), xlabel: "bytes", ylabel: "% of the exchange alone", linearY: true,
			columns: each(fig.of(savedShare), names...)}},
	}
}

func savedCollectivesSection() section {
	f := figure{test: "overlap", stat: median}
	pure := table{caption: "The collective alone, us.", head: "what, bytes", columns: each(f.of("pure"), fastTCP...), ours: "assist"}
	saved := table{caption: "Time saved, us, and in % of the collective alone.", head: "what, bytes", columns: savedColumns(f, fastTCP)}
	for _, kase := range nonblockingCollectives {
		sizes := []int64{64 * kb, mb, 4 * mb}
		if kase == "ibarrier" {
			sizes = []int64{0}
		}
		for _, size := range sizes {
			r := row{"`" + kase + "`" + choose(size == 0, "", ", "+sizeName(size)), func(f figure) figure { return f.with(kase).at(size) }}
			pure.rows, saved.rows = append(pure.rows, r), append(saved.rows, r)
		}
	}
	return section{
		title: "Nonblocking collectives over loopback TCP", prose: "Two ranks, with computation between the call and `Wait` that takes as long as the collective alone.",
		tables: []table{pure, saved},
	}
}

// workerSection is of what it costs to have something that moves messages meanwhile.
func workerSection() section {
	slow := figure{test: "slowdown"}
	threads := []string{"assist", "worker", "openmpi-thread", "mpich-async"}
	wakeup := figure{test: "wakeup", size: 8}
	return section{
		title: "What a progress thread costs",
		prose: "A rank that sleeps uses the processor for its library alone. Loops of 10 ms in registers and of walks through 64 MiB of memory are " +
			"timed without a job, with one that is idle, and while messages of 1 MiB arrive.",
		tables: []table{
			{head: "", columns: each(slow, threads...), rows: []row{
				{"an idle rank, % of a core", func(f figure) figure { return f.of("idle-cpu") }},
			}},
			{caption: "Milliseconds of the loop.", head: "", columns: each(slow, threads...), rows: []row{
				{"registers, no job", func(f figure) figure { return f.with("compute").of("alone") }},
				{"registers, idle job", func(f figure) figure { return f.with("compute").of("idle") }},
				{"registers, messages arrive", func(f figure) figure { return f.with("compute").of("moving").at(mb) }},
				{"memory, no job", func(f figure) figure { return f.with("memory").of("alone") }},
				{"memory, idle job", func(f figure) figure { return f.with("memory").of("idle") }},
				{"memory, messages arrive", func(f figure) figure { return f.with("memory").of("moving").at(mb) }},
			}},
			{caption: "From sending a message until a goroutine sees it that looks every 5 us, every core computing, us.", head: "", columns: each(wakeup, fitTCP...), rows: []row{
				{"half of the messages", func(f figure) figure { return f.of("p50") }},
				{"99 of 100", func(f figure) figure { return f.of("p99") }},
			}},
		},
	}
}
