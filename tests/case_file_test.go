package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

var fileCases = []testCase{
	{name: "file/open and close", section: "14.2.1", sentence: "MPI_FILE_OPEN opens the file identified by the file name filename on all processes in the comm communicator group.", run: fileOpenClose},
	{name: "file/modes", section: "14.2.1", sentence: "All processes must provide the same value for amode; exactly one of RDONLY, RDWR and WRONLY must be specified.", run: fileModes},
	{name: "file/exclusive", section: "14.2.1", sentence: "MPI_MODE_EXCL: error if creating file that already exists.", run: fileExclusive},
	{name: "file/delete on close", section: "14.2.1", sentence: "MPI_MODE_DELETE_ON_CLOSE: delete file on close.", run: fileDeleteOnClose},
	{name: "file/append", section: "14.2.1", sentence: "If MPI_MODE_APPEND is set, the file pointers are set to the end of file.", run: fileAppend},
	{name: "file/delete", section: "14.2.3", sentence: "If the file does not exist, MPI_FILE_DELETE raises an error in the class MPI_ERR_NO_SUCH_FILE.", run: fileDelete},
	{name: "file/sizes", section: "14.2.4", sentence: "MPI_FILE_SET_SIZE resizes the file; MPI_FILE_PREALLOCATE ensures that storage space is allocated for the first size bytes.", run: fileSizes},
	{name: "file/info", section: "14.2.8", sentence: "MPI_FILE_GET_INFO returns a new info object containing the hints of the file.", run: fileInfo},
	{name: "file/explicit offsets", section: "14.4.2", sentence: "MPI_FILE_WRITE_AT writes a file beginning at the position specified by offset.", run: fileExplicit},
	{name: "file/individual pointers", section: "14.4.3", sentence: "Each process has its own file pointer, which is updated to point to the next etype after the last one that will be accessed.", run: fileIndividual},
	{name: "file/view", section: "14.3", sentence: "A view defines the current set of data visible and accessible from an open file as an ordered set of etypes.", run: fileView},
	{name: "file/bad views", section: "14.3", sentence: "The extents of the etypes and the data representation must be identical on all processes; typemap displacements must be non-negative and monotonically nondecreasing.", run: fileBadViews},
	{name: "file/end of file", section: "14.4.1", sentence: "The amount of data read is in the status: reading stops at the end of the file.", run: fileEnd},
	{name: "file/layouts of memory", section: "14.4", sentence: "The datatype of the buffer need not be that of the view: only their signatures match.", run: fileMemory},
	{name: "file/external32", section: "14.5.2", sentence: "All values are in big-endian format.", run: fileExternal},
	{name: "file/closed", section: "FitMPI", sentence: "A file that is nil or closed gives an error of class ErrFile.", run: fileClosed},
}

// fileName is the name of a file for the ranks of c alone.
func fileName(t *T, c *mpi.Comm) string {
	first := []int{t.Rank}
	t.must(mpi.Bcast(c, first, 0))
	return filepath.Join(t.Dir, fmt.Sprintf("of-%d-%d", first[0], c.Size()))
}

// openNew opens a file that is not there, and is deleted when it is closed.
func openNew(t *T, c *mpi.Comm) *mpi.File {
	f, err := mpi.FileOpen(c, fileName(t, c), mpi.ModeCreate|mpi.ModeExcl|mpi.ModeRdwr|mpi.ModeDeleteOnClose, nil)
	t.must(err)
	return f
}

// wantNothingLeft finds out whether a file has left something behind.
func wantNothingLeft(t *T, c *mpi.Comm, name string) {
	entries, err := os.ReadDir(t.Dir)
	t.must(err)
	for _, e := range entries {
		if strings.Contains(e.Name(), filepath.Base(name)) {
			t.Errorf("%s is left", e.Name())
		}
	}
	t.must(mpi.Barrier(c))
}

func wantBytes(t *T, what, name string, want []byte) {
	got, err := os.ReadFile(name)
	t.must(err)
	wantSlice(t, what, got, want)
}

