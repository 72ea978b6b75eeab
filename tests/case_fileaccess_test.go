package tests

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/mpi"
)

var fileAccessCases = []testCase{
	{name: "file/collective", section: "14.4.2", sentence: "MPI_FILE_WRITE_AT_ALL is a collective version of the blocking MPI_FILE_WRITE_AT interface.", run: fileCollective},
	{name: "file/collective with an error", section: "FitMPI", sentence: "A rank whose arguments are wrong has an error and takes part: the others are done.", run: fileCollectiveError},
	{name: "file/collective, overlapping", section: "14.6.1", sentence: "In atomic mode what overlapping collective writes leave is the data of one of the ranks.", run: fileOverlap},
	{name: "file/nonblocking collective", section: "14.4.3", sentence: "Nonblocking collective I/O operations are completed by a request; a blocking one behind them takes place after them.", run: fileIcollective},
	{name: "file/shared pointer", section: "14.4.4", sentence: "The effect of multiple calls to shared file pointer routines is defined to behave as if the calls were serialized.", run: fileSharedPointer},
	{name: "file/shared pointer, seeking", section: "14.4.4", sentence: "All processes in the communicator group must call MPI_FILE_SEEK_SHARED with the same values for offset and whence.", run: fileSeekShared},
	{name: "file/ordered", section: "14.4.4", sentence: "The data is accessed in the order of the ranks: as if each accessed the file after all with a lesser rank.", run: fileOrdered},
	{name: "file/sequential", section: "14.2.1", sentence: "MPI_MODE_SEQUENTIAL: the file is accessed sequentially, through the shared file pointer alone.", run: fileSequential},
	{name: "file/split collective", section: "14.4.5", sentence: "On any MPI process, each file handle may have at most one active split collective operation at any time.", run: fileSplit},
	{name: "file/atomic mode", section: "14.6.1", sentence: "If atomic mode is set, the MPI implementation will guarantee that conflicting accesses are sequentially consistent.", run: fileAtomic},
	{name: "file/sync", section: "14.6.1", sentence: "MPI_FILE_SYNC causes all previous writes to fh by the calling MPI process to be transferred to the storage device.", run: fileSync},
	{name: "file/error handler", section: "14.7", sentence: "By default, the predefined error handler for file handles is MPI_ERRORS_RETURN; the default can be changed for files to come.", run: fileErrhandler},
	{name: "file/full disk", section: "FitMPI", sentence: "What the disk has no room for is an error of class ErrNoSpace, at all ranks if they wrote together.", run: fileFullDisk},
}

// putTogether are hints that choose one of the ways of collective accesses, with windows so small
// that there are several.
func putTogether(t *T, how string) *mpi.Info {
	info := mpi.InfoCreate()
	t.must(info.Set("romio_cb_read", how))
	t.must(info.Set("romio_cb_write", how))
	t.must(info.Set("cb_nodes", "3"))
	t.must(info.Set("cb_buffer_size", "1000"))
	return info
}

// fileCollective writes a matrix by blocks of columns, each rank its own, and reads it by rows.
func fileCollective(t *T, c *mpi.Comm) {
	const rows, wide = 50, 7
	n, r := c.Size(), c.Rank()
	d := mpi.TypeOf[float64]()
	for _, how := range []string{"automatic", "enable", "disable"} {
		f := openNew(t, c)
		t.must(f.SetInfo(putTogether(t, how)))
		block := mpi.Subarray([]int{rows, wide * n}, []int{rows, wide}, []int{0, wide * r}, mpi.OrderC, d)
		t.must(f.SetView(16, d, block, "native", nil))
		mine := make([]float64, rows*wide)
		for i := range mine {
			mine[i] = float64(i/wide*wide*n + wide*r + i%wide)
		}
		st, err := mpi.FileWriteAll(f, mine)
		t.must(err)
		want(t, how+": written", st.Count, len(mine))
		t.must(mpi.Barrier(c))
		t.must(f.SetView(16, d, d, "native", nil))
		all := make([]float64, rows*wide*n)
		st, err = mpi.FileReadAtAll(f, 0, all)
		t.must(err)
		want(t, how+": read", st.Count, len(all))
		for i, v := range all {
			if v != float64(i) {
				t.Fatalf("%s: value %d is %v", how, i, v)
			}
		}
		t.must(f.SetView(16, d, block, "native", nil))
		got := make([]float64, len(mine)+wide) // reaches beyond the end of the file
		st, err = mpi.FileReadAtAll(f, 0, got)
		t.must(err)
		want(t, how+": read to the end", st.Count, len(mine))
		wantSlice(t, how+": read by columns", got[:len(mine)], mine)
		column := mpi.Vector(rows, 1, wide, d)
		clear(got)
		_, err = mpi.FileReadAtAll(f.WithType(column), 0, got) // into a column: the first values of the block
		t.must(err)
		for i := range rows {
			want(t, how+": read into a column", got[i*wide], mine[i])
		}
		t.must(f.Close())
	}
}

