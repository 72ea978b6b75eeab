package tests

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// decimalWidth is how many characters a number has in a file of the decimal representation.
const decimalWidth = 24

// decimalExtent is the extent of the decimal representation, which has no numbers but these.
func decimalExtent(t *mpi.Datatype) (int, error) {
	switch t {
	case mpi.TypeOf[int64](), mpi.TypeOf[float64]():
		return decimalWidth, nil
	case mpi.TypeOf[int16]():
		return 6, nil
	}
	return 0, fmt.Errorf("%v has no decimals", t)
}

// toDecimal writes numbers as text, each in a field of its own.
func toDecimal(mem []byte, t *mpi.Datatype, n int, file []byte) error {
	width := len(file) / n
	for i := range n {
		var text string
		switch b := mem[i*t.Size():]; t {
		case mpi.TypeOf[float64]():
			f := math.Float64frombits(binary.NativeEndian.Uint64(b))
			if math.IsNaN(f) {
				return errors.New("a NaN has no decimals")
			}
			text = strconv.FormatFloat(f, 'g', -1, 64)
		case mpi.TypeOf[int16]():
			text = strconv.Itoa(int(int16(binary.NativeEndian.Uint16(b))))
		default:
			text = strconv.FormatInt(int64(binary.NativeEndian.Uint64(b)), 10)
		}
		copy(file[i*width:], fmt.Sprintf("%*s", width, text))
	}
	return nil
}

func fromDecimal(mem []byte, t *mpi.Datatype, n int, file []byte) error {
	width := len(file) / n
	for i := range n {
		text := strings.TrimSpace(string(file[i*width : (i+1)*width]))
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		switch b := mem[i*t.Size():]; t {
		case mpi.TypeOf[float64]():
			binary.NativeEndian.PutUint64(b, math.Float64bits(f))
		case mpi.TypeOf[int16]():
			binary.NativeEndian.PutUint16(b, uint16(int16(f)))
		default:
			binary.NativeEndian.PutUint64(b, uint64(int64(f)))
		}
	}
	return nil
}

// MPI 4.1, section 14.5.3: RegisterDatarep associates conversions and an extent with a name, which
// SetView takes; displacements in bytes are of the file, extents are those in the file.
func fileDatarep(t *T, c *mpi.Comm) {
	f := openNew(t, c)
	decimal := fmt.Sprint("decimal of ", c.ContextID()) // a rank can register a name but once
	t.must(c.RegisterDatarep(decimal, fromDecimal, toDecimal, decimalExtent))
	wantError(t, "registered twice", c.RegisterDatarep(decimal, nil, nil, nil), mpi.ErrDupDatarep, decimal)
	wantError(t, "a name of the standard's", c.RegisterDatarep("external32", nil, nil, nil), mpi.ErrDupDatarep)
	wantError(t, "no name", c.RegisterDatarep("", nil, nil, nil), mpi.ErrArg)
	wantError(t, "a name too long", c.RegisterDatarep(strings.Repeat("x", mpi.MaxDatarepName+1), nil, nil, nil), mpi.ErrArg)

	n, r := c.Size(), c.Rank()
	int64s := mpi.TypeOf[int64]()
	every := mpi.Resized(mpi.Hindexed([]int{1}, []int{decimalWidth * r}, int64s), 0, decimalWidth*n) // bytes of the file
	t.must(f.SetView(10, int64s, every, decimal, nil))
	_, _, _, rep := f.View()
	want(t, "representation", rep, decimal)
	extent, err := f.TypeExtent(mpi.Vector(2, 1, 3, int64s))
	t.must(err)
	want(t, "extent in the file", extent, 4*decimalWidth)
	off, err := f.ByteOffset(2)
	t.must(err)
	want(t, "byte offset", off, 10+decimalWidth*(2*n+r))
	mine := []int64{int64(r), -7, 1 << 40}
	st, err := mpi.FileWriteAtAll(f, 0, mine)
	t.must(err)
	want(t, "written", st.Count, 3)
	want(t, "written, in bytes of memory", mpi.GetCount[byte](st), 24)
	t.must(mpi.Barrier(c))

	t.must(f.SetView(0, mpi.TypeOf[byte](), mpi.TypeOf[byte](), "native", nil))
	field := make([]byte, decimalWidth)
	for i, v := range mine {
		_, err = mpi.FileReadAt(f, 10+decimalWidth*(i*n+r), field)
		t.must(err)
		want(t, "in the file", string(field), fmt.Sprintf("%*d", decimalWidth, v))
	}

	t.must(f.SetView(10, int64s, int64s, decimal, nil))
	all := make([]int64, 3*n+4)
	st, err = mpi.FileReadAtAll(f, 0, all)
	t.must(err)
	want(t, "to the end", st.Count, 3*n)
	for i := range n {
		want(t, "the number of a rank", all[i], int64(i))
		want(t, "its second", all[n+i], -7)
	}
	st, err = mpi.FileIreadAt(f, 1, all[:2]).Wait()
	t.must(err)
	want(t, "by a request", st.Count, 2)
	pair := make([]int64, 6) // two numbers with gaps around
	_, err = mpi.FileRead(f.WithType(mpi.Vector(2, 1, 4, int64s)), pair)
	t.must(err)
	want(t, "laid out", pair[4], all[0])
	at, err := f.Position()
	t.must(err)
	want(t, "position", at, 2)
	raw := make([]byte, 2*decimalWidth)
	_, err = mpi.FileReadAt(f, n, raw)
	t.must(err)
	want(t, "as bytes", string(raw[:decimalWidth]), fmt.Sprintf("%*d", decimalWidth, -7))
	t.must(mpi.Barrier(c))
	fileDatarepMixed(t, c, f, decimal)
	fileDatarepErrors(t, c, f, decimal)
	t.must(f.Close())
}

