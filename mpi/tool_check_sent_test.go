package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// sending is an operation of one rank, with itself, that sends of eight elements those that used
// says.
type sending struct {
	used string // x is one that is sent
	call func(c *Comm, buf, out []int64) *Request
}

// sendings are the kinds of what is checked: with counts and displacements, with a type for each
// rank, laid out, persistent, in partitions.
var sendings = map[string]sending{
	"Igatherv":    {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return Igatherv(c, b, out, []int{8}, nil, 0) }},
	"Iallgatherv": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return Iallgatherv(c, b, out, []int{8}, nil) }},
	"Iscatterv":   {"...xx...", func(c *Comm, b, out []int64) *Request { return Iscatterv(c, b, []int{2}, []int{3}, out[:2], 0) }},
	"Ialltoallv": {"..xxx...", func(c *Comm, b, out []int64) *Request {
		return Ialltoallv(c, b, []int{3}, []int{2}, out, []int{3}, nil)
	}},
	"Ialltoallw":   {"x.x.....", func(c *Comm, b, out []int64) *Request { return Ialltoallw(c, b, everyOther(2), out, everyOther(2)) }},
	"Ireduce":      {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return Ireduce(c, b, out, Sum, 0) }},
	"Iscan":        {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return Iscan(c, b, out, Sum) }},
	"Ibcast typed": {"x.x.x...", func(c *Comm, b, _ []int64) *Request { return Ibcast(c.WithType(everyOther(3)[0]), b, 0) }},
	"Igather typed": {"x.x.x...", func(c *Comm, b, out []int64) *Request {
		return Igather(c.WithType(everyOther(3)[0]), b, out, 0)
	}},
	"Ialltoallv typed": {".x.x....", func(c *Comm, b, out []int64) *Request {
		return Ialltoallv(c.WithType(everyOther(1)[0]), b[1:], []int{2}, nil, out, []int{2}, nil)
	}},
	"IneighborAllgather": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return IneighborAllgather(ringOf(c), b, append(out, out...)) }},
	"IneighborAllgatherv": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request {
		return IneighborAllgatherv(ringOf(c), b, append(out, out...), []int{8, 8}, nil)
	}},
	"IneighborAlltoall": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return IneighborAlltoall(ringOf(c), b, out) }},
	"IneighborAlltoallv": {"x......x", func(c *Comm, b, out []int64) *Request {
		return IneighborAlltoallv(ringOf(c), b, []int{1, 1}, []int{0, 7}, out, []int{1, 1}, nil)
	}},
	"IneighborAlltoallw": {"x.x.....", func(c *Comm, b, out []int64) *Request {
		two := []*Datatype{everyOther(2)[0], everyOther(1)[0]}
		return IneighborAlltoallw(ringOf(c), b, two, out, []*Datatype{two[1], two[0]})
	}},
	"BcastInit":     {"xxxxxxxx", func(c *Comm, b, _ []int64) *Request { return BcastInit(c, b, 0) }},
	"GatherInit":    {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return GatherInit(c, b, out, 0) }},
	"GathervInit":   {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return GathervInit(c, b, out, []int{8}, nil, 0) }},
	"ScatterInit":   {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return ScatterInit(c, b, out, 0) }},
	"ScattervInit":  {"...xx...", func(c *Comm, b, out []int64) *Request { return ScattervInit(c, b, []int{2}, []int{3}, out[:2], 0) }},
	"AllgatherInit": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return AllgatherInit(c, b, out) }},
	"AlltoallInit":  {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return AlltoallInit(c, b, out) }},
	"AlltoallvInit": {"..xxx...", func(c *Comm, b, out []int64) *Request {
		return AlltoallvInit(c, b, []int{3}, []int{2}, out, []int{3}, nil)
	}},
	"AlltoallwInit":     {"x.x.....", func(c *Comm, b, out []int64) *Request { return AlltoallwInit(c, b, everyOther(2), out, everyOther(2)) }},
	"AllreduceInit":     {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return AllreduceInit(c, b, out, Sum) }},
	"ReduceScatterInit": {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return ReduceScatterInit(c, b, out, []int{8}, Sum) }},
	"ExscanInit":        {"xxxxxxxx", func(c *Comm, b, out []int64) *Request { return ExscanInit(c, b, out, Sum) }},
	"NeighborAlltoallvInit": {"x......x", func(c *Comm, b, out []int64) *Request {
		return NeighborAlltoallvInit(ringOf(c), b, []int{1, 1}, []int{0, 7}, out, []int{1, 1}, nil)
	}},
	"PsendInit":       {"xxxxxxxx", func(c *Comm, b, _ []int64) *Request { return PsendInit(c, b, 4, 0, 1) }},
	"PsendInit typed": {"x.x.x.x.", func(c *Comm, b, _ []int64) *Request { return PsendInit(c.WithType(everyOther(1)[0]), b, 4, 0, 1) }},
}

