//go:build linux

package main

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi"
)

// route is one way to pass a message between ranks 0 and 1.
type route struct {
	name string
	send func() error // to the other rank
	recv func() error // from it
}

// bounce is a ping-pong: rank 0 sends first.
func (x *route) bounce(rank int) error {
	first, second := x.send, x.recv
	if rank == 1 {
		first, second = second, first
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// cell is a plain element of 8 bytes that is no number.
type cell struct {
	Charge float32
	Index  int32
}

// cells is n cells, every one of them written.
func cells(n int) []cell {
	b := make([]cell, n)
	for i := range b {
		b[i] = cell{1, int32(i)}
	}
	return b
}

// sample is a value that must be serialised.
type sample struct {
	Name   string
	Values []float64
}

var penaltyCases = []string{"raw", "bytes", "float64", "struct", "recvnew", "object", "objectnew"}

// penaltyRounds is how often the cases take turns.
const penaltyRounds = 10

// penalty measures the same ping-pong through the engine alone, and through package mpi
// with elements of several types: MPI.NET's abstraction penalty. The ranks stay where they are:
// the raw case has engines of its own in the same threads or processes, which reach each other as
// those of the job do. The cases take turns, so that what disturbs the machine disturbs all of
// them.
func penalty(e *env) (err error) {
	cases, err := e.cases(penaltyCases...)
	if err = errors.Join(err, e.checkWords()); err != nil {
		return err
	}
	hasCore, err := e.hasCore()
	if err != nil || e.rank > 1 {
		return err
	}
	policy, err := engine.ParsePolicy(e.opt.policy)
	if err != nil {
		return err
	}
	raw, err := openRaw(e, policy, hasCore)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.close()) }()
	for _, size := range e.sizes() {
		if err := e.takeTurns(e.penaltyRoutes(raw, size, cases), size); err != nil {
			return err
		}
	}
	return nil
}

// penaltyRoutes are the cases with a payload of size bytes.
func (e *env) penaltyRoutes(raw *rawEnd, size int, cases []string) (chosen []route) {
	for _, x := range []route{
		raw.route("raw", size),
		typed(e, "bytes", buffer(size), buffer(size)),
		typed(e, "float64", words(size/8), words(size/8)),
		typed(e, "struct", cells(size/8), cells(size/8)),
		e.unknownLength(size),
		e.object(size),
		e.unknownObjects(size),
	} {
		if slices.Contains(cases, x.name) {
			chosen = append(chosen, x)
		}
	}
	return chosen
}

// typed sends out and receives in.
func typed[T any](e *env, name string, out, in []T) route {
	return route{
		name: name,
		send: func() error { return mpi.Send(e.world, out, 1-e.rank, dataTag) },
		recv: func() error {
			_, err := mpi.Recv(e.world, in, 1-e.rank, dataTag)
			return err
		},
	}
}

// unknownLength receives into memory made for each message.
func (e *env) unknownLength(size int) route {
	x := typed(e, "recvnew", buffer(size), nil)
	x.recv = func() error {
		_, _, err := mpi.RecvNew[byte](e.world, 1-e.rank, dataTag)
		return err
	}
	return x
}

// object sends one value with size bytes of float64s in it, which gob serialises.
func (e *env) object(size int) route {
	v := sample{"temperature", words(size / 8)}
	return route{
		name: "object",
		send: func() error { return mpi.SendValue(e.world, v, 1-e.rank, dataTag) },
		recv: func() error {
			_, _, err := mpi.RecvValue[sample](e.world, 1-e.rank, dataTag)
			return err
		},
	}
}

// unknownObjects is object whose receiver knows neither how many values come nor how
// long they are.
func (e *env) unknownObjects(size int) route {
	x := e.object(size)
	x.name = "objectnew"
	x.recv = func() error {
		_, _, err := mpi.RecvNew[sample](e.world, 1-e.rank, dataTag)
		return err
	}
	return x
}

// takeTurns measures the routes with one size, a tenth of the repetitions at a time.
func (e *env) takeTurns(xs []route, size int) error {
	n, warmup := e.iterations(size), e.warmup(size)
	rounds := min(n, penaltyRounds)
	times := make([][]float64, len(xs))
	for round := range rounds {
		count := n*(round+1)/rounds - n*round/rounds
		for i := range xs {
			more, err := e.turn(&xs[i], count, max(warmup/rounds, 5))
			if err != nil {
				return err
			}
			times[i] = append(times[i], more...)
		}
	}
	for i, x := range xs {
		e.report(x.name, size, "half-rtt", "us", times[i])
	}
	return nil
}

// turnPause is longer than the worker of an engine, once idle, keeps its P for the next message.
const turnPause = 4 * time.Millisecond

// turn measures count ping-pongs after some that are not measured. The turn before is over
// by then: its garbage is collected and the worker of its engine asleep.
func (e *env) turn(x *route, count, warmup int) ([]float64, error) {
	runtime.GC()
	time.Sleep(turnPause)
	return e.bounces(x, count, warmup)
}

// bounces is the half round trip of count ping-pongs at rank 0, in microseconds.
func (e *env) bounces(x *route, count, warmup int) ([]float64, error) {
	xs := make([]float64, 0, count)
	for i := range warmup + count {
		start := now()
		if err := x.bounce(e.rank); err != nil {
			return nil, err
		}
		if i >= warmup {
			xs = append(xs, micros(start)/2)
		}
	}
	return xs, nil
}
