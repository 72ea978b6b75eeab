//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// The collectives by each of their algorithms, which FITMPI_COLL forces.

// algorithms are those that FITMPI_COLL knows, by collective.
var algorithms = []struct{ kind, names string }{
	{"barrier", "dissemination, linear, two-level"},
	{"bcast", "binomial, chain, scatter-allgather, scatter-ring, two-level"},
	{"reduce", "binomial, rabenseifner, two-level"},
	{"allreduce", "linear, recursive-doubling, rabenseifner, ring, two-level"},
	{"scan", "recursive-doubling, chain"},
	{"exscan", "recursive-doubling"},
	{"reduce-scatter", "recursive-halving, ring"},
	{"gather", "binomial, linear, two-level"},
	{"scatter", "binomial, linear, two-level"},
	{"allgather", "recursive-doubling, bruck, ring, two-level"},
	{"alltoall", "bruck, pairwise, linear"},
}

// choices are values of FITMPI_COLL that together force every algorithm of every collective.
func choices() []string {
	var all []string
	for i := 0; ; i++ {
		var pairs []string
		more := false
		for _, k := range algorithms {
			algs := strings.Split(k.names, ", ")
			pairs = append(pairs, k.kind+"="+algs[i%len(algs)])
			more = more || i < len(algs)
		}
		if !more {
			return all
		}
		all = append(all, strings.Join(pairs, ","))
	}
}

// eachChoice calls f for every choice, and what is to stand behind each, over n ranks of one host
// and, for the algorithms that ask, of two.
func eachChoice(t *testing.T, and string, sizes []int, f func(t *testing.T, n int)) {
	for i, choice := range choices() {
		t.Run(fmt.Sprint("choice ", i), func(t *testing.T) {
			t.Logf("FITMPI_COLL=%s", choice+and)
			t.Setenv("FITMPI_COLL", choice+and)
			for _, n := range sizes {
				t.Run(fmt.Sprint(n), func(t *testing.T) { f(t, n) })
				if n == 3 || n == 5 {
					t.Run(fmt.Sprint(n, " on two hosts"), func(t *testing.T) {
						t.Setenv("FITMPI_CLIQUES", "2")
						f(t, n)
					})
				}
			}
		})
	}
}

func TestChoicesAreAll(t *testing.T) {
	all := strings.Join(choices(), ",") + ","
	var kinds []string
	for _, k := range algorithms {
		kinds = append(kinds, k.kind)
		for a := range strings.SplitSeq(k.names, ", ") {
			if !strings.Contains(all, k.kind+"="+a+",") {
				t.Errorf("nothing forces %s by %s", k.kind, a)
			}
		}
		wantRefusal(t, k.kind+"=none", "want one of auto, "+k.names)
	}
	wantRefusal(t, "none=ring", "want one of "+strings.Join(append(kinds, "segment"), ", "))
}

// wantRefusal sees to it that a value of FITMPI_COLL is refused with a list of what there is; the
// line of the call follows it.
func wantRefusal(t *testing.T, choice, list string) {
	t.Helper()
	t.Setenv("FITMPI_COLL", choice)
	err := mpi.RunThreads(1, func(context.Context, *mpi.Comm) error { return nil })
	if err == nil || !strings.Contains(err.Error(), list+" (") {
		t.Errorf("FITMPI_COLL=%s: %v, want an error that lists %q, and nothing more", choice, err, list)
	}
}

// The cases of the suite that move data collectively hold by every algorithm.
func TestSuiteAlgorithms(t *testing.T) {
	cases := slices.Concat(collectiveCases, reductionCases, collectiveFormCases, persistentCollCases[2:3], layoutCollCases[:3], layoutFormCases)
	suiteByChoice(t, "", []int{1, 2, 3, 4, 5}, cases, shareOfChoices(effort.Now()))
}

// shortSegments is what FITMPI_COLL ends in where reductions go by many segments.
const shortSegments = ",segment=1500"

// Those that combine, and random programs, hold when vectors go by many segments, too.
func TestSuiteSegments(t *testing.T) {
	cases := slices.Concat(reductionCases, collectiveFormCases, persistentCollCases[2:3], layoutCollCases, layoutFormCases, randomCases[:1], randomCases[3:4])
	suiteByChoice(t, shortSegments, []int{2, 3, 5}, cases, shareOfChoices(effort.Now()))
}

