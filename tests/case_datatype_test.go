package tests

import (
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Cases of a datatype alone, which one rank shows: constructors, packing, decoding.
var datatypeCases = []testCase{
	{name: "datatype/contiguous", section: "5.1.2", max: 1, world: true,
		sentence: "newtype is the datatype obtained by concatenating count copies of oldtype. Concatenation is defined using extent " +
			"as the size of the concatenated copies.",
		run: typeContiguous},
	{name: "datatype/vector", section: "5.1.2", max: 1, world: true,
		sentence: "Each block is obtained by concatenating the same number of copies of the old datatype; the spacing between blocks is " +
			"a multiple of the extent of the old datatype, or, of Hvector, a number of bytes.",
		run: typeVector},
	{name: "datatype/indexed", section: "5.1.2", max: 1, world: true,
		sentence: "Each block can contain a different number of copies and have a different displacement.",
		run:      typeIndexed},
	{name: "datatype/struct", section: "5.1.2", max: 1, world: true,
		sentence: "It allows each block to consist of replications of different datatypes.",
		run:      typeStruct},
	{name: "datatype/subarray", section: "5.1.3", max: 1, world: true,
		sentence: "The subarray type constructor creates an MPI datatype describing an n-dimensional subarray of an n-dimensional array.",
		run:      typeSubarray},
	{name: "datatype/darray", section: "5.1.4", max: 1, world: true,
		sentence: "The types of all ranks of a grid together have each element of the array once, dealt out as the distributions say.",
		run:      typeDarray},
	{name: "datatype/extent", section: "5.1.7", max: 1, world: true,
		sentence: "The lower bound of this new datatype is set to be lb, and its upper bound is set to be lb + extent.",
		run:      typeExtent},
	{name: "datatype/true extent", section: "5.1.8", max: 1, world: true,
		sentence: "true_lb returns the offset of the lowest unit of store which is addressed by the datatype, neglecting explicit lower " +
			"bound markers.",
		run: typeTrueExtent},
	{name: "datatype/padding", section: "FitMPI", max: 1, world: true,
		sentence: "Padding is no part of the Datatype of a Go type: it neither travels nor is it overwritten.",
		run:      typePadding},
	{name: "datatype/contents", section: "5.1.13", max: 1, world: true,
		sentence: "For a datatype, its constructor and the arguments of that can be had back.",
		run:      typeContents},
	{name: "datatype/name", section: "7.8", max: 1, world: true,
		sentence: "A datatype has a name, which is not that of its duplicate.",
		run:      typeName},
	{name: "datatype/pack", section: "5.2", max: 1, world: true,
		sentence: "Several messages can be successively packed into one packing unit, and be unpacked in turn.",
		run:      packInTurn},
	{name: "datatype/pack and travel", section: "5.2", max: 2,
		sentence: "Packed data may be sent as bytes and be unpacked by the receiver.",
		run:      packTravels},
	{name: "datatype/pack errors", section: "5.2", max: 1, world: true,
		sentence: "What does not fit is an error, and leaves the buffers as they were.",
		run:      packErrors},
	{name: "datatype/external32", section: "14.5.2", max: 1, world: true,
		sentence: "All floating point values are in big-endian IEEE format of the appropriate size, and all integral values are in " +
			"two's complement big-endian format.",
		run: packExternal},
	{name: "datatype/elements", section: "5.1.11", max: 2,
		sentence: "MPI_GET_ELEMENTS returns the number of received basic elements, also where MPI_GET_COUNT returns MPI_UNDEFINED, " +
			"because the last value has arrived in part.",
		run: countElements},
	{name: "datatype/set elements", section: "13.3", max: 1, world: true,
		sentence: "A subsequent call to MPI_GET_ELEMENTS will return count, and MPI_GET_COUNT will return a compatible value.",
		run:      setElements},
}

// spot is a basic value in a type map: its size and displacement.
type spot struct{ size, disp int }

// wantMap compares the type map of d, as packing shows it, with spots. Displacements may go down to
// -64.
func wantMap(t *T, what string, d *mpi.Datatype, spots ...spot) {
	t.must(d.Err(), what)
	places := make([]byte, 256)
	for i := range places {
		places[i] = byte(i)
	}
	got, err := mpi.Pack(nil, places, mpi.Hindexed([]int{1}, []int{64}, d))
	t.must(err, what)
	var all []byte
	for _, s := range spots {
		for i := range s.size {
			all = append(all, byte(64+s.disp+i))
		}
	}
	wantSlice(t, "the places of "+what, got, all)
	want(t, "the size of "+what, d.Size(), len(all))
}

func wantExtent(t *T, what string, d *mpi.Datatype, lb, extent int) {
	gotLB, gotExtent := d.Extent()
	want(t, "the lower bound of "+what, gotLB, lb)
	want(t, "the extent of "+what, gotExtent, extent)
}

func wantTrueExtent(t *T, what string, d *mpi.Datatype, lb, extent int) {
	gotLB, gotExtent := d.TrueExtent()
	want(t, "the true lower bound of "+what, gotLB, lb)
	want(t, "the true extent of "+what, gotExtent, extent)
}

// doubleChar is the old type of the standard's examples, {(double, 0), (char, 8)}, of extent 16.
func doubleChar() *mpi.Datatype {
	return mpi.Struct([]int{1, 1}, []int{0, 8}, []*mpi.Datatype{mpi.TypeOf[float64](), mpi.TypeOf[int8]()})
}

// doubleChars are the spots of such values.
func doubleChars(displs ...int) []spot {
	var spots []spot
	for _, d := range displs {
		spots = append(spots, spot{8, d}, spot{1, d + 8})
	}
	return spots
}

func typeContiguous(t *T, c *mpi.Comm) {
	wantMap(t, "the example", mpi.Contiguous(3, doubleChar()), doubleChars(0, 16, 32)...)
	wantExtent(t, "the example", mpi.Contiguous(3, doubleChar()), 0, 48)
	wantMap(t, "none", mpi.Contiguous(0, doubleChar()))
	wantExtent(t, "none", mpi.Contiguous(0, doubleChar()), 0, 0)
}

func typeVector(t *T, c *mpi.Comm) {
	old := doubleChar()
	wantMap(t, "Vector(2, 3, 4)", mpi.Vector(2, 3, 4, old), doubleChars(0, 16, 32, 64, 80, 96)...)
	wantExtent(t, "Vector(2, 3, 4)", mpi.Vector(2, 3, 4, old), 0, 112)
	wantMap(t, "Vector(3, 1, -2)", mpi.Vector(3, 1, -2, old), doubleChars(0, -32, -64)...)
	wantExtent(t, "Vector(3, 1, -2)", mpi.Vector(3, 1, -2, old), -64, 80)
	wantMap(t, "Hvector(2, 2, 40)", mpi.Hvector(2, 2, 40, old), doubleChars(0, 16, 40, 56)...)
	wantMap(t, "Vector(2, 0, 4)", mpi.Vector(2, 0, 4, old))
	column := mpi.Vector(3, 1, 4, mpi.TypeOf[int32]())
	matrix := []int32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}
	packed, err := mpi.Pack(nil, matrix[2:], column)
	t.must(err)
	into := make([]int32, 3)
	_, err = mpi.Unpack(packed, into, nil)
	t.must(err)
	wantSlice(t, "the column", into, []int32{2, 12, 22})
}

