package tests

import (
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

var modeCases = []testCase{
	{name: "mode/synchronous waits for the match", section: "3.4",
		sentence: "However, the send will complete successfully only if a matching receive is posted, and the receive operation has " +
			"started to receive the message sent by the synchronous send.",
		run: synchronous},
	{name: "mode/blocking synchronous waits for the match", section: "3.4",
		sentence: "Its completion also indicates that the receiver has reached a certain point in its execution.",
		run:      synchronousBlocking},
	{name: "mode/standard is local while there is room", section: "FitMPI",
		sentence: "A standard send copies into the library buffer when there is room and returns, whether or not a receive is posted.",
		run:      standardLocal},
	{name: "mode/standard to itself", section: "FitMPI",
		sentence: "A standard send to this rank of at most FITMPI_EAGER_MAX bytes is complete before its receive, as one to another rank is.",
		run:      standardSelf},
	{name: "mode/standard beyond the buffer", section: "3.4",
		sentence: "The send may not complete until a matching receive has been posted, and the data has been moved to the receiver.",
		min:      2, world: true, run: standardFull},
	{name: "mode/ready", section: "3.4",
		sentence: "A send that uses the ready communication mode may be started only if the matching receive is already posted.",
		run:      ready},
	{name: "mode/buffered", section: "3.4",
		sentence: "A buffered mode send operation is local: its completion does not depend on the occurrence of a matching receive.",
		run:      buffered},
	{name: "mode/buffered overflow", section: "3.6",
		sentence: "An error will occur if a buffered send is started with insufficient buffer space.",
		run:      bufferedOverflow},
	{name: "mode/detach waits", section: "3.6",
		sentence: "This operation will block until all messages currently in the buffer have been transmitted.",
		run:      detachWaits},
	{name: "mode/flush", section: "3.6",
		sentence: "Calling MPI_BUFFER_FLUSH blocks until all messages currently in the buffer have been transmitted.",
		run:      flush},
	{name: "mode/buffer is reusable at once", section: "3.7.3",
		sentence: "The completion of a send operation indicates that the sender is now free to update the locations in the send buffer.",
		run:      reusable},
}

const (
	tagData = 1 // the message that the case is about
	tagFlag = 2 // "go on"
)

// tell and hear are messages without content that order what ranks do.
func tell(t *T, c *mpi.Comm, to int) { t.must(mpi.Send[byte](c, nil, to, tagFlag)) }
func hear(t *T, c *mpi.Comm, from int) {
	_, err := mpi.Recv[byte](c, nil, from, tagFlag)
	t.must(err)
}

func synchronous(t *T, c *mpi.Comm) {
	for k, n := range append([]int{0}, lengths...) {
		out := mpi.Issend(c, ramp(n, k), right(c), tagData)
		t.must(mpi.Barrier(c)) // every rank has sent, no rank has received
		if _, done, err := out.Test(); done {
			t.Errorf("a synchronous send of %d elements is done before its receive: %v", n, err)
		}
		t.must(mpi.Barrier(c))
		in := make([]int64, n)
		_, err := mpi.Recv(c, in, left(c), tagData)
		t.must(err)
		wantSlice(t, "message", in, ramp(n, k))
		_, err = out.Wait()
		t.must(err)
	}
}

func synchronousBlocking(t *T, c *mpi.Comm) {
	for k, n := range lengths {
		var returned atomic.Bool
		t.together(
			func() {
				t.must(mpi.Ssend(c, ramp(n, k), right(c), tagData))
				returned.Store(true)
			},
			func() {
				_, err := mpi.Probe(c, left(c), tagData) // the message is here, and not matched
				t.must(err)
				t.must(mpi.Barrier(c)) // so are all messages
				want(t, "Ssend has returned", returned.Load(), false)
				t.must(mpi.Barrier(c))
				in := make([]int64, n)
				_, err = mpi.Recv(c, in, left(c), tagData)
				t.must(err)
				wantSlice(t, "message", in, ramp(n, k))
			})
	}
}

func standardSelf(t *T, c *mpi.Comm) {
	sizes, me := []int{0, 1, 100, 2000, 40000, 20000, 3}, c.Rank()
	var waits []*mpi.Request
	for k, n := range sizes {
		out := ramp(n, k)
		var r *mpi.Request
		if k%2 == 1 {
			r = mpi.SendInit(c, out, me, tagData)
			t.must(r.Start())
		} else {
			r = mpi.Isend(c, out, me, tagData)
		}
		if n*8 > 256<<10 { // waits for its receive, and its memory must stay
			waits = append(waits, r)
			continue
		}
		_, err := r.Wait()
		t.must(err)
		clear(out)
	}
	for k, n := range sizes {
		in := make([]int64, n)
		_, err := mpi.Recv(c, in, me, tagData)
		t.must(err)
		wantSlice(t, fmt.Sprint("message ", k), in, ramp(n, k))
	}
	_, err := mpi.WaitAll(waits...)
	t.must(err)
}

func standardLocal(t *T, c *mpi.Comm) {
	if t.Policy == "caller" {
		return // no goroutine would send what is left in the buffer
	}
	b := make([]int64, 1<<17)
	for k, n := range append([]int{len(b)}, lengths...) {
		copy(b, ramp(n, k))
		t.must(mpi.Send(c, b[:n], right(c), 100+k)) // no rank receives yet
		clear(b)
	}
	t.must(mpi.Barrier(c))
	for k, n := range append([]int{len(b)}, lengths...) {
		got, _, err := mpi.RecvNew[int64](c, left(c), 100+k)
		t.must(err)
		wantSlice(t, "message", got, ramp(n, k))
	}
}

// standardFull: far more than the library send buffer holds, to a receiver that is late.
func standardFull(t *T, c *mpi.Comm) {
	const n, count = 1 << 19, 6 // 24 MB
	if c.Rank() == 0 {
		t.must(mpi.Barrier(c))
		for k := range count {
			got, _, err := mpi.RecvNew[int64](c, 1, 0)
			t.must(err)
			want(t, "first", got[0], int64(k)<<32)
			want(t, "last", got[n-1], int64(k)<<32|int64(n-1))
		}
		return
	}
	t.together(
		func() { t.must(mpi.Barrier(c)) },
		func() {
			if c.Rank() == 1 {
				for k := range count {
					t.must(mpi.Send(c, ramp(n, k), 0, 0))
				}
			}
		})
}

func ready(t *T, c *mpi.Comm) {
	for k, n := range lengths {
		in := make([]int64, n)
		r := mpi.Irecv(c, in, left(c), tagData)
		t.must(mpi.Barrier(c))
		if k%2 == 0 {
			t.must(mpi.Rsend(c, ramp(n, k), right(c), tagData))
		} else {
			_, err := mpi.Irsend(c, ramp(n, k), right(c), tagData).Wait()
			t.must(err)
		}
		_, err := r.Wait()
		t.must(err)
		wantSlice(t, "message", in, ramp(n, k))
	}
}

// attach gives the job a buffer for count messages of n int64.
func attach(t *T, c *mpi.Comm, count, n int) []byte {
	b := make([]byte, count*(n*8+mpi.BsendOverhead))
	t.must(c.AttachJobBuffer(b))
	return b
}

func detach(t *T, c *mpi.Comm, want []byte) {
	b, err := c.DetachJobBuffer()
	t.must(err)
	if len(b) != len(want) || len(b) > 0 && &b[0] != &want[0] {
		t.Errorf("detached %d bytes, not the %d attached", len(b), len(want))
	}
}

func buffered(t *T, c *mpi.Comm) {
	total := 0
	for _, n := range lengths {
		total += n
	}
	mem := attach(t, c, len(lengths), total)
	for k, n := range lengths {
		b := ramp(n, k)
		if k%2 == 0 {
			t.must(mpi.Bsend(c, b, right(c), k))
		} else {
			_, done, err := mpi.Ibsend(c, b, right(c), k).Test()
			t.must(err)
			want(t, "Ibsend is done", done, true)
		}
		clear(b)
	}
	t.must(mpi.Barrier(c))
	for k, n := range lengths {
		got, _, err := mpi.RecvNew[int64](c, left(c), k)
		t.must(err)
		wantSlice(t, "message", got, ramp(n, k))
	}
	detach(t, c, mem)
}

func bufferedOverflow(t *T, c *mpi.Comm) {
	const n = 40000 // a rendezvous: it stays in the buffer until it is received
	wantError(t, "without a buffer", mpi.Bsend(c, ramp(n, 0), right(c), 0), mpi.ErrBuffer, "320000 bytes", "AttachJobBuffer")
	mem := attach(t, c, 2, n)
	wantError(t, "a second buffer", c.AttachJobBuffer(make([]byte, 10)), mpi.ErrBuffer, "attached already")
	t.must(mpi.Bsend(c, ramp(n, 0), right(c), 0), "the first exactly fits")
	t.must(mpi.Bsend(c, ramp(n, 1), right(c), 0), "the second too")
	wantError(t, "a third", mpi.Bsend(c, ramp(n, 2), right(c), 0), mpi.ErrBuffer, "320000 bytes")
	_, err := mpi.Ibsend(c, ramp(n, 2), right(c), 0).Wait()
	wantError(t, "a third by Ibsend", err, mpi.ErrBuffer)
	t.must(mpi.Barrier(c)) // every rank has seen the overflow: room may be made
	for k := range 2 {
		got, _, err := mpi.RecvNew[int64](c, left(c), 0)
		t.must(err)
		wantSlice(t, "message", got, ramp(n, k))
	}
	t.must(c.FlushJobBuffer())
	t.must(mpi.Bsend(c, ramp(n, 3), right(c), 0), "after the flush there is room")
	_, _, err = mpi.RecvNew[int64](c, left(c), 0)
	t.must(err)
	detach(t, c, mem)
	detach(t, c, nil)
	wantError(t, "without a buffer", mpi.Bsend(c, []int{1}, right(c), 0), mpi.ErrBuffer)
	t.must(c.AttachJobBuffer(nil), "a buffer of no bytes")
	detach(t, c, nil)
}

// detachWaits: a message that no rank receives yet keeps the buffer.
func detachWaits(t *T, c *mpi.Comm) {
	const n = 40000
	mem := attach(t, c, 1, n)
	t.must(mpi.Bsend(c, ramp(n, 5), right(c), 0))
	var detached atomic.Bool
	t.together(
		func() {
			detach(t, c, mem)
			detached.Store(true)
		},
		func() {
			t.must(mpi.Barrier(c))
			want(t, "detached before the receive", detached.Load(), false)
			t.must(mpi.Barrier(c))
			got, _, err := mpi.RecvNew[int64](c, left(c), 0)
			t.must(err)
			wantSlice(t, "message", got, ramp(n, 5))
		})
}

func flush(t *T, c *mpi.Comm) {
	t.must(c.FlushJobBuffer(), "without a buffer")
	const n = 1000
	mem := attach(t, c, 1, n)
	for k := range 5 {
		t.together(
			func() {
				t.must(mpi.Bsend(c, ramp(n, k), right(c), 0))
				t.must(c.FlushJobBuffer())
			},
			func() {
				got, _, err := mpi.RecvNew[int64](c, left(c), 0)
				t.must(err)
				wantSlice(t, "message", got, ramp(n, k))
			})
	}
	detach(t, c, mem)
}

func reusable(t *T, c *mpi.Comm) {
	for k, n := range lengths {
		b := ramp(n, k)
		var in *mpi.Request
		got := make([]int64, n)
		if k%2 == 0 {
			in = mpi.Irecv(c, got, left(c), 0)
		}
		t.together(
			func() {
				t.must(mpi.Send(c, b, right(c), 0))
				clear(b)
			},
			func() {
				if in == nil {
					in = mpi.Irecv(c, got, left(c), 0)
				}
				_, err := in.Wait()
				t.must(err)
			})
		wantSlice(t, "message", got, ramp(n, k))
	}
}
