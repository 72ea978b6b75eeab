package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// wrongCall is a call that fails where it is made, before anything is sent: no other rank learns of
// it.
type wrongCall struct {
	name  string
	class mpi.ErrorClass
	call  func(x *strand) *mpi.Request
}

// wrongly is a wrong call at some ranks. A persistent one fails when it is started.
func wrongly(d *dice) (string, func(x *strand)) {
	w, at, blocking := wrongCalls[d.IntN(len(wrongCalls))], make([]bool, d.size), d.chance(2)
	for r := range at {
		at[r] = d.chance(2)
	}
	return fmt.Sprintf("%s at %v, blocking %t", w.name, at, blocking), func(x *strand) {
		if !at[x.c.Rank()] {
			return
		}
		r := w.call(x)
		if !blocking {
			x.leaveFailing(r, w.class, func(mpi.Status) {})
			return
		}
		_, err := r.Wait()
		x.wantClass(w.name, err, w.class)
	}
}

// failed is a request that has failed, as general ones do.
func failed(x *strand, err error) *mpi.Request {
	r := x.c.GrequestStart(mpi.GeneralCallbacks{Query: func() (mpi.Status, error) { return mpi.Status{}, err }})
	x.must(r.Complete())
	return r
}

var wrongCalls = []wrongCall{
	{"Ibcast from a root that does not exist", mpi.ErrRoot, func(x *strand) *mpi.Request {
		return mpi.Ibcast(x.c, []int64{1}, x.c.Size())
	}},
	{"Bcast from a negative root", mpi.ErrRoot, func(x *strand) *mpi.Request {
		return failed(x, mpi.Bcast(x.c, []int64{1}, -5))
	}},
	{"Igather to a root that does not exist", mpi.ErrRoot, func(x *strand) *mpi.Request {
		return mpi.Igather(x.c, []string{""}, nil, x.c.Size())
	}},
	{"Iallreduce without an operation", mpi.ErrOp, func(x *strand) *mpi.Request {
		return mpi.Iallreduce(x.c, []int64{1}, []int64{1}, nil)
	}},
	{"Iallreduce of unequal lengths", mpi.ErrCount, func(x *strand) *mpi.Request {
		return mpi.Iallreduce(x.c, make([]int64, 2), make([]int64, 1), mpi.Sum)
	}},
	{"Iallgather into too little", mpi.ErrCount, func(x *strand) *mpi.Request {
		return mpi.Iallgather(x.c, make([]randomPair, 2), make([]randomPair, 2*x.c.Size()-1))
	}},
	{"Iallgatherv with too many counts", mpi.ErrCount, func(x *strand) *mpi.Request {
		return mpi.Iallgatherv(x.c, []byte{1}, make([]byte, 10), make([]int, x.c.Size()+1), nil)
	}},
	{"AllgathervInit with a negative count", mpi.ErrCount, func(x *strand) *mpi.Request {
		r := mpi.AllgathervInit(x.c, []string{}, make([]string, 10), slices.Repeat([]int{-1}, x.c.Size()), nil)
		r.Start()
		return r
	}},
	{"Ialltoallw with a datatype that makes no sense", mpi.ErrCount, func(x *strand) *mpi.Request {
		types := slices.Repeat([]*mpi.Datatype{mpi.Contiguous(-1, mpi.TypeOf[byte]())}, x.c.Size())
		return mpi.Ialltoallw(x.c, []byte{1}, types, []byte{1}, types)
	}},
	{"Isend of a datatype that reaches too far", mpi.ErrBuffer, func(x *strand) *mpi.Request {
		return mpi.Isend(x.c.WithType(mpi.Vector(3, 1, 2, mpi.TypeOf[int64]())), make([]int64, 4), x.c.Rank(), 1)
	}},
	{"Irecv of a datatype of other values", mpi.ErrType, func(x *strand) *mpi.Request {
		return mpi.Irecv(x.c.WithType(mpi.TypeOf[float64]()), make([]int64, 4), x.c.Rank(), 1)
	}},
	{"Iallreduce with a layout that cuts elements", mpi.ErrType, func(x *strand) *mpi.Request {
		return mpi.Iallreduce(x.c.WithType(mpi.TypeOf[int32]()), []int64{1}, []int64{1}, mpi.Sum)
	}},
	{"Isend of channels", mpi.ErrType, func(x *strand) *mpi.Request {
		return mpi.Isend(x.c, []chan int{nil}, x.c.Rank(), 1)
	}},
	{"Ibarrier of a communicator that was freed", mpi.ErrComm, func(x *strand) *mpi.Request {
		g, err := x.c.Group().Incl(x.c.Rank())
		x.must(err)
		c, err := mpi.CommCreateFromGroup(g, fmt.Sprintf("strand %d, rank %d", x.index, x.c.Rank()), nil, mpi.ErrorsReturn)
		x.must(err)
		x.must(c.Free())
		return mpi.Ibarrier(c)
	}},
	{"Pready of what has no partitions", mpi.ErrRequest, func(x *strand) *mpi.Request {
		r := mpi.SendInit(x.c, []int64{1}, mpi.ProcNull, 1)
		err := r.Pready(0)
		x.must(r.Free())
		return failed(x, err)
	}},
	{"Start of what is not persistent", mpi.ErrRequest, func(x *strand) *mpi.Request {
		r := mpi.Isend(x.c, []int64{1}, mpi.ProcNull, 1)
		err := r.Start()
		_, done := r.Wait()
		x.must(done)
		return failed(x, err)
	}},
	{"PsendInit of partitions that are not equal", mpi.ErrCount, func(x *strand) *mpi.Request {
		return mpi.PsendInit(x.c, make([]byte, 7), 2, x.c.Rank(), 1)
	}},
	{"PrecvInit from anyone", mpi.ErrRank, func(x *strand) *mpi.Request {
		return mpi.PrecvInit(x.c, make([]byte, 6), 2, mpi.AnySource, 1)
	}},
	{"CreateGroup with a negative tag", mpi.ErrTag, func(x *strand) *mpi.Request {
		return failed(x, second(x.c.CreateGroup(x.c.Group(), -1)))
	}},
	{"Merge of one group", mpi.ErrComm, func(x *strand) *mpi.Request { return failed(x, second(x.c.Merge(true))) }},
}
