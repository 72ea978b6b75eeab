//go:build linux

package main

import (
	"runtime"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// counted is an operation of which alloc counts the allocations. start makes what a rank
// repeats, once per size.
type counted struct {
	name  string
	pair  bool // ranks 0 and 1 do it, others watch; else all ranks do
	start func(e *env, size int) func() error
}

func countedOps() []counted {
	return []counted{
		{"send-recv", true, sendRecv},
		{"isend-irecv", true, isendIrecv},
		{"persistent", true, persistent},
		{"recvnew", true, recvNew},
		{"object", true, object},
		{"barrier", false, barrier},
		{"bcast", false, bcast},
		{"allreduce", false, allreduce},
		{"iallreduce", false, iallreduce},
	}
}

// perSeries is how many operations are counted together: counting stops the world, and
// what the runtime allocates beside them must not show.
const perSeries = 500

// alloc counts the heap allocations of operations, those of the worker included.
func alloc(e *env) error {
	ops := countedOps()
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = op.name
	}
	chosen, err := e.cases(names...)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if !slices.Contains(chosen, op.name) {
			continue
		}
		for _, size := range e.sizes() {
			xs, err := e.countAllocs(op, size)
			if err != nil {
				return err
			}
			e.report(op.name, size, "allocs", "1", xs)
		}
	}
	return nil
}

// countAllocs measures the allocations of one operation at one rank.
func (e *env) countAllocs(op counted, size int) ([]float64, error) {
	takers := e.ranks
	once := func() error { return nil }
	if op.pair {
		takers = 2
	}
	if e.rank < takers {
		once = op.start(e, size)
	}
	takers = within(takers)
	n, warmup := e.series(8, 5000)
	token := buffer(1)
	var xs []float64
	for i := range warmup + n {
		count, err := e.allocsOf(once, token)
		if err != nil {
			return nil, err
		}
		if i >= warmup {
			xs = append(xs, float64(count)/float64(perSeries*takers))
		}
	}
	return xs, nil
}

// allocsOf is how many allocations this process makes while every rank calls once
// perSeries times. It counts before the first rank starts and after the last is done.
func (e *env) allocsOf(once func() error, token []byte) (uint64, error) {
	var before, after runtime.MemStats
	if e.rank == 0 {
		runtime.ReadMemStats(&before)
	}
	if err := e.meet(token); err != nil {
		return 0, err
	}
	for range perSeries {
		if err := once(); err != nil {
			return 0, err
		}
	}
	if err := e.meet(token); err != nil {
		return 0, err
	}
	if e.rank == 0 {
		runtime.ReadMemStats(&after)
	}
	return after.Mallocs - before.Mallocs, nil
}

// meet returns when all ranks have called it: a barrier that allocates nothing. token is
// one byte of any value.
func (e *env) meet(token []byte) error {
	if e.rank != 0 {
		if err := mpi.Send(e.world, token, 0, syncTag); err != nil {
			return err
		}
		_, err := mpi.Recv(e.world, token, 0, syncTag)
		return err
	}
	for r := 1; r < e.ranks; r++ {
		if _, err := mpi.Recv(e.world, token, r, syncTag); err != nil {
			return err
		}
	}
	for r := 1; r < e.ranks; r++ {
		if err := mpi.Send(e.world, token, r, syncTag); err != nil {
			return err
		}
	}
	return nil
}

func sendRecv(e *env, size int) func() error {
	out, in := buffer(size), buffer(size)
	return func() error { return e.bounce(out, in) }
}

func isendIrecv(e *env, size int) func() error {
	out, in := buffer(size), buffer(size)
	reqs := make([]*mpi.Request, 2)
	return func() error {
		reqs[0] = mpi.Irecv(e.world, in, e.partner(), dataTag)
		reqs[1] = mpi.Isend(e.world, out, e.partner(), dataTag)
		_, err := mpi.WaitAll(reqs...)
		return err
	}
}

func persistent(e *env, size int) func() error {
	reqs := []*mpi.Request{
		mpi.RecvInit(e.world, buffer(size), e.partner(), dataTag),
		mpi.SendInit(e.world, buffer(size), e.partner(), dataTag),
	}
	return func() error {
		if err := mpi.StartAll(reqs...); err != nil {
			return err
		}
		_, err := mpi.WaitAll(reqs...)
		return err
	}
}

// recvNew sends as send-recv does, and receives into new memory.
func recvNew(e *env, size int) func() error {
	out := buffer(size)
	send := func() error { return mpi.Send(e.world, out, e.partner(), dataTag) }
	recv := func() error {
		_, _, err := mpi.RecvNew[byte](e.world, e.partner(), dataTag)
		return err
	}
	return e.inTurn(send, recv)
}

// object sends a string of size bytes.
func object(e *env, size int) func() error {
	out := string(buffer(size))
	send := func() error { return mpi.SendValue(e.world, out, e.partner(), dataTag) }
	recv := func() error {
		_, _, err := mpi.RecvValue[string](e.world, e.partner(), dataTag)
		return err
	}
	return e.inTurn(send, recv)
}

func barrier(e *env, _ int) func() error {
	return func() error { return mpi.Barrier(e.world) }
}

func bcast(e *env, size int) func() error {
	buf := buffer(size)
	return func() error { return mpi.Bcast(e.world, buf, 0) }
}

func allreduce(e *env, size int) func() error {
	in, out := make([]float64, size/8), make([]float64, size/8)
	return func() error { return mpi.Allreduce(e.world, in, out, mpi.Sum) }
}

func iallreduce(e *env, size int) func() error {
	in, out := make([]float64, size/8), make([]float64, size/8)
	return func() error {
		_, err := mpi.Iallreduce(e.world, in, out, mpi.Sum).Wait()
		return err
	}
}

// inTurn sends and receives at rank 0, receives and sends at rank 1.
func (e *env) inTurn(send, recv func() error) func() error {
	if e.rank == 1 {
		send, recv = recv, send
	}
	return func() error {
		if err := send(); err != nil {
			return err
		}
		return recv()
	}
}