func fileOpenClose(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	_, err := mpi.FileOpen(c, name, mpi.ModeRdwr, nil)
	wantError(t, "no such file", err, mpi.ErrNoSuchFile, "FileOpen", filepath.Base(name), fmt.Sprintf("rank %d", c.Rank()))
	f, err := mpi.FileOpen(c, name, mpi.ModeRdwr|mpi.ModeCreate, nil)
	t.must(err)
	want(t, "access mode", f.Amode(), mpi.ModeRdwr|mpi.ModeCreate)
	want(t, "access mode in words", f.Amode().String(), "ModeCreate|ModeRdwr")
	same, err := f.Group().Compare(c.Group())
	t.must(err)
	want(t, "group", same, mpi.Ident)
	want(t, "name", f.Name(), name)
	n, err := f.Size()
	t.must(err)
	want(t, "size of a new file", n, 0)
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		st, err := mpi.FileWriteAt(f, 3, []byte("abc"))
		t.must(err)
		want(t, "written", st.Count, 3)
	}
	t.must(f.Close())
	wantBytes(t, "file", name, []byte("\x00\x00\x00abc"))
	f, err = mpi.FileOpen(c, name, mpi.ModeRdonly, nil)
	t.must(err)
	b := make([]byte, 6)
	_, err = mpi.FileReadAt(f, 0, b)
	t.must(err)
	want(t, "what was read", string(b), "\x00\x00\x00abc")
	_, err = mpi.FileWriteAt(f, 0, b)
	wantError(t, "writing what is only read", err, mpi.ErrReadOnly, "ModeRdonly")
	t.must(f.Close())
	f, err = mpi.FileOpen(c, name, mpi.ModeWronly|mpi.ModeDeleteOnClose|mpi.ModeUniqueOpen, nil)
	t.must(err)
	_, err = mpi.FileReadAt(f, 0, b)
	wantError(t, "reading what is only written", err, mpi.ErrAccess, "ModeWronly")
	t.must(f.Close())
	wantNothingLeft(t, c, name)
}

func fileModes(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	for _, m := range []mpi.FileMode{
		0, mpi.ModeCreate, mpi.ModeRdonly | mpi.ModeRdwr, mpi.ModeRdonly | mpi.ModeCreate, mpi.ModeRdonly | mpi.ModeExcl,
		mpi.ModeRdwr | mpi.ModeSequential, mpi.ModeRdwr | 1<<12,
	} {
		_, err := mpi.FileOpen(c, name, m, nil)
		wantError(t, m.String(), err, mpi.ErrAmode)
	}
	_, err := mpi.FileOpen(c, "", mpi.ModeRdonly, nil)
	wantError(t, "no name", err, mpi.ErrBadFile)
	_, err = mpi.FileOpen(c, t.Dir, mpi.ModeRdwr, nil)
	wantError(t, "a directory", err, mpi.ErrBadFile)
	_, err = mpi.FileOpen(c, filepath.Join(t.Dir, "none", "file"), mpi.ModeRdwr|mpi.ModeCreate, nil)
	wantError(t, "no directory", err, mpi.ErrNoSuchFile)
	if c.Size() == 1 {
		return
	}
	m := mpi.ModeRdwr | mpi.ModeCreate
	if c.Rank() == c.Size()-1 {
		m |= mpi.ModeAppend
	}
	_, err = mpi.FileOpen(c, name, m, nil)
	wantError(t, "modes differ", err, mpi.ErrNotSame, "ModeAppend", fmt.Sprintf("rank %d", c.Size()-1))
	if c.Rank() == c.Size()-1 {
		m = 0
	}
	_, err = mpi.FileOpen(c, name, m, nil)
	wantError(t, "one mode is wrong", err, mpi.ErrAmode)
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file was made: %v", err)
	}
	other := name
	if c.Rank() == c.Size()-1 {
		other += "-other"
	}
	_, err = mpi.FileOpen(c, other, mpi.ModeRdwr|mpi.ModeCreate, nil)
	wantError(t, "names differ", err, mpi.ErrNotSame, "not that of rank 0")
	t.must(mpi.Barrier(c))
	if c.Rank() == c.Size()-1 {
		t.must(os.Remove(other))
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file that was made is left: %v", err)
	}
}

