package tests

import (
	"github.com/fitmpi/fitmpi/mpi"
)

func fileExplicit(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	const n = 100
	mine := countFrom(n, c.Rank()*n)
	st, err := mpi.FileWriteAt(f, c.Rank()*n*8, mine)
	t.must(err)
	want(t, "written", st.Count, n)
	want(t, "written, of another type", mpi.GetCount[int32](st), 2*n)
	t.must(mpi.Barrier(c))
	all := make([]int64, n*c.Size())
	st, err = mpi.FileReadAt(f, 0, all)
	t.must(err)
	want(t, "read", st.Count, len(all))
	wantSlice(t, "file", all, countFrom(len(all), 0))
	_, err = mpi.FileReadAt(f, -1, all)
	wantError(t, "a negative offset", err, mpi.ErrArg, "-1")
	_, err = mpi.FileWriteAt(f, 1<<63-2, mine)
	wantError(t, "an offset too large", err, mpi.ErrArg)
	_, err = mpi.FileReadAt(f, 0, []string{"x"})
	wantError(t, "objects", err, mpi.ErrType)
	at, err := f.Position()
	t.must(err)
	want(t, "file pointer", at, 0)
	r := mpi.FileIreadAt(f, 8, all[:1])
	s := mpi.FileIreadAt(f, 16, all[1:2])
	_, err = mpi.WaitAll(r, s)
	t.must(err)
	wantSlice(t, "read by two requests", all[:2], []int64{1, 2})
	t.must(mpi.Barrier(c))
	r = mpi.FileIwriteAt(f, c.Rank()*8, []int64{int64(-c.Rank())})
	st, err = r.Wait()
	t.must(err)
	want(t, "written by a request", st.Count, 1)
	_, err = mpi.FileIreadAt(f, -1, all).Wait()
	wantError(t, "a negative offset", err, mpi.ErrArg)
	wantError(t, "a request of the library", r.Complete(), mpi.ErrRequest)
	t.must(f.Close())
}

// countFrom is n numbers from first on.
func countFrom(n, first int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(first + i)
	}
	return s
}

func fileIndividual(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	int64s := mpi.TypeOf[int64]()
	t.must(f.SetView(c.Rank()*800, int64s, int64s, "native", nil))
	at := func(what string, n int) {
		got, err := f.Position()
		t.must(err)
		want(t, "position "+what, got, n)
	}
	for i := range 10 {
		_, err := mpi.FileWrite(f, countFrom(10, i*10))
		t.must(err)
	}
	at("after writing", 100)
	t.must(f.Seek(-30, mpi.SeekCur))
	at("after Seek", 70)
	b := make([]int64, 20)
	st, err := mpi.FileRead(f, b)
	t.must(err)
	want(t, "count", st.Count, 20)
	wantSlice(t, "read", b, countFrom(20, 70))
	at("after reading", 90)
	wantError(t, "before the beginning", f.Seek(-1, mpi.SeekSet), mpi.ErrArg)
	wantError(t, "no whence", f.Seek(0, 7), mpi.ErrArg)
	at("after errors", 90)
	off, err := f.ByteOffset(2)
	t.must(err)
	want(t, "byte offset", off, c.Rank()*800+16)
	_, err = f.ByteOffset(-2)
	wantError(t, "a negative offset", err, mpi.ErrArg)
	t.must(mpi.Barrier(c))
	t.must(f.Seek(0, mpi.SeekEnd))
	at("at the end", 100*(c.Size()-c.Rank()))
	t.must(f.Seek(5, mpi.SeekSet))
	rs := []*mpi.Request{mpi.FileIread(f, b[:10]), mpi.FileIread(f, b[10:])}
	at("after starting reads", 25)
	_, err = mpi.WaitAll(rs...)
	t.must(err)
	wantSlice(t, "read by requests", b, countFrom(20, 5))
	t.must(f.Seek(0, mpi.SeekSet))
	_, err = mpi.FileIwrite(f, countFrom(3, 1000)).Wait()
	t.must(err)
	at("after a write by a request", 3)
	_, err = mpi.FileReadAt(f, 2, b[:2])
	t.must(err)
	wantSlice(t, "after a write by a request", b[:2], []int64{1002, 3})
	t.must(f.Close())
}

