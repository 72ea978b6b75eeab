package tests

import (
	"testing"

	"github.com/fitmpi/fitmpi/tests/internal/coverage/testdata/fake/mpi"
)

type testCase struct {
	name, section string
	run           func(c *mpi.Comm)
}

var cases = []testCase{
	{name: "errors/all", section: "9.4", run: errors},
	{name: "collective/all", section: "6.4-6.8", run: func(c *mpi.Comm) { var m mover = bytes[int8]{}; m.move(c) }},
	{name: "another/chapter", section: "3.2", run: func(c *mpi.Comm) { mpi.Bcast(c, []int{1}) }},
	{name: "reduce scatter block/sums", section: "6.10", run: sums},
}

type mover interface{ move(c *mpi.Comm) }

type bytes[T any] struct{}

func (bytes[T]) move(c *mpi.Comm) { mpi.Bcast(c, []T{}) }

func (bytes[T]) send(c *mpi.Comm) { mpi.ReduceScatter(c, []T{}) }

func errors(c *mpi.Comm) {
	mpi.Send(c, []int{1})
	mpi.Bcast(c, []int{1})
	mpi.ReduceScatterBlock(c, []int{1})
	c.Free()
}

func sums(c *mpi.Comm) { indirect(c); bytes[int8]{}.send(c) }

func indirect(c *mpi.Comm) { mpi.ReduceScatterBlock(c, operands) }

var operands = []int{mpi.Pair[int]{First: 1}.Second}

// TestSuite runs all: it proves nothing in particular.
func TestSuite(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(nil) })
	}
}

func TestFreeOfRequests(t *testing.T) { new(mpi.Incoming).Free() }

// BenchmarkRecv is no proof.
func BenchmarkRecv(b *testing.B) { mpi.Recv(nil, []int{1}) }

// programs are main functions of processes.
var programs = map[string]func(){}

func init() { programs["named"] = namedRank }

func namedRank() { mpi.Bare() }

func TestProcess(t *testing.T) { start("named") }

func start(name string) { programs[name]() }
