package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// What a request of a list is to the calls that take lists.
const (
	isNull     = iota // a null or an inactive handle: it counts as nothing, and its status is empty
	isComplete        // active, and complete
	isPending         // active, and not complete before finish
)

// mixer makes requests that this rank has with itself, each with a tag of its own.
type mixer struct {
	c   *mpi.Comm
	tag int
	err error
}

// must keeps the first error.
func (x *mixer) must(err error, what ...string) {
	if err != nil && x.err == nil {
		x.err = fmt.Errorf("%v: %w", what, err)
	}
}

func (x *mixer) wait(r *mpi.Request) { x.must(second(r.Wait()), "Wait") }
func (x *mixer) free(r *mpi.Request) *mpi.Request {
	x.must(r.Free(), "Free")
	return r
}
func (x *mixer) start(r *mpi.Request) *mpi.Request {
	x.must(r.Start(), "Start")
	return r
}
func (x *mixer) send() { x.must(mpi.Send(x.c, []int{x.tag}, x.c.Rank(), x.tag), "Send") }
func (x *mixer) recv(tag int) {
	x.must(second(mpi.Recv(x.c, make([]int, 1<<10), x.c.Rank(), tag)), "Recv")
}

func (x *mixer) general() *mpi.Request {
	return x.c.GrequestStart(mpi.GeneralCallbacks{Query: func() (mpi.Status, error) { return mpi.Status{Tag: 1}, nil }})
}

// member is a kind of request in a list. make returns one and what is to be done about it at the
// end, which may be nil; x.tag is its own.
type member struct {
	name  string
	state int
	make  func(x *mixer) (r *mpi.Request, finish func())
}

var members = []member{
	{"nil", isNull, func(*mixer) (*mpi.Request, func()) { return nil, nil }},
	{"waited for", isNull, func(x *mixer) (*mpi.Request, func()) {
		r := mpi.Isend(x.c, []int{}, mpi.ProcNull, 0)
		x.wait(r)
		return r, nil
	}},
	{"inactive", isNull, func(x *mixer) (*mpi.Request, func()) {
		return mpi.RecvInit(x.c, make([]int, 1), x.c.Rank(), x.tag), nil
	}},
	{"inactive again", isNull, func(x *mixer) (*mpi.Request, func()) {
		r := x.start(mpi.RecvInit(x.c, make([]int, 1), x.c.Rank(), x.tag))
		x.send()
		x.wait(r)
		return r, nil
	}},
	{"inactive collective", isNull, func(x *mixer) (*mpi.Request, func()) { return mpi.BarrierInit(x.c), nil }},
	{"inactive in partitions", isNull, func(x *mixer) (*mpi.Request, func()) {
		return mpi.PsendInit(x.c, make([]int, 2), 2, mpi.ProcNull, x.tag), nil
	}},
	{"freed short send", isNull, func(x *mixer) (*mpi.Request, func()) {
		r, tag := x.free(mpi.Isend(x.c, []int{1}, x.c.Rank(), x.tag)), x.tag
		return r, func() { x.recv(tag) }
	}},
	{"freed send under way", isNull, func(x *mixer) (*mpi.Request, func()) {
		r, tag := x.free(mpi.Issend(x.c, make([]int, 1<<10), x.c.Rank(), x.tag)), x.tag
		return r, func() { x.recv(tag) }
	}},
	{"freed receive", isNull, func(x *mixer) (*mpi.Request, func()) {
		x.send()
		return x.free(mpi.Irecv(x.c, make([]int, 1), x.c.Rank(), x.tag)), nil
	}},
	{"freed send to nowhere", isNull, func(x *mixer) (*mpi.Request, func()) {
		return x.free(mpi.Isend(x.c, []int{1}, mpi.ProcNull, x.tag)), nil
	}},
	{"freed while inactive", isNull, func(x *mixer) (*mpi.Request, func()) {
		return x.free(mpi.SendInit(x.c, make([]int, 1), x.c.Rank(), x.tag)), nil
	}},
	{"freed while active", isNull, func(x *mixer) (*mpi.Request, func()) {
		r, tag := x.free(x.start(mpi.SsendInit(x.c, make([]int, 1), x.c.Rank(), x.tag))), x.tag
		return r, func() { x.recv(tag) }
	}},
	{"freed of a collective", isNull, func(x *mixer) (*mpi.Request, func()) { return x.free(mpi.BarrierInit(x.c)), nil }},
	{"freed in partitions", isNull, func(x *mixer) (*mpi.Request, func()) {
		return x.free(mpi.PrecvInit(x.c, make([]int, 2), 2, x.c.Rank(), x.tag)), nil
	}},
	{"freed generalised", isNull, func(x *mixer) (*mpi.Request, func()) {
		r := x.free(x.general())
		return r, func() { x.must(r.Complete(), "Complete of what was freed") }
	}},
	{"freed generalised that is complete", isNull, func(x *mixer) (*mpi.Request, func()) {
		r := x.general()
		x.must(r.Complete())
		return x.free(r), nil
	}},

	{"send", isComplete, func(x *mixer) (*mpi.Request, func()) {
		r, tag := mpi.Isend(x.c, []int{1}, x.c.Rank(), x.tag), x.tag
		return r, func() { x.recv(tag) }
	}},
	{"receive", isComplete, func(x *mixer) (*mpi.Request, func()) {
		x.send()
		return mpi.Irecv(x.c, make([]int, 1), x.c.Rank(), x.tag), nil
	}},
	{"started", isComplete, func(x *mixer) (*mpi.Request, func()) {
		x.send()
		return x.start(mpi.RecvInit(x.c, make([]int, 1), x.c.Rank(), x.tag)), nil
	}},
	{"generalised", isComplete, func(x *mixer) (*mpi.Request, func()) {
		r := x.general()
		x.must(r.Complete())
		return r, nil
	}},
	{"collective", isComplete, func(x *mixer) (*mpi.Request, func()) { return mpi.Ibarrier(x.c), nil }},

	{"pending receive", isPending, func(x *mixer) (*mpi.Request, func()) {
		tag, r := x.tag, mpi.Irecv(x.c, make([]int, 1), x.c.Rank(), x.tag)
		return r, func() {
			x.must(mpi.Send(x.c, []int{1}, x.c.Rank(), tag))
			x.wait(r)
		}
	}},
	{"pending generalised", isPending, func(x *mixer) (*mpi.Request, func()) {
		r := x.general()
		return r, func() {
			x.must(r.Complete())
			x.wait(r)
		}
	}},
}

