//go:build linux

package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// experiment is one test with its arguments, on one network, for several contenders.
type experiment struct {
	name       string // unique
	test       string // of METHOD.md
	args       string
	quick      string // arguments with -quick, instead of args
	contenders []string
	network    network
	ranks      int           // 0: 2
	env        []string      // NAME=VALUE for all contenders
	mark       string        // added to the case of its rows
	cores      []int         // on which each of two ranks is put; nil: as the launcher does it
	repeats    int           // at most so often; 0: as often as -repeats says
	seconds    float64       // about how long a run takes
	timeout    time.Duration // 0: a minute
	wall       bool          // not its rows count, but how long the job takes
	suite      string        // a program that it needs from the directory of -suites; empty: none
}

func (e *experiment) ranksOf() int { return cmp.Or(e.ranks, 2) }

// times is how often the experiment is run when everything else is run so often.
func (e *experiment) times(repeats int) int {
	if e.repeats == 0 {
		return repeats
	}
	return min(e.repeats, repeats)
}

func (e *experiment) arguments(quick bool) []string {
	return strings.Fields(choose(quick, e.quick, e.args))
}

// gives reports whether the experiment measures the figure.
func (e *experiment) gives(fig figure) bool {
	kase, mark, isMarked := strings.Cut(fig.kase, "@")
	if isMarked != (e.mark != "") || isMarked && "@"+mark != e.mark {
		return false
	}
	if words := strings.Fields(e.args); slices.Contains(words, "-case") && words[slices.Index(words, "-case")+1] != kase {
		return false
	}
	if e.wall != (fig.kase == wallCase) {
		return false
	}
	ofAll := e.test == "limits" // of one thread and of two, in one run
	return e.test == fig.test && e.network == fig.network && (ofAll || e.ranksOf() == cmp.Or(fig.ranks, 2))
}

// Contenders that several experiments share.
var (
	fitTCP    = []string{"assist", "worker"}
	peersTCP  = []string{"openmpi", "openmpi-thread", "mpich"}
	allTCP    = slices.Concat(fitTCP, peersTCP)
	everyTCP  = slices.Concat(fitTCP, []string{"caller"}, peersTCP)
	singleTCP = slices.Concat([]string{"assist", "caller"}, peersTCP)
	rawTCP    = []string{"raw-spin", "raw-block", "raw-spin-cubic", "raw-block-cubic"}
	rawSolve  = []string{"raw-thread-spin", "raw-thread-block"}
	fastTCP   = []string{"assist", "openmpi", "mpich"}

	peersShm = []string{"openmpi-shm", "mpich-shm"}
	fastShm  = slices.Concat([]string{"assist-shm"}, peersShm)
	fastMem  = slices.Concat([]string{"threads"}, fastShm)
	allMem   = slices.Concat([]string{"threads", "assist-shm", "worker-shm"}, peersShm)
	everyMem = slices.Concat([]string{"threads", "assist-shm", "worker-shm", "caller-shm"}, peersShm)
)

// Arguments that several experiments share.
const (
	fewSizes    = "-sizes 8,64K,1M -iterations 20 -warmup 5"
	quickSizes  = "-sizes 64K,1M -iterations 5 -warmup 2"
	limitedMore = "-sizes 10,1K,10K,64K,256K,1M,4M -iterations 7 -warmup 2"
	limitedLess = "-sizes 10,1K,10K,64K,256K,512K -iterations 6"
)

// Cases of the collectives.
var (
	blockingCollectives    = []string{"barrier", "bcast", "allreduce", "alltoall"}
	nonblockingCollectives = []string{"ibarrier", "ibcast", "ireduce", "iallreduce", "igather", "iscatter", "iallgather", "ialltoall"}
	eagerLimits            = []string{"16K", "32K", "64K", "128K", "256K", "512K", "1M"}
)

// experiments are all there are, in the order in which they run.
func experiments() []*experiment {
	return slices.Concat(solveExperiments(), pairExperiments(), hidingExperiments(), memoryExperiments(), linkExperiments(), networkExperiments(),
		jobExperiments(), pairedExperiments(), paperExperiments(), applicationExperiments(), matmulExperiments(), checkExperiments())
}

// solveExperiments are of the time to solution.
func solveExperiments() []*experiment {
	return slices.Concat(
		inTurns(experiment{name: "solve", contenders: everyTCP},
			// 16K and 4M say little that their neighbours do not.
			turn{"8", "", 5, 0.6}, turn{"64K", "", 3, 1.7}, turn{"256K", "", 3, 2.4}, turn{"1M", "", 3, 2.8}, turn{"16M", "", 2, 4.7}),
		inTurns(experiment{name: "solve-raw", contenders: rawSolve},
			turn{"8", "", 1, 0.6}, turn{"64K", "", 1, 1.7}, turn{"256K", "", 1, 2.4}, turn{"1M", "", 1, 2.8}, turn{"16M", "", 1, 4.7}),
		inTurns(experiment{name: "solve-4", contenders: singleTCP, ranks: 4, timeout: 3 * time.Minute}, // MPICH takes 15 ms for an iteration of 64 KiB
			turn{"8", "", 3, 1.7}, turn{"64K", "", 2, 4}, turn{"1M", "", 2, 5.4}),
		inTurns(experiment{name: "solve-memory", contenders: everyMem},
			turn{"8", "", 5, 0.5}, turn{"64K", "", 3, 1.5}, turn{"256K", "", 3, 2.1}, turn{"1M", "", 3, 2.4}, turn{"16M", "", 2, 4}),
		inTurns(experiment{name: "solve-1G", contenders: slices.Concat(singleTCP, rawSolve), network: link1G},
			turn{"8", " -iterations 1000", 5, 0.4}, turn{"64K", " -iterations 200", 3, 0.6},
			turn{"1M", " -iterations 20", 3, 0.8}, turn{"4M", " -iterations 8", 2, 2}))
}