func typeIndexed(t *T, c *mpi.Comm) {
	old := doubleChar()
	wantMap(t, "Indexed", mpi.Indexed([]int{3, 1}, []int{4, 0}, old), doubleChars(64, 80, 96, 0)...)
	wantMap(t, "Hindexed", mpi.Hindexed([]int{3, 1}, []int{60, 0}, old), doubleChars(60, 76, 92, 0)...)
	wantMap(t, "IndexedBlock", mpi.IndexedBlock(2, []int{3, 0}, old), doubleChars(48, 64, 0, 16)...)
	wantMap(t, "HindexedBlock", mpi.HindexedBlock(2, []int{50, -10}, old), doubleChars(50, 66, -10, 6)...)
	wantExtent(t, "HindexedBlock", mpi.HindexedBlock(2, []int{50, -10}, old), -10, 88) // 85, rounded up to a multiple of 8
	wantMap(t, "no blocks", mpi.Indexed(nil, nil, old))
}

func typeStruct(t *T, c *mpi.Comm) {
	kinds := []*mpi.Datatype{mpi.TypeOf[float32](), doubleChar(), mpi.TypeOf[int8]()}
	d := mpi.Struct([]int{2, 1, 3}, []int{0, 16, 26}, kinds)
	wantMap(t, "the example", d, spot{4, 0}, spot{4, 4}, spot{8, 16}, spot{1, 24}, spot{1, 26}, spot{1, 27}, spot{1, 28})
	wantExtent(t, "the example", d, 0, 32)
	wantExtent(t, "{(double, 0), (char, 8)}", doubleChar(), 0, 16)
}

