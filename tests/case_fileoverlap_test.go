package tests

import (
	"github.com/fitmpi/fitmpi/mpi"
)

// overlappingBlocks is blocks of four bytes, each of which begins with the last of the one before.
func overlappingBlocks() *mpi.Datatype {
	return mpi.Resized(mpi.Indexed([]int{4, 4}, []int{0, 3}, mpi.TypeOf[byte]()), 0, 6)
}

// overlappingAt is where byte k of values of overlappingBlocks lies.
func overlappingAt(k int) int { return k/4*3 + k%4 }

// fileOverlappingViews reads through views whose data overlap, in every way that there is, and
// finds that writing through them is refused.
func fileOverlappingViews(t *T, c *mpi.Comm) {
	const each, n = 120, 100
	f := openNew(t, c)
	mine := make([]byte, each)
	for i := range mine {
		mine[i] = byte(7 * (c.Rank()*each + i))
	}
	_, err := mpi.FileWriteAtAll(f, c.Rank()*each, mine)
	t.must(err)
	t.must(mpi.Barrier(c))
	var blocks []byte
	for k := range n {
		blocks = append(blocks, byte(7*(c.Rank()+overlappingAt(k))))
	}
	b := mpi.TypeOf[byte]()
	for _, how := range []string{"automatic", "enable", "disable"} {
		t.must(f.SetView(c.Rank(), b, overlappingBlocks(), "native", putTogether(t, how)))
		for _, atomic := range []bool{false, true} {
			t.must(f.SetAtomicity(atomic))
			readOverlapping(t, how, f, blocks)
		}
	}
	writeOverlapping(t, c, f)
	t.must(f.SetView(c.Rank(), b, overlappingBlocks(), "native", nil))
	readOverlapping(t, "after writes that were refused", f, blocks)

	numbers := mpi.TypeOf[uint16]() // each begins in the middle of the one before
	t.must(f.SetView(0, numbers, mpi.Resized(numbers, 0, 1), "external32", nil))
	got := make([]uint16, each-1)
	st, err := mpi.FileReadAtAll(f, 0, got)
	t.must(err)
	want(t, "numbers", st.Count, len(got))
	for i, v := range got {
		want(t, "a number", v, uint16(byte(7*i))<<8|uint16(byte(7*(i+1))))
	}
	t.must(f.Seek(0, mpi.SeekEnd))
	end, err := f.Position()
	t.must(err)
	want(t, "numbers that begin in the file", end, each*c.Size())
	t.must(f.Close())

	f, err = mpi.FileOpen(c, fileName(t, c), mpi.ModeCreate|mpi.ModeWronly|mpi.ModeDeleteOnClose, nil)
	t.must(err)
	wantError(t, "a file to be written", f.SetView(0, b, overlappingBlocks(), "native", nil), mpi.ErrType, "overlap")
	t.must(f.Close())
}

// readOverlapping reads what the view of f begins with, which is all.
func readOverlapping(t *T, what string, f *mpi.File, all []byte) {
	got := make([]byte, len(all))
	check := func(way string, st mpi.Status, err error) {
		t.must(err, what, way)
		want(t, what+", "+way, st.Count, len(all))
		wantSlice(t, what+", "+way, got, all)
		clear(got)
	}
	st, err := mpi.FileReadAt(f, 0, got)
	check("at an offset", st, err)
	st, err = mpi.FileReadAtAll(f, 0, got)
	check("together", st, err)
	st, err = mpi.FileIreadAt(f, 0, got).Wait()
	check("by a request", st, err)
	st, err = mpi.FileIreadAtAll(f, 0, got).Wait()
	check("together, by a request", st, err)
	t.must(mpi.FileReadAtAllBegin(f, 0, got))
	st, err = mpi.FileReadAtAllEnd(f, got)
	check("by a split call", st, err)
	t.must(f.Seek(0, mpi.SeekSet))
	half := len(all)/2 + 1 // in the middle of a block
	_, err = mpi.FileReadAll(f, got[:half])
	t.must(err, what)
	_, err = mpi.FileRead(f, got[half:])
	st.Count = len(all)
	check("at the file pointer", st, err)
}

// writeOverlapping tries to write where some ranks have views that overlap: a rank that writes by
// itself is refused if it has one, and ranks that write together are refused together.
func writeOverlapping(t *T, c *mpi.Comm, f *mpi.File) {
	b, last := mpi.TypeOf[byte](), c.Rank() == c.Size()-1
	filetype := b
	if last {
		filetype = overlappingBlocks()
	}
	t.must(f.SetView(0, b, filetype, "native", nil))
	buf := make([]byte, 10)
	if last {
		_, err := mpi.FileWriteAt(f, 0, buf)
		wantError(t, "a write", err, mpi.ErrType, "overlap", "reading only")
		_, err = mpi.FileIwriteAt(f, 0, buf).Wait()
		wantError(t, "a write by a request", err, mpi.ErrType, "overlap", "reading only")
		_, err = mpi.FileWrite(f, buf)
		wantError(t, "a write at the file pointer", err, mpi.ErrType, "overlap", "reading only")
	}
	_, err := mpi.FileWriteAtAll(f, 0, buf)
	wantError(t, "a write together", err, mpi.ErrType, "overlap", "reading only")
	_, err = mpi.FileIwriteAll(f, buf).Wait()
	wantError(t, "a write together, by a request", err, mpi.ErrType, "overlap", "reading only")
	t.must(mpi.FileWriteAllBegin(f, buf))
	_, err = mpi.FileWriteAllEnd(f, buf)
	wantError(t, "a write by a split call", err, mpi.ErrType, "overlap", "reading only")
	_, err = mpi.FileWriteOrdered(f, buf)
	wantError(t, "a write in order", err, mpi.ErrType, "overlap", "reading only")
	for i := range buf {
		buf[i] = byte(7 * i) // as they are
	}
	if last {
		buf = nil
	}
	_, err = mpi.FileWriteAtAll(f, 0, buf)
	t.must(err, "a write to which the rank whose view overlaps adds nothing")
}
