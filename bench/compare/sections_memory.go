//go:build linux

package main

import (
	"slices"
	"strconv"
)

// memorySections are of ranks that share memory: McMPI's thread ranks, and processes.
func memorySections() []section {
	return []section{memoryCurvesSection(), memoryCollectivesSection(), memoryScaleSection()}
}

func memoryCurvesSection() section {
	f := figure{test: "pingpong", measure: "half-rtt"}
	memcpy := column{"memcpy", "limits", figure{test: "limits", kase: "memcpy", measure: "bandwidth", ranks: 1}}
	rates := append(each(f.bandwidth(), allMem...), memcpy)
	return section{
		title: "McMPI, threads and shared memory",
		prose: "Between threads of one process, and between processes of one host. The peers have no thread ranks. Half round trips in us, then throughput in MB/s; " +
			"`memcpy` is one thread copying memory that its caches may hold.",
		tables: []table{
			{head: "bytes", sizes: []int64{1, 8, 64, 512, kb, 4 * kb, 16 * kb, 64 * kb}, columns: each(f, allMem...)},
			{caption: "Throughput:", head: "bytes", sizes: []int64{kb, 4 * kb, 16 * kb, 64 * kb, 256 * kb, mb, 4 * mb, 16 * mb}, columns: rates},
			{caption: "Messages of 8 bytes a second, window 64:", head: "bytes", sizes: []int64{8},
				columns: each(figure{test: "rate", measure: "rate"}, allMem...)},
			{caption: "Overlap of an exchange, in % as OSU defines it:", head: "bytes", sizes: large,
				columns: each(figure{test: "overlap", kase: "exchange", measure: "overlap", stat: median}, allMem...)},
		},
		plots: []drawing{
			{file: "pingpong-memory.svg", title: "Ping-pong in memory, half round trip", xlabel: "bytes", ylabel: "us", columns: each(f, allMem...)},
			{file: "throughput-memory.svg", title: "Ping-pong throughput in memory", xlabel: "bytes", ylabel: "MB/s", columns: rates},
		},
	}
}

func memoryCollectivesSection() section {
	s := section{
		title: "Collectives in memory",
		prose: "The slowest rank's time in us, of two ranks and of four, on the same cores.",
	}
	for _, kase := range blockingCollectives {
		t := table{caption: "`" + kase + "`:", head: "bytes", sizes: []int64{8, 64 * kb, mb}}
		if kase == "barrier" {
			t.head, t.sizes = "", []int64{0}
		}
		for _, ranks := range []int{2, 4} {
			columns := each(figure{test: "coll", kase: kase, measure: "time", ranks: ranks}, fastMem...)
			for i := range columns {
				columns[i].title += ", " + strconv.Itoa(ranks) + " ranks"
			}
			t.columns = append(t.columns, columns...)
		}
		s.tables = append(s.tables, t)
	}
	return s
}

func memoryScaleSection() section {
	s := section{
		title: "Many ranks on few cores",
		prose: "A ring in which all ranks send at once: microseconds of all cores per message of 8 bytes. First the median repetition, each as long as it was at the rank where it was longest; " +
			"ranks that share a core take turns, so that few repetitions of each rank are long. Then the whole ring, without that.",
	}
	f := figure{test: "scale", kase: "ring"}
	for _, ranks := range []int{2, 16, 64} {
		columns := slices.Concat(fastMem, fastTCP)
		if ranks == 64 {
			columns = append([]string{"threads", "assist-shm"}, fastTCP...)
		}
		s.tables = append(s.tables,
			table{caption: strconv.Itoa(ranks) + " ranks, median repetition:", head: "bytes", sizes: []int64{8}, columns: each(f.of("per-message").among(ranks), columns...)},
			table{caption: strconv.Itoa(ranks) + " ranks, the whole ring:", head: "bytes", sizes: []int64{8}, columns: each(f.of("mean-per-message").among(ranks), columns...)})
	}
	return s
}
