package tests

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// Cancellation in random programs: what is cancelled is either withdrawn or delivered, and both
// ends agree (MPI 4.1, section 3.8.4).

var cancelOps = []randomOp{
	{name: "receives cancelled", draw: severalOf(cancelledReceivers)},
	{name: "sends cancelled", draw: severalOf(cancelledSenders)},
}

// severalOf draws some of what the functions draw, one after the other.
func severalOf(draw []func(d *dice) (string, func(x *strand))) func(d *dice) (string, func(*strand)) {
	return func(d *dice) (what string, _ func(*strand)) {
		var runs []func(*strand)
		for range 1 + d.IntN(2*d.size) {
			w, run := draw[d.IntN(len(draw))](d)
			what += "\n  " + w
			runs = append(runs, run)
		}
		return what, func(x *strand) {
			for _, run := range runs {
				run(x)
			}
		}
	}
}

// cancelledReceivers draw a receive that no rank sends to.
var cancelledReceivers = []func(d *dice) (string, func(x *strand)){
	cancelledReceiver(&randomInts), cancelledReceiver(&randomPairs), cancelledReceiver(&randomStrings),
}

func cancelledReceiver[T any](e *randomElem[T]) func(d *dice) (string, func(x *strand)) {
	return func(d *dice) (string, func(x *strand)) {
		f := drawForm(d, recvForms[T](), false)
		n, at, source, tag := d.length(e.most/4), d.rank(), d.rank(), d.newTag()
		if d.chance(2) {
			source = mpi.AnySource
		}
		return fmt.Sprintf("%s of %d %s at %d from %d, tag %d", f.name, n, e.name, at, source, tag), func(x *strand) {
			if x.c.Rank() == at {
				r, data := f.start(x.c, e, n, source, tag)
				x.leave(r, withdraw(x, e, &f, n, r, data))
			}
		}
	}
}

// withdraw cancels a receive that nothing will match, and returns what to do when it is complete:
// its buffer must stay as it is.
func withdraw[T any](x *strand, e *randomElem[T], f *recvForm[T], n int, r *mpi.Request, data func() []T) func(mpi.Status) {
	x.must(r.Cancel())
	return func(st mpi.Status) {
		if !st.Cancelled {
			x.failf("%s is not cancelled: %+v", f.name, st)
		}
		want := e.blank(n)
		if f.makes {
			want = nil
		}
		compare(x, e, "the buffer of what was cancelled", data(), want)
		x.free(r, f.init)
	}
}

// fate is when a send is cancelled.
type fate int

const (
	early fate = iota // before its receive is there
	race              // while the receive may be matching it
	late              // after it was received
	fates
)

func (f fate) String() string { return [...]string{"early", "race", "late"}[f] }

// cancelledSenders draw a send and when it is cancelled.
var cancelledSenders = []func(d *dice) (string, func(x *strand)){
	cancelledSender(&randomInts), cancelledSender(&randomBytes), cancelledSender(&randomStrings), cancelledSender(&randomRecords),
}

// cancelled is one send that is cancelled, with a tag of its own and another for what the two ends
// tell each other.
type cancelled[T any] struct {
	e                      *randomElem[T]
	send                   sendForm[T]
	recv                   recvForm[T]
	from, to, n, tag, news int
	code                   int64
	when                   fate
}

func cancelledSender[T any](e *randomElem[T]) func(d *dice) (string, func(x *strand)) {
	return func(d *dice) (string, func(x *strand)) {
		k := &cancelled[T]{e: e, send: drawForm(d, sendForms[T](), false), recv: drawForm(d, recvForms[T](), false),
			from: d.rank(), to: d.rank(), n: d.length(e.most), tag: d.newTag(), news: d.newTag(), when: fate(d.IntN(int(fates)))}
		k.code = codeOf(d.number(), k.from)
		if k.send.most > 0 {
			k.n = min(k.n, k.send.most)
		}
		if k.from == k.to && k.when == late {
			k.when = early
		}
		return fmt.Sprintf("%s of %d %s, %d to %d, tag %d, %s, cancelled: %v", k.send.name, k.n, e.name, k.from, k.to, k.tag, k.recv.name, k.when), func(x *strand) {
			if x.c.Rank() == k.from {
				k.sends(x)
			}
			if x.c.Rank() == k.to {
				k.receives(x)
			}
		}
	}
}

