package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const bounded = "When the context of a communicator ends, a call that waits ends its operation and returns an error whose cause is " +
	"context.Cause; its buffer belongs to the caller again."

var contextCases = []testCase{
	{name: "context/receive", section: "FitMPI", sentence: bounded, run: contextReceives},
	{name: "context/send", section: "FitMPI", sentence: bounded, run: contextSends},
	{name: "context/requests", section: "FitMPI", sentence: bounded, run: contextRequests},
	{name: "context/collectives", section: "FitMPI", sentence: bounded, min: 2, run: contextCollectives},
	{name: "context/deadline", section: "FitMPI", sentence: bounded, run: contextDeadline},
	{name: "context/ready result", section: "FitMPI",
		sentence: "A ready result is returned even if the context is already done.",
		run:      contextReady},
	{name: "context/half received", section: "FitMPI",
		sentence: "A receive that ends while its message arrives is as if it had never been posted: the next receive gets the message, whole.",
		run:      contextHalf},
}

var errEnough = errors.New("we have waited long enough")

// cut runs f on c bounded by a context that ends while f waits, and checks what f returns, and
// when.
func cut(t *T, c *mpi.Comm, what string, f func(c *mpi.Comm) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(3*time.Millisecond, func() { cancel(errEnough) })
	defer timer.Stop()
	began := time.Now()
	err := f(c.WithContext(ctx))
	if !errors.Is(err, errEnough) {
		t.Errorf("%s with a context that ended: error %v, want its cause", what, err)
	}
	if d := time.Since(began); d > failsafe {
		t.Errorf("%s came back after %v", what, d)
	}
}

// pingAround shows that the pairs still work.
func pingAround(t *T, c *mpi.Comm, tag int) {
	for k, n := range lengths {
		in := make([]int64, n)
		_, err := mpi.Sendrecv(c, ramp(n, k), right(c), tag, in, left(c), tag)
		t.must(err, "afterwards")
		wantSlice(t, "a message afterwards", in, ramp(n, k))
	}
}

func contextReceives(t *T, c *mpi.Comm) {
	buf := make([]int64, 10)
	cut(t, c, "Recv", func(c *mpi.Comm) error { _, err := mpi.Recv(c, buf, left(c), 1); return err })
	cut(t, c, "Recv of any", func(c *mpi.Comm) error { _, err := mpi.Recv(c, buf, mpi.AnySource, mpi.AnyTag); return err })
	cut(t, c, "Recv of objects", func(c *mpi.Comm) error { _, err := mpi.Recv(c, []string{""}, left(c), 1); return err })
	cut(t, c, "RecvNew", func(c *mpi.Comm) error { _, _, err := mpi.RecvNew[int](c, left(c), 1); return err })
	cut(t, c, "RecvValue", func(c *mpi.Comm) error { _, _, err := mpi.RecvValue[int](c, left(c), 1); return err })
	cut(t, c, "Probe", func(c *mpi.Comm) error { _, err := mpi.Probe(c, left(c), 1); return err })
	cut(t, c, "Mprobe", func(c *mpi.Comm) error { _, _, err := mpi.Mprobe(c, mpi.AnySource, 1); return err })
	t.must(mpi.Barrier(c))
	pingAround(t, c, 1)
	_, err := mpi.Recv(c.WithContext(ended()), buf, mpi.AnySource, 1)
	if err == nil || !errors.Is(err, errEnough) {
		t.Errorf("Recv with a context that had ended: %v", err)
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errEnough)
	return ctx
}

// contextSends: sends that wait are those that are synchronous, or larger than what is buffered.
// The message may arrive all the same, so the receiver takes what is there.
func contextSends(t *T, c *mpi.Comm) {
	for _, n := range []int{1, 4000, 40000} {
		cut(t, c, "Ssend", func(c *mpi.Comm) error { return mpi.Ssend(c, ramp(n, 1), right(c), 1) })
	}
	cut(t, c, "Send", func(c *mpi.Comm) error { return mpi.Send(c, ramp(3<<20, 1), right(c), 1) })
	pingAround(t, c, 2)
	t.must(mpi.Barrier(c))
	takeLeftovers(t, c, 1)
}

