package mpi

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// onChecked runs a job of n ranks that are checked, or are not, in every way.
func onChecked(t *testing.T, check string, n int, fn func(c *Comm) error, verdict func(t *testing.T, err error)) {
	everyWay(t, func(t *testing.T) {
		t.Setenv("FITMPI_CHECK", check)
		verdict(t, RunThreads(n, func(_ context.Context, c *Comm) error { return fn(c) }))
	})
}

// TestFinalizeNamesRequests: each rank must "locally complete all MPI operations that it initiated"
// before Finalize (MPI 4.1, section 11.2.2). A rank that is checked names those that are not,
// whatever they are of, and how far they have come.
func TestFinalizeNamesRequests(t *testing.T) {
	for name, start := range map[string]func(c *Comm) *Request{
		"Isend":  func(c *Comm) *Request { return Isend(c, []int{1}, ProcNull, 3) },
		"Ibsend": func(c *Comm) *Request { return Ibsend(c, []int{1}, ProcNull, 3) },
		"Irecv":  func(c *Comm) *Request { return Irecv(c, []int{1}, 0, 3) },
		"Issend": func(c *Comm) *Request { return Issend(c, []int{1}, 9, 3) }, // its error is told to no caller, either
		"IrecvNew": func(c *Comm) *Request {
			r := IrecvNew[int](c, 0, 3)
			return r.Request
		},
		"Iallreduce": func(c *Comm) *Request { return Iallreduce(c.Self(), []int{1}, []int{2}, Sum) },
		"RecvInit": func(c *Comm) *Request {
			r := RecvInit(c, []int{1}, ProcNull, 3)
			_ = r.Start()
			return r
		},
		"GrequestStart": func(c *Comm) *Request {
			r := c.GrequestStart(GeneralCallbacks{})
			_ = r.Complete()
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FITMPI_CHECK", "1")
			err := RunThreads(1, func(_ context.Context, c *Comm) error {
				c.SetErrhandler(ErrorsReturn)
				start(c)
				done := start(c)
				return waitEnd(c, done)
			})
			wantSaid(t, name, err, ErrRequest, "1 request was never completed: "+name+" at ")
			wantSaid(t, name, err, ErrRequest, "check_end_test.go:")
		})
	}
}

// waitEnd completes a request in some way that leaves nothing behind.
func waitEnd(c *Comm, r *Request) error {
	if r.isOver() {
		_, _ = r.Wait()
		return nil
	}
	if err := r.Cancel(); err != nil {
		return err
	}
	_, err := r.Wait()
	return err
}