func fileCollectiveError(t *T, c *mpi.Comm) {
	for _, how := range []string{"enable", "disable"} {
		f := openNew(t, c)
		t.must(f.SetInfo(putTogether(t, how)))
		offset := c.Rank()
		if c.Rank() == 0 {
			offset = -1
		}
		b := []byte{byte(c.Rank())}
		_, werr := mpi.FileWriteAtAll(f, offset, b)
		t.must(mpi.Barrier(c))
		_, rerr := mpi.FileReadAtAll(f, offset, b)
		for what, err := range map[string]error{"write": werr, "read": rerr} {
			if c.Rank() == 0 {
				wantError(t, what, err, mpi.ErrArg)
			} else {
				t.must(err, how, what)
			}
		}
		want(t, "read back", b[0], byte(c.Rank()))
		t.must(f.Close())
	}
}

func fileOverlap(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	t.must(f.SetInfo(putTogether(t, "enable")))
	for _, atomic := range []bool{false, true} {
		t.must(f.SetAtomicity(atomic))
		want(t, "atomicity", f.Atomicity(), atomic)
		mine := slices.Repeat([]byte{byte('a' + c.Rank())}, 20_000)
		_, err := mpi.FileWriteAtAll(f, 10, mine)
		t.must(err)
		t.must(f.Sync())
		t.must(mpi.Barrier(c))
		all := make([]byte, len(mine))
		_, err = mpi.FileReadAtAll(f, 10, all)
		t.must(err)
		if all[0] < 'a' || all[0] >= byte('a'+c.Size()) {
			t.Errorf("the first byte is %q", all[0])
		}
		for i, b := range all {
			if b != all[0] {
				t.Fatalf("atomic %v: byte %d is %q, the first %q", atomic, i, b, all[0])
			}
		}
		t.must(mpi.Barrier(c))
	}
	if c.Size() > 1 {
		wantError(t, "atomicity differs", f.SetAtomicity(c.Rank() == 0), mpi.ErrNotSame)
		want(t, "atomicity after an error", f.Atomicity(), true)
	}
	t.must(f.Close())
}

func fileIcollective(t *T, c *mpi.Comm) {
	for _, how := range []string{"enable", "disable"} {
		f := openNew(t, c)
		t.must(f.SetInfo(putTogether(t, how)))
		n, r := c.Size(), c.Rank()
		i64 := mpi.TypeOf[int64]()
		t.must(f.SetView(8*r, i64, mpi.Resized(i64, 0, 8*n), "native", nil))
		const k = 100
		mine := make([]int64, 4*k)
		for i := range mine {
			mine[i] = int64(i*n + r)
		}
		rs := []*mpi.Request{mpi.FileIwriteAll(f, mine[:k]), mpi.FileIwriteAtAll(f, k, mine[k:2*k]), mpi.FileIwriteAtAll(f, 3*k, mine[3*k:])}
		_, err := mpi.FileWriteAtAll(f, 2*k, mine[2*k:3*k])
		t.must(err)
		sts, err := mpi.WaitAll(rs...)
		t.must(err)
		for _, st := range sts {
			want(t, "written", st.Count, k)
		}
		at, err := f.Position()
		t.must(err)
		want(t, "position", at, k)
		t.must(mpi.Barrier(c))
		t.must(f.Seek(0, mpi.SeekSet))
		a, b := make([]int64, 2*k), make([]int64, 2*k)
		ra, rb := mpi.FileIreadAll(f, a), mpi.FileIreadAtAll(f, 2*k, b)
		for range 2 {
			_, _, err := mpi.WaitAny(ra, rb)
			t.must(err)
		}
		wantSlice(t, how+": first half", a, mine[:2*k])
		wantSlice(t, how+": second half", b, mine[2*k:])
		last := mpi.FileIreadAtAll(f, 4*k-1, a)
		t.must(f.Close()) // which waits for it
		st, err := last.Wait()
		t.must(err)
		want(t, "read to the end", st.Count, 1)
	}
}

