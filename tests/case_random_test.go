package tests

import (
	"flag"
	"os"
	"strconv"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	envSeed  = "FITMPI_TESTS_SEED"
	envSeeds = "FITMPI_TESTS_SEEDS"
)

// The seeds are the same each time, so that a failure of the suite is one that comes again; for a longer run:
//
//	go test ./tests -run TestSuite -case random -seed 1000 -seeds 100
var (
	seedFlag  = flag.Uint64("seed", numberOf(envSeed, 1), "of the first random program; 0 takes another one each time")
	seedsFlag = flag.Uint64("seeds", numberOf(envSeeds, 2), "how many random programs to run on each communicator, of seeds that follow each other")
)

// programLimit ends a program that hangs; none takes nearly as long.
const programLimit = 30 * time.Second

func numberOf(env string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return otherwise
}

var randomCases = []testCase{
	{name: "random/programs", section: "3, 6",
		sentence: "Point-to-point and collective operations of any mix give what a sequential execution of the program gives.",
		run:      randomPrograms},
}

func randomPrograms(t *T, c *mpi.Comm) {
	first := []uint64{*seedFlag}
	if first[0] == 0 {
		first[0] = uint64(time.Now().UnixNano())
	}
	t.must(mpi.Bcast(c, first, 0))
	for k := range *seedsFlag {
		runProgram(t, c, first[0]+k)
	}
}