func typeSubarray(t *T, c *mpi.Comm) {
	b := mpi.TypeOf[byte]()
	rows := mpi.Subarray([]int{3, 4}, []int{2, 2}, []int{1, 1}, mpi.OrderC, b)
	wantMap(t, "rows", rows, spot{1, 5}, spot{1, 6}, spot{1, 9}, spot{1, 10})
	wantExtent(t, "rows", rows, 0, 12)
	columns := mpi.Subarray([]int{3, 4}, []int{2, 2}, []int{1, 1}, mpi.OrderFortran, b)
	wantMap(t, "columns", columns, spot{1, 4}, spot{1, 5}, spot{1, 7}, spot{1, 8})
	cube := mpi.Subarray([]int{2, 3, 4}, []int{2, 1, 2}, []int{0, 2, 1}, mpi.OrderC, mpi.TypeOf[int16]())
	wantMap(t, "a cube", cube, spot{4, 18}, spot{4, 42})
	wantExtent(t, "a cube", cube, 0, 48)
	wantMap(t, "of two arrays", mpi.Contiguous(2, rows), spot{2, 5}, spot{2, 9}, spot{2, 17}, spot{2, 21})
}

func typeDarray(t *T, c *mpi.Comm) {
	type dealt struct {
		name          string
		gsizes        []int
		distribs      []mpi.Distribution
		dargs, psizes []int
		size          int
		order         mpi.Order
		owner         func(index []int) int
	}
	const block, cyclic, none = mpi.DistributeBlock, mpi.DistributeCyclic, mpi.DistributeNone
	for _, test := range []dealt{
		{"blocks", []int{10}, []mpi.Distribution{block}, nil, []int{3}, 3, mpi.OrderC,
			func(i []int) int { return i[0] / 4 }},
		{"longer blocks", []int{10}, []mpi.Distribution{block}, []int{6}, []int{3}, 3, mpi.OrderC,
			func(i []int) int { return i[0] / 6 }},
		{"cyclic", []int{10}, []mpi.Distribution{cyclic}, nil, []int{3}, 3, mpi.OrderFortran,
			func(i []int) int { return i[0] % 3 }},
		{"blocks in turn", []int{11}, []mpi.Distribution{cyclic}, []int{2}, []int{3}, 3, mpi.OrderC,
			func(i []int) int { return i[0] / 2 % 3 }},
		// The example of section 5.1.4, smaller: <oldtype> FILEARRAY(10, 20, 30), PROCESSORS(2, 3),
		// (CYCLIC(10), BLOCK, *).
		{"HPF", []int{5, 3, 4}, []mpi.Distribution{cyclic, block, none}, []int{2, 0, 0}, []int{2, 3, 1}, 6, mpi.OrderFortran,
			func(i []int) int { return i[0]/2%2*3 + i[1] }},
		{"by rows", []int{5, 3, 4}, []mpi.Distribution{cyclic, none, block}, []int{2, 0, 3}, []int{2, 1, 2}, 4, mpi.OrderC,
			func(i []int) int { return i[0]/2%2*2 + i[2]/3 }},
		{"more than there are", []int{2}, []mpi.Distribution{block}, nil, []int{4}, 4, mpi.OrderC,
			func(i []int) int { return i[0] }},
	} {
		total := 1
		for _, s := range test.gsizes {
			total *= s
		}
		for rank := range test.size {
			d := mpi.Darray(test.size, rank, test.gsizes, test.distribs, test.dargs, test.psizes, test.order, mpi.TypeOf[byte]())
			var spots []spot
			for at := range total {
				if test.owner(indexOf(at, test.gsizes, test.order)) == rank {
					spots = append(spots, spot{1, at})
				}
			}
			wantMap(t, test.name, d, spots...)
			wantExtent(t, test.name, d, 0, total)
		}
	}
}

