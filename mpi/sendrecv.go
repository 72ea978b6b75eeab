//go:build linux

package mpi

import "slices"

// Sendrecv sends out to rank dest and receives from rank source into in, both at
// once, so that a ring of them does not lock up (MPI 4.1, section 3.2.7). The
// status is the receive's. It returns when both are done; out and in must not
// overlap. Each may be ProcNull, and each meets plain sends and receives too.
func Sendrecv[S, R any](c *Comm, out []S, dest, sendTag int, in []R, source, recvTag int) (Status, error) {
	return isendrecv(c, "Sendrecv", out, dest, sendTag, in, source, recvTag).Wait()
}

// Isendrecv starts a Sendrecv (MPI 4.1, section 3.7.7).
func Isendrecv[S, R any](c *Comm, out []S, dest, sendTag int, in []R, source, recvTag int) *Request {
	return isendrecv(c, "Isendrecv", out, dest, sendTag, in, source, recvTag)
}

// SendrecvReplace is Sendrecv with one buffer: what is received replaces what
// is sent, which is copied first (MPI 4.1, section 3.2.7).
func SendrecvReplace[T any](c *Comm, buf []T, dest, sendTag, source, recvTag int) (Status, error) {
	return isendrecv(c, "SendrecvReplace", slices.Clone(buf), dest, sendTag, buf, source, recvTag).Wait()
}

// IsendrecvReplace starts a SendrecvReplace (MPI 4.1, section 3.7.7).
func IsendrecvReplace[T any](c *Comm, buf []T, dest, sendTag, source, recvTag int) *Request {
	return isendrecv(c, "IsendrecvReplace", slices.Clone(buf), dest, sendTag, buf, source, recvTag)
}

func isendrecv[S, R any](c *Comm, op string, out []S, dest, sendTag int, in []R, source, recvTag int) *Request {
	if err := c.checkSend(op, dest, sendTag); err != nil {
		return failedRequest(c, err)
	}
	if err := c.checkRecv(op, source, recvTag); err != nil {
		return failedRequest(c, err)
	}
	p, err := payloadOf(c, op, out)
	if err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, op)
	if err := prepareRecv(r, in, source); err != nil {
		return failedRequest(c, err)
	}
	if source == ProcNull {
		r.finish = func(*Request) (Status, *Error) { return procNullStatus(), nil }
	} else {
		c.recvMSO(r.mso(), source, recvTag)
		r.m = r.mso()
		c.post(op, r.m)
	}
	if dest != ProcNull {
		r.extra = getMSO()
		c.sendMSO(r.extra, modeStandard, p, dest, sendTag)
		c.post(op, r.extra)
	}
	return r
}
