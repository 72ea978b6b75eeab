package tests

import (
	"errors"
	"fmt"
	"io"

	"github.com/fitmpi/fitmpi/mpi"
)

var errhandlerCases = []testCase{
	{name: "errhandler/call", section: "9.5",
		sentence: "MPI_COMM_CALL_ERRHANDLER invokes the error handler of the communicator with the error code supplied.",
		run:      callErrhandler},
	{name: "errhandler/call returns what the handler returns", section: "FitMPI",
		sentence: "CallErrhandler returns what the handler returns; the error keeps its operation and place, or gets this one.",
		run:      callErrhandlerPlace},
	{name: "errhandler/per communicator", section: "9.3",
		sentence: "An error handler is attached to a communicator; those made from it inherit it and can have another.",
		run:      errhandlerPerComm},
	{name: "errhandler/classes and codes", section: "9.5",
		sentence: "MPI_ADD_ERROR_CLASS creates a new error class, MPI_ADD_ERROR_CODE a new code of a class.",
		run:      addClasses},
	{name: "errhandler/strings", section: "9.5",
		sentence: "MPI_ADD_ERROR_STRING associates a string with a class or code, in place of an earlier one.",
		run:      addStrings},
	{name: "errhandler/remove", section: "9.5",
		sentence: "A class is removed after its codes, a class or code after its string; predefined ones cannot be removed.",
		run:      removeCodes},
	{name: "errhandler/class of a code", section: "9.4",
		sentence: "MPI_ERROR_CLASS maps each error code into an error class; each class is mapped onto itself.",
		run:      classOfCode},
	{name: "errhandler/codes travel", section: "FitMPI",
		sentence: "A code of the user's is an error: wrapped, given to a handler or returned by a callback, errors.Is finds it and its class.",
		run:      codesTravel},
	{name: "errhandler/counts and displacements", section: "9.4",
		sentence: "An error about counts and displacements says which rank's, and what would do.",
		run:      badBlocks},
	{name: "errhandler/requests", section: "9.4",
		sentence: "MPI_ERR_REQUEST: Invalid request: the text says which operation the request is of, and what it would need to be of.",
		run:      badRequests},
}

func callErrhandler(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	var got []*mpi.Error
	d.SetErrhandler(func(at *mpi.Comm, err *mpi.Error) error {
		want(t, "the communicator", at.Name(), d.Name())
		got = append(got, err)
		return nil
	})
	t.must(d.CallErrhandler(mpi.ErrRank), "the handler has dealt with it")
	t.must(d.CallErrhandler(nil), "no error")
	t.must(d.CallErrhandler(io.ErrUnexpectedEOF))
	if len(got) != 2 {
		t.Fatalf("the handler was called %d times, not twice", len(got))
	}
	want(t, "class", got[0].Class, mpi.ErrRank)
	want(t, "class of what is not MPI's", got[1].Class, mpi.ErrUnknown)
	want(t, "cause", got[1].Cause, io.ErrUnexpectedEOF)
	for _, e := range got {
		want(t, "operation", e.Op, "CallErrhandler")
		want(t, "rank", e.Rank, d.Rank())
		want(t, "communicator", e.Comm, d.Name())
		want(t, "host", e.Host, d.ProcessorName())
	}
	t.must(d.Free())
	d.SetErrhandler(mpi.ErrorsReturn)
	wantError(t, "a freed communicator", d.CallErrhandler(io.EOF), mpi.ErrComm)
	var none *mpi.Comm
	wantError(t, "no communicator", none.CallErrhandler(io.EOF), mpi.ErrComm)
}