// indexOf is the index of the element at a place of an array.
func indexOf(at int, sizes []int, order mpi.Order) []int {
	index := make([]int, len(sizes))
	for i := range sizes {
		d := i
		if order == mpi.OrderC {
			d = len(sizes) - 1 - i
		}
		index[d] = at % sizes[d]
		at /= sizes[d]
	}
	return index
}

func typeExtent(t *T, c *mpi.Comm) {
	// The example of section 5.1.6: the markers of what a type is made from stay in it.
	type1 := mpi.Resized(mpi.TypeOf[int32](), -3, 9)
	wantExtent(t, "type1", type1, -3, 9)
	type2 := mpi.Contiguous(2, type1)
	wantExtent(t, "type2", type2, -3, 18)
	wantMap(t, "type2", type2, spot{4, 0}, spot{4, 9})
	beside := mpi.Struct([]int{1, 1}, []int{40, 0}, []*mpi.Datatype{type1, mpi.TypeOf[float64]()})
	wantExtent(t, "a marked and an unmarked type", beside, 37, 9)
	again := mpi.Resized(type1, 0, 4)
	wantExtent(t, "type1, resized again", again, 0, 4)
	wantMap(t, "three of a negative extent", mpi.Contiguous(3, mpi.Resized(mpi.TypeOf[int16](), 0, -4)), spot{2, 0}, spot{2, -4}, spot{2, -8})
	every := mpi.Resized(mpi.TypeOf[float32](), 0, 12)
	packed, err := mpi.Pack(nil, []float32{1, 2, 3, 4, 5, 6, 7}, mpi.Contiguous(3, every))
	t.must(err)
	into := make([]float32, 3)
	_, err = mpi.Unpack(packed, into, nil)
	t.must(err)
	wantSlice(t, "every third", into, []float32{1, 4, 7})
}

func typeTrueExtent(t *T, c *mpi.Comm) {
	wantTrueExtent(t, "Resized", mpi.Resized(mpi.TypeOf[int32](), -3, 9), 0, 4)
	wantTrueExtent(t, "Subarray", mpi.Subarray([]int{10}, []int{3}, []int{4}, mpi.OrderC, mpi.TypeOf[float64]()), 32, 24)
	wantTrueExtent(t, "{(double, 0), (char, 8)}", doubleChar(), 0, 9)
	wantTrueExtent(t, "nothing", mpi.Contiguous(0, doubleChar()), 0, 0)
}

// loose has padding after A, a blank field, and padding at its end.
type loose struct {
	A int8
	B float64
	_ int32
	C bool
}

func typePadding(t *T, c *mpi.Comm) {
	d := mpi.TypeOf[loose]()
	wantMap(t, "loose", d, spot{1, 0}, spot{8, 8}, spot{1, 20})
	wantExtent(t, "loose", d, 0, 24)
	packed, err := mpi.Pack(nil, []loose{{A: 1, B: 2, C: true}, {A: 3, B: 4}}, nil)
	t.must(err)
	memory := make([]byte, 48)
	for i := range memory {
		memory[i] = 0xaa
	}
	_, err = mpi.Unpack(packed, memory, mpi.Contiguous(2, d))
	t.must(err)
	for i, b := range memory {
		in := i % 24
		isData := in == 0 || in >= 8 && in < 16 || in == 20
		if isData == (b == 0xaa) {
			t.Errorf("byte %d of the memory is %#x, data: %v", i, b, isData)
		}
	}
	into := make([]loose, 2)
	rest, err := mpi.Unpack(packed, into, nil)
	t.must(err)
	want(t, "what is left", len(rest), 0)
	want(t, "the second value", into[1].B, 4)
	want(t, "the first truth", into[0].C, true)
}