// TestFinalizeOfCompleteRequests: what Wait, Test and their families have said to be complete, what
// was freed, and persistent requests that are not active are nothing to name.
func TestFinalizeOfCompleteRequests(t *testing.T) {
	onChecked(t, "1", 2, func(c *Comm) error {
		other := 1 - c.Rank()
		pair := func() []*Request {
			return []*Request{Isend(c, []int{1}, other, 1), Irecv(c, []int{0}, other, 1), nil, Isend(c, []int{1}, ProcNull, 1)}
		}
		if err := waitAllOf(pair()...); err != nil {
			return err
		}
		for rs := pair(); ; {
			_, done, err := TestAll(rs...)
			if err != nil {
				return err
			}
			if done {
				break
			}
		}
		for rs := pair(); ; {
			i, _, err := WaitAny(rs...)
			if err != nil {
				return err
			}
			if i == Undefined {
				break
			}
		}
		rs := pair()
		if err := rs[0].Free(); err != nil {
			return err
		}
		if _, _, err := WaitSome(rs[1]); err != nil {
			return err
		}
		if _, err := rs[3].Wait(); err != nil {
			return err
		}
		s, r := SendInit(c, []int{1}, other, 2), RecvInit(c, []int{0}, other, 2)
		for range 2 {
			if err := StartAll(s, r); err != nil {
				return err
			}
			if err := waitAllOf(s, r); err != nil {
				return err
			}
		}
		SendInit(c, []int{1}, other, 2)
		BarrierInit(c)
		return waitAllOf(Ibarrier(c), Ibcast(c, []int{1}, 0))
	}, func(t *testing.T, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

// TestFinalizeNamesMessages: each rank "must execute matching calls needed to complete MPI
// communications initiated by other processes" (MPI 4.1, section 11.2.2). A rank that is checked
// names the messages that it has not received.
func TestFinalizeNamesMessages(t *testing.T) {
	send := func(c *Comm) error {
		if c.Rank() != 0 {
			return nil
		}
		if err := Send(c, []float64{1, 2}, 1, 7); err != nil {
			return err
		}
		return Send(c, []string{"a"}, 1, 8)
	}
	onChecked(t, "1", 2, send, func(t *testing.T, err error) {
		wantSaid(t, "checked", err, ErrOther, "2 messages were never received: 16 bytes of float64 from world rank 0 with tag 7 over world; ")
	})
	onChecked(t, "0", 2, send, func(t *testing.T, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

// TestSessionNamesMessages: what Finalize says of the world's communicators, Session.Finalize says
// of those of the session, and of no others.
func TestSessionNamesMessages(t *testing.T) {
	const said = "1 message was never received: 8 bytes of int64 from world rank 0 with tag 7 over left: each needs a receive before Session.Finalize"
	program := func(ctx context.Context, world *Comm) error {
		world.SetErrhandler(ErrorsReturn)
		s, err := SessionInit(ctx, nil, ErrorsReturn)
		if err != nil {
			return err
		}
		other, err := SessionInit(ctx, nil, ErrorsReturn)
		if err != nil {
			return err
		}
		c, err := commOf(s, PsetWorld, "left")
		if err != nil {
			return err
		}
		c.SetName("left")
		if c.Rank() == 0 {
			err = errors.Join(Send(c, []int{1}, 1, 7), Send(c, []int{2}, 1, 8))
		} else {
			_, err = Recv(c, []int{0}, 0, 8) // so that the first is here
		}
		if err := errors.Join(err, other.Finalize(), Barrier(world)); err != nil {
			return err
		}
		err = s.Finalize()
		if world.Rank() == 1 && ClassOf(err) == ErrOther && strings.Contains(err.Error(), said) {
			return errReported
		}
		return err
	}
	for check, want := range map[string]error{"1": errReported, "0": nil} {
		everyWay(t, func(t *testing.T) {
			t.Setenv("FITMPI_CHECK", check)
			if err := RunThreads(2, program); !errors.Is(err, want) {
				t.Errorf("FITMPI_CHECK=%s: %v", check, err)
			}
		})
	}
}

var errReported = errors.New("Session.Finalize has told")

// TestFinalizeWarnsOfRoots: a collective with different roots may end at every rank, with data that
// are not what they should be. Every job warns of its messages that no rank takes, and says how to
// find the call.
func TestFinalizeWarnsOfRoots(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		log, err := os.Create(t.TempDir() + "/log")
		if err != nil {
			t.Fatal(err)
		}
		defer func(was *os.File) { os.Stderr = was; log.Close() }(os.Stderr)
		os.Stderr = log // of loggers that are made from now on
		if err := RunThreads(2, func(_ context.Context, c *Comm) error { return Bcast(c, []int{1}, c.Rank()) }); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"from world rank 0, which called Bcast over world", "from world rank 1, which called Bcast over world", "fitrun --check"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the log has no %q:\n%s", want, text)
			}
		}
	})
}

// TestBuffersThatChange: "the sender should not modify any part of the send buffer after a
// nonblocking send operation is called until the send completes" (MPI 4.1, section 3.7.2). A rank
// that is checked says so when the request is waited for.
func TestBuffersThatChange(t *testing.T) {
	t.Setenv("FITMPI_CHECK", "1")
	t.Setenv("FITMPI_PROGRESS", "caller") // else what is wrong here is a data race besides
	calls := map[string]func(c *Comm, buf []int64) *Request{
		"Isend":     func(c *Comm, buf []int64) *Request { return Isend(c, buf, 0, 1) },
		"Issend":    func(c *Comm, buf []int64) *Request { return Issend(c, buf, 0, 1) },
		"Isendrecv": func(c *Comm, buf []int64) *Request { return Isendrecv(c, buf, 0, 1, []int64{0}, ProcNull, 1) },
		"SendInit":  func(c *Comm, buf []int64) *Request { r := SendInit(c, buf, 0, 1); _ = r.Start(); return r },
		"WithType": func(c *Comm, buf []int64) *Request {
			return Isend(c.WithType(Vector(2, 1, 2, TypeOf[int64]())), buf, 0, 1)
		},
		"Iallreduce": func(c *Comm, buf []int64) *Request { return Iallreduce(c, buf, make([]int64, len(buf)), Sum) },
		"Ibcast":     func(c *Comm, buf []int64) *Request { return Ibcast(c, buf, 0) },
	}
	run := func(name string, at int) (err error) {
		outer := RunThreads(1, func(_ context.Context, c *Comm) error {
			c.SetErrhandler(ErrorsReturn)
			buf, in := []int64{1, 2, 3, 4}, []int64{0, 0, 0, 0}
			r := calls[name](c, buf)
			if at >= 0 {
				buf[at] = 9
			}
			if !strings.HasPrefix(name, "Ia") && !strings.HasPrefix(name, "Ib") {
				if _, err := Recv(c, in, 0, 1); err != nil {
					return err
				}
			}
			_, err = r.Wait()
			return nil
		})
		if err == nil {
			err = outer
		}
		return err
	}
	for name := range calls {
		wantSaid(t, name, run(name, 2), ErrBuffer, "the buffer was changed, at byte ")
		if err := run(name, -1); err != nil {
			t.Errorf("%s, unchanged: %v", name, err)
		}
	}
	if err := run("WithType", 1); err != nil {
		t.Errorf("a byte that the layout leaves out was changed: %v", err)
	}
}

// TestFinalizeOfAStoppedRank: a rank whose engine is stopped while it comes to Finalize, as the job
// ends, has no ranks to meet, and says that the job ends.
func TestFinalizeOfAStoppedRank(t *testing.T) {
	onChecked(t, "1", 2, func(c *Comm) error {
		if c.Rank() == 1 {
			return Barrier(c) // which fails: the other leaves without a word
		}
		if err := c.job.kill(); err != nil {
			return err
		}
		err := c.job.meetLast(c.job.ctx)
		wantSaid(t, "at the meeting", err, ErrOther, "the job is ending")
		return err
	}, func(t *testing.T, err error) {
		if err == nil {
			t.Error("the job succeeds without a rank of it")
		}
	})
}