// familyOutcome is what a call says of a list.
type familyOutcome struct {
	done bool // the call's own flag; of one without a flag, that it tells of anything
	at   []int
	sts  []mpi.Status
}

// family is a call that takes a list of requests.
type family struct {
	name        string
	waits, all  bool // it waits; it tells of all or nothing
	one, leaves bool // it tells of one at most; it leaves the requests as they are
	call        func(rs []*mpi.Request) (familyOutcome, error)
}

func oneOf(i int, st mpi.Status, done bool) familyOutcome {
	if i == mpi.Undefined {
		return familyOutcome{done: done, sts: []mpi.Status{st}}
	}
	return familyOutcome{done: done, at: []int{i}, sts: []mpi.Status{st}}
}

var families = []family{
	{"WaitAll", true, true, false, false, func(rs []*mpi.Request) (familyOutcome, error) {
		sts, err := mpi.WaitAll(rs...)
		return familyOutcome{done: true, sts: sts}, err
	}},
	{"TestAll", false, true, false, false, func(rs []*mpi.Request) (familyOutcome, error) {
		sts, done, err := mpi.TestAll(rs...)
		return familyOutcome{done: done, sts: sts}, err
	}},
	{"GetStatusAll", false, true, false, true, func(rs []*mpi.Request) (familyOutcome, error) {
		sts, done, err := mpi.GetStatusAll(rs...)
		return familyOutcome{done: done, sts: sts}, err
	}},
	{"WaitAny", true, false, true, false, func(rs []*mpi.Request) (familyOutcome, error) {
		i, st, err := mpi.WaitAny(rs...)
		return oneOf(i, st, true), err
	}},
	{"TestAny", false, false, true, false, func(rs []*mpi.Request) (familyOutcome, error) {
		i, st, done, err := mpi.TestAny(rs...)
		return oneOf(i, st, done), err
	}},
	{"GetStatusAny", false, false, true, true, func(rs []*mpi.Request) (familyOutcome, error) {
		i, st, done, err := mpi.GetStatusAny(rs...)
		return oneOf(i, st, done), err
	}},
	{"WaitSome", true, false, false, false, func(rs []*mpi.Request) (familyOutcome, error) {
		at, sts, err := mpi.WaitSome(rs...)
		return familyOutcome{done: len(at) > 0, at: at, sts: sts}, err
	}},
	{"TestSome", false, false, false, false, func(rs []*mpi.Request) (familyOutcome, error) {
		at, sts, err := mpi.TestSome(rs...)
		return familyOutcome{done: len(at) > 0, at: at, sts: sts}, err
	}},
	{"GetStatusSome", false, false, false, true, func(rs []*mpi.Request) (familyOutcome, error) {
		at, sts, err := mpi.GetStatusSome(rs...)
		return familyOutcome{done: len(at) > 0, at: at, sts: sts}, err
	}},
}