func typeContents(t *T, c *mpi.Comm) {
	b := mpi.TypeOf[float64]()
	ints := []int{1, 2}
	named := b.Contents()
	want(t, "the combiner of a Go type", b.Combiner(), mpi.CombinerNamed)
	want(t, "its Go type", named.GoType.String(), "float64")
	want(t, "the types it is made from", len(named.Types), 0)
	for _, d := range []*mpi.Datatype{
		b.Dup(), mpi.Contiguous(3, b), mpi.Vector(2, 3, 4, b), mpi.Hvector(2, 3, 80, b), mpi.Indexed(ints, []int{0, 4}, b),
		mpi.Hindexed(ints, []int{0, 80}, b), mpi.IndexedBlock(2, []int{5, 0}, b), mpi.HindexedBlock(2, []int{50, 0}, b),
		mpi.Struct(ints, []int{0, 8}, []*mpi.Datatype{b, mpi.TypeOf[int32]()}), mpi.Resized(b, -8, 24),
		mpi.Subarray([]int{4, 4}, ints, []int{2, 2}, mpi.OrderFortran, b),
		mpi.Darray(4, 3, []int{4, 4}, make([]mpi.Distribution, 2), nil, []int{2, 2}, mpi.OrderC, b),
	} {
		t.must(d.Err())
		again := rebuilt(d.Contents())
		t.must(again.Err())
		want(t, "what is made again", again.String(), d.String())
		want(t, "its first type", d.Contents().Types[0], b)
		want(t, "its size", again.Size(), d.Size())
	}
}

// rebuilt makes a datatype of contents.
func rebuilt(k mpi.Contents) *mpi.Datatype {
	old := k.Types[0]
	switch k.Combiner {
	case mpi.CombinerDup:
		return old.Dup()
	case mpi.CombinerContiguous:
		return mpi.Contiguous(k.Count, old)
	case mpi.CombinerVector:
		return mpi.Vector(k.Count, k.BlockLen, k.Stride, old)
	case mpi.CombinerHvector:
		return mpi.Hvector(k.Count, k.BlockLen, k.Stride, old)
	case mpi.CombinerIndexed:
		return mpi.Indexed(k.BlockLens, k.Displs, old)
	case mpi.CombinerHindexed:
		return mpi.Hindexed(k.BlockLens, k.Displs, old)
	case mpi.CombinerIndexedBlock:
		return mpi.IndexedBlock(k.BlockLen, k.Displs, old)
	case mpi.CombinerHindexedBlock:
		return mpi.HindexedBlock(k.BlockLen, k.Displs, old)
	case mpi.CombinerStruct:
		return mpi.Struct(k.BlockLens, k.Displs, k.Types)
	case mpi.CombinerSubarray:
		return mpi.Subarray(k.Sizes, k.Subsizes, k.Starts, k.Order, old)
	case mpi.CombinerDarray:
		return mpi.Darray(k.Size, k.Rank, k.Sizes, k.Distribs, k.Dargs, k.Psizes, k.Order, old)
	case mpi.CombinerResized:
		return mpi.Resized(old, k.LB, k.Extent)
	default:
		return nil
	}
}

func typeName(t *T, c *mpi.Comm) {
	d := mpi.Contiguous(2, mpi.TypeOf[int32]())
	want(t, "the name of a Go type", mpi.TypeOf[int32]().Name(), "int32")
	want(t, "the name at first", d.Name(), "")
	t.must(d.SetName("pair"))
	want(t, "the name", d.Name(), "pair")
	dup := d.Dup()
	want(t, "the duplicate's name", dup.Name(), "")
	t.must(dup.SetName("twin"))
	want(t, "the name still", d.Name(), "pair")
	wantMap(t, "the duplicate", dup, spot{8, 0})
	wantError(t, "naming a Go type", mpi.TypeOf[int32]().SetName("x"), mpi.ErrType, "int32")
}

func packInTurn(t *T, c *mpi.Comm) {
	position := []float64{1, 2, 3}
	ids := []int32{7, 8, 9, 10}
	even := mpi.Vector(2, 1, 2, mpi.TypeOf[int32]())
	unit := []byte("head")
	for _, pack := range []func() ([]byte, error){
		func() ([]byte, error) { return mpi.Pack(unit, position, nil) },
		func() ([]byte, error) { return mpi.Pack(unit, ids, even) },
		func() ([]byte, error) { return mpi.Pack(unit, ids[:0], nil) },
		func() ([]byte, error) { return mpi.Pack(unit, []bool{true}, nil) },
	} {
		var err error
		unit, err = pack()
		t.must(err)
	}
	size := len("head")
	n, err := mpi.PackSize(position, nil)
	t.must(err)
	size += n
	n, err = mpi.PackSize(ids, even)
	t.must(err)
	size += n + 1
	want(t, "the length", len(unit), size)
	want(t, "what was there before", string(unit[:4]), "head")

	gotPosition, gotIDs, gotTruth := make([]float64, 3), make([]int32, 4), make([]bool, 1)
	rest, err := mpi.Unpack(unit[4:], gotPosition, nil)
	t.must(err)
	rest, err = mpi.Unpack(rest, gotIDs[1:], even)
	t.must(err)
	rest, err = mpi.Unpack(rest, gotTruth, nil)
	t.must(err)
	want(t, "what is left", len(rest), 0)
	wantSlice(t, "position", gotPosition, position)
	wantSlice(t, "ids", gotIDs, []int32{0, 7, 0, 9})
	want(t, "truth", gotTruth[0], true)
}