func fileSharedPointer(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	n, r := c.Size(), c.Rank()
	i64 := mpi.TypeOf[int64]()
	t.must(f.SetView(3, i64, i64, "native", nil))
	const each = 20
	for i := range each {
		rec := []int64{int64(r), int64(i)}
		if i%2 == 0 {
			st, err := mpi.FileWriteShared(f, rec)
			t.must(err)
			want(t, "written", st.Count, 2)
		} else {
			_, err := mpi.FileIwriteShared(f, rec).Wait()
			t.must(err)
		}
	}
	t.must(mpi.Barrier(c))
	at, err := f.PositionShared()
	t.must(err)
	want(t, "position", at, 2*each*n)
	all := make([]int64, 2*each*n)
	_, err = mpi.FileReadAt(f, 0, all)
	t.must(err)
	next := make([]int64, n)
	for i := 0; i < len(all); i += 2 {
		who := all[i]
		if who < 0 || int(who) >= n || all[i+1] != next[who] {
			t.Fatalf("record %d is %v, after %v of each rank", i/2, all[i:i+2], next)
		}
		next[who]++
	}
	wantSlice(t, "records of each rank", next, slices.Repeat([]int64{each}, n))
	t.must(f.SeekShared(0, mpi.SeekSet))
	got := make([]int64, 0, len(all))
	one := make([]int64, 2)
	for {
		st, err := mpi.FileReadShared(f, one)
		t.must(err)
		if st.Count == 0 {
			break
		}
		got = append(got, one...)
	}
	sum := []int{len(got)}
	t.must(mpi.Allreduce(c, sum, sum, mpi.Sum))
	want(t, "values read by all", sum[0], len(all))
	st, err := mpi.FileIreadShared(f, one).Wait()
	t.must(err)
	want(t, "read behind the end", st.Count, 0)
	t.must(f.Close())
	wantNothingLeft(t, c, f.Name())
}

func fileSeekShared(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	at := func(what string, n int) {
		got, err := f.PositionShared()
		t.must(err)
		want(t, "position "+what, got, n)
		t.must(mpi.Barrier(c))
	}
	at("at first", 0)
	t.must(f.SeekShared(7, mpi.SeekSet))
	at("after SeekShared", 7)
	t.must(f.SeekShared(-2, mpi.SeekCur))
	at("after SeekShared from there", 5)
	wantError(t, "before the beginning", f.SeekShared(-6, mpi.SeekCur), mpi.ErrArg)
	if c.Size() > 1 {
		wantError(t, "offsets differ", f.SeekShared(c.Rank(), mpi.SeekSet), mpi.ErrNotSame)
		wantError(t, "whences differ", f.SeekShared(0, min(c.Rank(), 1)), mpi.ErrNotSame)
	}
	at("after errors", 5)
	t.must(f.SetSize(100))
	t.must(f.SeekShared(-1, mpi.SeekEnd))
	at("at the end", 99)
	t.must(f.SetView(50, mpi.TypeOf[int16](), mpi.TypeOf[int16](), "native", nil))
	at("in another view", 0)
	t.must(f.SeekShared(0, mpi.SeekEnd))
	at("at the end of it", 25)
	t.must(f.Close())
}