// fileDatarepMixed has values of several kinds, of which each has an extent of its own.
func fileDatarepMixed(t *T, c *mpi.Comm, f *mpi.File, decimal string) {
	type reading struct {
		At    int64
		Value float64
		Kind  int16
	}
	const width = 2*decimalWidth + 6
	readings := mpi.TypeOf[reading]()
	t.must(f.SetView(0, readings, readings, decimal, nil))
	mine := []reading{{int64(c.Rank()), 0.5, -3}, {9, -1e300, 7}}
	_, err := mpi.FileWriteAtAll(f, 2*c.Rank(), mine)
	t.must(err)
	t.must(mpi.Barrier(c))
	got := make([]reading, 2*c.Size())
	_, err = mpi.FileReadAll(f, got)
	t.must(err)
	for r := range c.Size() {
		want(t, "the first of a rank", got[2*r], reading{int64(r), 0.5, -3})
		want(t, "the second", got[2*r+1], mine[1])
	}
	off, err := f.ByteOffset(1)
	t.must(err)
	want(t, "the place of the second", off, width)
	t.must(mpi.Barrier(c))
}

func fileDatarepErrors(t *T, c *mpi.Comm, f *mpi.File, decimal string) {
	f64, i64 := mpi.TypeOf[float64](), mpi.TypeOf[int64]()
	wantError(t, "a type without decimals", f.SetView(0, mpi.TypeOf[int32](), mpi.TypeOf[int32](), decimal, nil), mpi.ErrConversion, "int32 has no decimals")
	wantError(t, "data that touch in memory and overlap in the file", f.SetView(0, f64, mpi.Hindexed([]int{1, 1}, []int{0, 8}, f64), decimal, nil), mpi.ErrType)
	t.must(c.RegisterDatarep(decimal+", of no use", nil, toDecimal, decimalExtent))
	wantError(t, "no conversion", f.SetView(0, i64, i64, decimal+", of no use", nil), mpi.ErrUnsupportedDatarep)
	if c.Size() > 1 {
		rep := decimal
		if c.Rank() == 0 {
			rep = "native"
		}
		wantError(t, "representations differ", f.SetView(0, i64, i64, rep, nil), mpi.ErrNotSame, decimal)
	}
	t.must(f.SetView(0, f64, f64, decimal, nil))
	_, err := mpi.FileWriteAt(f, 0, []float64{1, math.NaN()})
	wantError(t, "what is not converted", err, mpi.ErrConversion, "a NaN has no decimals")
	_, err = mpi.FileIwriteAt(f, 0, []float64{math.NaN()}).Wait()
	wantError(t, "by a request", err, mpi.ErrConversion)
	_, err = mpi.FileWriteAt(f, 0, []int64{1})
	wantError(t, "another type", err, mpi.ErrType)
	t.must(mpi.Barrier(c))
	if c.Rank() == 0 {
		_, err = mpi.FileWriteAt(f, 0, []byte(strings.Repeat("x", decimalWidth)))
		t.must(err)
	}
	t.must(mpi.Barrier(c))
	_, err = mpi.FileReadAtAll(f, 0, make([]float64, 1))
	wantError(t, "what is no number", err, mpi.ErrConversion, "xxx")

	// Without functions it is native by another name.
	same := decimal + ", as in memory"
	t.must(c.RegisterDatarep(same, nil, nil, nil))
	t.must(f.SetView(0, f64, f64, same, nil))
	_, err = mpi.FileWriteAtAll(f, c.Rank(), []float64{float64(c.Rank())})
	t.must(err)
	t.must(mpi.Barrier(c))
	t.must(f.SetView(0, f64, f64, "native", nil))
	b := make([]float64, 1)
	_, err = mpi.FileReadAt(f, c.Size()-1, b)
	t.must(err)
	want(t, "as native", b[0], float64(c.Size()-1))
}