func callErrhandlerPlace(t *T, c *mpi.Comm) {
	_, err := mpi.Recv(c, []int{1}, c.Size(), 0)
	was, ok := errors.AsType[*mpi.Error](err)
	if !ok {
		t.Fatalf("%v is no *mpi.Error", err)
	}
	d := dupOf(t, c)
	err = d.CallErrhandler(was)
	is, ok := err.(*mpi.Error)
	if !ok || is == was || is.Op != "Recv" || is.Comm != c.Name() {
		t.Errorf("%v became %v", was, err)
	}
	err = d.CallErrhandler(fmt.Errorf("solver: %w", was))
	wantError(t, "wrapped", err, mpi.ErrRank, "CallErrhandler", "solver", d.Name())
	err = d.CallErrhandler(&mpi.Error{Class: mpi.ErrIO, Op: "Checkpoint", Rank: -1, Peer: -1, Cause: io.ErrShortWrite})
	wantError(t, "an *Error without a place", err, mpi.ErrIO, fmt.Sprintf("Checkpoint on rank %d", d.Rank()), d.Name(), "short write")
	t.must(d.Free())
}

func errhandlerPerComm(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	calls := map[string]int{}
	count := func(name string) mpi.Errhandler {
		return func(_ *mpi.Comm, err *mpi.Error) error {
			calls[name]++
			return err
		}
	}
	d.SetErrhandler(count("d"))
	e := dupOf(t, d)
	s, err := d.Split(0, d.Rank())
	t.must(err)
	bad := func(x *mpi.Comm) { mpi.Send(x, []int{1}, x.Size(), 0) }
	bad(d)
	bad(e)
	bad(s)
	want(t, "calls of an inherited handler", calls["d"], 3)
	e.SetErrhandler(count("e"))
	bad(d)
	bad(e)
	want(t, "calls of the parent's", calls["d"], 4)
	want(t, "calls of its own", calls["e"], 1)
	h := e.Errhandler()
	h(e, &mpi.Error{})
	want(t, "calls of what Errhandler gives", calls["e"], 2)
	func() {
		defer func() { want(t, "a nil handler panics", recover() != nil, true) }()
		e.SetErrhandler(nil)
	}()
	for _, x := range []*mpi.Comm{s, e, d} {
		t.must(x.Free())
	}
}

// newClass makes a class with a code, and removes them at the end.
func newClass(t *T) (class mpi.ErrorClass, code mpi.ErrorCode, remove func()) {
	class = mpi.AddErrorClass()
	code, err := mpi.AddErrorCode(class)
	t.must(err)
	return class, code, func() {
		t.must(mpi.RemoveErrorCode(code))
		t.must(mpi.RemoveErrorClass(class))
	}
}

func addClasses(t *T, c *mpi.Comm) {
	class, code, remove := newClass(t)
	defer remove()
	if class <= mpi.ErrLastcode || int(code) <= int(mpi.ErrLastcode) || int(code) == int(class) {
		t.Errorf("class %d, code %d", int(class), int(code))
	}
	if last := mpi.LastUsedCode(); last < code || int(last) < int(class) {
		t.Errorf("the last code in use is %d, with class %d and code %d", int(last), int(class), int(code))
	}
	want(t, "class of the code", code.Class(), class)
	more, err := mpi.AddErrorCode(mpi.ErrIO)
	t.must(err, "a code of a predefined class")
	want(t, "its class", more.Class(), mpi.ErrIO)
	t.must(mpi.RemoveErrorCode(more))
	for _, bad := range []mpi.ErrorClass{-1, mpi.Success, mpi.ErrorClass(code), 1 << 30} {
		_, err := mpi.AddErrorCode(bad)
		wantError(t, "a code of no class", err, mpi.ErrArg, fmt.Sprintf("error class %d: need", int(bad)))
	}
}