// turn is one size of messages at which contenders take turns.
type turn struct {
	size, more string // more arguments
	repeats    int    // more for what is over soon, and differs most from run to run
	seconds    float64
}

// inTurns are experiments like one of the time to solution, one for each size: so the quick and the
// slow minutes of a machine do not fall on one contender at all sizes.
func inTurns(like experiment, turns ...turn) []*experiment {
	var list []*experiment
	for _, t := range turns {
		e := like
		e.name, e.test = like.name+"-"+t.size, "solve"
		e.args = "-pace {pace} -sizes " + t.size
		e.quick = e.args + " -iterations 5 -warmup 2"
		e.args += t.more
		e.repeats, e.seconds = t.repeats, t.seconds
		list = append(list, &e)
	}
	return list
}

func pairExperiments() []*experiment {
	tcpAndRaw := slices.Concat(everyTCP, rawTCP)
	return []*experiment{
		{name: "limits", test: "limits", contenders: []string{"limits"}, repeats: 1, seconds: 5},
		{name: "pingpong-tcp", test: "pingpong", quick: fewSizes, contenders: tcpAndRaw, repeats: 3, seconds: 2},
		{name: "pingping-tcp", test: "pingping", quick: fewSizes, contenders: fastTCP, repeats: 2, seconds: 2},
		{name: "bw-tcp", test: "bw", args: "-sizes 8,64,1K,8K,64K,1M,4M", quick: "-sizes 1K,64K,1M -iterations 5 -warmup 1",
			contenders: slices.Concat(allTCP, rawTCP), repeats: 3, seconds: 1},
		{name: "rate-tcp", test: "rate", args: "-iterations 1000", quick: "-iterations 20 -warmup 5", contenders: allTCP, repeats: 4, seconds: 0.5},
		{name: "match", test: "match", args: "-iterations 10", quick: "-sizes 45,1000 -iterations 3", contenders: fastTCP, repeats: 2, seconds: 5},
	}
}

func hidingExperiments() []*experiment {
	list := []*experiment{
		{name: "isend-wait", test: "isend-wait", quick: quickSizes, contenders: everyTCP, repeats: 2, seconds: 1.5},
		{name: "overlap", test: "overlap", args: "-case exchange", quick: "-case exchange " + quickSizes, contenders: allTCP, repeats: 2, seconds: 1.2},
		{name: "send", test: "send", args: "-sizes 1K,64K,256K,1M,16M -iterations 3 -warmup 1", quick: "-sizes 64K,1M -iterations 2 -warmup 1 -late 30ms",
			contenders: everyTCP, repeats: 2, seconds: 6.5},
		{name: "slowdown", test: "slowdown", args: "-iterations 5", quick: "-iterations 2", contenders: []string{"assist", "worker", "openmpi-thread", "mpich-async"},
			repeats: 2, seconds: 9},
		{name: "wakeup", test: "wakeup", quick: "-iterations 2", contenders: fitTCP, repeats: 1, seconds: 5},
	}
	for _, kase := range nonblockingCollectives {
		list = append(list, &experiment{name: "overlap-" + kase, test: "overlap", args: "-case " + kase + " -sizes 64K,1M,4M",
			quick: "-case " + kase + " " + quickSizes, contenders: fastTCP, repeats: 2, seconds: 0.7})
	}
	return list
}

