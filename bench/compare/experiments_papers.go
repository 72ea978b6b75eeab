//go:build linux

package main

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Contenders of the experiments below.
var (
	networkMPI = []string{"assist", "openmpi", "mpich"}
	networkRaw = []string{"raw-spin-cubic", "raw-block-cubic"}
	networkAll = slices.Concat(networkMPI, networkRaw, []string{"raw-go-conn", "raw-go-hold"})
	bestMem    = []string{"threads", "assist-shm", "openmpi-shm"}
)

// sockbufs are the sizes of socket buffers that are tried.
var sockbufs = []string{"16K", "64K", "256K", "1M"}

// networkExperiments are what MP_Lite and McMPI were measured with on networks.
func networkExperiments() []*experiment {
	const quick = "-sizes 8,64K -iterations 3 -warmup 1"
	list := slices.Concat(sockbufExperiments(link1G, "-1G"), []*experiment{
		{name: "pingpong-1G", test: "pingpong", args: "-sizes 8,1K,16K,64K,256K,1M,4M -iterations 20 -warmup 3", network: link1G,
			contenders: networkAll, repeats: 2, seconds: 2.3},
		{name: "bw-1G", test: "bw", args: "-sizes 1K,64K,1M -iterations 8 -warmup 2", network: link1G, contenders: networkAll, repeats: 1, seconds: 1.8},
		{name: "duplex-1G", test: "duplex", args: "-sizes 8,64K,1M -iterations 20 -warmup 3", network: link1G,
			contenders: slices.Concat(networkMPI, networkRaw), repeats: 2, seconds: 1.2},
		{name: "netpipe-1G", test: "pingpong", args: "-n 10 -u 1048576", network: link1G, contenders: []string{"netpipe"}, repeats: 1, seconds: 5},
		{name: "pingpong-100M", test: "pingpong", args: "-sizes 8,1K,64K,256K -iterations 10 -warmup 3", network: link100M,
			contenders: networkAll, repeats: 1, seconds: 0.9},
		{name: "bw-100M", test: "bw", args: "-sizes 1K,64K -window 16 -iterations 6 -warmup 1", network: link100M, contenders: networkAll,
			repeats: 1, seconds: 0.8},
		{name: "duplex-100M", test: "duplex", args: "-sizes 8,64K -iterations 10 -warmup 2", network: link100M,
			contenders: slices.Concat(networkMPI, networkRaw), repeats: 2, seconds: 0.5},
		{name: "netpipe-100M", test: "pingpong", args: "-n 10 -u 65536", network: link100M, contenders: []string{"netpipe"}, repeats: 1, seconds: 4},
		{name: "logp-100M", test: "logp", args: "-sizes 8,1K,16K -iterations 100", network: link100M,
			contenders: []string{"assist", "caller"}, repeats: 1, seconds: 6},
	})
	for _, e := range list {
		switch {
		case e.contenders[0] == "netpipe":
			e.quick = "-n 3 -u 1024"
		case e.quick == "":
			e.quick = quick
		}
	}
	return list
}

// sockbufExperiments sweep the socket buffers, of FitMPI and of a plain program.
func sockbufExperiments(n network, suffix string) (list []*experiment) {
	const args, quick = "-sizes 64K,1M -iterations 15 -warmup 3", "-sizes 64K -iterations 3 -warmup 1"
	for _, size := range sockbufs {
		list = append(list,
			&experiment{name: "sockbuf" + suffix + "-" + size, test: "pingpong", args: args, quick: quick, network: n, contenders: []string{"assist"},
				env: []string{"FITMPI_SOCKET_BUFFER=" + size}, mark: "@sockbuf-" + size, repeats: 2, seconds: 0.6},
			&experiment{name: "sockbuf" + suffix + "-raw-" + size, test: "pingpong", args: args + " -sockbuf " + size, quick: quick + " -sockbuf " + size,
				network: n, contenders: []string{"raw-block-cubic"}, mark: "@sockbuf-" + size, repeats: 2, seconds: 0.6})
	}
	return list
}