func fileView(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	disp, etype, filetype, rep := f.View()
	want(t, "displacement of the first view", disp, 0)
	want(t, "etype of the first view", etype, mpi.TypeOf[byte]())
	want(t, "filetype of the first view", filetype, mpi.TypeOf[byte]())
	want(t, "representation of the first view", rep, "native")
	n, r := c.Size(), c.Rank()
	pair := mpi.Contiguous(2, mpi.TypeOf[int32]())
	turn := mpi.Resized(mpi.Hindexed([]int{1}, []int{8 * r}, pair), 0, 8*n) // every n-th pair
	t.must(f.SetView(4, pair, turn, "native", nil))
	disp, etype, filetype, rep = f.View()
	want(t, "displacement", disp, 4)
	want(t, "etype", etype, pair)
	want(t, "filetype", filetype, turn)
	want(t, "representation", rep, "native")
	mine := make([]int32, 20)
	for i := range mine {
		mine[i] = int32(i/2*2*n + 2*r + i%2)
	}
	_, err := mpi.FileWrite(f, mine[:10])
	t.must(err)
	_, err = mpi.FileWriteAt(f, 5, mine[10:])
	t.must(err)
	at, err := f.Position()
	t.must(err)
	want(t, "position", at, 5)
	off, err := f.ByteOffset(3)
	t.must(err)
	want(t, "byte offset", off, 4+8*(3*n+r))
	_, err = mpi.FileWrite(f, mine[:3])
	wantError(t, "half an etype", err, mpi.ErrType, "whole number of etypes")
	_, err = mpi.FileWrite(f, []float32{1, 2})
	wantError(t, "another type", err, mpi.ErrType, "float32", "int32")
	t.must(mpi.Barrier(c))
	t.must(f.SetView(4, mpi.TypeOf[int32](), mpi.TypeOf[int32](), "native", nil))
	all := make([]int32, 20*n)
	st, err := mpi.FileRead(f, all)
	t.must(err)
	want(t, "read", st.Count, len(all))
	for i, v := range all {
		if int(v) != i {
			t.Fatalf("value %d is %d: %v", i, v, all)
		}
	}
	ext, err := f.TypeExtent(turn)
	t.must(err)
	want(t, "extent", ext, 8*n)
	t.must(f.Close())
}

func fileBadViews(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	b, d := mpi.TypeOf[byte](), mpi.TypeOf[float64]()
	type bad struct {
		what            string
		disp            int
		etype, filetype *mpi.Datatype
		rep             string
		class           mpi.ErrorClass
	}
	for _, x := range []bad{
		{"no etype", 0, nil, b, "native", mpi.ErrType},
		{"no filetype", 0, b, nil, "native", mpi.ErrType},
		{"an error in the filetype", 0, b, mpi.Contiguous(-1, b), "native", mpi.ErrType},
		{"no data in the etype", 0, mpi.Contiguous(0, b), b, "native", mpi.ErrType},
		{"negative", -1, b, b, "native", mpi.ErrDisp},
		{"descending", 0, b, mpi.Indexed([]int{1, 1}, []int{3, 0}, b), "native", mpi.ErrType},
		{"blocks that go back", 0, b, mpi.Indexed([]int{3, 3}, []int{0, 1}, b), "native", mpi.ErrType},
		{"before the origin", 0, b, mpi.Indexed([]int{1}, []int{-1}, b), "native", mpi.ErrType},
		{"the next goes back", 0, b, mpi.Resized(mpi.Contiguous(4, b), 0, 2), "native", mpi.ErrType},
		{"all at one place", 0, b, mpi.Resized(b, 0, 0), "native", mpi.ErrType},
		{"not of etypes", 0, d, mpi.TypeOf[int64](), "native", mpi.ErrType},
		{"no whole number of etypes", 0, d, mpi.TypeOf[float32](), "native", mpi.ErrType},
		{"representation", 0, b, b, "cobol", mpi.ErrUnsupportedDatarep},
	} {
		wantError(t, x.what, f.SetView(x.disp, x.etype, x.filetype, x.rep, nil), x.class, "SetView")
	}
	if c.Size() > 1 {
		etype, rep := b, "native"
		if c.Rank() == 0 {
			etype, rep = d, "external32"
		}
		wantError(t, "etypes differ", f.SetView(0, etype, etype, "native", nil), mpi.ErrNotSame)
		wantError(t, "representations differ", f.SetView(0, d, d, rep, nil), mpi.ErrNotSame)
		etype = b
		if c.Rank() == c.Size()-1 {
			etype = nil
		}
		wantError(t, "one has none", f.SetView(0, etype, b, "native", nil), mpi.ErrType)
	}
	_, etype, _, _ := f.View()
	want(t, "the etype after errors", etype, b)
	_, err := f.TypeExtent(nil)
	wantError(t, "extent of nothing", err, mpi.ErrType)
	t.must(f.Close())
}

