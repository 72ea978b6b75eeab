//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// churn makes and frees what the load of the epochs does not: communicators, requests that are
// cancelled or ended by a context, persistent and partitioned operations. All ranks of c call it.
func (x *exchange) churn(c *mpi.Comm, epoch int) error {
	for _, f := range []func(c *mpi.Comm, epoch int) error{churnComms, churnCancelled, churnPersistent, churnPartitioned} {
		if err := f(c, epoch); err != nil {
			return err
		}
	}
	return nil
}

func churnComms(c *mpi.Comm, epoch int) error {
	made := c.Idup(nil)
	if _, err := made.Wait(); err != nil {
		return err
	}
	d := made.Comm()
	half, err := d.Split(d.Rank()%2, -d.Rank())
	if err != nil {
		return err
	}
	out := []int{0}
	if err := mpi.Allreduce(half, []int{1}, out, mpi.Sum); err != nil {
		return err
	}
	if out[0] != half.Size() {
		return wrongf("epoch %d: a communicator of %d ranks counts %d", epoch, half.Size(), out[0])
	}
	return errors.Join(half.Free(), d.Free())
}

// churnCancelled cancels receives that nothing will match, and lets a context end others.
func churnCancelled(c *mpi.Comm, epoch int) error {
	const nobodys = 1 << 20 // a tag
	b := make([]byte, 100)
	r := mpi.Irecv(c, b, mpi.AnySource, nobodys)
	if err := r.Cancel(); err != nil {
		return err
	}
	if st, err := r.Wait(); err != nil || !st.Cancelled {
		return wrongf("epoch %d: a cancelled receive gives %+v, %v", epoch, st, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	late := mpi.Irecv(c.WithContext(ctx), b, c.Rank(), nobodys)
	cancel()
	if _, err := late.Wait(); !errors.Is(err, context.Canceled) {
		return wrongf("epoch %d: a receive whose context ended gives %v", epoch, err)
	}
	return nil
}

func churnPersistent(c *mpi.Comm, epoch int) error {
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	f := func(from, to int) flow { return flow{uint64(epoch), epoch, 77, from, to} }
	out, in := make([]byte, 30000), make([]byte, 30000)
	rs := []*mpi.Request{mpi.RecvInit(c, in, from, 3), mpi.SendInit(c, out, to, 3)}
	for k := range 3 {
		f(c.Rank(), to).fill(out, k)
		if err := mpi.StartAll(rs...); err != nil {
			return err
		}
		if _, err := mpi.WaitAll(rs...); err != nil {
			return err
		}
		if err := f(from, c.Rank()).check(in, k, len(in)); err != nil {
			return err
		}
	}
	return errors.Join(rs[0].Free(), rs[1].Free())
}

func churnPartitioned(c *mpi.Comm, epoch int) error {
	const n, parts = 6000, 6
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	out, in, want := make([]int, n), make([]int, n), make([]int, n)
	for i := range n {
		out[i], want[i] = c.Rank()*n+i+epoch, from*n+i+epoch
	}
	r, s := mpi.PrecvInit(c, in, parts/2, from, 5), mpi.PsendInit(c, out, parts, to, 5)
	if err := mpi.StartAll(r, s); err != nil {
		return err
	}
	for p := range parts {
		if err := s.Pready((p + epoch) % parts); err != nil {
			return err
		}
	}
	if _, err := mpi.WaitAll(r, s); err != nil {
		return err
	}
	if !slices.Equal(in, want) {
		return wrongf("epoch %d: partitions from rank %d: %s", epoch, from, fmt.Sprint(in[:10]))
	}
	return errors.Join(r.Free(), s.Free())
}
