//go:build linux

package chaos

import (
	"errors"
	"runtime"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	mostBuffered = 4 << 10 // bytes of a message by Bsend
	window       = 8       // messages that a side starts before it waits for them
	bsendRoom    = 4 << 20 // bytes of the attached buffer: more than one epoch can fill
)

// sendAll sends the messages of f over c.
func (x *exchange) sendAll(c *mpi.Comm, f flow, letters int) error {
	var open []*mpi.Request
	for k := range letters {
		r, err := x.sendOne(c, f, f.letter(k))
		if r != nil {
			open = append(open, r)
		}
		if err == nil && len(open) == window {
			_, err = mpi.WaitAll(open...)
			open = open[:0]
		}
		if err != nil {
			return x.drain(err, open)
		}
	}
	_, err := mpi.WaitAll(open...)
	return x.drain(err, nil)
}

// sendOne sends a message, or starts to.
func (x *exchange) sendOne(c *mpi.Comm, f flow, l letter) (*mpi.Request, error) {
	x.sent.Add(1)
	if l.record {
		return nil, mpi.SendValue(c, f.record(l), f.to, l.tag)
	}
	b := make([]byte, l.n)
	f.fill(b, l.seq)
	switch { // what the harness must notice
	case x.strikes("flip", l):
		b[len(b)/2] ^= 1
	case x.strikes("drop", l):
		return nil, nil
	case x.strikes("twice", l):
		if err := mpi.Send(c, b, f.to, l.tag); err != nil {
			return nil, err
		}
	}
	switch l.send {
	case sendPlain:
		return nil, mpi.Send(c, b, f.to, l.tag)
	case sendStarted, sendStarted2:
		return mpi.Isend(c, b, f.to, l.tag), nil
	case sendSync:
		return nil, mpi.Ssend(c, b, f.to, l.tag)
	case sendStartedSync:
		return mpi.Issend(c, b, f.to, l.tag), nil
	case sendBuffered:
		return nil, mpi.Bsend(c, b, f.to, l.tag)
	case sendPersistent:
		r := mpi.SendInit(c, b, f.to, l.tag)
		if err := r.Start(); err != nil {
			return nil, errors.Join(err, r.Free())
		}
		_, err := r.Wait()
		return nil, errors.Join(err, r.Free())
	default:
		panic("bug: a form of sending that does not exist")
	}
}

// drain is how a stream ends: after an error what is still open ends too, so that nothing of it is
// in use any more.
func (x *exchange) drain(err error, open []*mpi.Request) error {
	if err != nil {
		x.failed(err)
		mpi.WaitAll(open...)
	}
	return err
}

// recvAll receives the messages of f over c.
func (x *exchange) recvAll(c *mpi.Comm, f flow, letters int) error {
	for k := 0; k < letters; {
		l := f.letter(k)
		n, err := 1, error(nil)
		if l.recv >= recvStarted && l.recv <= recvStarted3 && !l.record {
			n, err = x.recvSome(c, f, k, letters)
		} else {
			err = x.recvOne(c, f, l)
		}
		if err != nil {
			return x.drain(err, nil)
		}
		x.received.Add(uint64(n))
		k += n
	}
	return nil
}

// recvSome posts receives for messages from k on, as many as are bytes, and checks what they
// receive.
func (x *exchange) recvSome(c *mpi.Comm, f flow, k, letters int) (int, error) {
	var open []*mpi.Request
	var bufs [][]byte
	for i := k; i < min(letters, k+window) && !f.letter(i).record; i++ {
		l := f.letter(i)
		b := make([]byte, l.n+i%2) // half of them longer than the message
		bufs, open = append(bufs, b), append(open, mpi.Irecv(c, b, f.from, tagOf(l)))
	}
	sts, err := mpi.WaitAll(open...)
	if err != nil {
		return 0, x.drain(err, open)
	}
	for i, st := range sts {
		if err := f.checkStatus(bufs[i], st, f.letter(k+i)); err != nil {
			return 0, err
		}
	}
	return len(open), nil
}

