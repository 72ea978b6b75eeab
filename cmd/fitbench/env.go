//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/mpi"
)

// test is one benchmark. Every rank calls run with the same options.
type test struct {
	name     string
	about    string
	minRanks int
	sizes    []int // default of -sizes, in bytes; of match the depths
	run      func(e *env) error
}

// tests are all benchmarks, in the order of the help text.
func tests() []test {
	return slices.Concat(pairTests(), hidingTests(), jobTests(), paperTests())
}

// Sizes that several tests share.
var (
	latencySizes = []int{1, 8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20}
)

// env is what a test gets: the job and the options, and where its results go.
type env struct {
	ctx   context.Context
	world *mpi.Comm
	rank  int
	ranks int
	opt   *options
	test  string
	way   string // transport of the rows
	rows  []bench.Row
	news  *progress
}

// runTest runs the test that opt names and writes its rows at rank 0.
func runTest(ctx context.Context, world *mpi.Comm, opt *options, stdout io.Writer) error {
	t := opt.test
	if world.Size() < t.minRanks {
		return fmt.Errorf("test %s needs %d ranks or more, this job has %d: start it with fitrun -n %d or give -ranks %d",
			t.name, t.minRanks, world.Size(), t.minRanks, t.minRanks)
	}
	e := &env{ctx: ctx, world: world, rank: world.Rank(), ranks: world.Size(), opt: opt, test: t.name, way: transport(world), news: newProgress(opt.stderr)}
	defer e.news.clear()
	if err := t.run(e); err != nil {
		return err
	}
	if e.rank != 0 {
		return nil
	}
	e.news.clear()
	return opt.write(stdout, e.rows)
}

// transport names how messages travel between this rank and the others, as rows say
// it; the rows that count are those of rank 0.
func transport(world *mpi.Comm) string {
	name := ""
	for r := range world.Size() {
		way := world.Transport(r)
		if known, ok := transports[way]; ok {
			way = known
		}
		switch {
		case r == world.Rank() && world.Size() > 1:
		case name == "":
			name = way
		case name != way:
			return "mixed"
		}
	}
	return name
}

// transports are the names that rows have for those of package mpi, where they differ.
var transports = map[string]string{"shared": "shm", "thread": "threads"}

// sizes are the sizes to measure.
func (e *env) sizes() []int {
	if len(e.opt.sizes) > 0 {
		return e.opt.sizes
	}
	return e.opt.test.sizes
}

// report adds a row at this rank: xs are the measurements, which it sorts. Only
// the rows of rank 0 are written; see gather for measurements of other ranks.
func (e *env) report(kase string, size int, measure, unit string, xs []float64) {
	e.rows = append(e.rows, bench.Row{
		Test: e.test, Peer: "fitmpi", Transport: e.way, Policy: e.opt.policy, Ranks: e.ranks,
		Case: kase, Size: int64(size), Measure: measure, Unit: unit,
		Summary: bench.Summarise(xs, bench.HigherIsBetter(unit)),
	})
	if e.rank == 0 {
		e.news.show(fmt.Sprintf("%s %s %d %s", e.test, kase, size, measure))
	}
}

// cases are those of all cases of the test that are to be measured: all, or the one
// that -case names.
func (e *env) cases(all ...string) ([]string, error) {
	switch {
	case e.opt.kase == "":
		return all, nil
	case slices.Contains(all, e.opt.kase):
		return []string{e.opt.kase}, nil
	case len(all) == 0:
		return nil, fmt.Errorf("test %s has no cases: leave -case out", e.test)
	}
	return nil, fmt.Errorf("test %s has no case %q: choose one of %s", e.test, e.opt.kase, strings.Join(all, ", "))
}

// gather gives rank 0 the measurements of rank from; every rank of the two calls
// it, and rank 0 gets them, the other gets nil.
func (e *env) gather(from int, xs []float64) ([]float64, error) {
	if from == 0 {
		return xs, nil
	}
	switch e.rank {
	case from:
		return nil, mpi.Send(e.world, xs, 0, resultTag)
	case 0:
		xs, _, err := mpi.RecvNew[float64](e.world, from, resultTag)
		return xs, err
	}
	return nil, nil
}

// Tags of fitbench's own messages, apart from those of the measured ones.
const (
	dataTag   = 1
	ackTag    = 2
	syncTag   = 3
	resultTag = 4
)

// sync lets ranks 0 and 1 start together: both have entered it when it returns,
// and rank 0 returns last but by one message's time.
func (e *env) sync() error {
	var b [1]byte
	if e.rank == 0 {
		if err := mpi.Send(e.world, b[:], 1, syncTag); err != nil {
			return err
		}
		_, err := mpi.Recv(e.world, b[:], 1, syncTag)
		return err
	}
	if _, err := mpi.Recv(e.world, b[:], 0, syncTag); err != nil {
		return err
	}
	return mpi.Send(e.world, b[:], 0, syncTag)
}

// iterations is how often to repeat a measurement with messages of this size, and
// warmup how often before that without measuring.
func (e *env) iterations(size int) int {
	if e.opt.iterations > 0 {
		return e.opt.iterations
	}
	return bench.Repetitions(size)
}

func (e *env) warmup(size int) int {
	if e.opt.warmup >= 0 {
		return e.opt.warmup
	}
	return max(e.iterations(size)/10, 5)
}

// series is how often to measure, and how often before that without measuring, what
// takes as long as share messages of this size.
func (e *env) series(size, share int) (n, warmup int) {
	if n = e.opt.iterations; n == 0 {
		n = max(e.iterations(size)/share, 20)
	}
	if warmup = e.opt.warmup; warmup < 0 {
		warmup = max(n/10, 5)
	}
	return n, warmup
}

const pageSize = 4096

// apart is how many bytes what different ranks write must be apart when they are threads of one
// process: the processor moves lines of 64 bytes between cores, and fetches them in pairs.
const apart = 128

// buffer makes a buffer of n bytes, every byte written, that starts at a page if it is as long as
// one, and shares no line with another. The allocator aligns what is as long as a power of two to
// that length, and what is long to pages.
func buffer(n int) []byte {
	room := max(n, apart)
	if n >= pageSize && n < 16*pageSize {
		room = 1 << bits.Len(uint(n-1))
	}
	b := make([]byte, room)[:n]
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

var epoch = time.Now()

// now is the time in nanoseconds since some moment of this process.
func now() int64 { return int64(time.Since(epoch)) }

// micros is the time since start, in microseconds.
func micros(start int64) float64 { return float64(now()-start) / 1e3 }
