package tests

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

// What a buffered send does with one buffer is in case_mode_test.go; here are several, and what
// waits for them.
var bufferCases = []testCase{
	{name: "buffer/of the communicator", section: "3.6",
		sentence: "A buffered send over a communicator that has a buffer uses that one, and the buffer of the job if it has none.",
		run:      bufferOfComm},
	{name: "buffer/never the other", section: "3.6",
		sentence: "If there is no room in the buffer of the communicator the send fails, whatever room the job's buffer has.",
		run:      bufferNeverOther},
	{name: "buffer/local and not inherited", section: "3.6",
		sentence: "A buffer is attached to one communicator at one rank: its duplicates have none, nor need the other ranks have one.",
		run:      bufferNotInherited},
	{name: "buffer/automatic", section: "3.6",
		sentence: "With MPI_BUFFER_AUTOMATIC attached, buffered sends find room for any message; detaching returns it.",
		run:      bufferAutomatic},
	{name: "buffer/iflush", section: "3.6",
		sentence: "A nonblocking flush is complete when all messages that were in the buffer at its start have been transmitted.",
		run:      bufferIflush},
	{name: "buffer/flush does not wait for later ones", section: "3.6",
		sentence: "A flush is about the messages currently in the buffer, not about those sent while it waits.",
		run:      bufferFlushLater},
	{name: "buffer/detach of one", section: "3.6",
		sentence: "Detaching the buffer of a communicator waits for the messages in it, not for those in other buffers.",
		run:      bufferDetachOne},
	{name: "buffer/detach beside sends", section: "3.6",
		sentence: "While one goroutine attaches and detaches the buffer of a communicator, sends of another use it or that of the job.",
		run:      bufferDetachBeside},
	{name: "buffer/all flushes wait", section: "3.7.5",
		sentence: "Requests of flushes can be waited for beside any others; one of no buffer is complete at once.",
		run:      bufferWaitAll},
	{name: "buffer/context", section: "FitMPI",
		sentence: "A flush and a detach end with the context of the communicator; the buffer stays attached.",
		run:      bufferContext},
	{name: "buffer/persistent", section: "3.9",
		sentence: "Each start of a persistent buffered send takes room in the buffer of its communicator.",
		run:      bufferPersistent},
	{name: "buffer/errors", section: "3.6",
		sentence: "At most one buffer can be attached to a communicator at a time; a send without one is an error.",
		run:      bufferErrors},
	{name: "buffer/freed communicator", section: "7.4.3",
		sentence: "Pending communication of a communicator that is freed completes normally, out of its buffer too.",
		run:      bufferFreed},
}

// bigMessage goes by rendezvous: it lies in the buffer until it is received.
const bigMessage = 40000

// attachTo gives c a buffer for count messages of n int64.
func attachTo(t *T, c *mpi.Comm, count, n int) []byte {
	b := make([]byte, count*(n*8+mpi.BsendOverhead))
	t.must(c.AttachBuffer(b))
	return b
}

func detachFrom(t *T, c *mpi.Comm, want []byte) {
	b, err := c.DetachBuffer()
	t.must(err)
	if len(b) != len(want) || len(b) > 0 && &b[0] != &want[0] {
		t.Errorf("detached %d bytes, not the %d attached", len(b), len(want))
	}
}

// wantNext receives one message of the left neighbour.
func wantNext(t *T, c *mpi.Comm, n, k, tag int) {
	got, _, err := mpi.RecvNew[int64](c, left(c), tag)
	t.must(err)
	wantSlice(t, "message", got, ramp(n, k))
}

