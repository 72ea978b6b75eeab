package mpi_test

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/fitmpi/fitmpi/mpi"
)

// A column of a matrix is a block of one value in each row. The slice that it is laid over begins
// at the column's first value.
func ExampleVector() {
	const rows, cols = 3, 4
	matrix := []float64{
		0, 1, 2, 3,
		10, 11, 12, 13,
		20, 21, 22, 23,
	}
	column := mpi.Vector(rows, 1, cols, mpi.TypeOf[float64]())
	packed, err := mpi.Pack(nil, matrix[2:], column)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := make([]float64, rows)
	_, err = mpi.Unpack(packed, values, nil)
	fmt.Println(values, err)
	// Output: [2 12 22] <nil>
}

// Several columns are columns again, each one value after the one before: that is what Resized is
// for.
func ExampleResized() {
	matrix := []int32{
		0, 1, 2, 3,
		10, 11, 12, 13,
	}
	column := mpi.Vector(2, 1, 4, mpi.TypeOf[int32]())
	columns := mpi.Contiguous(3, mpi.Resized(column, 0, 4))
	packed, err := mpi.Pack(nil, matrix, columns)
	if err != nil {
		fmt.Println(err)
		return
	}
	transposed := make([]int32, 6)
	_, err = mpi.Unpack(packed, transposed, nil)
	fmt.Println(transposed, err)
	// Output: [0 10 1 11 2 12] <nil>
}

// The inside of a grid that has a border of one value.
func ExampleSubarray() {
	const ny, nx = 4, 5
	grid := make([]int, ny*nx)
	inside := mpi.Subarray([]int{ny, nx}, []int{ny - 2, nx - 2}, []int{1, 1}, mpi.OrderC, mpi.TypeOf[int]())
	packed, err := mpi.Pack(nil, []int{1, 2, 3, 4, 5, 6}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := mpi.Unpack(packed, grid, inside); err != nil {
		fmt.Println(err)
		return
	}
	for y := range ny {
		fmt.Println(grid[y*nx : (y+1)*nx])
	}
	// Output:
	// [0 0 0 0 0]
	// [0 1 2 3 0]
	// [0 4 5 6 0]
	// [0 0 0 0 0]
}

// particle has padding after ID.
type particle struct {
	ID       int32
	Position [3]float64
	Velocity [3]float64
}

// The datatype of a Go struct is its fields, without its padding.
func ExampleTypeOf() {
	t := mpi.TypeOf[particle]()
	_, extent := t.Extent()
	fmt.Println(t, "has", t.Size(), "bytes of data in", extent)
	// Output: mpi_test.particle has 52 bytes of data in 56
}

// Some fields of each struct of a slice.
func ExampleStruct() {
	field, _ := reflect.TypeFor[particle]().FieldByName("Position")
	position := mpi.Struct([]int{3}, []int{int(field.Offset)}, []*mpi.Datatype{mpi.TypeOf[float64]()})
	_, extent := mpi.TypeOf[particle]().Extent()
	each := mpi.Resized(position, 0, extent)
	particles := []particle{{ID: 1, Position: [3]float64{1, 2, 3}}, {ID: 2, Position: [3]float64{4, 5, 6}}}
	packed, err := mpi.Pack(nil, particles, mpi.Contiguous(len(particles), each))
	if err != nil {
		fmt.Println(err)
		return
	}
	positions := make([][3]float64, len(particles))
	_, err = mpi.Unpack(packed, positions, nil)
	fmt.Println(positions, err)
	// Output: [[1 2 3] [4 5 6]] <nil>
}

// Values of several types become one message of bytes.
func ExamplePack() {
	var message []byte
	message, err := mpi.Pack(message, []int32{3}, nil)
	if err == nil {
		message, err = mpi.Pack(message, []float64{0.5, 1.5, 2.5}, nil)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	n := make([]int32, 1)
	rest, err := mpi.Unpack(message, n, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	values := make([]float64, n[0])
	rest, err = mpi.Unpack(rest, values, nil)
	fmt.Println(len(message), "bytes:", values, len(rest), err)
	// Output: 28 bytes: [0.5 1.5 2.5] 0 <nil>
}

// external32 is what other MPI libraries read.
func ExamplePackExternal() {
	b, err := mpi.PackExternal(nil, []int32{1, -2}, nil)
	fmt.Printf("% x %v\n", b, err)
	// Output: 00 00 00 01 ff ff ff fe <nil>
}

// What a datatype cannot do it says by name, when it is used or asked.
func ExampleDatatype_Err() {
	t := mpi.Vector(2, 1, 3, mpi.Contiguous(-1, mpi.TypeOf[float64]()))
	fmt.Println(errors.Is(t.Err(), mpi.ErrCount), errors.Unwrap(t.Err()))
	_, err := mpi.Pack(nil, []int{1, 2}, mpi.Contiguous(2, mpi.TypeOf[float64]()))
	fmt.Println(errors.Is(err, mpi.ErrType), errors.Unwrap(err))
	// Output:
	// true the count is -1: need 0 or more
	// true Contiguous(2, float64) has a float64 at byte 0, where the buffer of int has an int64: use the same type, or a buffer of bytes
}

// A datatype tells how it was made.
func ExampleDatatype_Contents() {
	t := mpi.Vector(3, 1, 8, mpi.TypeOf[float64]())
	c := t.Contents()
	fmt.Println(t)
	fmt.Println(c.Combiner, c.Count, c.BlockLen, c.Stride, c.Types[0])
	// Output:
	// Vector(3, 1, 8, float64)
	// Vector 3 1 8 float64
}