// fileEmptyViews: the last rank sees nothing of the file, as the last process of a block
// distribution may, and takes part in what is collective.
func fileEmptyViews(t *T, c *mpi.Comm) {
	i := mpi.TypeOf[int64]()
	last := c.Size() - 1
	for what, nothing := range map[string]*mpi.Datatype{
		"no values":      mpi.Contiguous(0, i),
		"no blocks":      mpi.Indexed(nil, nil, i),
		"none of a grid": mpi.Darray(3, 2, []int{2}, []mpi.Distribution{mpi.DistributeBlock}, nil, []int{3}, mpi.OrderC, i),
	} {
		for _, rep := range []string{"native", "external32"} {
			f := openNew(t, c)
			filetype, mine, n := mpi.Resized(i, 0, 8*max(last, 1)), []int64{int64(c.Rank()), 7}, 2
			if c.Rank() == last {
				filetype, mine, n = nothing, nil, 0
			}
			t.must(f.SetView(8*c.Rank(), i, filetype, rep, nil), what)
			st, err := mpi.FileWriteAll(f, mine)
			t.must(err, what)
			want(t, what+": written", st.Count, n)
			t.must(f.Seek(0, mpi.SeekEnd))
			at, err := f.Position()
			t.must(err, what)
			want(t, what+": the end", at, n)
			got := []int64{-1, -1, -1}
			st, err = mpi.FileReadAtAll(f, 0, got)
			t.must(err, what)
			want(t, what+": read", st.Count, n)
			wantSlice(t, what, got[:n], mine)
			t.must(f.Seek(0, mpi.SeekSet))
			r := mpi.FileIread(f, got)
			st, err = r.Wait()
			t.must(err, what)
			want(t, what+": read alone", st.Count, n)
			t.must(f.SetAtomicity(true))
			st, err = mpi.FileReadAt(f, 0, got)
			t.must(err, what)
			want(t, what+": read in atomic mode", st.Count, n)
			if c.Rank() == last {
				want(t, what+": untouched", got[2], -1)
				_, err = mpi.FileWriteAt(f, 0, []int64{1})
				wantError(t, what+": nowhere to write", err, mpi.ErrArg, "no byte of the file is visible")
				_, err = f.ByteOffset(0)
				wantError(t, what+": no byte", err, mpi.ErrArg, "no byte of the file is visible")
				_, _, of, _ := f.View()
				want(t, what+": the filetype", of, nothing)
			}
			t.must(f.Close())
		}
	}
}