func packTravels(t *T, c *mpi.Comm) {
	column := mpi.Vector(3, 1, 2, mpi.TypeOf[float64]())
	packed, err := mpi.Pack(nil, []float64{1, 2, 3, 4, 5, 6}, column)
	t.must(err)
	s := mpi.Isend(c, packed, right(c), 1)
	came, _, err := mpi.RecvNew[byte](c, left(c), 1)
	t.must(err)
	into := make([]float64, 3)
	_, err = mpi.Unpack(came, into, nil)
	t.must(err)
	wantSlice(t, "the column", into, []float64{1, 3, 5})
	_, err = s.Wait()
	t.must(err)
}

func packErrors(t *T, c *mpi.Comm) {
	row := mpi.Contiguous(4, mpi.TypeOf[float64]())
	unit := []byte("head")
	into := []float64{1, 2, 3, 4}
	for what, pack := range map[string]func() ([]byte, error){
		"Pack":         func() ([]byte, error) { return mpi.Pack(unit, into[:3], row) },
		"PackExternal": func() ([]byte, error) { return mpi.PackExternal(unit, into[:3], row) },
	} {
		got, err := pack()
		wantError(t, what+" of too little", err, mpi.ErrBuffer, what, "to byte 32", "24 bytes")
		want(t, "the unit after "+what, string(got), "head")
	}
	_, err := mpi.Pack(unit, []int64{1, 2, 3, 4}, row)
	wantError(t, "Pack of another type", err, mpi.ErrType, "float64", "int64")
	_, err = mpi.Pack(unit, []string{"text"}, nil)
	wantError(t, "Pack of objects", err, mpi.ErrType, "string")
	_, err = mpi.PackSize(into[:3], row)
	wantError(t, "PackSize", err, mpi.ErrBuffer, "PackSize")
	_, err = mpi.PackExternalSize(into, mpi.Contiguous(-1, row))
	wantError(t, "PackExternalSize", err, mpi.ErrCount, "PackExternalSize", "-1")
	short := make([]byte, 31)
	for what, unpack := range map[string]func() ([]byte, error){
		"Unpack":         func() ([]byte, error) { return mpi.Unpack(short, into, row) },
		"UnpackExternal": func() ([]byte, error) { return mpi.UnpackExternal(short, into, nil) },
	} {
		rest, err := unpack()
		wantError(t, what+" of too little", err, mpi.ErrTruncate, what, "31 bytes", "32")
		want(t, "what is left after "+what, len(rest), 31)
		wantSlice(t, "the buffer after "+what, into, []float64{1, 2, 3, 4})
	}
}

func packExternal(t *T, c *mpi.Comm) {
	type cell struct {
		ID int16
		V  float64
		Z  complex64
		N  int
	}
	cells := []cell{{ID: 258, V: -1.5, Z: complex(1, -2), N: -2}}
	got, err := mpi.PackExternal([]byte{9}, cells, nil)
	t.must(err)
	wantSlice(t, "external32", got, []byte{9, 1, 2, 0xbf, 0xf8, 0, 0, 0, 0, 0, 0, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})
	size, err := mpi.PackExternalSize(cells, nil)
	t.must(err)
	want(t, "the size", size, len(got)-1)
	into := make([]cell, 1)
	rest, err := mpi.UnpackExternal(append(got[1:], 5), into, nil)
	t.must(err)
	wantSlice(t, "what is left", rest, []byte{5})
	want(t, "the cell", into[0], cells[0])
	// By any layout, and of values that have no number.
	odd := mpi.Vector(3, 1, 2, mpi.TypeOf[float32]())
	values := []float32{0, float32(math.Inf(-1)), 0, float32(math.NaN()), 0, 3}
	got, err = mpi.PackExternal(nil, values[1:], odd)
	t.must(err)
	want(t, "the length", len(got), 12)
	wantSlice(t, "infinity", got[:4], []byte{0xff, 0x80, 0, 0})
	back := make([]float32, 5)
	_, err = mpi.UnpackExternal(got, back, odd)
	t.must(err)
	want(t, "the last", back[4], 3)
	want(t, "not a number", back[2] != back[2], true)
}