// takeLeftovers receives messages of ended sends: whole ones, each as its sender meant it.
func takeLeftovers(t *T, c *mpi.Comm, tag int) {
	for {
		msg, _, err := mpi.Improbe(c, mpi.AnySource, tag)
		t.must(err)
		if msg == nil {
			return
		}
		got, _, err := mpi.MrecvNew[int64](msg)
		t.must(err, "a message of a send that ended")
		wantSlice(t, "a message of a send that ended", got, ramp(len(got), int(got[0]>>32)))
	}
}

func contextRequests(t *T, c *mpi.Comm) {
	buf := make([]int64, 10)
	cut(t, c, "Wait of a receive", func(c *mpi.Comm) error {
		_, err := mpi.Irecv(c, buf, left(c), 4).Wait()
		return err
	})
	cut(t, c, "Wait of a synchronous send", func(c *mpi.Comm) error {
		_, err := mpi.Issend(c, ramp(40000, 1), right(c), 1).Wait()
		return err
	})
	cut(t, c, "WaitAll", func(c *mpi.Comm) error {
		_, err := mpi.WaitAll(mpi.Irecv(c, buf, left(c), 2), mpi.Issend(c, ramp(2, 1), right(c), 1), mpi.Irecv(c, buf, mpi.AnySource, 3))
		return err
	})
	cut(t, c, "WaitAny", func(c *mpi.Comm) error {
		a, b := mpi.Irecv(c, buf, left(c), 2), mpi.Irecv(c, buf, left(c), 3)
		_, _, err := mpi.WaitAny(a, b)
		if _, err := mpi.WaitAll(a, b); !errors.Is(err, errEnough) {
			t.Errorf("WaitAll after WaitAny that ended: %v", err)
		}
		return err
	})
	cut(t, c, "WaitSome", func(c *mpi.Comm) error {
		a := mpi.IrecvNew[string](c, left(c), 2)
		_, _, err := mpi.WaitSome(a.Request)
		return err
	})
	cut(t, c, "Sendrecv", func(c *mpi.Comm) error {
		_, err := mpi.Sendrecv(c, ramp(40000, 1), right(c), 1, buf, left(c), 2)
		return err
	})
	cut(t, c, "Wait of a general request", func(c *mpi.Comm) error {
		_, err := c.GrequestStart(mpi.GeneralCallbacks{}).Wait()
		return err
	})
	cut(t, c, "Wait of a persistent receive", func(c *mpi.Comm) error {
		r := mpi.RecvInit(c, buf, left(c), 2)
		if err := r.Start(); err != nil { // on a busy machine the time may be over by now
			return err
		}
		_, err := r.Wait()
		return err
	})
	t.must(mpi.Barrier(c)) // the receives above must not catch what follows
	pingAround(t, c, 2)
	t.must(mpi.Barrier(c))
	takeLeftovers(t, c, 1)
}

// contextCollectives: one rank does not come; the others give up. The communicator is of no use
// then, its parent is.
func contextCollectives(t *T, c *mpi.Comm) {
	in, out := make([]int64, 6*c.Size()), make([]int64, 6*c.Size()*c.Size())
	for _, x := range []struct {
		what string
		f    func(c *mpi.Comm) error
	}{
		{"Barrier", mpi.Barrier},
		{"Bcast", func(c *mpi.Comm) error { return mpi.Bcast(c, in, c.Size()-1) }},
		{"Allreduce", func(c *mpi.Comm) error { return mpi.Allreduce(c, in, out, mpi.Sum) }},
		{"Alltoall", func(c *mpi.Comm) error { return mpi.Alltoall(c, in, out) }},
		{"Allgather", func(c *mpi.Comm) error { return mpi.Allgather(c, in, out) }},
		{"Split", func(c *mpi.Comm) error { return second(c.Split(0, 0)) }},
		{"Ibarrier", func(c *mpi.Comm) error { return second(mpi.Ibarrier(c).Wait()) }},
		{"Allreduce of objects", func(c *mpi.Comm) error { return mpi.Allreduce(c, []string{"a"}, []string{""}, mpi.Sum) }},
	} {
		d, err := c.Dup(nil)
		t.must(err)
		if c.Rank() < c.Size()-1 {
			cut(t, d, x.what, x.f)
		}
		t.must(mpi.Barrier(c))
	}
	pingAround(t, c, 2)
}

