package tests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/mpi"
)

var sessionCases = []testCase{
	{name: "session/communicator", section: "11.3",
		sentence: "A communicator that is made of a process set of a session communicates, and so do those that are made of it, until the session is finalized.",
		run:      sessionComm},
	{name: "session/process sets", section: "11.3.2",
		sentence: "The predefined process set mpi://WORLD has all ranks of the job, and mpi://SELF the calling one alone; the size of a set is in its info.",
		run:      sessionSets},
	{name: "session/several", section: "11.3",
		sentence: "Messages of one session never match receives of another, whatever their ranks and tags.",
		run:      sessionsApart},
	{name: "session/not mixed", section: "11.3",
		sentence: "MPI objects derived from different session handles shall not be intermixed with each other in a single MPI procedure call.",
		run:      sessionsMixed},
	{name: "session/error handlers", section: "9.3.4",
		sentence: "Errors of a session and of its groups go to the error handler of the session, those of its communicators to theirs.",
		run:      sessionHandlers},
	{name: "session/buffer", section: "3.6",
		sentence: "A buffered send over a communicator without a buffer uses that of its session, and that of the job if the session has none.",
		run:      sessionBuffer},
	{name: "session/finalize and buffers", section: "11.3.1", min: 2,
		sentence: "Messages that lie in the buffer of a session when it is finalized arrive.",
		run:      sessionBufferLeft},
	{name: "session/again", section: "11.3.1",
		sentence: "Ranks may open and finalize sessions as often as each likes: that is local.",
		run:      sessionsAgain},
	{name: "session/side by side", section: "11.3",
		sentence: "Sessions may be opened, used and finalized by several threads at once.",
		run:      sessionsBeside},
	{name: "session/intercommunicator", section: "7.6.2", min: 2,
		sentence: "An intercommunicator can be made of two groups of a session, and belongs to it.",
		run:      sessionInter},
}

// openSession opens a session that returns errors.
func openSession(t *T) *mpi.Session {
	s, err := mpi.SessionInit(t.Ctx, nil, mpi.ErrorsReturn)
	t.must(err, "SessionInit")
	return s
}

// groupIn is the group of c, as one of s.
func groupIn(t *T, s *mpi.Session, c *mpi.Comm) *mpi.Group {
	all, err := s.GroupFromPset(mpi.PsetWorld)
	t.must(err, "GroupFromPset")
	ranks := make([]int, c.Size())
	for r := range ranks {
		ranks[r] = r
	}
	inWorld, err := c.Group().TranslateRanks(ranks, c.World().Group())
	t.must(err, "TranslateRanks")
	g, err := all.Incl(inWorld...)
	t.must(err, "Incl")
	return g
}

// commIn makes a communicator of the ranks of c in s.
func commIn(t *T, s *mpi.Session, c *mpi.Comm, text string) *mpi.Comm {
	n, err := mpi.CommCreateFromGroup(groupIn(t, s, c), text, nil, mpi.ErrorsReturn)
	t.must(err, "CommCreateFromGroup")
	return n
}

func sessionComm(t *T, c *mpi.Comm) {
	s := openSession(t)
	n := commIn(t, s, c, "of a session")
	want(t, "rank", n.Rank(), c.Rank())
	want(t, "size", n.Size(), c.Size())
	pingAround(t, n, 1)
	dup, err := n.Dup(nil)
	t.must(err, "Dup")
	half, err := n.Split(n.Rank()%2, 0)
	t.must(err, "Split")
	for _, d := range []*mpi.Comm{dup, half} {
		sum := []int{0}
		t.must(mpi.Allreduce(d, []int{1}, sum, mpi.Sum), "Allreduce")
		want(t, "sum", sum[0], d.Size())
	}
	t.must(mpi.Barrier(n), "Barrier")
	t.must(dup.Free(), "Free")
	t.must(s.Finalize(), "Finalize")
	for _, d := range []*mpi.Comm{n, half} {
		wantError(t, "Barrier", mpi.Barrier(d), mpi.ErrSession, "is finalized")
		wantError(t, "Send", mpi.Send(d, []int{1}, 0, 0), mpi.ErrSession, "is finalized")
		_, err := d.Dup(nil)
		wantError(t, "Dup", err, mpi.ErrSession, "is finalized")
	}
	pingAround(t, c, 2)
}

