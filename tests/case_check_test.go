//go:build linux

package tests

import (
	"fmt"
	"os"
	"regexp"

	"github.com/fitmpi/fitmpi/mpi"
)

// What a job finds whose ranks have FITMPI_CHECK=1: the cases here, which join the suite then, and
// that the cases of point-to-point communication and of collectives see no difference.

const envCheck = "FITMPI_CHECK"

func isChecking() bool { return os.Getenv(envCheck) == "1" }

// checkedCases are the cases that run with checking: those whose messages have signatures, or might
// have.
var checkedCases = regexp.MustCompile(`^(check|order|receive|mode|sendrecv|probe|cancel|request|persistent|object|outstanding|layout|buffer|partitioned|datatype|collective|reduction|persistcoll|form|comm|intercomm|context|group|topology|neighbour|attribute)`)

var checkCases = []testCase{
	{name: "check/kinds", section: "3.3.1",
		sentence: "type matching: the types of the values sent must match the types specified by the receive operation",
		run:      checkKinds},
	{name: "check/calls", section: "3.3.1",
		sentence: "every call that receives says which types differ, and the message counts as received",
		run:      checkCalls},
	{name: "check/types", section: "3.3.1",
		sentence: "structs and datatypes match if their values are of the same kinds in the same order",
		run:      checkTypes},
	{name: "check/allowed", section: "3.3.1",
		sentence: "bytes match every type, and a message may be shorter than the buffer",
		run:      checkAllowed},
	{name: "check/objects", section: "FitMPI",
		sentence: "objects are received with the type that was sent",
		run:      checkObjects},
	{name: "check/buffered", section: "3.6",
		sentence: "a message of Bsend needs no more room than its bytes and BsendOverhead, and its kind is compared",
		run:      checkBuffered},
	{name: "check/statuses", section: "3.2.5",
		sentence: "statuses, probes and truncations are in bytes and elements of the message itself",
		run:      checkStatuses},
	{name: "check/collectives", section: "6.1", min: 2,
		sentence: "all ranks call the same collective with the same root and matching types: a difference is an error at every rank",
		run:      checkCollectives},
	{name: "check/collectives allowed", section: "6.1",
		sentence: "structs of one kind match that kind, bytes match everything",
		run:      checkCollectivesAllowed},
}

// refused says that what sent was received, and that types differ.
func refused(t *T, c *mpi.Comm, what string, s *mpi.Request, err error, sent, buffer string, tag int) {
	wantError(t, what, err, mpi.ErrType,
		fmt.Sprintf("rank %d sent %s with tag %d, the buffer is of %s", left(c), sent, tag, buffer))
	_, err = s.Wait()
	t.must(err, what)
}

// checkKinds: numbers of one size and of different ones, of lengths for every protocol.
func checkKinds(t *T, c *mpi.Comm) {
	for _, n := range []int{1, 300, 5000, 100_000} {
		what := fmt.Sprint(n, " elements")
		for _, posted := range []bool{false, true} {
			in := make([]int64, n)
			var r, s *mpi.Request
			if posted {
				r = mpi.Irecv(c, in, left(c), 3)
				t.must(mpi.Barrier(c))
			}
			s = mpi.Isend(c, make([]float64, n), right(c), 3)
			if !posted {
				r = mpi.Irecv(c, in, left(c), 3)
			}
			st, err := r.Wait()
			want(t, what+": count", st.Count, n)
			refused(t, c, what, s, err, "float64", "int64", 3)
		}
		s := mpi.Issend(c, make([]uint16, n), right(c), 4)
		_, err := mpi.Recv(c, make([]int32, n), left(c), 4)
		refused(t, c, what+" of other size", s, err, "uint16", "int32", 4)
		s = mpi.Isend(c, make([]float64, 2*n), right(c), 5) // also too long
		_, err = mpi.Recv(c, make([]int32, n), left(c), 5)
		refused(t, c, what+", too long", s, err, "float64", "int32", 5)
	}
}