func bufferOfComm(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	job := attach(t, c, 1, bigMessage)
	own := attachTo(t, d, 2, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	_, err := mpi.Ibsend(d, ramp(bigMessage, 1), right(d), 0).Wait()
	t.must(err)
	t.must(mpi.Bsend(c, ramp(bigMessage, 2), right(c), 0), "the job's buffer is empty still")
	t.must(mpi.Barrier(c))
	wantNext(t, c, bigMessage, 2, 0)
	wantNext(t, d, bigMessage, 0, 0)
	wantNext(t, d, bigMessage, 1, 0)
	detachFrom(t, d, own)
	t.must(c.FlushJobBuffer())
	t.must(mpi.Bsend(d, ramp(bigMessage, 3), right(d), 0), "without a buffer of its own it uses the job's")
	wantNext(t, d, bigMessage, 3, 0)
	detach(t, c, job)
	t.must(d.Free())
}

func bufferNeverOther(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	job := attach(t, c, 10, bigMessage)
	own := attachTo(t, d, 1, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	err := mpi.Bsend(d, ramp(bigMessage, 1), right(d), 0)
	wantError(t, "a second one", err, mpi.ErrBuffer)
	want(t, "the cause", cause(err), fmt.Sprintf("no room for %d bytes (and %d of overhead) in a buffer of %d bytes, attached to the communicator: "+
		"attach a larger one with Comm.AttachBuffer, or flush it", 8*bigMessage, mpi.BsendOverhead, len(own)))
	t.must(mpi.Barrier(c)) // every rank has seen that there is no room: some may be made
	wantNext(t, d, bigMessage, 0, 0)
	detachFrom(t, d, own)
	detach(t, c, job)
	t.must(d.Free())
}

func bufferNotInherited(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	var own []byte
	if d.Rank() == 0 {
		own = attachTo(t, d, 1, 10)
	}
	e := dupOf(t, d)
	for _, x := range []*mpi.Comm{d, e} {
		err := mpi.Bsend(x, ramp(10, 0), right(x), 0)
		if x == d && x.Rank() == 0 {
			t.must(err, "with a buffer")
		} else {
			wantError(t, "without one", err, mpi.ErrBuffer)
		}
	}
	if left(d) == 0 {
		wantNext(t, d, 10, 0, 0)
	}
	detachFrom(t, d, own)
	t.must(e.Free())
	t.must(d.Free())
}

func bufferAutomatic(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	t.must(c.AttachJobBuffer(mpi.BufferAutomatic))
	t.must(d.AttachBuffer(mpi.BufferAutomatic))
	for _, x := range []*mpi.Comm{c, d} {
		for k := range 5 {
			b := ramp(bigMessage, k)
			t.must(mpi.Bsend(x, b, right(x), k))
			clear(b)
		}
	}
	t.must(mpi.Barrier(c))
	for _, x := range []*mpi.Comm{d, c} {
		for k := range 5 {
			wantNext(t, x, bigMessage, k, k)
		}
	}
	detachFrom(t, d, mpi.BufferAutomatic)
	detach(t, c, mpi.BufferAutomatic)
	wantError(t, "detached", mpi.Bsend(d, []int{1}, right(d), 0), mpi.ErrBuffer)
	t.must(d.Free())
}

func bufferIflush(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	own := attachTo(t, d, 2, bigMessage)
	job := attach(t, c, 1, bigMessage)
	for _, x := range []struct {
		what  string
		over  *mpi.Comm
		flush func() *mpi.Request
	}{
		{"of the communicator", d, d.IflushBuffer},
		{"of the job", c, func() *mpi.Request { return c.IflushJobBuffer() }},
	} {
		empty := x.flush()
		_, done, err := empty.Test()
		t.must(err)
		want(t, x.what+": the flush of an empty buffer is complete", done, true)
		t.must(mpi.Bsend(x.over, ramp(bigMessage, 0), right(d), 0))
		r := x.flush()
		t.must(mpi.Barrier(d)) // every rank has sent, no rank has received
		_, done, err = r.Test()
		t.must(err)
		want(t, x.what+": complete before the message has left", done, false)
		t.must(r.Cancel(), "which does nothing")
		t.must(mpi.Barrier(d))
		wantNext(t, x.over, bigMessage, 0, 0)
		st, err := r.Wait()
		t.must(err)
		want(t, "it is cancelled", st.Cancelled, false)
	}
	detachFrom(t, d, own)
	detach(t, c, job)
	t.must(d.Free())
}

// bufferFlushLater: the first message is received, the second not; a flush between the two ends.
func bufferFlushLater(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	own := attachTo(t, d, 2, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	early := d.IflushBuffer()
	t.must(mpi.Bsend(d, ramp(bigMessage, 1), right(d), 1))
	wantNext(t, d, bigMessage, 0, 0)
	_, err := early.Wait()
	t.must(err)
	late := d.IflushBuffer()
	t.must(mpi.Barrier(d))
	_, done, err := late.Test()
	t.must(err)
	want(t, "the second flush is complete", done, false)
	t.must(mpi.Barrier(d))
	wantNext(t, d, bigMessage, 1, 1)
	_, err = late.Wait()
	t.must(err)
	detachFrom(t, d, own)
	t.must(d.Free())
}

func bufferDetachOne(t *T, c *mpi.Comm) {
	d, e := dupOf(t, c), dupOf(t, c)
	slow, fast := attachTo(t, d, 1, bigMessage), attachTo(t, e, 1, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	t.must(mpi.Bsend(e, ramp(bigMessage, 1), right(e), 0))
	wantNext(t, e, bigMessage, 1, 0)
	detachFrom(t, e, fast)
	var detached atomic.Bool
	t.together(
		func() {
			detachFrom(t, d, slow)
			detached.Store(true)
		},
		func() {
			t.must(mpi.Barrier(c)) // all have detached the one
			want(t, "detached before the receive", detached.Load(), false)
			t.must(mpi.Barrier(c))
			wantNext(t, d, bigMessage, 0, 0)
		})
	detachFrom(t, d, nil)
	t.must(d.Free())
	t.must(e.Free())
}

func bufferDetachBeside(t *T, c *mpi.Comm) {
	const count = 200
	d := dupOf(t, c)
	t.must(c.AttachJobBuffer(mpi.BufferAutomatic))
	var sent atomic.Bool
	t.together(
		func() {
			for !sent.Load() {
				t.must(d.AttachBuffer(mpi.BufferAutomatic))
				detachFrom(t, d, mpi.BufferAutomatic)
			}
		},
		func() {
			defer sent.Store(true)
			for k := range count {
				t.must(mpi.Bsend(d, []int{k}, right(d), 0))
			}
		},
		func() {
			for k := range count {
				got, _, err := mpi.RecvValue[int](d, left(d), 0)
				t.must(err)
				want(t, "message", got, k)
			}
		})
	detach(t, c, mpi.BufferAutomatic)
	t.must(d.Free())
}

func bufferWaitAll(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	t.must(d.FlushBuffer(), "without a buffer")
	_, done, err := d.IflushBuffer().Test()
	t.must(err)
	want(t, "the flush of no buffer is complete", done, true)
	own := attachTo(t, d, 3, bigMessage)
	in := make([]int64, bigMessage)
	var rs []*mpi.Request
	for k := range 3 {
		rs = append(rs, mpi.Ibsend(d, ramp(bigMessage, k), right(d), 0), d.IflushBuffer())
	}
	t.together(
		func() {
			_, err := mpi.WaitAll(rs...)
			t.must(err)
		},
		func() {
			for k := range 3 {
				_, err := mpi.Recv(d, in, left(d), 0)
				t.must(err)
				wantSlice(t, "message", in, ramp(bigMessage, k))
			}
		})
	detachFrom(t, d, own)
	t.must(d.Free())
}

func bufferContext(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	own := attachTo(t, d, 1, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	enough := errors.New("enough")
	for what, f := range map[string]func(x *mpi.Comm) error{
		"FlushBuffer":  (*mpi.Comm).FlushBuffer,
		"DetachBuffer": func(x *mpi.Comm) error { return second(x.DetachBuffer()) },
		"IflushBuffer": func(x *mpi.Comm) error { return second(x.IflushBuffer().Wait()) },
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		t.together(
			func() {
				err := f(d.WithContext(ctx))
				wantError(t, what, err, mpi.ErrOther, what)
				want(t, what+" gives the cause", errors.Is(err, enough), true)
			},
			func() { cancel(enough) })
	}
	t.must(mpi.Barrier(d))
	wantNext(t, d, bigMessage, 0, 0)
	detachFrom(t, d, own)
	t.must(d.Free())
}

func bufferPersistent(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	own := attachTo(t, d, 1, bigMessage)
	r := mpi.BsendInit(d, ramp(bigMessage, 0), right(d), 0)
	for range 3 {
		t.must(r.Start())
		_, err := r.Wait()
		t.must(err)
		wantError(t, "no room", r.Start(), mpi.ErrBuffer, "Comm.AttachBuffer")
		t.must(mpi.Barrier(d))
		wantNext(t, d, bigMessage, 0, 0)
		t.must(d.FlushBuffer())
	}
	detachFrom(t, d, own)
	t.must(d.Free())
}

func bufferErrors(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	err := mpi.Bsend(d, ramp(3, 0), right(d), 0)
	wantError(t, "without a buffer", err, mpi.ErrBuffer, "Bsend")
	want(t, "the cause", cause(err), "24 bytes to send, and no buffer is attached to the communicator or the job: attach one with AttachJobBuffer, such as BufferAutomatic")
	own := attachTo(t, d, 1, 10)
	err = d.AttachBuffer(make([]byte, 5))
	wantError(t, "a second buffer", err, mpi.ErrBuffer, "AttachBuffer")
	want(t, "the cause", cause(err), fmt.Sprintf("a buffer of %d bytes is attached already: detach it first", len(own)))
	detachFrom(t, d, own)
	t.must(d.AttachBuffer(mpi.BufferAutomatic))
	err = d.AttachBuffer(own)
	want(t, "the cause", cause(err), "BufferAutomatic is attached already: detach it first")
	detachFrom(t, d, mpi.BufferAutomatic)
	t.must(d.Free())
	for _, x := range []*mpi.Comm{nil, d} {
		_, edetach := x.DetachBuffer()
		_, eiflush := x.IflushBuffer().Wait()
		_, ejob := x.IflushJobBuffer().Wait()
		for _, err := range []error{x.AttachBuffer(nil), edetach, x.FlushBuffer(), eiflush, ejob} {
			wantError(t, "no communicator, or a freed one", err, mpi.ErrComm)
		}
	}
}

func bufferFreed(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	attachTo(t, d, 1, bigMessage)
	in := make([]int64, bigMessage)
	t.must(mpi.Bsend(d, ramp(bigMessage, 0), right(d), 0))
	r := mpi.Irecv(d, in, left(d), 0)
	t.must(d.Free())
	_, err := r.Wait()
	t.must(err)
	wantSlice(t, "message", in, ramp(bigMessage, 0))
}