func fileOrdered(t *T, c *mpi.Comm) {
	for _, how := range []string{"enable", "disable"} {
		f := openNew(t, c)
		t.must(f.SetInfo(putTogether(t, how)))
		n, r := c.Size(), c.Rank()
		first := r * (r + 1) / 2 // rank r has r+1 values
		all := n * (n + 1) / 2
		i64 := mpi.TypeOf[int64]()
		t.must(f.SetView(0, i64, i64, "native", nil))
		for round := range 3 {
			_, err := mpi.FileWriteOrdered(f, countFrom(r+1, round*all+first))
			t.must(err)
		}
		t.must(mpi.Barrier(c))
		got := make([]int64, 3*all)
		_, err := mpi.FileReadAt(f, 0, got)
		t.must(err)
		wantSlice(t, how+": file", got, countFrom(3*all, 0))
		t.must(f.SeekShared(0, mpi.SeekSet))
		b := make([]int64, r+1)
		for round := range 3 {
			st, err := mpi.FileReadOrdered(f, b)
			t.must(err)
			want(t, "read", st.Count, r+1)
			wantSlice(t, how+": read", b, countFrom(r+1, round*all+first))
		}
		st, err := mpi.FileReadOrdered(f, b)
		t.must(err)
		want(t, "read behind the end", st.Count, 0)
		at, err := f.PositionShared()
		t.must(err)
		want(t, "position", at, 4*all)
		t.must(f.Close())
	}
}

func fileSequential(t *T, c *mpi.Comm) {
	name := fileName(t, c)
	f, err := mpi.FileOpen(c, name, mpi.ModeWronly|mpi.ModeCreate|mpi.ModeSequential, nil)
	t.must(err)
	b := []byte{byte('a' + c.Rank())}
	_, err = mpi.FileWriteOrdered(f, b)
	t.must(err)
	_, err = mpi.FileWriteShared(f, b)
	t.must(err)
	_, err = mpi.FileWriteAt(f, 0, b)
	wantError(t, "an explicit offset", err, mpi.ErrUnsupportedOperation, "ModeSequential")
	_, err = mpi.FileWriteAtAll(f, 0, b)
	wantError(t, "an explicit offset", err, mpi.ErrUnsupportedOperation)
	_, err = mpi.FileWrite(f, b)
	wantError(t, "the individual pointer", err, mpi.ErrUnsupportedOperation)
	_, err = f.Position()
	wantError(t, "its position", err, mpi.ErrUnsupportedOperation)
	_, err = f.PositionShared()
	wantError(t, "the position", err, mpi.ErrUnsupportedOperation)
	_, err = f.ByteOffset(0)
	wantError(t, "a byte offset", err, mpi.ErrUnsupportedOperation)
	wantError(t, "Seek", f.Seek(0, mpi.SeekSet), mpi.ErrUnsupportedOperation)
	wantError(t, "SeekShared", f.SeekShared(0, mpi.SeekSet), mpi.ErrUnsupportedOperation)
	wantError(t, "SetSize", f.SetSize(0), mpi.ErrUnsupportedOperation)
	wantError(t, "Preallocate", f.Preallocate(9), mpi.ErrUnsupportedOperation)
	i16 := mpi.TypeOf[int16]()
	wantError(t, "a displacement", f.SetView(0, i16, i16, "native", nil), mpi.ErrDisp, "DisplacementCurrent")
	t.must(mpi.Barrier(c))
	t.must(f.SetView(mpi.DisplacementCurrent, i16, i16, "external32", nil))
	disp, _, _, _ := f.View()
	want(t, "the displacement", disp, 2*c.Size())
	_, err = mpi.FileWriteOrdered(f, []int16{int16(c.Rank())})
	t.must(err)
	t.must(f.Close())
	got, err := os.ReadFile(name)
	t.must(err)
	want(t, "size", len(got), 4*c.Size())
	for r := range c.Size() {
		want(t, "a byte in order", got[r], byte('a'+r))
		want(t, "a value in order", binary.BigEndian.Uint16(got[2*c.Size()+2*r:]), uint16(r))
	}
	f, err = mpi.FileOpen(c, name, mpi.ModeRdonly|mpi.ModeSequential|mpi.ModeDeleteOnClose, nil)
	t.must(err)
	_, err = mpi.FileReadOrdered(f, b)
	t.must(err)
	want(t, "what was read in order", b[0], byte('a'+c.Rank()))
	t.must(f.Close())
}

