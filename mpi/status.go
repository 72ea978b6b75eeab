//go:build linux

package mpi

import "math"

// Special ranks, tags and numbers. All are negative and no two are equal, so that swapped arguments
// are caught.
const (
	// AnySource as the source of a receive or probe matches messages of every rank (MPI 4.1,
	// section 3.2.4).
	AnySource = -1
	// AnyTag as the tag of a receive or probe matches every tag (MPI 4.1, section 3.2.4).
	AnyTag = -2
	// ProcNull as source or destination makes the communication do nothing, successfully (MPI 4.1,
	// section 3.10).
	ProcNull = -3
	// Root is the root argument of the root itself in a rooted collective over an intercommunicator
	// (MPI 4.1, section 6.2.3).
	Root = -4
	// Undefined is a count that is no whole number, a rank outside a group, or a color that takes
	// no part (MPI 4.1, sections 3.2.5, 7.3.1 and 7.4.2).
	Undefined = -5

	// TagUB is the largest tag; tags start at 0 (MPI 4.1, section 9.1.2).
	TagUB = math.MaxInt32
)

// Status says what a receive received, or what a probe found (MPI 4.1, section 3.2.5).
type Status struct {
	Source int // rank of the sender; ProcNull after communication with ProcNull; AnySource if there was no message
	Tag    int // tag of the message; AnyTag if there was none
	// Count is the length of the message. After a receive it is in elements of the receive's T;
	// Undefined if the message was no whole number of them. After a probe, which has no T, it is in
	// bytes: GetCount has elements.
	Count     int
	Cancelled bool // the operation was cancelled; the other fields mean nothing then

	// In an order without gaps: there is a Status for each message.
	decoded bool      // Count is a number of objects: the message has been deserialised
	class   elemClass // of the message, as its sender says
	bytes   int       // length of the message's data as it travelled
}

// GetCount returns the number of elements of T in the message that s is about (MPI 4.1, section
// 3.2.5, MPI_Get_count). It is [Undefined] if the message is no whole number of them, and if the
// message is of objects (a T with pointers) and has only been probed: their number shows when they
// are decoded.
func GetCount[T any](s Status) int {
	e := elemOf[T]()
	switch {
	case s.bytes == 0:
		return 0
	case e.plain != (s.class != classObject):
		return Undefined
	case !e.plain:
		if s.decoded {
			return s.Count
		}
		return Undefined
	case e.wire == 0 || s.bytes%e.wire != 0:
		// "If the number of bytes transferred is greater than zero, MPI_UNDEFINED is returned" for
		// a type without size.
		return Undefined
	default:
		return s.bytes / e.wire
	}
}

// emptyStatus is the status of an operation that received nothing because there was nothing to wait
// for (MPI 4.1, section 3.7.3: "a status set to return tag = MPI_ANY_TAG, source =
// MPI_ANY_SOURCE").
func emptyStatus() Status { return Status{Source: AnySource, Tag: AnyTag} }

// procNullStatus is the status of a receive from ProcNull (MPI 4.1, section 3.10: "source =
// MPI_PROC_NULL, tag = MPI_ANY_TAG and count = 0").
func procNullStatus() Status { return Status{Source: ProcNull, Tag: AnyTag} }