// sends sends, cancels and tells the receiver what came of it. A persistent request then sends once
// more.
func (k *cancelled[T]) sends(x *strand) {
	b := k.e.vector(k.n, k.code)
	r := k.send.start(x.c, b, k.to, k.tag)
	if k.when == late {
		k.hear(x, k.to)
	} else if x.own.IntN(2) == 0 {
		_, _, err := r.GetStatus() // lets it move
		x.must(err)
	}
	x.must(r.Cancel())
	st, err := r.Wait()
	x.must(err)
	synchronous := k.send.name == "Issend" || k.send.name == "SsendInit"
	if st.Cancelled && k.when == late || !st.Cancelled && k.when == early && synchronous {
		x.failf("%s is said to be cancelled: %t", k.send.name, st.Cancelled)
	}
	k.say(x, st.Cancelled, k.to)
	if !k.again() {
		x.free(r, k.send.init)
		return
	}
	k.hear(x, k.to)
	x.must(r.Start())
	x.leave(r, func(mpi.Status) { x.free(r, true) })
}

// again says whether the request is persistent and sends once more, when the receiver has done with
// the first message.
func (k *cancelled[T]) again() bool { return k.send.init && k.from != k.to }

// receives receives, if there is something, as the sender says.
func (k *cancelled[T]) receives(x *strand) {
	switch k.when {
	case late:
		r, data := k.recv.start(x.c, k.e, k.n, k.from, k.tag)
		st, err := r.Wait()
		x.must(err)
		k.verify(x, data(), st)
		x.free(r, k.recv.init)
		k.say(x, true, k.from)
		if k.hear(x, k.from) {
			x.failf("a message that was received is said to be cancelled")
		}
	case race:
		r, data := k.recv.start(x.c, k.e, k.n, k.from, k.tag)
		if k.hear(x, k.from) {
			verify := withdraw(x, k.e, &k.recv, k.n, r, data)
			st, err := r.Wait()
			x.must(err)
			verify(st)
		} else {
			x.leave(r, func(st mpi.Status) {
				k.verify(x, data(), st)
				x.free(r, k.recv.init)
			})
		}
	default:
		if k.hear(x, k.from) { // no rank sends again before it is told to
			if st, found, err := mpi.Iprobe(x.c, k.from, k.tag); found || err != nil {
				x.failf("a message that was cancelled is there: %+v, %v", st, err)
			}
			break
		}
		k.receiveOnce(x)
	}
	if k.again() {
		k.say(x, true, k.from)
		k.receiveOnce(x)
	}
}

// say tells the other end something, and hear waits for it.
func (k *cancelled[T]) say(x *strand, what bool, to int) {
	x.leave(mpi.Isend(x.c, []bool{what}, to, k.news), func(mpi.Status) {})
}

func (k *cancelled[T]) hear(x *strand, from int) bool {
	said := []bool{false}
	_, err := mpi.Recv(x.c, said, from, k.news)
	x.must(err)
	return said[0]
}

// receiveOnce starts a receive of the message and leaves it open.
func (k *cancelled[T]) receiveOnce(x *strand) {
	r, data := k.recv.start(x.c, k.e, k.n, k.from, k.tag)
	x.leave(r, func(st mpi.Status) {
		k.verify(x, data(), st)
		x.free(r, k.recv.init)
	})
}

func (k *cancelled[T]) verify(x *strand, got []T, st mpi.Status) {
	if st.Source != k.from || st.Tag != k.tag || st.Count != k.n || st.Cancelled {
		x.failf("the status is %+v", st)
	}
	compare(x, k.e, "what was received", got, k.e.vector(k.n, k.code))
}
