package mpi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// everyWay runs a test over shared memory and TCP, under the policies that have paths of their own.
func everyWay(t *testing.T, f func(t *testing.T)) {
	for _, transport := range transportsHere() {
		for _, policy := range []string{"assist", "caller"} {
			t.Run(transport+"/"+policy, func(t *testing.T) {
				t.Setenv("FITMPI_TRANSPORT", transport)
				t.Setenv("FITMPI_PROGRESS", policy)
				f(t)
			})
		}
	}
}

// wantSaid checks the class of an error, and what it says.
func wantSaid(t *testing.T, what string, err error, class ErrorClass, says string) {
	t.Helper()
	if ClassOf(err) != class || !strings.Contains(fmt.Sprint(err), says) {
		t.Errorf("%s: %v; want an error of class %v that says %q", what, err, class, says)
	}
}

// kindReceives are the ways to receive numbers of another kind than those sent.
var kindReceives = map[string]func(c *Comm, n, tag int) error{
	"Recv": func(c *Comm, n, tag int) error { _, err := Recv(c, make([]int64, n), 0, tag); return err },
	"any source": func(c *Comm, n, tag int) error {
		_, err := Recv(c, make([]int64, n), AnySource, tag)
		return err
	},
	"Irecv": func(c *Comm, n, tag int) error { _, err := Irecv(c, make([]int64, n), 0, tag).Wait(); return err },
	"WaitAll": func(c *Comm, n, tag int) error {
		_, err := WaitAll(Irecv(c, make([]int64, n), 0, tag))
		return err
	},
	"RecvNew": func(c *Comm, _, tag int) error { _, _, err := RecvNew[int64](c, 0, tag); return err },
	"Sendrecv": func(c *Comm, n, tag int) error {
		_, err := Sendrecv(c, []byte{1}, 0, tag, make([]int64, n), 0, tag)
		return err
	},
	"Mrecv": func(c *Comm, n, tag int) error {
		msg, _, err := Mprobe(c, 0, tag)
		if err != nil {
			return err
		}
		_, err = Mrecv(msg, make([]int64, n))
		return err
	},
	"RecvInit": func(c *Comm, n, tag int) error {
		r := RecvInit(c, make([]int64, n), 0, tag)
		if err := r.Start(); err != nil {
			return err
		}
		_, err := r.Wait()
		return err
	},
	"a layout": func(c *Comm, n, tag int) error {
		_, err := Recv(c.WithType(Vector(n, 1, 2, TypeOf[int64]())), make([]int64, 2*n), 0, tag)
		return err
	},
	"too short": func(c *Comm, n, tag int) error {
		_, err := Recv(c, make([]int64, n-1), 0, tag)
		return err
	},
}

// TestKindsDiffer: "the types of the values sent must match the types specified by the receive
// operation" (MPI 4.1, section 3.3.1). Kinds of numbers that differ are an error of every receive,
// in every job: each message says of which kind it is.
func TestKindsDiffer(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		err := RunThreads(2, func(_ context.Context, c *Comm) error {
			c.SetErrhandler(ErrorsReturn)
			tag := 0
			for _, n := range []int{1, 1000, 40_000} {
				for _, name := range slices.Sorted(maps.Keys(kindReceives)) {
					tag++
					if c.Rank() == 0 {
						if err := Send(c, make([]float64, n), 1, tag); err != nil {
							t.Errorf("%s: the sender has %v", name, err)
						}
						if name == "Sendrecv" {
							if _, err := Recv(c, make([]byte, 1), 1, tag); err != nil {
								return err
							}
						}
						continue
					}
					wantSaid(t, fmt.Sprint(name, " of ", n), kindReceives[name](c, n, tag), ErrType,
						fmt.Sprintf("rank 0 sent float64 with tag %d, the buffer is of int64", tag))
				}
				if err := Barrier(c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestKindsMatch: bytes match every kind, as do the values of structs and arrays, and messages
// without any.
func TestKindsMatch(t *testing.T) {
	type pair struct{ X, Y float64 }
	everyWay(t, func(t *testing.T) {
		err := RunThreads(2, func(_ context.Context, c *Comm) error {
			if c.Rank() == 0 {
				return waitAllOf(Isend(c, []float64{1, 2}, 1, 1), Isend(c, make([]byte, 16), 1, 2), Isend(c, []pair{{3, 4}}, 1, 3),
					Isend(c, []float64{}, 1, 4), Isend(c, []int{5}, 1, 5), Isend(c, []float64{6, 7}, 1, 6))
			}
			var b [16]byte
			var d, e [2]float64
			var i [1]int64
			var a [1][2]float64
			return waitAllOf(Irecv(c, b[:], 0, 1), Irecv(c, d[:], 0, 2), Irecv(c, e[:], 0, 3), Irecv(c, i[:], 0, 4),
				Irecv(c, i[:], 0, 5), Irecv(c, a[:], 0, 6))
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// waitAllOf is WaitAll without the statuses.
func waitAllOf(rs ...*Request) error {
	_, err := WaitAll(rs...)
	return err
}

// TestKindsDifferOfPartitions: a partitioned message says it once for all its rounds.
func TestKindsDifferOfPartitions(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		if c.Rank() == 0 {
			s := PsendInit(c, make([]float64, 4), 2, 1, 3)
			if err := s.Start(); err != nil {
				return err
			}
			if err := s.PreadyRange(0, 1); err != nil {
				return err
			}
			_, err := s.Wait()
			return err
		}
		r := PrecvInit(c, make([]int64, 4), 2, 0, 3)
		if err := r.Start(); err != nil {
			return err
		}
		_, err := r.Wait()
		wantSaid(t, "Wait", err, ErrType, "rank 0 sent float64 with tag 3, the buffer is of int64")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
