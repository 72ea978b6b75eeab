//go:build linux

package chaos

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

// exchange is the load of one rank: everything at once, epoch after epoch.
type exchange struct {
	seed     uint64
	scale    int             // messages of a stream in an epoch
	bug      string          // a planted one, by name; or ""
	onError  func(err error) // hears every error of an operation, when it comes; or nil: the first ends the load
	hopeless chan struct{}   // closed by that error

	sent, received, collected atomic.Uint64
	struck                    atomic.Bool // the planted bug
	links                     uint64      // that it has leaked

	mu  sync.Mutex
	err error // guarded by mu: the first, or the first that says WRONG
}

// comms are the communicators of an epoch, so that each kind of traffic has its own.
type comms struct{ pairs, records, wild, all *mpi.Comm }

// each calls f for every communicator until there is an error.
func (cs *comms) each(f func(c **mpi.Comm) error) error {
	for _, c := range []**mpi.Comm{&cs.pairs, &cs.records, &cs.wild, &cs.all} {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// newComms makes copies of c.
func newComms(c *mpi.Comm) (*comms, error) {
	cs := &comms{}
	return cs, cs.each(func(d **mpi.Comm) (err error) {
		*d, err = c.Dup(nil)
		return err
	})
}

func (cs *comms) free() error {
	return cs.each(func(c **mpi.Comm) error {
		if *c == nil { // it was not made
			return nil
		}
		return (*c).Free()
	})
}

// strikes reports whether the planted bug of a name is to happen to this message: once, after some
// that went well.
func (x *exchange) strikes(bug string, l letter) bool {
	return x.bug == bug && l.seq > x.scale/3 && l.n >= sealBytes && x.struck.CompareAndSwap(false, true)
}

// failed notes an error. What is wrong counts more than what has failed.
func (x *exchange) failed(err error) {
	if x.onError != nil {
		x.onError(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil && x.onError == nil {
		close(x.hopeless)
	}
	if x.err == nil || isWrong(err) && !isWrong(x.err) {
		x.err = err
	}
}

// outcome takes the error that was noted.
func (x *exchange) outcome() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.err
	if x.onError != nil {
		x.err = nil
	}
	return err
}

// epoch is one round of everything: each rank with each, itself included, in two streams of
// different forms; each rank to every other, which takes what comes; and collectives. It ends with
// a barrier, after which nothing may be left.
func (x *exchange) epoch(cs *comms, number int) error {
	var wg sync.WaitGroup
	run := func(what string, f func() error) {
		wg.Go(func() {
			if err := f(); err != nil {
				x.failed(fmt.Errorf("epoch %d, %s: %w", number, what, err))
			}
		})
	}
	me, size := cs.all.Rank(), cs.all.Size()
	var wild []flow
	for r := range size {
		for strand, c := range []*mpi.Comm{cs.pairs, cs.records} {
			f := func(from, to int) flow { return flow{x.seed, number, strand, from, to} }
			run(fmt.Sprintf("sending to %d", r), func() error { return x.sendAll(c, f(me, r), x.scale) })
			run(fmt.Sprintf("receiving from %d", r), func() error { return x.recvAll(c, f(r, me), x.scale) })
		}
		if r != me {
			wild = append(wild, flow{x.seed, number, 100, r, me})
			run(fmt.Sprintf("sending to %d, who takes what comes", r), func() error {
				return x.sendWild(cs.wild, flow{x.seed, number, 100, me, r}, x.scale)
			})
		}
	}
	run("taking what comes", func() error { return x.recvAny(cs.wild, wild, x.scale) })
	run("collectives", func() error { return x.collectives(cs.all, number, x.scale) })
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-x.hopeless: // streams with ranks that have given up wait until the job ends, and the process
	}
	if err := x.outcome(); err != nil {
		return err
	}
	return x.nothingLeft(cs)
}

// nothingLeft checks that all messages of the epoch were received, once.
func (x *exchange) nothingLeft(cs *comms) error {
	if err := mpi.Barrier(cs.all); err != nil {
		return fmt.Errorf("the barrier after an epoch: %w", err)
	}
	return cs.each(func(c **mpi.Comm) error {
		st, found, err := mpi.Iprobe(*c, mpi.AnySource, mpi.AnyTag)
		if err == nil && found {
			err = wrongf("a message is left from %d, tag %d, %d bytes", st.Source, st.Tag, st.Count)
		}
		return err
	})
}

// isOver lets the ranks agree on whether one of them says that it is over.
func (cs *comms) isOver(says bool) (bool, error) {
	in, out := []int{0}, []int{0}
	if says {
		in[0] = 1
	}
	err := mpi.Allreduce(cs.all, in, out, mpi.Max)
	return out[0] != 0, err
}