func fileEnd(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	if c.Rank() == 0 {
		_, err := mpi.FileWriteAt(f, 0, []byte("0123456789"))
		t.must(err)
	}
	t.must(mpi.Barrier(c))
	b := []int32{-1, -1, -1, -1}
	st, err := mpi.FileReadAt(f, 2, b)
	t.must(err)
	want(t, "count", st.Count, 2)
	want(t, "what is not read", b[2], -1)
	st, err = mpi.FileReadAt(f, 3, b)
	t.must(err)
	want(t, "no whole number", st.Count, mpi.Undefined)
	want(t, "in bytes", mpi.GetCount[byte](st), 7)
	st, err = mpi.FileReadAt(f, 10, b)
	t.must(err)
	want(t, "at the end", st.Count, 0)
	st, err = mpi.FileReadAtAll(f, 100+c.Rank(), b)
	t.must(err)
	want(t, "beyond the end", st.Count, 0)
	t.must(f.SetView(1, mpi.TypeOf[byte](), mpi.Resized(mpi.Contiguous(2, mpi.TypeOf[byte]()), 0, 4), "native", nil)) // 12 56 9
	all := make([]byte, 10)
	st, err = mpi.FileRead(f, all)
	t.must(err)
	want(t, "through gaps", string(all[:st.Count]), "12569")
	at, err := f.Position()
	t.must(err)
	want(t, "position", at, 5)
	t.must(f.Seek(0, mpi.SeekEnd))
	at, err = f.Position()
	t.must(err)
	want(t, "the end in a view", at, 5)
	t.must(f.Seek(0, mpi.SeekSet))
	st, err = mpi.FileReadAll(f, all)
	t.must(err)
	want(t, "through gaps, by all", string(all[:st.Count]), "12569")
	st, err = mpi.FileReadAll(f, all)
	t.must(err)
	want(t, "behind the end, by all", st.Count, 0)
	t.must(f.Close())
}

func fileMemory(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	const rows, cols = 6, 5
	m := make([]float64, rows*cols)
	for i := range m {
		m[i] = float64(100*c.Rank() + i)
	}
	d := mpi.TypeOf[float64]()
	column := mpi.Vector(rows, 1, cols, d)
	t.must(f.SetView(c.Rank()*rows*8, d, d, "native", nil))
	st, err := mpi.FileWriteAt(f.WithType(column), 0, m[2:])
	t.must(err)
	want(t, "written", st.Count, rows)
	got := make([]float64, rows)
	_, err = mpi.FileReadAt(f, 0, got)
	t.must(err)
	for i, v := range got {
		want(t, "a value of the column", v, float64(100*c.Rank()+i*cols+2))
	}
	clear(m)
	_, err = mpi.FileReadAt(f.WithType(column), 0, m[1:])
	t.must(err)
	for i := range rows {
		want(t, "a value of the column", m[i*cols+1], got[i])
		want(t, "what lies beside", m[i*cols], 0)
	}
	_, err = mpi.FileReadAt(f.WithType(column), 0, m[10:])
	wantError(t, "a layout that reaches too far", err, mpi.ErrBuffer)
	t.must(f.Close())
}

func fileExternal(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	i := mpi.TypeOf[int32]()
	t.must(f.SetView(8*c.Rank(), i, i, "external32", nil))
	_, err := mpi.FileWriteAt(f, 0, []int32{0x01020304, int32(c.Rank())})
	t.must(err)
	back := make([]int32, 2)
	_, err = mpi.FileReadAtAll(f, 0, back)
	t.must(err)
	wantSlice(t, "read", back, []int32{0x01020304, int32(c.Rank())})
	t.must(f.SetView(8*c.Rank(), mpi.TypeOf[byte](), mpi.TypeOf[byte](), "native", nil))
	raw := make([]byte, 8)
	_, err = mpi.FileReadAt(f, 0, raw)
	t.must(err)
	wantSlice(t, "in the file", raw, []byte{1, 2, 3, 4, 0, 0, 0, byte(c.Rank())})
	t.must(f.SetView(8*c.Rank(), i, i, "internal", nil))
	_, err = mpi.FileWriteAll(f, []int32{0x01020304, 5})
	t.must(err)
	_, err = mpi.FileReadAt(f, 0, back)
	t.must(err)
	wantSlice(t, "read back", back, []int32{0x01020304, 5})
	t.must(f.Close())
}
