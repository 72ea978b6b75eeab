package tests

import (
	"math/rand/v2"
	"strconv"

	"github.com/fitmpi/fitmpi/mpi"
)

var fileRandomCases = []testCase{
	{name: "file/random", section: "14.6.1", sentence: "What was written, by whatever operation, through whatever view, is read by all that follow in time.", run: fileRandom},
}

// fileWay is one of the ways to read or write at an offset of the view; each is called by all
// ranks.
type fileWay struct {
	name string
	do   func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error)
}

// fromPointer does an access of the individual file pointer.
func fromPointer(access func(*mpi.File, []int16) (mpi.Status, error)) func(*T, *mpi.File, int, []int16) (mpi.Status, error) {
	return func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error) {
		t.must(f.Seek(offset, mpi.SeekSet))
		st, err := access(f, buf)
		at, perr := f.Position()
		t.must(perr)
		if err == nil {
			want(t, "position", at, offset+st.Count)
		}
		return st, err
	}
}

// byRequest does an access that has a request.
func byRequest(start func(*mpi.File, int, []int16) *mpi.Request) func(*T, *mpi.File, int, []int16) (mpi.Status, error) {
	return func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error) {
		return start(f, offset, buf).Wait()
	}
}

func byPointerRequest(start func(*mpi.File, []int16) *mpi.Request) func(*T, *mpi.File, int, []int16) (mpi.Status, error) {
	return func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error) {
		t.must(f.Seek(offset, mpi.SeekSet))
		return start(f, buf).Wait()
	}
}

func explicit(access func(*mpi.File, int, []int16) (mpi.Status, error)) func(*T, *mpi.File, int, []int16) (mpi.Status, error) {
	return func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error) { return access(f, offset, buf) }
}

func bySplit(begin func(*mpi.File, int, []int16) error, end func(*mpi.File, []int16) (mpi.Status, error)) func(*T, *mpi.File, int, []int16) (mpi.Status, error) {
	return func(t *T, f *mpi.File, offset int, buf []int16) (mpi.Status, error) {
		t.must(begin(f, offset, buf))
		return end(f, buf)
	}
}

var fileWrites = []fileWay{
	{"WriteAt", explicit(mpi.FileWriteAt[int16])}, {"WriteAtAll", explicit(mpi.FileWriteAtAll[int16])},
	{"IwriteAt", byRequest(mpi.FileIwriteAt[int16])}, {"IwriteAtAll", byRequest(mpi.FileIwriteAtAll[int16])},
	{"Write", fromPointer(mpi.FileWrite[int16])}, {"WriteAll", fromPointer(mpi.FileWriteAll[int16])},
	{"Iwrite", byPointerRequest(mpi.FileIwrite[int16])}, {"IwriteAll", byPointerRequest(mpi.FileIwriteAll[int16])},
	{"WriteAtAllBegin", bySplit(mpi.FileWriteAtAllBegin[int16], mpi.FileWriteAtAllEnd[int16])},
}

var fileReads = []fileWay{
	{"ReadAt", explicit(mpi.FileReadAt[int16])}, {"ReadAtAll", explicit(mpi.FileReadAtAll[int16])},
	{"IreadAt", byRequest(mpi.FileIreadAt[int16])}, {"IreadAtAll", byRequest(mpi.FileIreadAtAll[int16])},
	{"Read", fromPointer(mpi.FileRead[int16])}, {"ReadAll", fromPointer(mpi.FileReadAll[int16])},
	{"Iread", byPointerRequest(mpi.FileIread[int16])}, {"IreadAll", byPointerRequest(mpi.FileIreadAll[int16])},
	{"ReadAtAllBegin", bySplit(mpi.FileReadAtAllBegin[int16], mpi.FileReadAtAllEnd[int16])},
}

// fileModel is what the file holds, in values of 2 bytes.
type fileModel struct {
	values []int16
	end    int
}

func (m *fileModel) set(at int, v int16) {
	for at >= len(m.values) {
		m.values = append(m.values, 0)
	}
	m.values[at] = v
	m.end = max(m.end, at+1)
}

// turn is how ranks take turns in the file: of each period rank r has lens[r] values from starts[r]
// on.
type turn struct {
	first, period int // in values
	lens, starts  []int
}

func randomTurn(rng *rand.Rand, n int) turn {
	x := turn{first: rng.IntN(10)}
	for range n {
		x.period += rng.IntN(3)
		size := 1 + rng.IntN(5)
		x.starts, x.lens = append(x.starts, x.period), append(x.lens, size)
		x.period += size
	}
	x.period += rng.IntN(3)
	return x
}