// checkCalls: all ways to receive.
func checkCalls(t *T, c *mpi.Comm) {
	in := make([]int32, 4)
	persistent := mpi.RecvInit(c, in, left(c), 1)
	for name, receive := range map[string]func() error{
		"Recv":     func() error { _, err := mpi.Recv(c, in, left(c), 1); return err },
		"any":      func() error { _, err := mpi.Recv(c, in, left(c), mpi.AnyTag); return err },
		"RecvNew":  func() error { _, _, err := mpi.RecvNew[int32](c, left(c), 1); return err },
		"RecvInit": func() error { t.must(persistent.Start()); _, err := persistent.Wait(); return err },
		"RecvValue": func() error {
			_, _, err := mpi.RecvValue[int32](c, left(c), 1)
			return err
		},
		"Mrecv": func() error {
			msg, st, err := mpi.Mprobe(c, left(c), 1)
			t.must(err)
			want(t, "probed", mpi.GetCount[float32](st), 1)
			_, err = mpi.Mrecv(msg, in)
			return err
		},
		"MrecvNew": func() error {
			msg, _, err := mpi.Mprobe(c, left(c), 1)
			t.must(err)
			_, _, err = mpi.MrecvNew[int32](msg)
			return err
		},
		"Test": func() error {
			r := mpi.Irecv(c, in, left(c), 1)
			for {
				if _, done, err := r.Test(); done {
					return err
				}
			}
		},
	} {
		s := mpi.Isend(c, []float32{1}, right(c), 1)
		refused(t, c, name, s, receive(), "float32", "int32", 1)
	}
	_, err := mpi.Sendrecv(c, []float32{1}, right(c), 2, in, left(c), 2)
	wantError(t, "Sendrecv", err, mpi.ErrType, "sent float32 with tag 2, the buffer is of int32")
	out := []int32{int32(c.Rank()), 7}
	send := mpi.SendInit(c, out, right(c), 1)
	t.must(mpi.StartAll(persistent, send))
	_, err = mpi.WaitAll(persistent, send)
	t.must(err, "the persistent request after an error")
	wantSlice(t, "then", in[:2], []int32{int32(left(c)), 7})
}

type (
	twoOf     struct{ X, Y float64 }
	countThen struct {
		N int32
		X float64
	}
	thenCount struct {
		X float64
		N int32
	}
)

// checkTypes: structs, and layouts.
func checkTypes(t *T, c *mpi.Comm) {
	s := mpi.Isend(c, []countThen{{1, 2}}, right(c), 1)
	_, err := mpi.Recv(c, make([]thenCount, 1), left(c), 1)
	refused(t, c, "structs", s, err, "tests.countThen (int32 float64)", "tests.thenCount (float64 int32)", 1)
	s = mpi.Isend(c, []countThen{{1, 2}}, right(c), 2)
	_, err = mpi.Recv(c, make([]int32, 3), left(c), 2)
	refused(t, c, "a struct into numbers", s, err, "tests.countThen (int32 float64)", "int32", 2)
	column := aColumn(3, 2)
	s = mpi.Isend(c.WithType(column), make([]float64, 6), right(c), 3)
	_, err = mpi.Recv(c, make([]int64, 3), left(c), 3)
	refused(t, c, "a layout", s, err, "Vector(3, 1, 2, float64) (3*float64)", "int64", 3)
	s = mpi.Isend(c, make([]int64, 3), right(c), 4)
	_, err = mpi.Recv(c.WithType(column), make([]float64, 6), left(c), 4)
	refused(t, c, "into a layout", s, err, "int64", "Vector(3, 1, 2, float64) (3*float64)", 4)

	structs := mpi.Contiguous(3, mpi.TypeOf[countThen]())
	in := make([]countThen, 3)
	out := []countThen{{1, 2}, {3, 4}, {5, 6}}
	for _, n := range []int{3, 2, 0} { // the datatype has no period that the other side must know
		s = mpi.Isend(c, out[:n], right(c), 5)
		st, err := mpi.Recv(c.WithType(structs), in, left(c), 5)
		t.must(err, n, "structs into their datatype")
		want(t, "count", st.Count, n)
		_, err = s.Wait()
		t.must(err)
	}
	wantSlice(t, "structs", in[:2], out[:2])
	s = mpi.Isend(c, []int32{4}, right(c), 6) // a part of a value
	_, err = mpi.Recv(c.WithType(structs), in, left(c), 6)
	t.must(err, "the first number of a struct")
	want(t, "number", in[0].N, 4)
	_, err = s.Wait()
	t.must(err)
	s = mpi.Isend(c, []int32{4, 5}, right(c), 6)
	_, err = mpi.Recv(c.WithType(structs), in, left(c), 6)
	refused(t, c, "two numbers", s, err, "int32", "Contiguous(3, tests.countThen) (int32 float64 int32 float64 int32 float64)", 6)
}