func fileSplit(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	r, n := c.Rank(), c.Size()
	b := []byte{byte(r), byte(r + 1)}
	ends := map[string]func(*mpi.File, []byte) (mpi.Status, error){
		"WriteAtAll": mpi.FileWriteAtAllEnd[byte], "WriteAll": mpi.FileWriteAllEnd[byte], "WriteOrdered": mpi.FileWriteOrderedEnd[byte],
		"ReadAtAll": mpi.FileReadAtAllEnd[byte], "ReadAll": mpi.FileReadAllEnd[byte], "ReadOrdered": mpi.FileReadOrderedEnd[byte],
	}
	for name, end := range ends {
		_, err := end(f, b)
		wantError(t, name+"End without Begin", err, mpi.ErrOther, "File"+name+"Begin")
	}
	ended := func(name string) {
		for other, end := range ends {
			if other != name {
				_, err := end(f, b)
				wantError(t, other+"End of another", err, mpi.ErrOther, "File"+name+"End")
			}
		}
		_, err := ends[name](f, b[:1])
		wantError(t, name+"End with another buffer", err, mpi.ErrBuffer)
		wantError(t, "a second Begin", mpi.FileReadAtAllBegin(f, 0, b), mpi.ErrOther, "File"+name+"End")
		st, err := ends[name](f, b)
		t.must(err)
		want(t, name+": count", st.Count, 2)
	}
	t.must(mpi.FileWriteAtAllBegin(f, 2*r, b))
	ended("WriteAtAll")
	t.must(f.Seek(2*n+2*r, mpi.SeekSet))
	t.must(mpi.FileWriteAllBegin(f, b))
	ended("WriteAll")
	t.must(f.SeekShared(4*n, mpi.SeekSet))
	t.must(mpi.FileWriteOrderedBegin(f, b))
	ended("WriteOrdered")
	t.must(mpi.Barrier(c))
	wantIt := func(what string) {
		want(t, what, [2]byte(b), [2]byte{byte(r), byte(r + 1)})
		clear(b)
	}
	clear(b)
	t.must(mpi.FileReadAtAllBegin(f, 2*r, b))
	ended("ReadAtAll")
	wantIt("ReadAtAll")
	t.must(f.Seek(2*n+2*r, mpi.SeekSet))
	t.must(mpi.FileReadAllBegin(f, b))
	ended("ReadAll")
	wantIt("ReadAll")
	t.must(f.SeekShared(4*n, mpi.SeekSet))
	t.must(mpi.FileReadOrderedBegin(f, b))
	ended("ReadOrdered")
	wantIt("ReadOrdered")
	t.must(f.Close())
}

// fileAtomic has every rank add one to the same counters, and write and read records that all ranks
// write.
func fileAtomic(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	want(t, "atomicity at first", f.Atomicity(), false)
	t.must(f.SetAtomicity(true))
	const size, rounds = 10_000, 20
	b := make([]byte, size)
	for i := range rounds {
		if (i+c.Rank())%2 == 0 {
			for k := range b {
				b[k] = byte(1 + i*c.Size() + c.Rank())
			}
			_, err := mpi.FileWriteAt(f, 0, b)
			t.must(err)
			continue
		}
		st, err := mpi.FileReadAt(f, 0, b)
		t.must(err)
		if st.Count != 0 && st.Count != size {
			t.Fatalf("%d bytes of a record of %d", st.Count, size)
		}
		for k, v := range b[:st.Count] {
			if v != b[0] {
				t.Fatalf("byte %d is %d, the first %d", k, v, b[0])
			}
		}
	}
	t.must(mpi.Barrier(c))
	// With gaps: the whole span of an access is one.
	every2 := mpi.Resized(mpi.TypeOf[byte](), 0, 2)
	t.must(f.SetView(0, mpi.TypeOf[byte](), every2, "native", nil))
	for range 3 {
		for k := range 500 {
			b[k] = byte(c.Rank())
		}
		_, err := mpi.FileWriteAt(f, 0, b[:500])
		t.must(err)
		_, err = mpi.FileIreadAt(f, 0, b[:500]).Wait()
		t.must(err)
		for k, v := range b[:500] {
			if v != b[0] {
				t.Fatalf("in gaps: byte %d is %d, the first %d", k, v, b[0])
			}
		}
	}
	t.must(f.Close())
}

func fileSync(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	b := []byte{byte(c.Rank() + 1)}
	_, err := mpi.FileWriteAt(f, c.Rank(), b)
	t.must(err)
	t.must(f.Sync())
	t.must(mpi.Barrier(c))
	t.must(f.Sync())
	next := (c.Rank() + 1) % c.Size()
	_, err = mpi.FileReadAt(f, next, b)
	t.must(err)
	want(t, "what the next rank wrote", b[0], byte(next+1))
	t.must(f.Close())
}