// shareOfChoices is the part of the cases that each algorithm with each number of ranks runs: one
// in so many.
func shareOfChoices(level effort.Level) int {
	switch {
	case raceEnabled, level == effort.Usual:
		return 24
	case level == effort.Short:
		return 96
	case level < effort.Night:
		return 12
	}
	return 1
}

// suiteByChoice runs one in share of the cases by ranks that are threads, by every algorithm with
// every number of ranks: each takes up where the one before it has stopped.
func suiteByChoice(t *testing.T, and string, sizes []int, cases []testCase, share int) {
	turn := 0
	eachChoice(t, and, sizes, func(t *testing.T, n int) {
		o, dir := newOutcomes(n), t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
		defer cancel()
		err := mpi.RunThreadsContext(ctx, n, func(ctx context.Context, world *mpi.Comm) error {
			world.SetErrhandler(mpi.ErrorsReturn)
			for i, tc := range cases {
				if (i+turn)%share != 0 || !tc.fits("world", n, n) {
					continue
				}
				o.begin(world.Rank(), tc.name)
				rt := &T{Ctx: ctx, Rank: world.Rank(), Size: n, Policy: "assist", Dir: filepath.Join(dir, fmt.Sprint(i))}
				ok := rt.runCase(tc, world)
				o.add(world.Rank(), result{Case: tc.name, Kind: "world", Failures: rt.failures})
				if !ok {
					return fmt.Errorf("case %s: %s", tc.name, strings.Join(rt.failures, "; "))
				}
			}
			return nil
		})
		turn++
		o.tell(t, err)
	})
}