// checkAllowed: what differs in T and matches.
func checkAllowed(t *T, c *mpi.Comm) {
	accept := func(what string, s *mpi.Request, receive func() (mpi.Status, error), count int) {
		st, err := receive()
		t.must(err, what)
		want(t, what+": count", st.Count, count)
		_, err = s.Wait()
		t.must(err, what)
	}
	numbers, memory, pairs := make([]float64, 4), make([]byte, 64), make([]twoOf, 4)
	accept("numbers into bytes", mpi.Isend(c, []float64{1, 2}, right(c), 1),
		func() (mpi.Status, error) { return mpi.Recv(c, memory, left(c), 1) }, 16)
	accept("bytes into numbers", mpi.Isend(c, memory[:16], right(c), 2),
		func() (mpi.Status, error) { return mpi.Recv(c, numbers, left(c), 2) }, 2)
	wantSlice(t, "numbers through bytes", numbers[:2], []float64{1, 2})
	accept("pairs into numbers", mpi.Isend(c, []twoOf{{3, 4}}, right(c), 3),
		func() (mpi.Status, error) { return mpi.Recv(c, numbers, left(c), 3) }, 2)
	wantSlice(t, "numbers of a pair", numbers[:2], []float64{3, 4})
	accept("numbers into pairs", mpi.Isend(c, numbers[:2], right(c), 4),
		func() (mpi.Status, error) { return mpi.Recv(c, pairs, left(c), 4) }, 1)
	want(t, "a pair of numbers", pairs[0], twoOf{3, 4})
	accept("half a pair", mpi.Isend(c, numbers[:3], right(c), 4),
		func() (mpi.Status, error) { return mpi.Recv(c, pairs, left(c), 4) }, mpi.Undefined)
	accept("int and int64", mpi.Isend(c, []int{1}, right(c), 5),
		func() (mpi.Status, error) { return mpi.Recv(c, make([]int64, 4), left(c), 5) }, 1)
	accept("nothing at all", mpi.Isend(c, []float32{}, right(c), 6),
		func() (mpi.Status, error) { return mpi.Recv(c, make([]int64, 4), left(c), 6) }, 0)
	accept("nothing by RecvNew", mpi.Isend(c, []float32{}, right(c), 7), func() (mpi.Status, error) {
		_, st, err := mpi.RecvNew[struct{}](c, left(c), 7)
		return st, err
	}, 0)
}

func checkObjects(t *T, c *mpi.Comm) {
	type name string
	for _, posted := range []bool{false, true} {
		in := []map[string]bool{nil}
		r := mpi.Irecv(c, in, left(c), 1)
		if posted {
			t.must(mpi.Barrier(c))
		}
		s := mpi.Isend(c, []map[string]int{{"a": 1}}, right(c), 1)
		_, err := r.Wait()
		refused(t, c, "maps", s, err, "map[string]int", "map[string]bool", 1)
		want(t, "the buffer is as it was", in[0] == nil, true)
	}
	s := mpi.Isend(c, []string{"a"}, right(c), 2)
	_, _, err := mpi.RecvNew[name](c, left(c), 2)
	refused(t, c, "another name", s, err, "string", "tests.name", 2)
	s = mpi.Isend(c, []string{"a"}, right(c), 3)
	_, err = mpi.Recv(c, make([]int64, 8), left(c), 3)
	wantError(t, "objects into memory", err, mpi.ErrType, "serialised objects of string, the buffer is of int64")
	s2 := mpi.Isend(c, []int64{1}, right(c), 4)
	_, err = mpi.Recv(c, make([]string, 1), left(c), 4)
	wantError(t, "memory into objects", err, mpi.ErrType, "plain memory of int64, the buffer is of string")
	s3 := mpi.Isend(c, []string{"b", "c"}, right(c), 5)
	got, _, err := mpi.RecvNew[string](c, left(c), 5)
	t.must(err)
	wantSlice(t, "strings", got, []string{"b", "c"})
	_, err = mpi.WaitAll(s, s2, s3)
	t.must(err)
}