// pairedExperiments are the other ones of McMPI and FiTMPI, without a link.
func pairedExperiments() []*experiment {
	const quick = "-sizes 8,64K -iterations 3 -warmup 1"
	list := slices.Concat(sockbufExperiments(loopback, ""), affinityExperiments(), []*experiment{
		{name: "pingpong-go", test: "pingpong", args: "-sizes 8,1K,64K,1M", contenders: rawGo, repeats: 2, seconds: 0.8},
		{name: "bw-go", test: "bw", args: "-sizes 8,1K,64K,1M", contenders: rawGo, repeats: 2, seconds: 0.5},
		{name: "duplex-tcp", test: "duplex", args: "-sizes 8,1K,64K,1M", contenders: slices.Concat(networkMPI, networkRaw), repeats: 2, seconds: 1.2},
		{name: "duplex-memory", test: "duplex", args: "-sizes 8,1K,64K,1M", contenders: fastMem, repeats: 2, seconds: 0.6},
		{name: "pingpong-any-tcp", test: "pingpong", args: "-any -sizes 8,1K,64K", quick: "-any " + quick, contenders: networkMPI, repeats: 2, seconds: 0.4},
		{name: "pingpong-any-memory", test: "pingpong", args: "-any -sizes 8,1K,64K", quick: "-any " + quick, contenders: fastMem, repeats: 2, seconds: 0.3},
		{name: "queued-tcp", test: "queued", args: "-sizes 8,1K,64K,1M -iterations 100", contenders: networkMPI, repeats: 2, seconds: 0.6},
		{name: "queued-memory", test: "queued", args: "-sizes 8,1K,64K,1M -iterations 100", contenders: fastMem, repeats: 2, seconds: 0.4},
		{name: "histogram-tcp", test: "histogram", contenders: shares, repeats: 1, seconds: 0.4},
		{name: "bsend", test: "bsend", args: "-sizes 1K,64K,512K,1M -late 20ms -iterations 4 -warmup 1", quick: "-sizes 1K,1M -late 10ms -iterations 2 -warmup 1",
			contenders: everyTCP, repeats: 2, seconds: 1.2},
		{name: "types-tcp", test: "types", args: "-sizes 8,1K,64K,1M -iterations 60", contenders: networkMPI, repeats: 2, seconds: 0.9},
		{name: "types-memory", test: "types", args: "-sizes 8,1K,64K,1M -iterations 60", contenders: fastMem, repeats: 2, seconds: 0.7},
		{name: "penalty-memory", test: "penalty", args: "-transport auto -sizes 8,1K,64K,1M -iterations 300", quick: "-transport auto " + quick,
			contenders: []string{"threads", "assist-shm"}, repeats: 2, seconds: 3},
	})
	for _, ranks := range []int{2, 4, 8} {
		list = append(list, &experiment{name: fmt.Sprintf("multi-memory-%d", ranks), test: "multi", ranks: ranks, args: "-sizes 8,64K -iterations 100",
			contenders: choose(ranks > 2, bestMem, fastMem), repeats: 2, seconds: choose(ranks > 2, 0.8, 0.2)})
	}
	for _, e := range list {
		if e.quick == "" {
			e.quick = quick
		}
	}
	return list
}

// affinityExperiments put the two ranks on each pair of cores, also both on one.
func affinityExperiments() (list []*experiment) {
	for _, pair := range corePairs(sys.AllowedCPUs()) {
		name := fmt.Sprintf("cores-%d-%d", pair[0], pair[1])
		list = append(list, &experiment{name: name, test: "pingpong", args: "-sizes 8,64K -iterations 50 -warmup 5", quick: "-sizes 8 -iterations 3",
			contenders: networkMPI, cores: pair[:], mark: "@" + name, repeats: 2, seconds: 0.4})
	}
	return list
}

// mostCores is how many cores take part in pairs of them.
const mostCores = 4

// corePairs are the pairs of cores, of more than mostCores of them those of as many, from the first
// to the last.
func corePairs(cores []int) (pairs [][2]int) {
	var some []int
	n := min(len(cores), mostCores)
	for i := range n {
		some = append(some, cores[i*(len(cores)-1)/max(n-1, 1)])
	}
	for i, a := range some {
		for _, b := range some[i:] {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}