func fileExclusive(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	f, err := mpi.FileOpen(c, name, mpi.ModeCreate|mpi.ModeExcl|mpi.ModeWronly, nil)
	t.must(err)
	t.must(f.Close())
	_, err = mpi.FileOpen(c, name, mpi.ModeCreate|mpi.ModeExcl|mpi.ModeWronly, nil)
	wantError(t, "the file is there", err, mpi.ErrFileExists)
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		t.must(mpi.FileDelete(c, name, nil))
	}
}

func fileDeleteOnClose(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	_, err := mpi.FileWriteAt(f, c.Rank(), []byte{1})
	t.must(err)
	_, err = mpi.FileWriteShared(f, []byte{1})
	t.must(err)
	if _, err := os.Stat(f.Name()); err != nil {
		t.Errorf("before Close: %v", err)
	}
	t.must(f.Close())
	wantNothingLeft(t, c, f.Name())
}

func fileAppend(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	if c.Rank() == 0 {
		t.must(os.WriteFile(name, []byte("12345"), 0o600))
	}
	t.must(mpi.Barrier(c))
	f, err := mpi.FileOpen(c, name, mpi.ModeRdwr|mpi.ModeAppend|mpi.ModeDeleteOnClose, nil)
	t.must(err)
	at, err := f.Position()
	t.must(err)
	want(t, "file pointer", at, 5)
	at, err = f.PositionShared()
	t.must(err)
	want(t, "shared file pointer", at, 5)
	t.must(mpi.Barrier(c))
	_, err = mpi.FileWriteOrdered(f, []byte{byte('a' + c.Rank())})
	t.must(err)
	b := make([]byte, 5+c.Size())
	_, err = mpi.FileReadAtAll(f, 0, b)
	t.must(err)
	want(t, "contents", string(b), "12345"+"abcdefghi"[:c.Size()])
	t.must(f.Close())
}

func fileDelete(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	wantError(t, "no file", mpi.FileDelete(c, name, nil), mpi.ErrNoSuchFile, "FileDelete", name)
	wantError(t, "a directory", mpi.FileDelete(c, t.Dir, nil), mpi.ErrBadFile)
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		t.must(os.WriteFile(name, nil, 0o600))
		t.must(mpi.FileDelete(c, name, mpi.InfoCreate()))
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("the file is there still: %v", err)
		}
	}
}

func fileSizes(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	size := func(what string, n int) {
		got, err := f.Size()
		t.must(err)
		want(t, "size "+what, got, n)
		t.must(mpi.Barrier(c))
	}
	t.must(f.SetSize(1000))
	size("after growing", 1000)
	t.must(f.SetSize(10))
	size("after shrinking", 10)
	t.must(f.Preallocate(5000))
	size("preallocated", 5000)
	t.must(f.Preallocate(100))
	size("with less preallocated", 5000)
	t.must(f.Preallocate(0))
	wantError(t, "negative", f.SetSize(-1), mpi.ErrArg)
	wantError(t, "negative", f.Preallocate(-1), mpi.ErrArg)
	if c.Size() > 1 {
		wantError(t, "sizes differ", f.SetSize(c.Rank()), mpi.ErrNotSame)
		wantError(t, "sizes differ", f.Preallocate(c.Rank()), mpi.ErrNotSame)
	}
	size("after errors", 5000)
	t.must(f.Sync())
	t.must(f.Close())
}

