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

// The seeds are the same each time, so that a failure of the suite is one that comes again; for a
// longer run:
//
//	go test ./tests -run TestSuite -case random -seed 1000 -seeds 100
var (
	seedFlag  = flag.Uint64("seed", numberOf(envSeed, 1), "of the first random program; 0 takes another one each time")
	seedsFlag = flag.Uint64("seeds", numberOf(envSeeds, 2), "how many random programs to run on each communicator, of seeds that follow each other")
)

// programLimit ends a program that hangs; none takes nearly as long.
const programLimit = 2 * time.Minute

func numberOf(env string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(env), 10, 64); err == nil {
		return n
	}
	return otherwise
}

var randomCases = []testCase{
	{name: "random/programs", section: "3, 6",
		sentence: "Point-to-point and collective operations of any mix give what a sequential execution of the program gives.",
		run:      programsOf("random/programs", randomTables)},
	{name: "random/neighbourhoods", section: "8.6, 8.7, 8.8", world: true,
		sentence: "Neighbourhood collectives of any form on any topology move along each edge what its source gives.",
		run:      programsOf("random/neighbourhoods", mostly(neighbourOps))},
	{name: "random/intercommunicators", section: "7.6, 6.2.3", min: 2, world: true,
		sentence: "Messages and collectives between any two groups bring each what the other one gives.",
		run:      programsOf("random/intercommunicators", mostly(interOps))},
	{name: "random/layouts", section: "5.1", world: true,
		sentence: "Whatever layouts both ends have, the values arrive in the order of the type map, and between them nothing changes.",
		run:      programsOf("random/layouts", mostly(layoutOps))},
	{name: "random/partitions", section: "4.2", world: true,
		sentence: "Partitions of any number at both ends, made ready in any order by any threads, bring each round's whole message.",
		run:      programsOf("random/partitions", mostly(partitionOps))},
	{name: "random/cancellations and errors", section: "3.8.4, 9.3", world: true,
		sentence: "What is cancelled is either withdrawn or delivered, an error has the class of its cause, and what goes on beside is not disturbed.",
		run:      programsOf("random/cancellations and errors", [][]randomOp{cancelOps, errorOps, letterOps})},
	{name: "random/communicators", section: "7.4", world: true,
		sentence: "Communicators made in any way of any others have their members in order, and what goes on in each stays there.",
		run:      programsOf("random/communicators", mostly(familyOps))},
}

// programsOf runs programs of operations of some tables, as the case of that name.
func programsOf(name string, tables [][]randomOp) func(t *T, c *mpi.Comm) {
	return func(t *T, c *mpi.Comm) {
		first := []uint64{*seedFlag}
		if first[0] == 0 {
			first[0] = uint64(time.Now().UnixNano())
		}
		t.must(mpi.Bcast(c, first, 0))
		for k := range *seedsFlag {
			runProgram(t, c, name, tables, first[0]+k)
		}
	}
}