func sessionSets(t *T, c *mpi.Comm) {
	s := openSession(t)
	defer func() { t.must(s.Finalize(), "Finalize") }()
	n, err := s.NumPsets()
	t.must(err, "NumPsets")
	sets := make(map[string]int)
	for i := range n {
		name, err := s.NthPset(i)
		t.must(err, "NthPset")
		g, err := s.GroupFromPset(name)
		t.must(err, "GroupFromPset")
		info, err := s.PsetInfo(name)
		t.must(err, "PsetInfo")
		size, _ := info.Get("mpi_size")
		want(t, "mpi_size of "+name, size, fmt.Sprint(g.Size()))
		if g.Rank() == mpi.Undefined {
			t.Errorf("the rank is not in its set %s", name)
		}
		sets[name] = g.Size()
	}
	want(t, "ranks of the world", sets[mpi.PsetWorld], c.World().Size())
	want(t, "ranks of self", sets[mpi.PsetSelf], 1)
	host, err := s.GroupFromPset(mpi.PsetHost)
	t.must(err, "GroupFromPset")
	h, err := mpi.CommCreateFromGroup(host, "host", nil, mpi.ErrorsReturn)
	t.must(err, "CommCreateFromGroup")
	names := make([]string, h.Size())
	t.must(mpi.Allgather(h, []string{c.ProcessorName()}, names), "Allgather")
	for _, name := range names {
		want(t, "host", name, c.ProcessorName())
	}
	_, err = s.GroupFromPset("fitmpi://app/99")
	wantError(t, "GroupFromPset", err, mpi.ErrArg, "fitmpi://app/99", mpi.PsetWorld)
}

func sessionsApart(t *T, c *mpi.Comm) {
	s, o := openSession(t), openSession(t)
	a, b := commIn(t, s, c, "apart"), commIn(t, o, c, "apart")
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	fromA, fromB := []int{0}, []int{0}
	rb, ra := mpi.Irecv(b, fromB, left, 3), mpi.Irecv(a, fromA, mpi.AnySource, mpi.AnyTag)
	sent := []*mpi.Request{mpi.Isend(a, []int{10 + c.Rank()}, right, 3), mpi.Isend(b, []int{20 + c.Rank()}, right, 3)}
	_, err := mpi.WaitAll(append(sent, ra, rb)...)
	t.must(err, "WaitAll")
	want(t, "message of the first session", fromA[0], 10+left)
	want(t, "message of the second session", fromB[0], 20+left)
	t.must(s.Finalize(), "Finalize")
	pingAround(t, b, 1) // the other goes on
	t.must(o.Finalize(), "Finalize")
}

func sessionsMixed(t *T, c *mpi.Comm) {
	s, o := openSession(t), openSession(t)
	g, h := groupIn(t, s, c), groupIn(t, o, c)
	a, b := commIn(t, s, c, "mixed"), commIn(t, o, c, "mixed")
	_, err := g.Union(h)
	wantError(t, "Union", err, mpi.ErrGroup, "must not be mixed")
	_, err = g.TranslateRanks([]int{0}, c.Group())
	wantError(t, "TranslateRanks", err, mpi.ErrGroup, "the world model")
	_, err = a.Create(h)
	wantError(t, "Create", err, mpi.ErrGroup, "must not be mixed")
	_, err = a.CreateGroup(h, 1)
	wantError(t, "CreateGroup", err, mpi.ErrGroup, "must not be mixed")
	if c.Size() > 1 && c.Rank() == 0 { // the leader finds it, and tells no rank: the others do not call
		alone, err := mpi.CommCreateFromGroup(must(g.Incl(0)), "alone", nil, mpi.ErrorsReturn)
		t.must(err, "CommCreateFromGroup")
		_, err = alone.IntercommCreate(0, b, 1, 5)
		wantError(t, "IntercommCreate", err, mpi.ErrComm, "must not be mixed")
	}
	if same, err := g.Union(mpi.GroupEmpty); err != nil || same.Size() != g.Size() {
		t.Errorf("union with the empty group: %v, %v", same, err)
	}
	t.must(s.Finalize(), "Finalize")
	_, err = g.Incl(0)
	wantError(t, "Incl after Finalize", err, mpi.ErrSession, "is finalized")
	_, err = mpi.CommCreateFromGroup(g, "late", nil, mpi.ErrorsReturn)
	wantError(t, "CommCreateFromGroup after Finalize", err, mpi.ErrSession, "is finalized")
	t.must(o.Finalize(), "Finalize")
}