func fileErrhandler(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	_, err := mpi.FileReadAt(f, -1, []byte{1})
	wantError(t, "by default errors are returned", err, mpi.ErrArg)
	var got []*mpi.Error
	count := mpi.FileErrhandler(func(at *mpi.File, err *mpi.Error) error {
		got = append(got, err)
		return nil
	})
	f.SetErrhandler(count)
	t.must(f.Errhandler()(f, &mpi.Error{Class: mpi.ErrIO}))
	want(t, "calls of what Errhandler gives", len(got), 1)
	got = nil
	_, err = mpi.FileReadAt(f, -1, []byte{1})
	t.must(err, "the handler has dealt with it")
	_, err = mpi.FileIreadAt(f, -1, []byte{1}).Wait()
	t.must(err, "the handler has dealt with it")
	_, err = mpi.FileReadAtAll(f, -1, []byte{1})
	t.must(err, "the handler has dealt with it")
	_, err = mpi.FileIwriteAtAll(f, -1, []byte{1}).Wait()
	t.must(err, "the handler has dealt with it")
	t.must(f.SetSize(-1))
	t.must(f.CallErrhandler(mpi.ErrQuota))
	t.must(f.CallErrhandler(nil))
	var classes []mpi.ErrorClass
	for _, e := range got {
		classes = append(classes, e.Class)
		want(t, "file", e.Comm, f.Name())
		want(t, "rank", e.Rank, c.Rank())
		want(t, "host", e.Host, c.ProcessorName())
	}
	wantSlice(t, "classes", classes, []mpi.ErrorClass{mpi.ErrArg, mpi.ErrArg, mpi.ErrArg, mpi.ErrArg, mpi.ErrArg, mpi.ErrQuota})
	f.SetErrhandler(mpi.ErrorsReturn)
	wantError(t, "ErrorsReturn", f.CallErrhandler(mpi.ErrIO), mpi.ErrIO, "CallErrhandler", f.Name())
	t.must(f.Close())

	got = nil
	c.SetFileErrhandler(count)
	_, err = mpi.FileOpen(c, "", mpi.ModeRdonly, nil)
	t.must(err, "the handler has dealt with it")
	t.must(mpi.FileDelete(c, fileName(t, c), nil))
	want(t, "calls of the handler of files to come", len(got), 2)
	f = openNew(t, c)
	c.SetFileErrhandler(mpi.ErrorsReturn)
	t.must(f.Seek(-1, mpi.SeekSet), "the handler has dealt with it")
	want(t, "calls of the handler that the file has got", len(got), 3)
	t.must(f.Close())
	wantError(t, "the first handler again", c.FileErrhandler()(f, &mpi.Error{Class: mpi.ErrIO}), mpi.ErrIO)
}

// fileFullDisk writes to the device that is always full.
func fileFullDisk(t *T, c *mpi.Comm) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.must(err, "this machine has no "+full+", which every Linux has")
	}
	f, err := mpi.FileOpen(c, full, mpi.ModeWronly, nil)
	t.must(err)
	b := make([]byte, 3000)
	st, err := mpi.FileWriteAt(f, c.Rank(), b)
	wantError(t, "a write", err, mpi.ErrNoSpace, full, "rank "+strconv.Itoa(c.Rank()))
	want(t, "written", st.Count, 0)
	_, err = mpi.FileIwriteAt(f, c.Rank(), b).Wait()
	wantError(t, "a write by request", err, mpi.ErrNoSpace, full)
	for _, how := range []string{"enable", "disable"} {
		t.must(f.SetInfo(putTogether(t, how)))
		t.must(f.SetView(c.Rank(), mpi.TypeOf[byte](), mpi.Resized(mpi.TypeOf[byte](), 0, c.Size()), "native", nil))
		st, err = mpi.FileWriteAtAll(f, 0, b)
		wantError(t, fmt.Sprintf("a collective write, %s", how), err, mpi.ErrNoSpace, full)
		want(t, "written together", st.Count, 0)
	}
	t.must(f.Close())
}
