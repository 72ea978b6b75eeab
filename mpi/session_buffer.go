//go:build linux

package mpi

// AttachBuffer gives s memory for the buffered sends over its communicators that have no buffer of
// their own, as BufferAttach does for the job (MPI 4.1, section 3.6, MPI_Session_attach_buffer). It
// belongs to the library until DetachBuffer; BufferAutomatic has room for all. A second one is an
// error of class ErrBuffer.
func (s *Session) AttachBuffer(buf []byte) (outcome error) {
	defer s.begin("AttachBuffer").endAt(&outcome)
	const op = "Session.AttachBuffer"
	if err := s.present(op); err != nil {
		return s.fail(err)
	}
	return s.own.attachBuffer(op, &s.buffer, &s.scope, buf)
}

// DetachBuffer waits until every message in the buffer of s has left it and returns the buffer; nil
// if there was none (MPI 4.1, section 3.6, MPI_Session_detach_buffer).
func (s *Session) DetachBuffer() (_ []byte, outcome error) {
	defer s.begin("DetachBuffer").endAt(&outcome)
	const op = "Session.DetachBuffer"
	if err := s.present(op); err != nil {
		return nil, s.fail(err)
	}
	return s.own.detachBuffer(op, &s.buffer)
}

// FlushBuffer waits until every message that lies in the buffer of s now has left it. Without a
// buffer it does nothing (MPI 4.1, section 3.6, MPI_Session_flush_buffer).
func (s *Session) FlushBuffer() (outcome error) {
	defer s.begin("FlushBuffer").endAt(&outcome)
	const op = "Session.FlushBuffer"
	if err := s.present(op); err != nil {
		return s.fail(err)
	}
	_, err := s.own.flushBuffer(op, s.buffer.Load()).wait()
	return err
}

// IflushBuffer starts a FlushBuffer: its request is done when every message that lies in the buffer
// of s now has left it (MPI 4.1, section 3.6, MPI_Session_iflush_buffer). The buffer may be used
// meanwhile.
func (s *Session) IflushBuffer() (started *Request) {
	defer s.begin("IflushBuffer").startedAt(&started)
	const op = "Session.IflushBuffer"
	if s == nil || s.job == nil {
		return failedRequest(nil, s.present(op))
	}
	if err := s.present(op); err != nil {
		return failedRequest(s.own, err)
	}
	return s.own.flushBuffer(op, s.buffer.Load())
}
