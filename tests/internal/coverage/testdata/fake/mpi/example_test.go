package mpi_test

import (
	"fmt"

	"github.com/fitmpi/fitmpi/tests/internal/coverage/testdata/fake/mpi"
)

func ExampleBcast() {
	mpi.Bcast(nil, []int{1})
	fmt.Println("ok")
	// Output: ok
}

func ExampleComm_Dup() {
	new(mpi.Comm).Dup()
	// Output:
}

func ExampleComm_Name() {
	fmt.Println(new(mpi.Comm).Name()) // compiled only
}
