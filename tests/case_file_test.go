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
	{name: "file/datarep", section: "14.5.3", sentence: "The MPI_REGISTER_DATAREP function associates the user-defined read, write and extent functions with the data representation datarep.", run: fileDatarep},
	{name: "file/bad views", section: "14.3", sentence: "The extents of the etypes and the data representation must be identical on all processes; typemap displacements must be non-negative and monotonically nondecreasing.", run: fileBadViews},
	{name: "file/empty views", section: "14.3",
		sentence: "a rank whose filetype has no data sees nothing: it reads nothing, and takes part in collective calls",
		run:      fileEmptyViews},
	{name: "file/overlapping views", section: "14.3", sentence: "If the file is opened for writing, neither the etype nor the filetype is permitted to contain overlapping regions.", run: fileOverlappingViews},
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