var emptyOne = mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}

// verdict says what is wrong with an outcome for a list with complete ones at these places; "" if
// nothing is. all is true if none is pending, and none if none is active.
func (f *family) verdict(got familyOutcome, ms []member, complete []int, all, none bool) string {
	switch {
	case f.all && got.done != all:
		return fmt.Sprintf("done is %v", got.done)
	case f.all && all:
		for i, st := range got.sts {
			if ms[i].state == isNull && ms[i].name != "waited for" && st != emptyOne {
				return fmt.Sprintf("the status of %d is %+v, want an empty one", i, st)
			}
		}
		if len(got.sts) != len(ms) {
			return fmt.Sprintf("%d statuses", len(got.sts))
		}
	case f.all:
	case f.one && none && (!got.done || len(got.at) > 0 || got.sts[0] != emptyOne):
		return fmt.Sprintf("index %v, done %v, status %+v: want Undefined, true, an empty one", got.at, got.done, got.sts)
	case f.one && !none && len(complete) == 0 && (got.done || len(got.at) > 0):
		return fmt.Sprintf("index %v, done %v: want Undefined and false", got.at, got.done)
	case f.one && len(complete) > 0 && (!got.done || len(got.at) != 1 || !slices.Contains(complete, got.at[0])):
		return fmt.Sprintf("index %v, done %v: want true and one of %v", got.at, got.done, complete)
	case !f.one && !slices.Equal(got.at, complete):
		return fmt.Sprintf("indices %v, want %v", got.at, complete)
	case !f.one && len(got.sts) != len(got.at):
		return fmt.Sprintf("%d statuses for %v", len(got.sts), got.at)
	}
	return ""
}

// try calls f with a list of ms, and again what it must have left.
func (f *family) try(x *mixer, ms ...member) error {
	rs, ends := make([]*mpi.Request, len(ms)), []func(){}
	var complete []int
	pending := 0
	for i, m := range ms {
		x.tag++
		r, end := m.make(x)
		if rs[i] = r; end != nil {
			ends = append(ends, end)
		}
		switch m.state {
		case isComplete:
			complete = append(complete, i)
		case isPending:
			pending++
		}
	}
	none := pending == 0 && len(complete) == 0
	if !f.waits || pending == 0 || !f.all && len(complete) > 0 {
		got, err := f.call(rs)
		x.must(err, f.name)
		if bad := f.verdict(got, ms, complete, pending == 0, none); bad != "" {
			return errors.New(bad)
		}
		left := slices.DeleteFunc(slices.Clone(complete), func(i int) bool {
			return !f.leaves && (slices.Contains(got.at, i) || f.all && got.done)
		})
		at, _, err := mpi.TestSome(rs...)
		x.must(err, "TestSome")
		if !slices.Equal(at, left) {
			return fmt.Errorf("after that TestSome finds %v, want %v", at, left)
		}
	}
	for _, end := range ends {
		end()
	}
	return x.err
}

