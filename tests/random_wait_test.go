package tests

import (
	"fmt"
	"regexp"
	"runtime"

	"github.com/fitmpi/fitmpi/mpi"
)

// wayToWait completes at least one of the open operations of a strand; there is one.
type wayToWait struct {
	name string
	wait func(x *strand) (indices []int, sts []mpi.Status, err error)
}

var waysToWait = []wayToWait{
	{"Wait", func(x *strand) ([]int, []mpi.Status, error) {
		i := x.own.IntN(len(x.open))
		st, err := x.open[i].r.Wait()
		return []int{i}, []mpi.Status{st}, err
	}},
	{"Test", func(x *strand) ([]int, []mpi.Status, error) {
		i := x.own.IntN(len(x.open))
		for {
			if st, done, err := x.open[i].r.Test(); done || err != nil {
				return []int{i}, []mpi.Status{st}, err
			}
			runtime.Gosched()
		}
	}},
	{"WaitAny", func(x *strand) ([]int, []mpi.Status, error) {
		i, st, err := mpi.WaitAny(x.requests()...)
		return []int{i}, []mpi.Status{st}, err
	}},
	{"TestAny", func(x *strand) ([]int, []mpi.Status, error) {
		for {
			if i, st, done, err := mpi.TestAny(x.requests()...); done || err != nil {
				return []int{i}, []mpi.Status{st}, err
			}
			runtime.Gosched()
		}
	}},
	{"WaitSome", func(x *strand) ([]int, []mpi.Status, error) { return mpi.WaitSome(x.requests()...) }},
	{"TestSome", func(x *strand) ([]int, []mpi.Status, error) {
		for {
			if is, sts, err := mpi.TestSome(x.requests()...); len(is) > 0 || err != nil {
				return is, sts, err
			}
			runtime.Gosched()
		}
	}},
	{"WaitAll", func(x *strand) ([]int, []mpi.Status, error) {
		sts, err := mpi.WaitAll(x.requests()...)
		return x.indices(), sts, err
	}},
	{"TestAll", func(x *strand) ([]int, []mpi.Status, error) {
		for {
			if sts, done, err := mpi.TestAll(x.requests()...); done || err != nil {
				return x.indices(), sts, err
			}
			runtime.Gosched()
		}
	}},
	{"GetStatus, then Wait", func(x *strand) ([]int, []mpi.Status, error) {
		for {
			i, before, done, foretold := mpi.GetStatusAny(x.requests()...)
			if done {
				st, err := x.open[i].r.Wait()
				if st != before || withoutLines(err) != withoutLines(foretold) {
					x.failf("GetStatusAny gives %+v and %v, Wait %+v and %v", before, foretold, st, err)
				}
				return []int{i}, []mpi.Status{st}, err
			}
			runtime.Gosched()
		}
	}},
}

func (x *strand) requests() []*mpi.Request {
	rs := make([]*mpi.Request, len(x.open))
	for i := range rs {
		rs[i] = x.open[i].r
	}
	return rs
}

func (x *strand) indices() []int {
	is := make([]int, len(x.open))
	for i := range is {
		is[i] = i
	}
	return is
}

// lineOfCall is what an error says of the call that has told it.
var lineOfCall = regexp.MustCompile(` \([a-z_]+\.go:[0-9]+\)`)

// withoutLines is what an error says, but for the lines of calls: those that tell of it may be
// several.
func withoutLines(err error) string { return lineOfCall.ReplaceAllString(fmt.Sprint(err), "") }
