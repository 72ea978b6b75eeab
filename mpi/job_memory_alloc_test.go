package mpi_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

func TestAllocMem(t *testing.T) {
	type cell struct {
		a float64
		b int32
	}
	for _, n := range []int{1, 1000, 1 << 20} {
		s, err := mpi.AllocMem[cell](n)
		if err != nil {
			t.Fatal(err)
		}
		if len(s) != n || cap(s) != n || s[0] != (cell{}) || s[n-1] != (cell{}) {
			t.Errorf("%d of %d elements, or not zero", len(s), cap(s))
		}
		s[0].a, s[n-1].b = 1, 1
		other, err := mpi.AllocMem[byte](n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 1 {
			if err := mpi.FreeMem(s[1:]); !errors.Is(err, mpi.ErrBase) {
				t.Errorf("a part that does not begin where the memory does: %v", err)
			}
		}
		if err := errors.Join(mpi.FreeMem(s[:0]), mpi.FreeMem(other)); err != nil {
			t.Error(err)
		}
		if err := mpi.FreeMem(other); !errors.Is(err, mpi.ErrBase) || !strings.Contains(err.Error(), "or was freed") {
			t.Errorf("freed twice: %v", err)
		}
	}
	for _, s := range [][]int{nil, {}} {
		if err := mpi.FreeMem(s); err != nil {
			t.Errorf("%#v: %v", s, err)
		}
	}
	if s, err := mpi.AllocMem[int](0); err != nil || s == nil || len(s) != 0 || mpi.FreeMem(s) != nil {
		t.Errorf("no elements: %v, %v", s, err)
	}
	if s, err := mpi.AllocMem[struct{}](5); err != nil || len(s) != 5 || mpi.FreeMem(s) != nil {
		t.Errorf("elements without size: %v, %v", s, err)
	}
}

func TestAllocMemErrors(t *testing.T) {
	_, negative := mpi.AllocMem[int](-1)
	_, huge := mpi.AllocMem[byte](1 << 60)
	_, beyond := mpi.AllocMem[int64](math.MaxInt)
	_, pointers := mpi.AllocMem[string](3)
	_, channel := mpi.AllocMem[chan int](3)
	for _, x := range []struct {
		what  string
		err   error
		class mpi.ErrorClass
	}{
		{"a negative number", negative, mpi.ErrArg}, {"too much", huge, mpi.ErrNoMem}, {"far too much", beyond, mpi.ErrNoMem},
		{"strings", pointers, mpi.ErrType}, {"channels", channel, mpi.ErrType},
		{"freeing memory of make", mpi.FreeMem(make([]int, 10)), mpi.ErrBase}, {"freeing strings", mpi.FreeMem([]string{"a"}), mpi.ErrBase},
	} {
		if !errors.Is(x.err, x.class) {
			t.Errorf("%s: %v, want an error of class %v", x.what, x.err, x.class)
		}
	}
}