func countElements(t *T, c *mpi.Comm) {
	float := mpi.TypeOf[float32]()
	pair := mpi.Contiguous(2, float)
	mixed := mpi.Struct([]int{1, 2}, []int{0, 8}, []*mpi.Datatype{mpi.TypeOf[float64](), float})
	for n, expect := range []struct{ pairs, floats, mixed, parts int }{
		{0, 0, 0, 0}, {mpi.Undefined, 1, mpi.Undefined, mpi.Undefined}, {1, 2, mpi.Undefined, 1},
		{mpi.Undefined, 3, mpi.Undefined, 2}, {2, 4, 1, 3}, {mpi.Undefined, 5, mpi.Undefined, mpi.Undefined},
	} {
		s := mpi.Isend(c, make([]float32, n), right(c), 1)
		st, err := mpi.Recv(c, make([]float32, 10), left(c), 1)
		t.must(err)
		_, err = s.Wait()
		t.must(err)
		want(t, "the count of pairs", st.GetCount(pair), expect.pairs)
		want(t, "the elements in pairs", st.GetElements(pair), expect.floats)
		want(t, "the count of floats", st.GetCount(float), expect.floats)
		want(t, "the count of structs", st.GetCount(mixed), expect.mixed)
		want(t, "the elements in structs", st.GetElements(mixed), expect.parts)
		none := mpi.Undefined
		if n == 0 {
			none = 0
		}
		nothing := mpi.Contiguous(0, float)
		want(t, "the count of nothing", st.GetCount(nothing), none)
		want(t, "the elements in nothing", st.GetElements(nothing), none)
	}
	s := mpi.Isend(c, []string{"objects"}, right(c), 1)
	st, err := mpi.Recv(c, make([]string, 1), left(c), 1)
	t.must(err)
	_, err = s.Wait()
	t.must(err)
	want(t, "the count of objects", st.GetCount(float), mpi.Undefined)
	want(t, "the elements of objects", st.GetElements(float), mpi.Undefined)
}

func setElements(t *T, c *mpi.Comm) {
	mixed := mpi.Struct([]int{1, 2}, []int{0, 8}, []*mpi.Datatype{mpi.TypeOf[float64](), mpi.TypeOf[float32]()})
	for n := range 8 {
		r := c.GrequestStart(mpi.GeneralCallbacks{Query: func() (mpi.Status, error) {
			var st mpi.Status
			err := st.SetElements(mixed, n)
			return st, err
		}})
		t.must(r.Complete())
		st, err := r.Wait()
		t.must(err)
		count := mpi.Undefined
		if n%3 == 0 {
			count = n / 3
		}
		want(t, "the elements", st.GetElements(mixed), n)
		want(t, "the count", st.GetCount(mixed), count)
		want(t, "Count", st.Count, count)
	}
	var st mpi.Status
	t.must(st.SetElements(mpi.TypeOf[int32](), 3))
	want(t, "the count by type", mpi.GetCount[int32](st), 3)
	wantError(t, "fewer than none", st.SetElements(mixed, -1), mpi.ErrCount, "-1")
	wantError(t, "of nothing", st.SetElements(mpi.Contiguous(0, mixed), 1), mpi.ErrCount, "1 elements")
	wantError(t, "too many", st.SetElements(mixed, math.MaxInt), mpi.ErrCount)
	wantError(t, "of nil", st.SetElements(nil, 1), mpi.ErrType)
	want(t, "the count still", st.Count, 3)
	if !slices.Equal([]int{st.GetCount(mpi.TypeOf[int16]()), st.GetCount(mpi.TypeOf[float64]())}, []int{6, mpi.Undefined}) {
		t.Errorf("12 bytes are %d int16 and %d float64", st.GetCount(mpi.TypeOf[int16]()), st.GetCount(mpi.TypeOf[float64]()))
	}
}