// tagOf is the tag that a receive of l asks for.
func tagOf(l letter) int {
	if l.recv == recvAnyTag || l.recv == recvStarted3 {
		return mpi.AnyTag
	}
	return l.tag
}

// checkStatus checks what a receive into b received.
func (f flow) checkStatus(b []byte, st mpi.Status, l letter) error {
	if st.Source != f.from || st.Tag != l.tag || st.Count < 0 || st.Count > len(b) {
		return wrongf("message %d of %v: the status is %+v; its tag is %d, its length %d", l.seq, f, st, l.tag, l.n)
	}
	return f.check(b[:st.Count], l.seq, l.n)
}

// recvOne receives a message.
func (x *exchange) recvOne(c *mpi.Comm, f flow, l letter) error {
	switch {
	case l.record:
		got, _, err := mpi.RecvValue[record](c, f.from, tagOf(l))
		if err != nil {
			return err
		}
		return f.checkRecord(got, l)
	case l.recv == recvNew:
		got, st, err := mpi.RecvNew[byte](c, f.from, l.tag)
		if err != nil {
			return err
		}
		return f.checkStatus(got, st, l)
	case l.recv == recvProbed:
		return f.recvProbed(c, l)
	case l.recv == recvMatched:
		msg, st, err := mpi.Mprobe(c, f.from, l.tag)
		if err != nil {
			return err
		}
		b := make([]byte, mpi.GetCount[byte](st))
		if st, err = mpi.Mrecv(msg, b); err != nil {
			return err
		}
		return f.checkStatus(b, st, l)
	default:
		b := make([]byte, l.n)
		st, err := mpi.Recv(c, b, f.from, tagOf(l))
		if err != nil {
			return err
		}
		return f.checkStatus(b, st, l)
	}
}

// recvProbed looks for a message, sometimes without waiting, and then receives it.
func (f flow) recvProbed(c *mpi.Comm, l letter) error {
	st, err := mpi.Status{}, error(nil)
	for found := false; l.seq%2 == 0 && !found; {
		if st, found, err = mpi.Iprobe(c, f.from, l.tag); err != nil {
			return err
		}
		runtime.Gosched()
	}
	if l.seq%2 != 0 {
		if st, err = mpi.Probe(c, f.from, l.tag); err != nil {
			return err
		}
	}
	b := make([]byte, mpi.GetCount[byte](st))
	if st, err = mpi.Recv(c, b, f.from, l.tag); err != nil {
		return err
	}
	return f.checkStatus(b, st, l)
}

// recvAny receives the messages of several flows, from whichever rank is first, and checks that
// each flow's come in order.
func (x *exchange) recvAny(c *mpi.Comm, flows []flow, letters int) error {
	next := make([]int, c.Size())
	of := make([]*flow, c.Size())
	for i := range flows {
		of[flows[i].from] = &flows[i]
	}
	b := make([]byte, longest)
	for range letters * len(flows) {
		st, err := mpi.Recv(c, b, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return x.drain(err, nil)
		}
		f := of[st.Source]
		if f == nil || next[st.Source] == letters {
			return x.drain(wrongf("a message too many, from %d, tag %d, %d bytes", st.Source, st.Tag, st.Count), nil)
		}
		l := f.wild(next[st.Source])
		if err := f.checkStatus(b, st, l); err != nil {
			return x.drain(err, nil)
		}
		next[st.Source]++
		x.received.Add(1)
	}
	return nil
}

// wild is message seq of a flow whose receiver takes what comes: bytes, not too long, sent in a
// plain way.
func (f flow) wild(seq int) letter {
	l := f.letter(seq)
	l.record, l.n = false, min(l.n, 300<<10)
	return l
}

// sendWild sends the messages of a flow to such a receiver.
func (x *exchange) sendWild(c *mpi.Comm, f flow, letters int) error {
	for k := range letters {
		r, err := x.sendOne(c, f, f.wild(k))
		if err == nil {
			_, err = r.Wait()
		}
		if err != nil {
			return x.drain(err, nil)
		}
	}
	return nil
}
