package mpi

import "github.com/fitmpi/fitmpi/engine"

// SendValue sends one value of any type: Send of a slice of one. No counterpart
// in MPI.
func SendValue[T any](c *Comm, v T, dest, tag int) error {
	one := [1]T{v}
	return send(c, "SendValue", modeStandard, one[:], dest, tag)
}

// IsendValue starts a SendValue and returns. v is copied: it is the caller's again at once. No
// counterpart in MPI.
func IsendValue[T any](c *Comm, v T, dest, tag int) *Request {
	one := []T{v}
	return beginSend(c, "IsendValue", one, dest, tag).started(isend(c, "IsendValue", modeStandard, one, dest, tag))
}

// RecvValue receives one value sent by SendValue, or by Send of one element; a
// message of several is an error of class ErrTruncate, an empty one of ErrCount.
// source and tag are those of Recv. No counterpart in MPI.
func RecvValue[T any](c *Comm, source, tag int) (T, Status, error) {
	told := c.beginProbe("RecvValue", source, tag)
	v, st, err := recvValue[T](c, source, tag)
	told.received(st, err)
	return v, st, err
}

func recvValue[T any](c *Comm, source, tag int) (T, Status, error) {
	const op = "RecvValue"
	var one [1]T
	if err := c.checkRecv(op, source, tag); err != nil {
		return one[0], emptyStatus(), c.fail(err)
	}
	e := elemOf[T]()
	if e.err != nil {
		return one[0], emptyStatus(), c.fail(opError(ErrType, op, e.err))
	}
	if source == ProcNull {
		return one[0], procNullStatus(), nil
	}
	m := getMSO()
	c.recvMSO(m, source, tag)
	st, err := finishRecv(c, op, m, e, one[:])
	if err == nil {
		if not := notOne[T](op, st); not != nil {
			err = c.fail(not)
		}
	}
	return one[0], st, err
}

// IncomingValue is the request of a receive of one value.
type IncomingValue[T any] struct {
	*Request
	one [1]T
}

// Value is the value, after Wait or a successful Test.
func (r *IncomingValue[T]) Value() T { return r.one[0] }

// IrecvValue starts a RecvValue and returns; Value has the value after Wait. No counterpart in MPI.
func IrecvValue[T any](c *Comm, source, tag int) *IncomingValue[T] {
	told := c.beginProbe("IrecvValue", source, tag)
	r := new(IncomingValue[T])
	r.Request = irecvOne(c, "IrecvValue", r.one[:], source, tag)
	told.started(r.Request)
	return r
}

// irecvOne starts a receive into one, which has one element, of a message that has one.
func irecvOne[T any](c *Comm, op string, one []T, source, tag int) *Request {
	if err := c.checkRecv(op, source, tag); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, op)
	if err := prepareRecv(r, one, source); err != nil {
		return failedRequest(c, err)
	}
	if source == ProcNull {
		return r.settled(procNullStatus(), nil)
	}
	finish := r.more().finish
	r.more().finish = func(q *Request) (st Status, err *Error) {
		if finish != nil {
			st, err = finish(q)
		} else {
			st, err = q.c.plainResult(q.op, q.m, q.elem, q.bufLen)
		}
		if err == nil && !st.Cancelled {
			err = notOne[T](op, st)
		}
		return st, err
	}
	r.m = r.mso()
	c.recvMSO(r.m, source, tag)
	r.m.Patient = true
	c.job.engine.Post(r.m, engine.Computes)
	return r
}

// notOne is the error of a message of st that is to have one T and has not; nil if it has.
func notOne[T any](op string, st Status) *Error {
	if st.Count == 1 || elemOf[T]().size == 0 {
		return nil
	}
	return opErrorf(ErrCount, op, "%d values arrived, not one", st.Count).with(st.Source)
}