// must is v; what can go wrong with it was tested elsewhere.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func sessionHandlers(t *T, c *mpi.Comm) {
	var got []*mpi.Error
	mine := errors.New("handled")
	handler := func(s *mpi.Session, err *mpi.Error) error {
		got = append(got, err)
		return mine
	}
	s, err := mpi.SessionInit(t.Ctx, nil, mpi.SessionErrhandler(handler))
	t.must(err, "SessionInit")
	n := commIn(t, s, c, "handlers")
	_, err = s.NthPset(-1)
	want(t, "outcome of NthPset", err, mine)
	g := groupIn(t, s, c)
	_, err = g.Incl(c.Size())
	want(t, "outcome of Incl", err, mine)
	_, err = s.IflushBuffer().Wait()
	t.must(err, "IflushBuffer")
	want(t, "outcome of CallErrhandler", s.CallErrhandler(mpi.ErrIO), mine)
	want(t, "no error", s.CallErrhandler(nil), nil)
	if len(got) != 3 || got[0].Class != mpi.ErrArg || got[1].Class != mpi.ErrRank || got[2].Class != mpi.ErrIO || got[0].Rank != t.Rank {
		t.Errorf("the handler got %v", got)
	}
	wantError(t, "Send", mpi.Send(n, []int{1}, c.Size(), 0), mpi.ErrRank) // of the communicator's own handler
	want(t, "handled", len(got), 3)
	want(t, "the handler itself", s.Errhandler()(s, got[0]), mine)
	s.SetErrhandler(mpi.ErrorsReturn)
	_, err = s.NthPset(99)
	wantError(t, "NthPset", err, mpi.ErrArg, "NthPset")
	t.must(s.Finalize(), "Finalize")
	wantError(t, "Finalize again", s.Finalize(), mpi.ErrSession, "is finalized")
}

func sessionBuffer(t *T, c *mpi.Comm) {
	s := openSession(t)
	n, other := commIn(t, s, c, "buffer"), commIn(t, s, c, "another")
	to, from := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	room := make([]byte, bigMessage*8+mpi.BsendOverhead)
	t.must(s.AttachBuffer(room), "AttachBuffer")
	wantError(t, "AttachBuffer", s.AttachBuffer(room), mpi.ErrBuffer, "is attached already")
	big, in := make([]int64, bigMessage), make([]int64, bigMessage)
	big[0] = int64(c.Rank())
	t.must(mpi.Bsend(n, big, to, 1), "Bsend")
	wantError(t, "Bsend", mpi.Bsend(other, make([]int64, 2*bigMessage), to, 1), mpi.ErrBuffer, "attached to the session", "Session.AttachBuffer")
	flush := s.IflushBuffer()
	if _, err := mpi.Recv(n, in, from, 1); err != nil || in[0] != int64(from) {
		t.Errorf("Recv: %v, from %d", err, in[0])
	}
	_, err := flush.Wait()
	t.must(err, "Wait")
	t.must(s.FlushBuffer(), "FlushBuffer")
	own := make([]byte, 100+mpi.BsendOverhead)
	t.must(other.AttachBuffer(own), "AttachBuffer")
	wantError(t, "Bsend", mpi.Bsend(other, big, to, 1), mpi.ErrBuffer, "attached to the communicator")
	_, err = other.DetachBuffer()
	t.must(err, "DetachBuffer")
	back, err := s.DetachBuffer()
	t.must(err, "DetachBuffer")
	if len(back) != len(room) || &back[0] != &room[0] {
		t.Errorf("DetachBuffer returns %d bytes", len(back))
	}
	if back, err := s.DetachBuffer(); back != nil || err != nil {
		t.Errorf("second DetachBuffer: %v, %v", back, err)
	}
	wantError(t, "Bsend without a buffer", mpi.Bsend(n, big, to, 1), mpi.ErrBuffer, "no buffer")
	t.must(mpi.Barrier(n), "Barrier")
	t.must(s.Finalize(), "Finalize")
	wantError(t, "AttachBuffer", s.AttachBuffer(room), mpi.ErrSession, "is finalized")
}