// "The list may contain null or inactive handles" (MPI 4.1, sections 3.7.5 and 3.7.6): to every
// call that takes a list they are nothing, wherever they stand, and have an empty status. A request
// that was freed is a null handle, whatever it was of (section 3.7.3).
func TestNullAndInactiveInLists(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		x := &mixer{c: c}
		for _, f := range families {
			try := func(ms ...member) {
				if err := f.try(x, ms...); err != nil {
					var names []string
					for _, m := range ms {
						names = append(names, m.name)
					}
					t.Errorf("%s of %q: %v", f.name, names, err)
					x.err = nil
				}
			}
			try()
			for _, a := range members {
				try(a)
				for _, b := range members {
					try(a, b)
					try(a, b, members[x.tag%len(members)], members[x.tag*7%len(members)], members[x.tag*5%len(members)])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A request that was freed is null to the calls about one, too: there is nothing to wait for, to
// cancel, to start or to free.
func TestFreedIsNull(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		x := &mixer{c: c}
		for _, m := range members {
			if m.state != isNull || len(m.name) < 5 || m.name[:5] != "freed" {
				continue
			}
			x.tag++
			r, end := m.make(x)
			for range 2 {
				if st, err := r.Wait(); st != emptyOne || err != nil {
					t.Errorf("%s: Wait gives %+v, %v", m.name, st, err)
				}
				if st, done, err := r.Test(); st != emptyOne || !done || err != nil {
					t.Errorf("%s: Test gives %+v, %v, %v", m.name, st, done, err)
				}
				if st, done, err := r.GetStatus(); st != emptyOne || !done || err != nil {
					t.Errorf("%s: GetStatus gives %+v, %v, %v", m.name, st, done, err)
				}
				x.must(r.Cancel(), m.name, "Cancel")
				x.must(r.Free(), m.name, "Free again")
			}
			wantText(t, r.Start(), mpi.ErrRequest, "one that was freed")
			wantText(t, mpi.StartAll(nil, r), mpi.ErrRequest, "one that was freed", "the request is nil")
			if end != nil {
				end()
			}
		}
		return x.err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// "It is erroneous to call MPI_CANCEL or MPI_REQUEST_FREE for a request associated with a
// nonblocking collective operation" (MPI 4.1, section 6.12), and the same of one-sided
// communication (section 12.3.5): what the request brings comes when it is waited for. Free says
// so, whether the operation is complete or not, and the request is as it was.
func TestFreeOfWhatMustBeWaitedFor(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		w, mem, err := mpi.WinAllocate[int64](c, 1, nil)
		if err != nil {
			return err
		}
		w.SetErrhandler(mpi.ErrorsReturn)
		if err := w.Lock(mpi.LockShared, 0, 0); err != nil {
			return err
		}
		out, in := make([]int64, 2), make([]int64, 2)
		started := func(r *mpi.Request) *mpi.Request { return checked(t, r, r.Start()) }
		parts := func() *mpi.Request {
			s := started(mpi.PsendInit(c, []int64{8, 9}, 2, 0, 1))
			return checked(t, s, s.PreadyRange(0, 1))
		}
		s := parts()
		for _, tc := range []struct {
			r  *mpi.Request
			op string
			ok func() bool
		}{
			{mpi.Iallreduce(c, []int64{1, 2}, out, mpi.Sum), "Iallreduce", func() bool { return out[0] == 1 && out[1] == 2 }},
			{started(mpi.BarrierInit(c)), "BarrierInit", func() bool { return true }},
			{started(mpi.PrecvInit(c, in, 1, 0, 1)), "PrecvInit", func() bool { return in[0] == 8 && in[1] == 9 }},
			{mpi.Rput(w, []int64{7}, 0, 0), "Rput", func() bool { return mem[0] == 7 }},
			{s, "PsendInit", func() bool { return true }},
		} {
			wantText(t, tc.r.Free(), mpi.ErrRequest, "of "+tc.op, "Wait")
			if _, err := tc.r.Wait(); err != nil || tc.op != "Rput" && !tc.ok() {
				t.Errorf("%s: after Free was refused Wait gives %v, right: %v", tc.op, err, tc.ok())
			}
			if err := tc.r.Free(); err != nil {
				t.Errorf("%s: Free after Wait: %v", tc.op, err)
			}
		}
		if err := w.Unlock(0); err != nil {
			return err
		}
		return w.Free()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checked is r, of which err must be nil.
func checked(t *testing.T, r *mpi.Request, err error) *mpi.Request {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return r
}

// An operation that could not be started has an error that its request keeps; what frees the
// request tells it, if nothing has before.
func TestFreeTellsWhatWasNotTold(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		r := mpi.Isend(c, []int{1}, 5, 0)
		wantText(t, r.Free(), mpi.ErrRank, "Isend")
		if err := r.Free(); err != nil {
			t.Errorf("the second Free says it again: %v", err)
		}
		r = mpi.Isend(c, []int{1}, 5, 0)
		wantText(t, second(r.Wait()), mpi.ErrRank)
		if err := r.Free(); err != nil {
			t.Errorf("Free says what Wait has said: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