func addStrings(t *T, c *mpi.Comm) {
	class, code, remove := newClass(t)
	defer remove()
	want(t, "text of a new class", mpi.ErrorString(class), "")
	want(t, "text of a new code", mpi.ErrorString(code), "")
	want(t, "a class says", class.Error(), fmt.Sprintf("mpi: error class %d", int(class)))
	want(t, "a code says", code.Error(), fmt.Sprintf("mpi: error code %d", int(code)))
	t.must(mpi.AddErrorString(class, "first"))
	t.must(mpi.AddErrorString(class, "solver trouble"))
	t.must(mpi.AddErrorString(code, "matrix singular"))
	want(t, "text of the class", mpi.ErrorString(class), "solver trouble")
	want(t, "text of the class by its number", mpi.ErrorString(mpi.ErrorCode(class)), "solver trouble")
	want(t, "the class says", class.Error(), "mpi: solver trouble")
	want(t, "the code says", code.Error(), "mpi: matrix singular")
	err := c.CallErrhandler(code)
	wantError(t, "a code through the handler", err, class, ": solver trouble: matrix singular")
	wantError(t, "a predefined class", mpi.AddErrorString(mpi.ErrTag, "x"), mpi.ErrArg, "AddErrorClass or AddErrorCode")
	want(t, "keeps its text", mpi.ErrorString(mpi.ErrTag), "invalid tag")
	want(t, "text of no code", mpi.ErrorString(mpi.ErrorCode(-1)), "")
	t.must(mpi.RemoveErrorString(class))
	t.must(mpi.RemoveErrorString(code))
	want(t, "removed", mpi.ErrorString(class)+mpi.ErrorString(code), "")
	wantError(t, "removed twice", mpi.RemoveErrorString(code), mpi.ErrArg, fmt.Sprintf("error code %d has no text", int(code)))
	wantError(t, "of a predefined class", mpi.RemoveErrorString(mpi.ErrTag), mpi.ErrArg)
}

func removeCodes(t *T, c *mpi.Comm) {
	class, code, _ := newClass(t)
	t.must(mpi.AddErrorString(class, "of the class"))
	t.must(mpi.AddErrorString(code, "of the code"))
	wantError(t, "a class with a code", mpi.RemoveErrorClass(class), mpi.ErrArg, "has 1 codes: remove them first")
	wantError(t, "a code with a text", mpi.RemoveErrorCode(code), mpi.ErrArg, `has the text "of the code"`, "RemoveErrorString")
	t.must(mpi.RemoveErrorString(code))
	t.must(mpi.RemoveErrorCode(code))
	want(t, "class of a removed code", code.Class(), mpi.ErrUnknown)
	wantError(t, "removed twice", mpi.RemoveErrorCode(code), mpi.ErrArg, "AddErrorCode gave")
	wantError(t, "a class with a text", mpi.RemoveErrorClass(class), mpi.ErrArg, "RemoveErrorString")
	t.must(mpi.RemoveErrorString(class))
	wantError(t, "a class as a code", mpi.RemoveErrorCode(mpi.ErrorCode(class)), mpi.ErrArg)
	t.must(mpi.RemoveErrorClass(class))
	wantError(t, "removed twice", mpi.RemoveErrorClass(class), mpi.ErrArg, "AddErrorClass gave")
	wantError(t, "a predefined class", mpi.RemoveErrorClass(mpi.ErrTag), mpi.ErrArg)
	wantError(t, "a predefined code", mpi.RemoveErrorCode(mpi.ErrorCode(mpi.ErrTag)), mpi.ErrArg)
	_, err := mpi.AddErrorCode(class)
	wantError(t, "a code of a removed class", err, mpi.ErrArg)
	if mpi.LastUsedCode() < mpi.ErrorCode(mpi.ErrLastcode) {
		t.Errorf("the last code in use is %d", int(mpi.LastUsedCode()))
	}
}

func classOfCode(t *T, c *mpi.Comm) {
	for class := mpi.Success; class <= mpi.ErrLastcode; class++ {
		want(t, "class of a predefined class", mpi.ErrorCode(class).Class(), class)
		if class != mpi.Success {
			want(t, "class of a predefined class as an error", mpi.ClassOf(class), class)
		}
		if mpi.ErrorString(class) == "" {
			t.Errorf("error class %d has no text", int(class))
		}
	}
	class, code, remove := newClass(t)
	defer remove()
	want(t, "class of an added class", mpi.ErrorCode(class).Class(), class)
	want(t, "class of its code", mpi.ClassOf(code), class)
	want(t, "class of its code, wrapped", mpi.ClassOf(fmt.Errorf("x: %w", code)), class)
	want(t, "class of a number that is no code", mpi.ErrorCode(1<<30).Class(), mpi.ErrUnknown)
}

