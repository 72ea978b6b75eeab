package mpi_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// saveState saves what tells version and rank.
func saveState(c *mpi.Comm, store mpi.Checkpoint, version int64) error {
	return store.Save(c, version, func(w io.Writer) error {
		for i := range 1000 {
			if err := binary.Write(w, binary.LittleEndian, version*1e6+int64(c.Rank()*1000+i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// wantState loads, and checks that it is the state of version; -1 is none.
func wantState(c *mpi.Comm, store mpi.Checkpoint, version int64) error {
	got, ok, err := store.Load(c, func(v int64, r io.Reader) error {
		state := make([]int64, 1000)
		if err := binary.Read(r, binary.LittleEndian, state); err != nil {
			return err
		}
		for i, x := range state {
			if want := v*1e6 + int64(c.Rank()*1000+i); x != want {
				return fmt.Errorf("element %d of version %d is %d, want %d", i, v, x, want)
			}
		}
		return nil
	})
	if err == nil && (ok != (version >= 0) || ok && got != version) {
		err = fmt.Errorf("version %d, %t was loaded, want %d", got, ok, version)
	}
	return err
}

// inThreads runs ranks with errors returned.
func inThreads(t *testing.T, n int, f func(c *mpi.Comm) error) {
	t.Helper()
	err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		return f(c)
	})
	if err != nil {
		t.Error(err)
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestCheckpoint(t *testing.T) {
	for n := 1; n <= 4; n++ {
		dir := filepath.Join(t.TempDir(), "ckpt")
		store := &mpi.FileCheckpoint{Dir: dir}
		inThreads(t, n, func(c *mpi.Comm) error {
			if err := wantState(c, store, -1); err != nil {
				return err
			}
			for _, v := range []int64{0, 3, 8} {
				if err := errors.Join(saveState(c, store, v), wantState(c, store, v)); err != nil {
					return err
				}
			}
			// A version that is not greater is refused at every rank, and changes nothing.
			if err := saveState(c, store, 8); !errors.Is(err, mpi.ErrArg) {
				return fmt.Errorf("the same version again: %v", err)
			}
			return wantState(c, store, 8)
		})
		if entries, _ := os.ReadDir(dir); len(entries) != n+1 {
			t.Errorf("%d files of %d ranks", len(entries), n)
		}
		inThreads(t, n, store.Clear)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("Clear leaves the directory: %v", err)
		}
	}
}

// What fails at one rank fails at all, says at which, and leaves the checkpoint before.
func TestCheckpointFails(t *testing.T) {
	dir := t.TempDir()
	store := &mpi.FileCheckpoint{Dir: dir}
	inThreads(t, 3, func(c *mpi.Comm) error {
		if err := saveState(c, store, 1); err != nil {
			return err
		}
		err := store.Save(c, 2, func(w io.Writer) error {
			if c.Rank() == 1 {
				io.WriteString(w, "half")
				return &os.PathError{Op: "write", Path: "part", Err: syscall.ENOSPC}
			}
			return nil
		})
		if !errors.Is(err, mpi.ErrNoSpace) || (c.Rank() == 1) != errors.Is(err, syscall.ENOSPC) || c.Rank() != 1 && !strings.Contains(err.Error(), "rank 1: write part: no space left") {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		if err := store.Save(c, int64(2+c.Rank()), func(io.Writer) error { return nil }); !errors.Is(err, mpi.ErrNotSame) {
			return fmt.Errorf("versions that differ: %v", err)
		}
		_, ok, err := store.Load(c, func(int64, io.Reader) error {
			if c.Rank() == 2 {
				return errors.New("no room")
			}
			return nil
		})
		if ok || err == nil || !strings.Contains(err.Error(), "no room") {
			return fmt.Errorf("a reader that fails: %v", err)
		}
		return wantState(c, store, 1)
	})
	wantFiles(t, dir, "v1.mark", "v1.rank0", "v1.rank1", "v1.rank2")

	file := filepath.Join(dir, "v1.mark")
	inThreads(t, 2, func(c *mpi.Comm) error { // below a file no directory can be made
		if err := saveState(c, &mpi.FileCheckpoint{Dir: file}, 1); !errors.Is(err, mpi.ErrIO) {
			return fmt.Errorf("a place that is none: %v", err)
		}
		return nil
	})
	inThreads(t, 2, func(c *mpi.Comm) error {
		if err := wantState(c, store, 1); !errors.Is(err, mpi.ErrTopology) || !strings.Contains(err.Error(), "is of 3 ranks, and world has 2 ranks") {
			return fmt.Errorf("another number of ranks: %v", err)
		}
		return nil
	})
	inThreads(t, 3, func(c *mpi.Comm) error {
		grid, err := c.CartCreate([]int{3}, []bool{false}, false)
		if err != nil {
			return err
		}
		if err := wantState(grid, store, 1); !errors.Is(err, mpi.ErrTopology) {
			return fmt.Errorf("another arrangement: %v", err)
		}
		return nil
	})
}

// Torn files are ignored and removed; a damaged part is an error at every rank, or leads to the
// checkpoint before.
func TestCheckpointDamaged(t *testing.T) {
	dir := t.TempDir()
	store := &mpi.FileCheckpoint{Dir: dir, Keep: 2}
	save := func(vs ...int64) {
		inThreads(t, 2, func(c *mpi.Comm) (err error) {
			for _, v := range vs {
				err = errors.Join(err, saveState(c, store, v))
			}
			return err
		})
	}
	save(1, 2, 3)
	whole := []string{"v2.mark", "v2.rank0", "v2.rank1", "v3.mark", "v3.rank0", "v3.rank1"}
	wantFiles(t, dir, whole...)
	for _, torn := range []string{"v4.rank0", "v4.rank1", "v4.mark.new", "v5.rank1.new", "v4.rank7"} {
		os.WriteFile(filepath.Join(dir, torn), []byte("torn"), 0o600)
	}
	inThreads(t, 2, func(c *mpi.Comm) error { return wantState(c, store, 3) })
	wantFiles(t, dir, whole...)

	damage(t, filepath.Join(dir, "v3.rank1"), 1234)
	inThreads(t, 2, func(c *mpi.Comm) error { return wantState(c, store, 2) })
	wantFiles(t, dir, whole...)
	damage(t, filepath.Join(dir, "v2.mark"), 20)
	inThreads(t, 2, func(c *mpi.Comm) error {
		if err := wantState(c, store, 2); !errors.Is(err, mpi.ErrIO) || !strings.Contains(err.Error(), "v3.rank1: damaged") {
			return fmt.Errorf("nothing whole is left: %v", err)
		}
		return nil
	})
	damage(t, filepath.Join(dir, "v3.mark"), 20)
	inThreads(t, 2, func(c *mpi.Comm) error {
		if err := wantState(c, store, 2); !errors.Is(err, mpi.ErrIO) || !strings.Contains(err.Error(), "v3.mark: damaged") {
			return fmt.Errorf("no mark is whole: %v", err)
		}
		return nil
	})
	wantFiles(t, dir, whole...)
	store.Keep = 0
	save(4)
	wantFiles(t, dir, "v4.mark", "v4.rank0", "v4.rank1")
}

// damage changes a byte of a file.
func damage(t *testing.T, path string, at int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		text[at] ^= 1
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ExampleFileCheckpoint() {
	dir, _ := os.MkdirTemp("", "checkpoint")
	defer os.RemoveAll(dir)
	job := func(_ context.Context, world *mpi.Comm) error {
		store, sum := &mpi.FileCheckpoint{Dir: dir}, int64(0)
		step, found, err := store.Load(world, func(_ int64, r io.Reader) error {
			return binary.Read(r, binary.LittleEndian, &sum)
		})
		if err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("from step", step, "found", found)
		}
		for ; step < 10; step++ {
			if step == 7 && !found {
				return nil // as if it died
			}
			if step > 0 && step%5 == 0 && !found {
				err := store.Save(world, step, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, sum) })
				if err != nil {
					return err
				}
			}
			sum += step
		}
		if world.Rank() == 0 {
			fmt.Println("the sum is", sum)
		}
		return store.Clear(world)
	}
	for range 2 {
		if err := mpi.RunThreads(2, job); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// from step 0 found false
	// from step 5 found true
	// the sum is 45
}