func fileInfo(t *T, c *mpi.Comm) {
	info := mpi.InfoCreate()
	t.must(info.Set("cb_nodes", "2"))
	t.must(info.Set("cb_buffer_size", "12345"))
	t.must(info.Set("romio_cb_write", "disable"))
	t.must(info.Set("file_perm", "640"))
	t.must(info.Set("nobody_knows", "this"))
	name := fileName(t, c)
	f, err := mpi.FileOpen(c, name, mpi.ModeRdwr|mpi.ModeCreate|mpi.ModeDeleteOnClose, info)
	t.must(err)
	has := func(key, value string) {
		got, _ := f.Info().Get(key)
		want(t, key, got, value)
	}
	st, err := os.Stat(name)
	t.must(err)
	want(t, "permissions", st.Mode(), 0o640&^umask(t))
	has("cb_nodes", "2")
	has("cb_buffer_size", "12345")
	has("romio_cb_write", "disable")
	has("romio_cb_read", "automatic")
	has("filename", name)
	has("nobody_knows", "")
	info = mpi.InfoCreate()
	t.must(info.Set("collective_buffering", "true"))
	t.must(f.SetInfo(info))
	has("romio_cb_write", "enable")
	has("cb_nodes", "2")
	t.must(info.Set("cb_nodes", "many"))
	wantError(t, "no number", f.SetInfo(info), mpi.ErrInfoValue, "cb_nodes", "many")
	wantError(t, "no number", f.SetView(0, mpi.TypeOf[byte](), mpi.TypeOf[byte](), "native", info), mpi.ErrInfoValue)
	wantError(t, "no info", f.SetInfo(nil), mpi.ErrInfo)
	has("cb_nodes", "2")
	t.must(f.Close())
	_, err = mpi.FileOpen(c, name, mpi.ModeRdwr|mpi.ModeCreate, info)
	wantError(t, "no number", err, mpi.ErrInfoValue)
}

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
		{"no data", 0, b, mpi.Contiguous(0, b), "native", mpi.ErrType},
		{"negative", -1, b, b, "native", mpi.ErrDisp},
		{"descending", 0, b, mpi.Indexed([]int{1, 1}, []int{3, 0}, b), "native", mpi.ErrType},
		{"overlapping", 0, b, mpi.Indexed([]int{2, 2}, []int{0, 1}, b), "native", mpi.ErrType},
		{"before the origin", 0, b, mpi.Indexed([]int{1}, []int{-1}, b), "native", mpi.ErrType},
		{"overlapping the next", 0, b, mpi.Resized(mpi.Contiguous(4, b), 0, 3), "native", mpi.ErrType},
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

func fileClosed(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	t.must(f.Close())
	var none *mpi.File
	for _, x := range []*mpi.File{f, none} {
		_, err := mpi.FileRead(x, []byte{1})
		wantError(t, "FileRead", err, mpi.ErrFile)
		_, err = mpi.FileReadAll(x, []byte{1})
		wantError(t, "FileReadAll", err, mpi.ErrFile)
		_, err = mpi.FileIwriteShared(x, []byte{1}).Wait()
		wantError(t, "FileIwriteShared", err, mpi.ErrFile)
		wantError(t, "FileReadAllBegin", mpi.FileReadAllBegin(x, []byte{1}), mpi.ErrFile)
		_, err = mpi.FileReadAllEnd(x, []byte{1})
		wantError(t, "FileReadAllEnd", err, mpi.ErrFile)
		wantError(t, "Close", x.Close(), mpi.ErrFile)
		wantError(t, "Sync", x.Sync(), mpi.ErrFile)
		wantError(t, "Seek", x.Seek(0, 0), mpi.ErrFile)
		wantError(t, "SeekShared", x.SeekShared(0, 0), mpi.ErrFile)
		wantError(t, "SetSize", x.SetSize(0), mpi.ErrFile)
		wantError(t, "SetView", x.SetView(0, nil, nil, "", nil), mpi.ErrFile)
		wantError(t, "SetInfo", x.SetInfo(nil), mpi.ErrFile)
		wantError(t, "SetAtomicity", x.SetAtomicity(true), mpi.ErrFile)
	}
}

// umask is what this process withholds from the files that it makes.
func umask(t *T) fs.FileMode {
	status, err := os.ReadFile("/proc/self/status")
	t.must(err)
	m := regexp.MustCompile(`(?m)^Umask:\s*([0-7]+)$`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no umask in\n%s", status)
	}
	bits, err := strconv.ParseUint(string(m[1]), 8, 32)
	t.must(err)
	return fs.FileMode(bits)
}
