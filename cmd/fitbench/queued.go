//go:build linux

package main

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// queued measures ping-pong while other receives are posted that its messages do not match, or
// while other messages have arrived that its receives do not match: what a queue costs, over the
// length of the message. It communicates in a communicator of its own, as test match does.
func queued(e *env) error {
	cases, err := choose(e, queueCases, func(c queueCase) string { return c.name })
	if err != nil {
		return err
	}
	comm, err := e.world.Dup(nil)
	if err != nil || e.rank > 1 {
		return err
	}
	for _, c := range cases {
		for _, size := range e.sizes() {
			w := newWaiting(e, comm, c.depth)
			if err := w.measure(c, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// queueCase is what waits at both ranks, and how much of it.
type queueCase struct {
	name   string
	depth  int
	posted bool // receives wait, else messages
}

var queueCases = []queueCase{
	{"none", 0, true},
	{"posted-100", 100, true},
	{"posted-1000", 1000, true},
	{"unexpected-100", 100, false},
	{"unexpected-1000", 1000, false},
}

// queueTag is the first tag of what waits; ping-pong uses dataTag, below it.
const queueTag = 100

// waiting is what waits at one rank, and what it has sent of what waits at the other.
type waiting struct {
	*env
	comm    *mpi.Comm
	out     []byte
	in      [][]byte // of each receive
	sending []*mpi.Request
	posted  []*mpi.Request
}

func newWaiting(e *env, comm *mpi.Comm, depth int) *waiting {
	w := &waiting{env: e, comm: comm, out: buffer(8)}
	room := buffer(8 * depth)
	for chunk := range slices.Chunk(room, 8) {
		w.in = append(w.in, chunk)
	}
	return w
}

// measure fills the queue, measures, and empties the queue.
func (w *waiting) measure(c queueCase, size int) error {
	if c.posted {
		w.receive()
	} else {
		w.send()
	}
	out, in := buffer(size), buffer(size)
	x := route{
		send: func() error { return mpi.Send(w.comm, out, w.partner(), dataTag) },
		recv: func() error {
			_, err := mpi.Recv(w.comm, in, w.partner(), dataTag)
			return err
		},
	}
	xs, err := w.bounces(&x, w.iterations(size), w.warmup(size))
	if err != nil {
		return err
	}
	if c.posted {
		w.send()
	} else {
		w.receive()
	}
	if _, err := mpi.WaitAll(append(w.posted, w.sending...)...); err != nil {
		return err
	}
	w.report(c.name, size, "half-rtt", "us", xs)
	return nil
}

// receive posts the receives of all that waits, or is to wait, here.
func (w *waiting) receive() {
	for i, b := range w.in {
		w.posted = append(w.posted, mpi.Irecv(w.comm, b, w.partner(), queueTag+i))
	}
}

// send sends what waits, or is to be received, at the other rank. Its messages are ahead of those
// of ping-pong, so they have arrived when the first of those has (MPI 4.1, section 3.5).
func (w *waiting) send() {
	for i := range w.in {
		w.sending = append(w.sending, mpi.Isend(w.comm, w.out, w.partner(), queueTag+i))
	}
}