// everyOther is the type of n elements with gaps between them, for one rank; the next value follows
// behind a gap.
func everyOther(n int) []*Datatype {
	return []*Datatype{Resized(Vector(n, 1, 2, TypeOf[int64]()), 0, 16*n)}
}

// ringOf is a ring of the one rank of c, whose neighbours it is on both sides.
func ringOf(c *Comm) *Comm {
	ring, err := c.CartCreate([]int{1}, []bool{true}, false)
	if err != nil {
		panic(err)
	}
	return ring
}

// TestEverySendIsWatched: no part of what an operation sends, whichever kind it is of, may be
// changed before it is complete (MPI 4.1, sections 2.8, 3.9, 4.2.2 and 6.12). A rank that is
// checked says so, and says nothing of changes to what is not sent, or between the rounds of a
// persistent request.
func TestEverySendIsWatched(t *testing.T) {
	t.Setenv("FITMPI_CHECK", "1")
	t.Setenv("FITMPI_PROGRESS", "caller") // else what is wrong here is a data race besides
	for name, s := range sendings {
		t.Run(name, func(t *testing.T) {
			for at, used := range s.used {
				err := changing(s, name, at)
				if used == 'x' {
					wantSaid(t, fmt.Sprint("element ", at), err, ErrBuffer, "was changed, at byte ")
				} else if err != nil {
					t.Errorf("element %d, which is not sent: %v", at, err)
				}
			}
			if err := changing(s, name, -1); err != nil {
				t.Errorf("unchanged: %v", err)
			}
		})
	}
}

// changing runs rounds of s, in the last of which an element is changed that is not negative.
func changing(s sending, name string, at int) error {
	return RunThreads(1, func(_ context.Context, c *Comm) error {
		buf, out := []int64{1, 2, 3, 4, 5, 6, 7, 8}, make([]int64, 8, 16)
		r, rounds := s.call(c, buf, out), 1
		persistent, parts := strings.Contains(name, "Init"), strings.HasPrefix(name, "Psend")
		var in *Request
		if persistent {
			rounds = 3
		}
		if parts {
			in = PrecvInit(c, make([]int64, strings.Count(s.used, "x")), 1, 0, 1)
		}
		for i := range rounds {
			if persistent {
				buf[i]++ // it is the program's
				if err := r.Start(); err != nil {
					return err
				}
			}
			if parts {
				if err := in.Start(); err != nil {
					return err
				}
				buf[7]++ // it is the program's until it is ready
				if err := r.PreadyRange(0, 3); err != nil {
					return err
				}
			}
			if at >= 0 && i == rounds-1 {
				buf[at]++
			}
			if _, err := WaitAll(r, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestInterSendsAreWatched is the same of what goes from one group to the other.
func TestInterSendsAreWatched(t *testing.T) {
	t.Setenv("FITMPI_CHECK", "1")
	t.Setenv("FITMPI_PROGRESS", "caller") // else what is wrong here is a data race besides
	for name, start := range map[string]func(x *Comm, buf, out []int64) *Request{
		"Iallgather": func(x *Comm, buf, out []int64) *Request { return Iallgather(x, buf, out) },
		"Ialltoallv": func(x *Comm, buf, out []int64) *Request { return Ialltoallv(x, buf, []int{8}, nil, out, []int{8}, nil) },
		"Iallreduce": func(x *Comm, buf, out []int64) *Request { return Iallreduce(x, buf, out, Sum) },
		"Ibcast": func(x *Comm, buf, out []int64) *Request {
			if x.low {
				return Ibcast(x, buf, Root)
			}
			return Ibcast(x, out, 0)
		},
		"Igather": func(x *Comm, buf, out []int64) *Request {
			if x.low {
				return Igather(x, buf, nil, 0)
			}
			return Igather(x, nil, out, Root)
		},
	} {
		for _, change := range []bool{false, true} {
			var said [2]error
			err := RunThreads(2, func(_ context.Context, c *Comm) error {
				x, err := c.Self().IntercommCreate(0, c, 1-c.Rank(), 1)
				if err != nil {
					return err
				}
				buf := make([]int64, 8)
				r := start(x, buf, make([]int64, 8))
				if change && x.low {
					buf[3]++
				}
				_, said[c.Rank()] = r.Wait()
				return x.Free()
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if change {
				wantSaid(t, name, errors.Join(said[:]...), ErrBuffer, "was changed, at byte 24 ")
			} else if said != [2]error{} {
				t.Errorf("%s, unchanged: %v", name, said)
			}
		}
	}
}