// What is chosen is what runs: an operation that shows in which order it was applied, though it is
// declared to commute.
func TestChoiceTakesEffect(t *testing.T) {
	digits := mpi.Commutative(func(acc, in []int64) {
		for i := range acc {
			acc[i] = acc[i]*10 + in[i]
		}
	})
	sum := func(choice string) (out []int64) {
		t.Setenv("FITMPI_COLL", choice)
		err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
			in := slices.Repeat([]int64{int64(c.Rank() + 1)}, 3)
			got := make([]int64, 3)
			err := mpi.Allreduce(c, in, got, digits)
			if c.Rank() == 0 {
				out = got
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if a, b := sum(""), sum("allreduce=recursive-doubling"); !slices.Equal(a, b) {
		t.Errorf("short vectors: %v by choice, %v by recursive doubling", a, b)
	}
	if a, b := sum("allreduce=recursive-doubling"), sum("allreduce=ring"); slices.Equal(a, b) || b[0] == b[1] {
		t.Errorf("recursive doubling combines in the order %v, a ring in the order %v", a, b)
	}
}

// MPI 4.1, 6.9.1: the same result is obtained whenever the function is applied on the same
// arguments, appearing in the same order. Here to the last bit, whenever ranks come, by every
// algorithm, in all forms, in place or not.
func TestSameBitsEveryRun(t *testing.T) {
	sizes := []int{3, 4, 5}
	if effort.Now() < effort.Full || raceEnabled {
		sizes = []int{5}
	}
	eachChoice(t, "", sizes, func(t *testing.T, n int) {
		b := newBits()
		for range 2 {
			err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
				for range 3 {
					if err := b.reductions(c); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// bits holds the first result of each reduction at each rank. Safe for concurrent use.
type bits struct {
	mu    sync.Mutex
	first map[string][]float64 // guarded by mu
}

func newBits() *bits { return &bits{first: map[string][]float64{}} }

// same compares a result with the first of its name.
func (b *bits) same(rank int, name string, got []float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(name, " at rank ", rank)
	want, ok := b.first[key]
	if !ok {
		b.first[key] = slices.Clone(got)
		return nil
	}
	for i := range got {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			return fmt.Errorf("%s: element %d is %x, was %x", key, i, got[i], want[i])
		}
	}
	return nil
}

// jitter lets other ranks get ahead, or not.
func jitter() {
	for range rand.IntN(20) {
		runtime.Gosched()
	}
	if rand.IntN(8) == 0 {
		time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
	}
}

// reductions does every reduction in a form chosen by chance, alike at every rank of c.
func (b *bits) reductions(c *mpi.Comm) error {
	p, me := c.Size(), c.Rank()
	how := []int{rand.IntN(1 << 20)}
	if err := mpi.Bcast(c, how, 0); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(how[0]), 1))
	for _, n := range []int{1, 100, 6000} {
		values := rand.New(rand.NewPCG(uint64(me), uint64(n)))
		operand := make([]float64, n*p)
		for i := range operand {
			operand[i] = math.Ldexp(values.Float64()-0.5, values.IntN(60))
		}
		for _, r := range reductionsOf(c, n) {
			in := slices.Clone(operand[:r.length])
			out := make([]float64, r.length)
			if rng.IntN(2) == 0 {
				out = in
			}
			jitter()
			if err := carryOut(rng.IntN(3), r, in, out); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if err := b.same(me, fmt.Sprint(r.name, " of ", n), out[:r.result]); err != nil {
				return err
			}
		}
	}
	return nil
}

// sumOf is one reduction of float64s by sum.
type sumOf struct {
	name           string
	length, result int // of the operand, and of the result at this rank
	block          func(in, out []float64) error
	start, init    func(in, out []float64) *mpi.Request
}

func reductionsOf(c *mpi.Comm, n int) []sumOf {
	p, me, op := c.Size(), c.Rank(), mpi.Op[float64](mpi.Sum[float64])
	atRoot, notFirst := 0, n
	if me == p-1 {
		atRoot = n
	}
	if me == 0 {
		notFirst = 0
	}
	counts := slices.Repeat([]int{n}, p)
	counts[0], counts[p-1] = counts[0]-1, counts[p-1]+1
	return []sumOf{
		{"Reduce", n, atRoot,
			func(in, out []float64) error { return mpi.Reduce(c, in, out, op, p-1) },
			func(in, out []float64) *mpi.Request { return mpi.Ireduce(c, in, out, op, p-1) },
			func(in, out []float64) *mpi.Request { return mpi.ReduceInit(c, in, out, op, p-1) }},
		{"Allreduce", n, n,
			func(in, out []float64) error { return mpi.Allreduce(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.Iallreduce(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.AllreduceInit(c, in, out, op) }},
		{"Scan", n, n,
			func(in, out []float64) error { return mpi.Scan(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.Iscan(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.ScanInit(c, in, out, op) }},
		{"Exscan", n, notFirst,
			func(in, out []float64) error { return mpi.Exscan(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.Iexscan(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.ExscanInit(c, in, out, op) }},
		{"ReduceScatterBlock", n * p, n,
			func(in, out []float64) error { return mpi.ReduceScatterBlock(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.IreduceScatterBlock(c, in, out, op) },
			func(in, out []float64) *mpi.Request { return mpi.ReduceScatterBlockInit(c, in, out, op) }},
		{"ReduceScatter", n * p, counts[me],
			func(in, out []float64) error { return mpi.ReduceScatter(c, in, out, counts, op) },
			func(in, out []float64) *mpi.Request { return mpi.IreduceScatter(c, in, out, counts, op) },
			func(in, out []float64) *mpi.Request { return mpi.ReduceScatterInit(c, in, out, counts, op) }},
	}
}

// carryOut does r in one of its forms.
func carryOut(form int, r sumOf, in, out []float64) error {
	switch form {
	case 0:
		return r.block(in, out)
	case 1:
		_, err := r.start(in, out).Wait()
		return err
	default:
		q := r.init(in, out)
		jitter()
		started := q.Start()
		_, err := q.Wait()
		return errors.Join(started, err)
	}
}

// A choice that cannot be is an error before the job starts, one that differs between ranks too
// (mpi/job_card_test.go).
func TestChoiceErrors(t *testing.T) {
	t.Setenv("FITMPI_COLL", "allreduce=chain")
	err := mpi.RunThreads(2, func(context.Context, *mpi.Comm) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "FITMPI_COLL=allreduce=chain: allreduce has no algorithm") {
		t.Errorf("the error is %v", err)
	}
}
