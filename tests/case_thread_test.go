package tests

import (
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

const multiple = "Multiple threads may call MPI, with no restrictions."

var threadCases = []testCase{
	{name: "threads/own tags", section: "11.6", sentence: multiple, run: threadsOwnTags},
	{name: "threads/one tag", section: "11.6", sentence: multiple, run: threadsOneTag},
	{name: "threads/order within a thread", section: "3.5",
		sentence: "If a process has a single thread of execution, then any two communications executed by this process are ordered. If the " +
			"process is multithreaded, then the semantics of thread execution may not define a relative order between two send operations.",
		run: threadsOrder},
	{name: "threads/blocked does not block others", section: "11.6",
		sentence: "Blocking MPI calls will block the calling thread only, allowing another thread to execute, if available.",
		run:      threadsBlocked},
	{name: "threads/many wait at once", section: "FitMPI",
		sentence: "Hundreds of goroutines may wait at once.",
		run:      threadsMany},
	{name: "threads/communicators side by side", section: "11.6",
		sentence: "Collective operations on different communicators may be started by different threads.",
		run:      threadsColl},
}

func threadsOwnTags(t *T, c *mpi.Comm) {
	const goroutines, rounds = 8, 12
	t.each(goroutines, func(g int) {
		for k := range rounds {
			n := mixed(k + g)
			in := make([]int64, n)
			_, err := mpi.Sendrecv(c, ramp(n, g*100+k), right(c), g, in, left(c), g)
			t.must(err)
			wantSlice(t, "message", in, ramp(n, g*100+k))
		}
	})
}

// threadsOneTag: senders and receivers share a tag; each message arrives once, whichever goroutine
// gets it.
func threadsOneTag(t *T, c *mpi.Comm) {
	const goroutines, rounds = 6, 8
	var sum atomic.Int64
	fs := make([]func(), 0, 2*goroutines)
	for g := range goroutines {
		fs = append(fs,
			func() {
				for k := range rounds {
					t.must(mpi.Send(c, ramp(mixed(k), g*rounds+k), right(c), 1))
				}
			},
			func() {
				buf := make([]int64, lengths[len(lengths)-1])
				for range rounds {
					st, err := mpi.Recv(c, buf, mpi.AnySource, 1)
					t.must(err)
					id := int(buf[0] >> 32)
					wantSlice(t, "message", buf[:st.Count], ramp(mixed(id%rounds), id))
					sum.Add(1 << id)
				}
			})
	}
	t.together(fs...)
	want(t, "the set of messages", sum.Load(), int64(1)<<(goroutines*rounds)-1)
}

// threadsOrder: each goroutine's messages keep their order, by whatever wildcard they are received.
func threadsOrder(t *T, c *mpi.Comm) {
	const goroutines, rounds = 4, 15
	var fs []func()
	for g := range goroutines {
		fs = append(fs, func() {
			for k := range rounds {
				t.must(mpi.Send(c, ramp(mixed(k), g*rounds+k), right(c), g))
			}
		})
	}
	fs = append(fs, func() {
		next := make([]int, goroutines)
		for range goroutines * rounds {
			got, st, err := mpi.RecvNew[int64](c, mpi.AnySource, mpi.AnyTag)
			t.must(err)
			k := next[st.Tag]
			next[st.Tag]++
			wantSlice(t, "message", got, ramp(mixed(k), st.Tag*rounds+k))
		}
	})
	t.together(fs...)
}

func threadsBlocked(t *T, c *mpi.Comm) {
	t.together(
		func() {
			_, err := mpi.Recv(c, make([]int64, 1), left(c), 1)
			t.must(err)
		},
		func() {
			for k := range 10 {
				in := make([]int64, mixed(k))
				_, err := mpi.Sendrecv(c, ramp(mixed(k), k), right(c), 2, in, left(c), 2)
				t.must(err)
			}
			t.must(mpi.Send(c, ramp(1, 1), right(c), 1)) // only now
		})
}

func threadsMany(t *T, c *mpi.Comm) {
	const goroutines = 300
	var fs []func()
	for g := range goroutines {
		fs = append(fs, func() {
			v, _, err := mpi.RecvValue[int](c, left(c), g)
			t.must(err)
			want(t, "value", v, g*g)
		})
	}
	fs = append(fs, func() {
		for g := goroutines - 1; g >= 0; g-- {
			t.must(mpi.SendValue(c, g*g, right(c), g))
		}
	})
	t.together(fs...)
}

func threadsColl(t *T, c *mpi.Comm) {
	const goroutines = 4
	comms := make([]*mpi.Comm, goroutines)
	for i := range comms {
		var err error
		comms[i], err = c.Dup(nil)
		t.must(err)
	}
	t.each(goroutines, func(i int) {
		for k := range 10 {
			out := make([]int, 1+k*k)
			in := make([]int, len(out))
			for j := range in {
				in[j] = c.Rank() + i + j
			}
			t.must(mpi.Allreduce(comms[i], in, out, mpi.Sum))
			n := c.Size()
			for j := range out {
				if want := n*(n-1)/2 + n*(i+j); out[j] != want {
					t.Fatalf("goroutine %d, round %d: element %d is %d, want %d", i, k, j, out[j], want)
				}
			}
		}
		t.must(comms[i].Free())
	})
}