// memoryExperiments are those of ranks that share memory.
func memoryExperiments() []*experiment {
	list := []*experiment{
		{name: "pingpong-memory", test: "pingpong", quick: fewSizes, contenders: allMem, repeats: 3, seconds: 1.2},
		{name: "rate-memory", test: "rate", quick: "-iterations 20 -warmup 5", contenders: allMem, repeats: 3, seconds: 0.3},
		{name: "overlap-memory", test: "overlap", args: "-case exchange -sizes 64K,256K,1M,4M,16M", quick: "-case exchange " + quickSizes,
			contenders: allMem, repeats: 2, seconds: 1.2},
		{name: "isend-wait-memory", test: "isend-wait", quick: quickSizes, contenders: everyMem, repeats: 2, seconds: 1.6},
	}
	for _, kase := range blockingCollectives {
		for _, ranks := range []int{2, 4} {
			list = append(list, &experiment{name: kase + "-memory-" + strconv.Itoa(ranks), test: "coll", ranks: ranks,
				args: "-case " + kase + " -sizes 8,64K,1M -iterations " + choose(ranks == 2, "60", "30"), quick: "-case " + kase + " -sizes 8 -iterations 10",
				contenders: fastMem, repeats: choose(ranks == 2, 3, 2), seconds: choose(ranks == 2, 0.2, 1.1)})
		}
	}
	return append(list,
		&experiment{name: "scale-memory-2", test: "scale", args: "-iterations 2000", quick: "-iterations 5",
			contenders: fastMem, repeats: 3, seconds: 0.3},
		&experiment{name: "scale-memory-16", test: "scale", args: manyTurns, quick: "-iterations 5", ranks: 16,
			contenders: fastMem, repeats: 2, seconds: 2.4},
		&experiment{name: "scale-memory-64", test: "scale", args: manyTurns, quick: "-iterations 5", ranks: 64,
			contenders: []string{"threads", "assist-shm"}, repeats: 2, seconds: 2},
		&experiment{name: "job-memory-64", test: "scale", args: "-iterations 1 -warmup 0", quick: "-iterations 1 -warmup 0", ranks: 64, wall: true,
			contenders: fastShm, repeats: 2, seconds: 4})
}

func linkExperiments() []*experiment {
	single := []string{"assist", "worker", "caller"}
	peers := []string{"openmpi", "openmpi-thread", "mpich"}
	return []*experiment{
		{name: "isend-wait-100M", test: "isend-wait", args: limitedLess, quick: "-sizes 1K,64K -iterations 3", network: link100M,
			contenders: slices.Concat(single, peers), repeats: 2, seconds: 3.3},
		{name: "isend-wait-1G", test: "isend-wait", args: limitedMore, quick: "-sizes 1K,64K -iterations 3", network: link1G,
			contenders: slices.Concat(single, peers), repeats: 2, seconds: 3.5},
		{name: "overlap-1G", test: "overlap", args: "-case exchange -sizes 64K,256K,1M,4M -iterations 10 -warmup 2",
			quick: "-case exchange -sizes 64K -iterations 3", network: link1G, contenders: slices.Concat(fitTCP, peers), repeats: 2, seconds: 3.5},
	}
}

// manyTurns are those of a ring of more ranks than there are cores. A turn takes from some 10
// microseconds to 100 milliseconds, by library; the first few milliseconds are slower in each.
const manyTurns = "-iterations 20000 -warmup 20"

func jobExperiments() []*experiment {
	var list []*experiment
	for _, kase := range blockingCollectives {
		list = append(list,
			&experiment{name: kase + "-2", test: "coll", args: "-case " + kase + " -sizes 8,64K,1M",
				quick: "-case " + kase + " " + fewSizes, contenders: fastTCP, repeats: 3, seconds: 0.5},
			&experiment{name: kase + "-4", test: "coll", args: "-case " + kase + " -sizes 8,1M -iterations 30", ranks: 4,
				quick: "-case " + kase + " -sizes 8 -iterations 10", contenders: fastTCP, repeats: 2, seconds: 2.2})
	}
	for _, n := range []struct {
		ranks   int
		args    string
		seconds float64
	}{{2, "-iterations 2000", 1}, {16, manyTurns, 3}, {64, manyTurns, 5}} {
		list = append(list, &experiment{name: "scale-" + strconv.Itoa(n.ranks), test: "scale", args: n.args,
			quick: "-iterations 5", ranks: n.ranks, contenders: fastTCP, repeats: choose(n.ranks == 2, 3, 2), seconds: n.seconds})
	}
	return append(list,
		&experiment{name: "job-64", test: "scale", args: "-iterations 1 -warmup 0", quick: "-iterations 1 -warmup 0", ranks: 64, wall: true,
			contenders: fastTCP, repeats: 2, seconds: 5},
		&experiment{name: "alloc", test: "alloc", contenders: []string{"assist"}, repeats: 1, seconds: 3},
		&experiment{name: "penalty", test: "penalty", quick: fewSizes, contenders: []string{"assist"}, repeats: 1, seconds: 9})
}

// paperExperiments are those that only the papers ask for.
func paperExperiments() []*experiment {
	list := []*experiment{
		{name: "logp", test: "logp", contenders: []string{"assist", "worker", "caller"}, repeats: 1, seconds: 4},
		{name: "logp-1G", test: "logp", args: "-sizes 8,4K,64K", quick: "-sizes 8 -iterations 5", network: link1G, contenders: []string{"assist"}, repeats: 1, seconds: 4},
		{name: "netpipe", test: "pingpong", quick: "-u 1024", contenders: []string{"netpipe"}, args: "-u 4194304", repeats: 1, seconds: 16},
	}
	for _, limit := range eagerLimits {
		list = append(list, &experiment{name: "threshold-" + limit, test: "pingpong",
			args: "-sizes 8K,16K,32K,64K,96K,128K,192K,256K,384K,512K,768K,1M,2M,4M", quick: quickSizes, contenders: []string{"assist"},
			env: []string{"FITMPI_EAGER_MAX=" + limit}, mark: "@" + limit, repeats: 2, seconds: 1})
	}
	return list
}