func sessionBufferLeft(t *T, c *mpi.Comm) {
	s := openSession(t)
	n := commIn(t, s, c, "left")
	if c.Rank() == 0 {
		t.must(s.AttachBuffer(mpi.BufferAutomatic), "AttachBuffer")
		for _, count := range []int{1, bigMessage} {
			t.must(mpi.Bsend(n, make([]int64, count), 1, count), "Bsend")
		}
	}
	if c.Rank() == 1 {
		for _, count := range []int{1, bigMessage} {
			st, err := mpi.Recv(n, make([]int64, count), 0, count)
			t.must(err, "Recv")
			want(t, "count", st.Count, count)
		}
	}
	t.must(s.Finalize(), "Finalize")
}

func sessionsAgain(t *T, c *mpi.Comm) {
	for range 1 + 2*c.Rank() {
		s := openSession(t)
		_, err := s.GroupFromPset(mpi.PsetWorld)
		t.must(err, "GroupFromPset")
		t.must(s.Finalize(), "Finalize")
	}
	for round := range 3 {
		s := openSession(t)
		n := commIn(t, s, c, "again")
		sum := []int{0}
		t.must(mpi.Allreduce(n, []int{round}, sum, mpi.Sum), "Allreduce")
		want(t, "sum", sum[0], round*c.Size())
		t.must(s.Finalize(), "Finalize")
	}
}

func sessionsBeside(t *T, c *mpi.Comm) {
	const goroutines = 4
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for round := range 3 {
				if err := sessionBeside(t, c, strings.Repeat("x", 1+g*3+round)); err != nil {
					t.Errorf("goroutine %d, round %d: %v", g, round, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// sessionBeside is what a goroutine does in a session of its own; it must not end the case.
func sessionBeside(t *T, c *mpi.Comm, text string) error {
	s, err := mpi.SessionInit(t.Ctx, nil, mpi.ErrorsReturn)
	if err != nil {
		return err
	}
	ranks := make([]int, c.Size())
	for r := range ranks {
		ranks[r] = r
	}
	inWorld, err := c.Group().TranslateRanks(ranks, c.World().Group())
	if err != nil {
		return err
	}
	all, err := s.GroupFromPset(mpi.PsetWorld)
	if err != nil {
		return err
	}
	n, err := mpi.CommCreateFromGroup(must(all.Incl(inWorld...)), text, nil, mpi.ErrorsReturn)
	if err != nil {
		return err
	}
	got := make([]string, c.Size())
	err = mpi.Allgather(n, []string{text}, got)
	if err == nil && slices.ContainsFunc(got, func(s string) bool { return s != text }) {
		err = fmt.Errorf("%q from others, want %q", got, text)
	}
	return errors.Join(err, s.Finalize())
}

func sessionInter(t *T, c *mpi.Comm) {
	s := openSession(t)
	g := groupIn(t, s, c)
	var low, high []int
	for r := range c.Size() {
		if r%2 == 0 {
			low = append(low, r)
		} else {
			high = append(high, r)
		}
	}
	mine, theirs := must(g.Incl(low...)), must(g.Incl(high...))
	if c.Rank()%2 == 1 {
		mine, theirs = theirs, mine
	}
	inter, err := mpi.IntercommCreateFromGroups(mine, 0, theirs, 0, "inter", nil, mpi.ErrorsReturn)
	t.must(err, "IntercommCreateFromGroups")
	want(t, "remote size", inter.RemoteSize(), theirs.Size())
	t.must(mpi.Barrier(inter), "Barrier")
	merged, err := inter.Merge(c.Rank()%2 == 1)
	t.must(err, "Merge")
	pingAround(t, merged, 1)
	_, err = inter.RemoteGroup().Union(g)
	t.must(err, "Union")
	t.must(s.Finalize(), "Finalize")
	wantError(t, "Barrier", mpi.Barrier(inter), mpi.ErrSession, "is finalized")
	wantError(t, "Barrier", mpi.Barrier(merged), mpi.ErrSession, "is finalized")
}
