package calls

import (
	"unsafe"

	"github.com/fitmpi/fitmpi/mpi"
)

// mode is the communication mode of a send.
type mode int

const (
	standard mode = iota
	buffered
	synchronous
	ready
)

// elements sends and receives elements of one kind: package mpi has a function for each, which a
// datatype of C chooses at run time.
type elements interface {
	send(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) error
	isend(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request
	sendInit(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request
	recv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) (mpi.Status, error)
	irecv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request
	recvInit(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request
	imrecv(m *mpi.Message, p unsafe.Pointer, n int) *mpi.Request
}

// of is elements of T.
type of[T any] struct{}

func (of[T]) send(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) error {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.Bsend(c, b, dest, tag)
	case synchronous:
		return mpi.Ssend(c, b, dest, tag)
	case ready:
		return mpi.Rsend(c, b, dest, tag)
	}
	return mpi.Send(c, b, dest, tag)
}

func (of[T]) isend(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.Ibsend(c, b, dest, tag)
	case synchronous:
		return mpi.Issend(c, b, dest, tag)
	case ready:
		return mpi.Irsend(c, b, dest, tag)
	}
	return mpi.Isend(c, b, dest, tag)
}

func (of[T]) sendInit(c *mpi.Comm, m mode, p unsafe.Pointer, n, dest, tag int) *mpi.Request {
	b := unsafe.Slice((*T)(p), n)
	switch m {
	case buffered:
		return mpi.BsendInit(c, b, dest, tag)
	case synchronous:
		return mpi.SsendInit(c, b, dest, tag)
	case ready:
		return mpi.RsendInit(c, b, dest, tag)
	}
	return mpi.SendInit(c, b, dest, tag)
}

func (of[T]) recv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) (mpi.Status, error) {
	return mpi.Recv(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) irecv(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request {
	return mpi.Irecv(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) recvInit(c *mpi.Comm, p unsafe.Pointer, n, source, tag int) *mpi.Request {
	return mpi.RecvInit(c, unsafe.Slice((*T)(p), n), source, tag)
}

func (of[T]) imrecv(m *mpi.Message, p unsafe.Pointer, n int) *mpi.Request {
	return mpi.Imrecv(m, unsafe.Slice((*T)(p), n))
}