// checkBuffered: messages without a signature.
func checkBuffered(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	t.must(d.AttachBuffer(make([]byte, 2*(16+mpi.BsendOverhead))))
	t.must(mpi.Bsend(d, []float64{1, 2}, right(d), 1))
	t.must(mpi.Bsend(d, []float64{3, 4}, right(d), 2))
	in := make([]float64, 2)
	st, err := mpi.Recv(d, in, left(d), 1)
	t.must(err)
	want(t, "count", st.Count, 2)
	wantSlice(t, "what came", in, []float64{1, 2})
	_, err = mpi.Recv(d, make([]int64, 2), left(d), 2)
	wantError(t, "another kind", err, mpi.ErrType, "sent float64 with tag 2, the buffer is of int64")
	_, err = d.DetachBuffer()
	t.must(err)
	t.must(d.Free())
}

func checkStatuses(t *T, c *mpi.Comm) {
	for _, n := range []int{0, 3, 5000, 100_000} {
		s := mpi.Isend(c, make([]float64, n), right(c), 1)
		st, err := mpi.Probe(c, left(c), mpi.AnyTag)
		t.must(err)
		want(t, "probed bytes", st.Count, 8*n)
		want(t, "probed elements", mpi.GetCount[float64](st), n)
		got, st, err := mpi.RecvNew[float64](c, left(c), 1)
		t.must(err)
		want(t, "length", len(got), n)
		want(t, "count", st.Count, n)
		want(t, "elements", mpi.GetCount[float64](st), n)
		_, err = s.Wait()
		t.must(err)
		if n == 0 {
			continue
		}
		s = mpi.Isend(c, make([]float64, n), right(c), 1)
		_, err = mpi.Recv(c, make([]float64, n-1), left(c), 1)
		wantError(t, "too long", err, mpi.ErrTruncate, fmt.Sprintf("%d elements arrived, the buffer holds %d", n, n-1))
		_, err = s.Wait()
		t.must(err)
	}
}

