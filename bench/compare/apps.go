//go:build linux

package main

import (
	"strconv"
	"time"
)

// The applications are programs of examples/ and the same programs in C (bench/peers/apps). Each
// run is a job that does the same computation some times, and says each time what came out.

// application is one of them, with its arguments, to which -time is added.
type application struct {
	name            string
	args, quick     string
	size, quickSize int64 // of its rows
	hasOverlap      bool  // it does everything with overlap and without, by turns
}

// applications have sizes for which one rank needs 0.1 to 0.2 s.
var applications = []application{
	{"heat2d", "-size 512 -steps 400", "-size 64 -steps 10", 512, 64, true},
	{"cg", "-grid 48", "-grid 12", 48, 12, true},
	{"fft3d", "-n 64", "-n 16", 64, 16, false},
	{"samplesort", "-n 500000 -input scattered", "-n 5000 -input scattered", 500000, 5000, false},
	{"kmeans", "-points 100000 -iterations 10", "-points 3000 -iterations 5", 100000, 3000, true},
}

// Contenders of the applications: policy caller is the single-threaded library of the FiTMPI paper,
// assist and worker are the multi-threaded one.
var (
	appTCP = []string{"app-st", "app-mt", "app-worker", "app-openmpi", "app-mpich"}
	appShm = []string{"app-st-shm", "app-mt-shm", "app-worker-shm", "app-openmpi-shm", "app-mpich-shm"}
)

// applicationContenders are all that run applications, the matrix product too.
func applicationContenders() []*contender {
	var list []*contender
	for _, transport := range []string{"tcp", "shm"} {
		end := map[string]string{"shm": "-shm"}[transport]
		list = append(list,
			goApplication(fitmpi("app-st"+end, "st", "caller", transport)),
			goApplication(fitmpi("app-mt"+end, "mt", "assist", transport)),
			goApplication(fitmpi("app-worker"+end, "mt worker", "worker", transport)))
	}
	return append(list,
		cApplication(openmpi("app-openmpi", "Open MPI", "none")),
		cApplication(openmpiShm("app-openmpi-shm", "Open MPI")),
		cApplication(mpich("app-mpich", "MPICH", "none")),
		cApplication(mpichShm("app-mpich-shm", "MPICH")),
		mixedMatmul())
}

// goApplication makes c run the example that is named like the test.
func goApplication(c *contender) *contender {
	c.program, c.args = []string{"{bin}/{test}"}, nil
	c.env = []string{"FITMPI_PROGRESS=" + c.policy}
	return answering(c)
}

// cApplication makes c run its twin.
func cApplication(c *contender) *contender {
	c.program, c.args = []string{"{peers}/" + c.peer + "/apps", "{test}"}, nil
	return answering(c)
}

func answering(c *contender) *contender {
	c.hasOneTest, c.answers = true, true
	c.output = c.parseTimes
	return c
}

// How often a job does its computation. MPICH and Open MPI take long where ranks have no core each.
const (
	manyTimes = " -time 4"
	fewTimes  = " -time 2"
)

// applicationExperiments are strong scaling: the same problem on 1, 2 and 4 ranks.
func applicationExperiments() []*experiment {
	var list []*experiment
	for _, a := range applications {
		for _, where := range []struct {
			name       string
			ranks      int
			network    network
			contenders []string
		}{
			{"1", 1, loopback, appTCP},
			{"2", 2, loopback, appTCP},
			{"4", 4, loopback, appTCP},
			{"memory-2", 2, loopback, appShm},
			{"memory-4", 4, loopback, appShm},
			{"1G", 2, link1G, appTCP},
		} {
			list = append(list, &experiment{
				name: "apps-" + a.name + "-" + where.name, test: a.name, contenders: where.contenders,
				args: a.args + choose(where.ranks > 2, fewTimes, manyTimes), quick: a.quick + fewTimes,
				network: where.network, ranks: where.ranks, repeats: 1, seconds: choose(a.hasOverlap, 1.4, 0.8), timeout: 40 * time.Second,
			})
		}
	}
	return list
}

// mixedScript starts rank 1 under an emulator of a machine with the other order of bytes.
const mixedScript = `[ "$FITMPI_RANK" = 1 ] && exec qemu-s390x-static {bin}/s390x/matmul "$@"
exec {bin}/matmul "$@"`

// mixedMatmul is a master and workers of two kinds. It is there to show that they work together:
// what it measures is the emulator.
func mixedMatmul() *contender {
	c := goApplication(fitmpi("matmul-mixed", "one worker emulated (s390x)", "assist", "tcp"))
	c.program = []string{"sh", "-c", mixedScript, "mixed"}
	return c
}

// The matrix product of the PMPI paper: A has these rows and 1200 columns, B a tenth of the paper's
// 500 columns or so, so that the largest product takes a worker a few seconds. With fewer columns
// there is more to send for each operation than in the paper.
const (
	matmulArgs  = "-rows 2400,4800,9600,19200 -width 120 -time 1"
	matmulQuick = "-rows 200,400 -width 12 -time 1"
	mixedArgs   = "-rows 240 -width 60 -time 1"
	mixedMark   = "@emulated"
)

// matmulContenders are those of the PMPI paper: ours, and MPICH.
var matmulContenders = []string{"app-mt", "app-mpich"}

func matmulExperiments() []*experiment {
	var list []*experiment
	add := func(e *experiment) {
		e.test, e.repeats, e.timeout = "matmul", 1, 2*time.Minute
		list = append(list, e)
	}
	for workers := 1; workers <= 4; workers++ {
		add(&experiment{name: "matmul-" + strconv.Itoa(workers), args: matmulArgs, quick: matmulQuick, ranks: workers + 1, seconds: 6,
			contenders: matmulContenders})
	}
	// Beside the mixed job the same with one worker and with two, all of this machine.
	for ranks := 2; ranks <= 3; ranks++ {
		add(&experiment{name: "matmul-small-" + strconv.Itoa(ranks-1), args: mixedArgs, quick: mixedArgs, ranks: ranks, seconds: 0.5,
			contenders: []string{"app-mt"}})
	}
	for ranks := 2; ranks <= 3; ranks++ {
		add(&experiment{name: "matmul-mixed-" + strconv.Itoa(ranks-1), args: mixedArgs, quick: mixedArgs, ranks: ranks, seconds: 8,
			contenders: []string{"matmul-mixed"}, mark: mixedMark})
	}
	return list
}

// applicationPrograms are the packages in examples that the experiments run.
func applicationPrograms() []string {
	list := []string{"./examples/matmul"}
	for _, a := range applications {
		list = append(list, "./examples/"+a.name)
	}
	return list
}
