//go:build linux

package main

import (
	"errors"

	"github.com/fitmpi/fitmpi/mpi"
)

// match measures how long it takes to find a message among many: among those that no receive has
// asked for yet, or among the receives that wait for one. It communicates in a communicator of its
// own, so that its many tags meet no others.
func match(e *env) error {
	cases, err := e.cases("unexpected-inorder", "unexpected-reverse", "posted-inorder", "posted-reverse")
	if err != nil {
		return err
	}
	comm, err := e.world.Dup(nil)
	if err != nil || e.rank > 1 {
		return err
	}
	for _, kase := range cases {
		for _, depth := range e.sizes() {
			if depth < 1 {
				return errors.New("test match: -sizes are depths of a queue: give 1 or more")
			}
			q := newQueue(e, comm, depth, kase == "unexpected-reverse" || kase == "posted-reverse")
			once := q.unexpected
			if kase == "posted-inorder" || kase == "posted-reverse" {
				once = q.posted
			}
			if err := q.measure(kase, once); err != nil {
				return err
			}
		}
	}
	return nil
}

// queue is what one rank needs to fill and empty a queue of messages with the tags
// from 0 to depth-1.
type queue struct {
	*env
	comm  *mpi.Comm
	depth int
	order []int // tags in the order in which they are received, of posted: sent
	buf   []byte
	reqs  []*mpi.Request
}

func newQueue(e *env, comm *mpi.Comm, depth int, reverse bool) *queue {
	q := &queue{env: e, comm: comm, depth: depth, order: make([]int, depth), buf: buffer(8), reqs: make([]*mpi.Request, depth)}
	for i := range q.order {
		q.order[i] = i
		if reverse {
			q.order[i] = depth - 1 - i
		}
	}
	return q
}

// measure repeats once, which returns at rank 1 the nanoseconds of all its messages.
func (q *queue) measure(kase string, once func() (int64, error)) error {
	n, warmup := q.series(8, 5000)
	var xs []float64
	for i := range warmup + n {
		ns, err := once()
		if err != nil {
			return err
		}
		if i >= warmup {
			xs = append(xs, float64(ns)/float64(q.depth))
		}
	}
	xs, err := q.gather(1, xs)
	if err != nil {
		return err
	}
	q.report(kase, q.depth, "per-message", "ns", xs)
	return nil
}

// unexpected lets rank 0 send everything, and a last message that says so, before rank
// 1 asks for any of it. A blocking send of so many may wait for its receive (MPI 4.1, section 3.4).
func (q *queue) unexpected() (ns int64, err error) {
	if q.rank == 0 {
		for tag := range q.reqs {
			q.reqs[tag] = mpi.Isend(q.comm, q.buf, 1, tag)
		}
		last := mpi.Isend(q.comm, q.buf, 1, q.depth)
		if _, err := mpi.WaitAll(append(q.reqs, last)...); err != nil {
			return 0, err
		}
		return 0, q.sync()
	}
	if _, err := mpi.Recv(q.comm, q.buf, 0, q.depth); err != nil {
		return 0, err
	}
	start := now()
	for _, tag := range q.order {
		if _, err := mpi.Recv(q.comm, q.buf, 0, tag); err != nil {
			return 0, err
		}
	}
	ns = now() - start
	return ns, q.sync()
}

// posted lets rank 1 ask for everything before rank 0 sends any of it.
func (q *queue) posted() (ns int64, err error) {
	if q.rank == 0 {
		if err := q.sync(); err != nil {
			return 0, err
		}
		for _, tag := range q.order {
			if err := mpi.Send(q.comm, q.buf, 1, tag); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	for tag := range q.reqs {
		q.reqs[tag] = mpi.Irecv(q.comm, q.buf, 0, tag)
	}
	if err := q.sync(); err != nil {
		return 0, err
	}
	start := now()
	_, err = mpi.WaitAll(q.reqs...)
	return now() - start, err
}