func contextDeadline(t *T, c *mpi.Comm) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	_, err := mpi.Recv(c.WithContext(ctx), make([]int, 1), left(c), 1)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Recv after its deadline: %v", err)
	}
	wantError(t, "Recv after its deadline", err, mpi.ErrOther, "Recv", fmt.Sprint("from rank ", left(c)), "deadline exceeded")
	ctx, cancel = context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	st, err := mpi.Recv(c.WithContext(ctx), make([]int, 1), mpi.AnySource, 1)
	wantError(t, "Recv of any after its deadline", err, mpi.ErrOther, "deadline exceeded")
	want(t, "its error names a sender", strings.Contains(fmt.Sprint(err), "from rank"), false)
	wantEmpty(t, "Recv of any after its deadline", st)
	_, err = mpi.Recv(c.WithContext(ctx), make([]int, 1), mpi.AnySource, 1)
	wantError(t, "Recv after its deadline", err, mpi.ErrOther, "deadline exceeded")
	t.must(mpi.Barrier(c))
	pingAround(t, c, 1)
}

func contextReady(t *T, c *mpi.Comm) {
	ctx, cancel := context.WithCancel(context.Background())
	in := make([]int64, 9000)
	r := mpi.Irecv(c.WithContext(ctx), in, left(c), 1)
	s := mpi.Isend(c.WithContext(ctx), ramp(9000, 1), right(c), 1)
	for _, q := range []*mpi.Request{r, s} {
		for done := false; !done; {
			_, d, err := q.GetStatus()
			t.must(err)
			done = d
		}
	}
	cancel()
	st, err := r.Wait()
	t.must(err)
	want(t, "count", st.Count, 9000)
	_, err = s.Wait()
	t.must(err)
	wantSlice(t, "message", in, ramp(9000, 1))
}

// contextHalf: ends strike at every moment of a transfer. Whichever rank was struck, each message
// that is received is right, none that was sent is lost, and the sender's buffer is free.
func contextHalf(t *T, c *mpi.Comm) {
	rounds := 8
	if t.World {
		rounds = 24
	}
	for k := range rounds {
		n := []int{3000, 8192, 40000, 200000}[k%4]
		ctx, cancel := context.WithCancelCause(context.Background())
		in := make([]int64, n)
		timer := time.AfterFunc(time.Duration(k*k)*4*time.Microsecond, func() { cancel(errEnough) })
		var sent, received error
		t.together(
			func() {
				out := ramp(n, k)
				sent = mpi.Ssend(c.WithContext(ctx), out, right(c), 1)
				for i := range out {
					out[i] = -1
				}
			},
			func() { _, received = mpi.Recv(c.WithContext(ctx), in, left(c), 1) })
		timer.Stop()
		cancel(errEnough)
		if sent != nil && !errors.Is(sent, errEnough) || received != nil && !errors.Is(received, errEnough) {
			t.Errorf("Ssend: %v, Recv: %v", sent, received)
		}
		if received == nil {
			wantSlice(t, "message", in, ramp(n, k))
		}
		for i := range in {
			in[i] = -2
		}
		pingAround(t, c, 2)
		for i := range in {
			if in[i] != -2 {
				t.Fatalf("the buffer was written after Recv had returned")
			}
		}
		theirs := make([]bool, 1)
		_, err := mpi.Sendrecv(c, []bool{sent == nil}, right(c), 3, theirs, left(c), 3)
		t.must(err)
		if theirs[0] && received != nil {
			again := make([]int64, n)
			_, err := mpi.Recv(c, again, left(c), 1)
			t.must(err, "a message whose receive had ended")
			wantSlice(t, "a message whose receive had ended", again, ramp(n, k))
		}
		t.must(mpi.Barrier(c))
		takeLeftovers(t, c, 1)
		t.must(mpi.Barrier(c))
	}
}
