package mpi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			opError(ErrTruncate, "Recv", &TruncateError{Message: 100, Buffer: 10}).on(2, "world").with(0),
			`mpi: Recv on rank 2 from rank 0 of "world": message truncated: 100 elements arrived, the buffer holds 10`,
		},
		{
			&Error{Class: ErrProcFailed, Op: "Isend", Rank: 0, Peer: 3, Host: "node7", Comm: "world", Cause: io.ErrUnexpectedEOF},
			`mpi: Isend on rank 0 (node7) to rank 3 of "world": process failed: unexpected EOF`,
		},
		{opErrorf(ErrTag, "Send", "tag is %d", -7), "mpi: Send: invalid tag: tag is -7"},
		{opError(ErrRevoked, "Allreduce", nil).on(1, "half"), `mpi: Allreduce on rank 1 of "half": communicator revoked`},
		{opError(ErrRank, "Sendrecv", nil).with(9), "mpi: Sendrecv with rank 9: invalid rank"},
		{opError(ErrPending, "Mprobe", ErrPending).with(9), "mpi: Mprobe from rank 9: request pending"},
		{&Error{Class: ErrOther, Op: "Init", Rank: -1, Peer: -1, Host: "node7"}, "mpi: Init on node7: error"},
		{&Error{Class: ErrComm, Rank: -1, Peer: -1}, "mpi: invalid communicator"},
		{opError(ErrInStatus, "WaitAll", opErrorf(ErrTag, "Recv", "odd")), "mpi: WaitAll: requests failed: Recv: invalid tag: odd"},
		{ErrTruncate, "mpi: message truncated"},
		{ErrorClass(1234), "mpi: error class 1234"},
		{ErrorClass(-1), "mpi: error class -1"},
		{&TruncateError{Message: 1, Buffer: 0}, "1 element arrived, the buffer holds 0"},
		{&TruncateError{Message: 9, Buffer: 8, Bytes: true}, "9 bytes arrived, the buffer holds 8"},
	} {
		for err := test.err; err != nil; err = errors.Unwrap(err) {
			if e, ok := err.(*Error); ok {
				e.At = "" // see TestErrorAt
			}
		}
		if got := test.err.Error(); got != test.want {
			t.Errorf("error says\n\t%s\nwant\n\t%s", got, test.want)
		}
	}
}

// The file is named from the working directory if it lies below that, and once where an error is
// the cause of another of the same call.
func TestErrorTextAt(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	inner := &Error{Class: ErrTag, Op: "Recv", Rank: -1, Peer: -1, At: dir + "/sub/main.go:12"}
	for at, want := range map[string]string{
		dir + "/sub/main.go:12": "mpi: WaitAll: requests failed: Recv: invalid tag (sub/main.go:12)",
		"/elsewhere/main.go:3":  "mpi: WaitAll: requests failed: Recv: invalid tag (sub/main.go:12) (/elsewhere/main.go:3)",
	} {
		if got := (&Error{Class: ErrInStatus, Op: "WaitAll", Rank: -1, Peer: -1, Cause: inner, At: at}).Error(); got != want {
			t.Errorf("error says\n\t%s\nwant\n\t%s", got, want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	trunc := &TruncateError{Message: 2, Buffer: 1}
	var err error = fmt.Errorf("step 7: %w", opError(ErrTruncate, "Recv", trunc))
	if !errors.Is(err, ErrTruncate) || errors.Is(err, ErrTag) || !errors.Is(err, trunc) {
		t.Error("errors.Is does not see class and cause, or sees another")
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Op != "Recv" {
		t.Errorf("AsType[*Error] = %v, %v", e, ok)
	}
	if e, ok := errors.AsType[*TruncateError](err); !ok || e != trunc {
		t.Errorf("AsType[*TruncateError] = %v, %v", e, ok)
	}
	if err = opError(ErrOther, "Recv", context.DeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the cause is not found")
	}
	if errors.Is(opError(ErrOther, "Recv", nil), context.Canceled) {
		t.Error("an error without a cause has one")
	}
}

func TestClassOf(t *testing.T) {
	for _, test := range []struct {
		err  error
		want ErrorClass
	}{
		{nil, Success},
		{ErrRank, ErrRank},
		{fmt.Errorf("x: %w", ErrRank), ErrRank},
		{opError(ErrDims, "DimsCreate", ErrArg), ErrDims},
		{&TruncateError{}, ErrTruncate},
		{io.EOF, ErrUnknown},
	} {
		if got := ClassOf(test.err); got != test.want {
			t.Errorf("ClassOf(%v) = %v, want %v", test.err, got, test.want)
		}
	}
}

// MPI 4.1, section 9.4: "0 = MPI_SUCCESS < MPI_ERR_... <= MPI_ERR_LASTCODE".
func TestErrorClassesHaveTexts(t *testing.T) {
	if len(errorClassTexts) != int(ErrLastcode)+1 || Success != 0 {
		t.Fatalf("%d texts for classes 0 to %d", len(errorClassTexts), ErrLastcode)
	}
	seen := map[string]ErrorClass{}
	for c := Success; c <= ErrLastcode; c++ {
		other, dup := seen[c.String()]
		if c.String() == "" || dup {
			t.Errorf("class %d says %q, as does class %d", c, c.String(), other)
		}
		seen[c.String()] = c
	}
}
