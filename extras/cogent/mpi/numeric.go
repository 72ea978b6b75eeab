package mpi

import (
	"fmt"

	fit "github.com/fitmpi/fitmpi/mpi"
)

// What the methods for each type of elements do.

func send[T any](cm *Comm, to, tag int, vals []T) error {
	return cm.call("Send", func(c *fit.Comm) error { return fit.Send(c, vals, to, tag) })
}

func recv[T any](cm *Comm, from, tag int, vals []T) error {
	return cm.call("Recv", func(c *fit.Comm) error {
		_, err := fit.Recv(c, vals, from, tag)
		return err
	})
}

func bcast[T any](cm *Comm, from int, vals []T) error {
	return cm.call("Bcast", func(c *fit.Comm) error { return fit.Bcast(c, vals, from) })
}

// checked is the operation for a type, or the error of one that it does not have.
func checked[T any](op Op, of func(Op) fit.Op[T]) (fit.Op[T], error) {
	if f := of(op); f != nil {
		return f, nil
	}
	var zero T
	return nil, fmt.Errorf("%v is no operation of %T", op, zero)
}

func reduce[T any](cm *Comm, to int, op Op, of func(Op) fit.Op[T], dest, orig []T) error {
	return cm.call("Reduce", func(c *fit.Comm) error {
		f, err := checked(op, of)
		if err != nil {
			return err
		}
		if c.Rank() != to {
			dest = nil
		}
		return fit.Reduce(c, orig, dest, f, to)
	})
}

func allReduce[T any](cm *Comm, op Op, of func(Op) fit.Op[T], dest, orig []T) error {
	return cm.call("AllReduce", func(c *fit.Comm) error {
		f, err := checked(op, of)
		if err != nil {
			return err
		}
		if orig == nil {
			orig = dest
		}
		return fit.Allreduce(c, orig, dest, f)
	})
}

func gather[T any](cm *Comm, to int, dest, orig []T) error {
	return cm.call("Gather", func(c *fit.Comm) error {
		if c.Rank() != to {
			dest = nil
		}
		return fit.Gather(c, orig, dest, to)
	})
}

func allGather[T any](cm *Comm, dest, orig []T) error {
	return cm.call("AllGather", func(c *fit.Comm) error { return fit.Allgather(c, orig, dest) })
}

func scatter[T any](cm *Comm, from int, dest, orig []T) error {
	return cm.call("Scatter", func(c *fit.Comm) error {
		if c.Rank() != from {
			orig = nil
		}
		return fit.Scatter(c, orig, dest, from)
	})
}
