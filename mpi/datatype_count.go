//go:build linux

package mpi

// GetCount is the number of values of t in the message that s is about, as the function GetCount is
// of a T (MPI 4.1, section 3.2.5, MPI_Get_count). It is [Undefined] if the message is no whole
// number of them, or is of objects, or if t has an error.
func (s Status) GetCount(t *Datatype) int {
	switch {
	case s.class == classObject || t.check() != nil:
		return Undefined
	case s.bytes == 0:
		return 0
	}
	return wholeCount(s.bytes, t.m.Size())
}

// GetElements is the number of basic values in the message that s is about, if it is of values of
// t, the last of which may have arrived in part (MPI 4.1, section 5.1.11, MPI_Get_elements). It is
// [Undefined] if the message ends within a basic value, or is of objects, or if t has an error or
// no data.
func (s Status) GetElements(t *Datatype) int {
	switch {
	case s.class == classObject || t.check() != nil:
		return Undefined
	case s.bytes == 0:
		return 0
	case t.m.Size() == 0:
		return Undefined
	}
	n, whole := t.m.BasicsIn(s.bytes)
	if !whole {
		return Undefined
	}
	return n
}

// SetElements makes s say that n basic values of t have arrived: GetElements will return n, and
// GetCount and Count the number of whole values of t that these are, or [Undefined]. It is for the
// Query of a generalised request (MPI 4.1, section 13.3, MPI_Status_set_elements). An error is of
// class [ErrCount] if n is negative, or not 0 although t has no data, or too large, and of class
// [ErrType] if t has an error.
func (s *Status) SetElements(t *Datatype, n int) error {
	const op = "SetElements"
	if err := t.check(); err != nil {
		return opError(err.Class, op, err)
	}
	if n < 0 || n > 0 && t.m.Size() == 0 {
		return opErrorf(ErrCount, op, "%d elements of %s, which has %d: need 0 or more, and 0 of a datatype without data", n, t, t.m.Basics())
	}
	size, err := t.m.SizeOf(n)
	if err != nil {
		return opErrorf(ErrCount, op, "%d elements of %s: %w", n, t, err)
	}
	s.bytes, s.class, s.decoded = size, classBytes, false
	s.Count = s.GetCount(t)
	return nil
}