// at is where the i-th value of rank r lies.
func (x *turn) at(r, i int) int {
	return x.first + i/x.lens[r]*x.period + x.starts[r] + i%x.lens[r]
}

// filetype is what rank r sees.
func (x *turn) filetype(r int) *mpi.Datatype {
	v := mpi.TypeOf[int16]()
	return mpi.Resized(mpi.Indexed([]int{x.lens[r]}, []int{x.starts[r]}, v), 0, 2*x.period)
}

// fileRandom runs random programs at all ranks, which all know what every rank does.
func fileRandom(t *T, c *mpi.Comm) {
	first := []uint64{*seedFlag}
	if first[0] == 0 {
		first[0] = rand.Uint64()
	}
	t.must(mpi.Bcast(c, first, 0))
	for i := range *seedsFlag {
		randomFileProgram(t, c, first[0]+i)
	}
}

func randomFileProgram(t *T, c *mpi.Comm, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 14))
	f := openNew(t, c)
	var model fileModel
	reps := []string{"native", "internal", "external32"}
	rep := reps[rng.IntN(3)]
	for step := range 25 {
		at := func(what string) string {
			return what + ", step " + strconv.Itoa(step) + " of -seed " + strconv.FormatUint(seed, 10)
		}
		if step%5 == 0 {
			info := putTogether(t, []string{"automatic", "enable", "disable"}[rng.IntN(3)])
			t.must(info.Set("cb_buffer_size", strconv.Itoa(1+rng.IntN(300))))
			t.must(info.Set("cb_nodes", strconv.Itoa(1+rng.IntN(4))))
			t.must(info.Set("ind_rd_buffer_size", strconv.Itoa(1+rng.IntN(100))))
			t.must(info.Set("romio_ds_read", []string{"automatic", "disable"}[rng.IntN(2)]))
			t.must(f.SetInfo(info))
			t.must(f.SetAtomicity(rng.IntN(3) == 0))
		}
		x := randomTurn(rng, c.Size())
		t.must(f.SetView(2*x.first, mpi.TypeOf[int16](), x.filetype(c.Rank()), rep, nil))
		way := fileWrites[rng.IntN(len(fileWrites))]
		var mine []int16
		offset := 0
		for r := range c.Size() {
			off, n := rng.IntN(30), rng.IntN(60)
			data := make([]int16, n)
			for i := range data {
				data[i] = int16(1 + rng.IntN(1<<15-1))
				model.set(x.at(r, off+i), data[i])
			}
			if r == c.Rank() {
				mine, offset = data, off
			}
		}
		buf, g := spaced(f, rng.IntN(2) == 0, mine)
		st, err := way.do(t, g, offset, buf)
		t.must(err, at(way.name))
		if st.Count != len(mine) {
			t.Fatalf("%s: %d written of %d", at(way.name), st.Count, len(mine))
		}
		t.must(mpi.Barrier(c))
		way = fileReads[rng.IntN(len(fileReads))]
		offset = rng.IntN(40)
		checkFileRead(t, at(way.name), way, f, &model, func(i int) int { return x.at(c.Rank(), offset+i) }, offset, rng.IntN(100), rng.IntN(2) == 0)
		t.must(mpi.Barrier(c))
	}
	t.must(f.Close())
}

// spaced is a buffer that holds values with gaps, and the file with the layout of that, or both as
// they are.
func spaced(f *mpi.File, gaps bool, values []int16) ([]int16, *mpi.File) {
	if !gaps || len(values) == 0 {
		return values, f
	}
	buf := make([]int16, 2*len(values)-1)
	for i, v := range values {
		buf[2*i] = v
	}
	return buf, f.WithType(mpi.Vector(len(values), 1, 2, mpi.TypeOf[int16]()))
}

// checkFileRead reads n values and compares them with the model.
func checkFileRead(t *T, what string, way fileWay, f *mpi.File, m *fileModel, place func(i int) int, offset, n int, gaps bool) {
	values := make([]int16, n)
	buf, g := values, f
	step := 1
	if gaps && n > 0 {
		buf, g = spaced(f, true, values)
		step = 2
	}
	have := 0
	for have < n && place(have) < m.end {
		have++
	}
	st, err := way.do(t, g, offset, buf)
	t.must(err, what)
	if st.Count != have {
		t.Fatalf("%s: %d read of %d, want %d", what, st.Count, n, have)
	}
	for i := range n {
		v := int16(0)
		if i < have {
			v = m.values[place(i)]
		}
		if buf[step*i] != v {
			t.Fatalf("%s: value %d of %d is %d, want %d", what, i, n, buf[step*i], v)
		}
	}
}