// checkCollectives: rank 1 does something else than the others, and then all go on.
func checkCollectives(t *T, c *mpi.Comm) {
	odd := c.Rank() == 1
	numbers, counts := make([]float64, 4), make([]int64, 4)
	var persistent *mpi.Request
	if odd {
		persistent = mpi.BcastInit(c, counts, 0)
	} else {
		persistent = mpi.BcastInit(c, numbers, 0)
	}
	for _, test := range []struct {
		name   string
		others func() error
		odd    func() error
		class  mpi.ErrorClass
		says   string
	}{
		{"operations", func() error { return mpi.Barrier(c) }, func() error { return mpi.Bcast(c, numbers, 0) },
			mpi.ErrNotSame, "rank 0 calls Barrier, rank 1 calls Bcast"},
		{"blocking", func() error { return mpi.Barrier(c) }, func() error { _, err := mpi.Ibarrier(c).Wait(); return err },
			mpi.ErrNotSame, "rank 0 calls Barrier, rank 1 calls Ibarrier"},
		{"roots", func() error { return mpi.Bcast(c, numbers, 0) }, func() error { return mpi.Bcast(c, numbers, 1) },
			mpi.ErrNotSame, "the root is 0 at rank 0 and 1 at rank 1"},
		{"roots of a reduction", func() error { return mpi.Reduce(c, numbers, numbers, mpi.Sum, 1) },
			func() error { return mpi.Reduce(c, numbers, numbers, mpi.Sum, 0) },
			mpi.ErrNotSame, "the root is 1 at rank 0 and 0 at rank 1"},
		{"elements", func() error { return mpi.Bcast(c, numbers, 0) }, func() error { return mpi.Bcast(c, counts, 0) },
			mpi.ErrType, "the elements are float64 at rank 0 and int64 at rank 1"},
		{"elements of a reduction", func() error { return mpi.Allreduce(c, numbers, numbers, mpi.Sum) },
			func() error { return mpi.Allreduce(c, counts, counts, mpi.Sum) },
			mpi.ErrType, "the elements are float64 at rank 0 and int64 at rank 1"},
		{"scattered elements", func() error { return mpi.ReduceScatter(c, numbers, numbers, only0(c, 4), mpi.Sum) },
			func() error { return mpi.ReduceScatter(c, counts, counts, only0(c, 4), mpi.Sum) },
			mpi.ErrType, "the elements are float64 at rank 0 and int64 at rank 1"},
		{"whether an operation commutes", func() error { return mpi.Allreduce(c, numbers, numbers, mpi.Commutative(keepFirst[float64])) },
			func() error { return mpi.Allreduce(c, numbers, numbers, keepFirst) },
			mpi.ErrNotSame, "the operation is commutative at rank 0 and not commutative at rank 1"},
		{"whether a scattered one does", func() error { return mpi.ReduceScatter(c, numbers, numbers, only0(c, 4), keepFirst) },
			func() error { return mpi.ReduceScatter(c, numbers, numbers, only0(c, 4), mpi.Sum) },
			mpi.ErrNotSame, "the operation is not commutative at rank 0 and commutative at rank 1"},
		{"whether one on objects does", func() error { return mpi.Scan(c, []string{"a"}, make([]string, 1), mpi.Max) },
			func() error { return mpi.Scan(c, []string{"a"}, make([]string, 1), mpi.Sum) },
			mpi.ErrNotSame, "the operation is commutative at rank 0 and not commutative at rank 1"},
		{"objects", func() error { return mpi.Bcast(c, []string{"a"}, 0) }, func() error { return mpi.Bcast(c, numbers[:1], 0) },
			mpi.ErrType, "the elements are string at rank 0 and float64 at rank 1"},
		{"persistent", func() error { t.must(persistent.Start()); _, err := persistent.Wait(); return err },
			func() error { t.must(persistent.Start()); _, err := persistent.Wait(); return err },
			mpi.ErrType, "the elements are float64 at rank 0 and int64 at rank 1"},
	} {
		f := test.others
		if odd {
			f = test.odd
		}
		wantError(t, test.name, f(), test.class, test.says)
		sum := []int{0}
		t.must(mpi.Allreduce(c, []int{1}, sum, mpi.Sum), "after", test.name)
		want(t, "ranks after "+test.name, sum[0], c.Size())
	}
}

// keepFirst is an operation that keeps what the lowest rank gave.
func keepFirst[T any](acc, in []T) {}

// only0 are the counts of a v-form whose data are all rank 0's.
func only0(c *mpi.Comm, n int) []int {
	counts := make([]int, c.Size())
	counts[0] = n
	return counts
}

func checkCollectivesAllowed(t *T, c *mpi.Comm) {
	first := c.Rank() == 0
	numbers, pairs, memory := []float64{1, 2}, make([]twoOf, 1), make([]byte, 16)
	if first {
		t.must(mpi.Bcast(c, numbers, 0))
	} else {
		t.must(mpi.Bcast(c, pairs, 0))
		want(t, "a pair", pairs[0], twoOf{1, 2})
	}
	if first {
		t.must(mpi.Bcast(c, pairs, 0))
	} else {
		t.must(mpi.Bcast(c, memory, 0))
	}
	column := aColumn(2, 3)
	if matrix := make([]float64, 6); first {
		t.must(mpi.Bcast(c, numbers, 0))
	} else {
		t.must(mpi.Bcast(c.WithType(column), matrix, 0))
		wantSlice(t, "a column", matrix, []float64{1, 0, 0, 2, 0, 0})
	}
}