func codesTravel(t *T, c *mpi.Comm) {
	class, code, remove := newClass(t)
	defer remove()
	other, otherCode, removeOther := newClass(t)
	defer removeOther()
	k := mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { return fmt.Errorf("cannot: %w", code) })
	d := dupOf(t, c)
	t.must(k.Set(d, 1))
	for what, err := range map[string]error{
		"itself": code, "wrapped": fmt.Errorf("x: %w", code), "CallErrhandler": c.CallErrhandler(code),
		"of a callback": k.Delete(d), "in an Error": &mpi.Error{Class: class, Cause: code},
	} {
		want(t, what+" is of its class", errors.Is(err, class), true)
		want(t, what+" is the code", errors.Is(err, code), true)
		want(t, what+" is of another class", errors.Is(err, other) || errors.Is(err, mpi.ErrOther), false)
		want(t, what+" is another code", errors.Is(err, otherCode), false)
		got, ok := errors.AsType[mpi.ErrorCode](err)
		want(t, what+" holds the code", ok && got == code, true)
		want(t, "class of "+what, mpi.ClassOf(err), class)
	}
}

// badBlocks: every rank gives the same wrong arguments, so that no rank waits for another.
func badBlocks(t *T, c *mpi.Comm) {
	n := c.Size()
	ones, in, out := make([]int, n), []int{1}, make([]int, n)
	for i := range ones {
		ones[i] = 1
	}
	with := func(v int) []int {
		s := append([]int(nil), ones...)
		s[n-1] = v
		return s
	}
	last := n - 1
	const maxInt = int(^uint(0) >> 1)
	for _, x := range []struct {
		counts, displs []int
		class          mpi.ErrorClass
		text           string
	}{
		{nil, nil, mpi.ErrCount, fmt.Sprintf("0 counts for %d ranks: need one for each", n)},
		{ones, make([]int, n+1), mpi.ErrArg, fmt.Sprintf("%d displacements for %d ranks: need one for each, or nil for blocks without gaps", n+1, n)},
		{with(-1), nil, mpi.ErrCount, fmt.Sprintf("the count of rank %d is -1: need 0 or more", last)},
		{ones, with(-3), mpi.ErrCount, fmt.Sprintf("the block of rank %d begins at -3: need 0 or more", last)},
		{ones, with(n), mpi.ErrCount, fmt.Sprintf("the block of rank %d is the 1 elements from out[%d] on, but out holds %d elements", last, n, n)},
		{ones, with(maxInt), mpi.ErrCount, fmt.Sprintf("the block of rank %d is the 1 elements from out[%d] on", last, maxInt)},
		{with(maxInt), make([]int, n), mpi.ErrCount, fmt.Sprintf("the block of rank %d is the %d elements from out[0] on", last, maxInt)},
	} {
		displs := x.displs
		if len(displs) == n {
			for i := range displs[:last] {
				displs[i] = 0
			}
		}
		err := mpi.Allgatherv(c, in, out, x.counts, displs)
		wantError(t, "Allgatherv", err, x.class, x.text)
	}
	wantError(t, "ReduceLocal", mpi.ReduceLocal(in, out[:0], mpi.Sum), mpi.ErrCount, "in has 1 elements, inout has 0: need as many")
	wantError(t, "ReduceLocal", mpi.ReduceLocal(in, in, nil), mpi.ErrOp, "the operation is nil: give a function such as mpi.Sum")
}

func badRequests(t *T, c *mpi.Comm) {
	var none *mpi.Request
	wantError(t, "Start of nil", none.Start(), mpi.ErrRequest, "the request is nil: make it with SendInit, RecvInit or their like")
	wantError(t, "Complete of nil", none.Complete(), mpi.ErrRequest, "the request is nil: make it with GrequestStart")
	s := mpi.Isend(c, []int{1}, mpi.ProcNull, 0)
	wantError(t, "Complete of a send", s.Complete(), mpi.ErrRequest, "the request is of Isend: need one of GrequestStart")
	g := c.GrequestStart(mpi.GeneralCallbacks{})
	t.must(g.Complete())
	wantError(t, "Complete twice", g.Complete(), mpi.ErrRequest, "Complete was called before")
	_, err := mpi.WaitAll(s, g)
	t.must(err)
}
