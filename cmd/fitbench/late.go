//go:build linux

package main

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// lateCase is one case of test send: what the two ranks do, and which of them reports
// the time that it returns, in microseconds; the other returns 0.
type lateCase struct {
	name     string
	measure  string
	reporter int
	sender   func(l *latePair, late time.Duration) (float64, error)
	receiver func(l *latePair, late time.Duration) (float64, error)
}

var lateCases = []lateCase{
	{"late-receiver", "send", 0, (*latePair).sendAwaitAck, (*latePair).computeRecvAck},
	{"late-sender", "recv", 1, (*latePair).computeSend, (*latePair).recv},
	{"arrived", "recv", 1, (*latePair).send, (*latePair).computeRecv},
	{"sender-computes", "recv", 1, (*latePair).isendComputeWait, (*latePair).recv},
	{"undisturbed", "recv", 1, (*latePair).isendWait, (*latePair).recv},
}

// warmLate is how late the late rank is in repetitions that are not measured: they
// touch the library's buffers, they need not last.
const warmLate = time.Millisecond

// lateSend measures what one rank waits for when the other is late: in Send for the receiver, in
// Recv for the sender, and in Recv for a sender that started in time and computes.
func lateSend(e *env) error {
	cases, err := choose(e, lateCases, func(c lateCase) string { return c.name })
	if err != nil || e.rank > 1 {
		return err
	}
	for _, size := range e.sizes() {
		l := &latePair{e: e, sends: mpi.Send[byte], buf: buffer(size)}
		if err := l.measureAll(cases, size); err != nil {
			return err
		}
	}
	return nil
}

// bsendCases are those of lateCases in which rank 0 may send by Bsend, whose time is then reported
// as that.
var bsendCases = []lateCase{
	{"late-receiver", "bsend", 0, (*latePair).sendAwaitAck, (*latePair).computeRecvAck},
	{"arrived", "recv", 1, (*latePair).send, (*latePair).computeRecv},
}

// bsendRoom is how many messages fit into the buffer of test bsend: one is sent at a time, but its
// memory may be free a little later than its receiver has it.
const bsendRoom = 4

// lateBsend is lateSend of buffered sends.
func lateBsend(e *env) error {
	cases, err := choose(e, bsendCases, func(c lateCase) string { return c.name })
	if err != nil || e.rank > 1 {
		return err
	}
	for _, size := range e.sizes() {
		if err := e.world.AttachBuffer(make([]byte, bsendRoom*(size+mpi.BsendOverhead))); err != nil {
			return err
		}
		l := &latePair{e: e, sends: mpi.Bsend[byte], buf: buffer(size)}
		if err := l.measureAll(cases, size); err != nil {
			return err
		}
		if _, err := e.world.DetachBuffer(); err != nil {
			return err
		}
	}
	return nil
}

// latePair is one rank of the pair.
type latePair struct {
	e     *env
	sends func(c *mpi.Comm, buf []byte, dest, tag int) error // Send or Bsend
	buf   []byte                                             // what rank 0 sends, or where rank 1 receives
	ack   [1]byte
	work  chain
}

func (l *latePair) measureAll(cases []lateCase, size int) error {
	for _, c := range cases {
		if err := l.measure(c, size); err != nil {
			return err
		}
	}
	return nil
}

// measure repeats one case, each time after sync.
func (l *latePair) measure(c lateCase, size int) error {
	step := c.receiver
	if l.e.rank == 0 {
		step = c.sender
	}
	n, warmup := l.e.few(10)
	i := 0
	xs, err := repeat(n, warmup, l.e.sync, func() (float64, error) {
		late := l.e.opt.late
		if i++; i <= warmup {
			late = min(late, warmLate)
		}
		return step(l, late)
	})
	if err != nil {
		return err
	}
	return l.e.reportOf(c.reporter, c.name, size, c.measure, "us", xs)
}

func (l *latePair) send(time.Duration) (float64, error) {
	start := now()
	err := l.sends(l.e.world, l.buf, 1, dataTag)
	return micros(start), err
}

func (l *latePair) sendAwaitAck(late time.Duration) (float64, error) {
	x, err := l.send(late)
	if err != nil {
		return 0, err
	}
	_, err = mpi.Recv(l.e.world, l.ack[:], 1, ackTag)
	return x, err
}

func (l *latePair) computeSend(late time.Duration) (float64, error) {
	l.work.spend(late)
	return l.send(late)
}

func (l *latePair) isendComputeWait(late time.Duration) (float64, error) {
	r := mpi.Isend(l.e.world, l.buf, 1, dataTag)
	l.work.spend(late)
	_, err := r.Wait()
	return 0, err
}

func (l *latePair) isendWait(time.Duration) (float64, error) {
	_, err := mpi.Isend(l.e.world, l.buf, 1, dataTag).Wait()
	return 0, err
}

func (l *latePair) recv(time.Duration) (float64, error) {
	start := now()
	_, err := mpi.Recv(l.e.world, l.buf, 0, dataTag)
	return micros(start), err
}

func (l *latePair) computeRecv(late time.Duration) (float64, error) {
	l.work.spend(late)
	return l.recv(late)
}

func (l *latePair) computeRecvAck(late time.Duration) (float64, error) {
	x, err := l.computeRecv(late)
	if err != nil {
		return 0, err
	}
	return x, mpi.Send(l.e.world, l.ack[:], 0, ackTag)
}
