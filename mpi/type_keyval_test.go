package mpi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// MPI 4.1, section 7.7.4: attributes of datatypes, with copy and delete callbacks.
func TestTypeKeyval(t *testing.T) {
	var log []string
	broken := errors.New("broken")
	var deleteFails, copyFails error
	k := mpi.TypeKeyvalCreate(
		func(_ *mpi.Datatype, v int) (int, bool, error) { return v + 1, v != 7, copyFails },
		func(_ *mpi.Datatype, v int) error { log = append(log, fmt.Sprint("delete ", v)); return deleteFails })
	pair := mpi.Contiguous(2, mpi.TypeOf[int32]())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	value := func(d *mpi.Datatype, want int, is bool) {
		t.Helper()
		if v, ok := k.Get(d); v != want || ok != is {
			t.Errorf("the value is %d, %v, want %d, %v", v, ok, want, is)
		}
	}
	value(pair, 0, false)
	must(k.Set(pair, 3))
	value(pair, 3, true)
	value(pair.Dup(), 4, true)
	must(k.Set(pair, 7))
	value(pair.Dup(), 0, false) // its copy function says so
	if !slices.Equal(log, []string{"delete 3"}) {
		t.Errorf("the delete function was called so: %v", log)
	}
	deleteFails = broken
	if err := k.Set(pair, 8); !errors.Is(err, broken) {
		t.Errorf("Set with a delete function that fails: %v", err)
	}
	value(pair, 7, true)
	if err := k.Delete(pair); !errors.Is(err, broken) {
		t.Errorf("Delete with a delete function that fails: %v", err)
	}
	deleteFails = nil
	copyFails = broken
	if err := pair.Dup().Err(); !errors.Is(err, broken) {
		t.Errorf("Dup with a copy function that fails: %v", err)
	}
	must(k.Delete(pair))
	value(pair, 0, false)
}

func TestTypeKeyvalErrors(t *testing.T) {
	k := mpi.TypeKeyvalCreate[string](nil, nil)
	pair := mpi.Contiguous(2, mpi.TypeOf[int32]())
	for _, test := range []struct {
		what  string
		err   error
		class mpi.ErrorClass
	}{
		{"a Go type", k.Set(mpi.TypeOf[int32](), "x"), mpi.ErrType},
		{"a nil type", k.Set(nil, "x"), mpi.ErrType},
		{"a bad type", k.Set(mpi.Contiguous(-1, pair), "x"), mpi.ErrCount},
		{"no value", k.Delete(pair), mpi.ErrKeyval},
		{"a nil key", (*mpi.TypeKeyval[string])(nil).Set(pair, "x"), mpi.ErrKeyval},
	} {
		if !errors.Is(test.err, test.class) {
			t.Errorf("%s: error %v, want one of class %v", test.what, test.err, test.class)
		}
	}
	k.Free()
	if err := k.Set(pair, "x"); !errors.Is(err, mpi.ErrKeyval) {
		t.Errorf("a freed key: %v", err)
	}
}
