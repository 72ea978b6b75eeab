//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/shm"
)

// TestParts: where the parts of common memory lie, and what cannot be.
func TestParts(t *testing.T) {
	of := func(bytes, align int64) partEntry { return partEntry{Bytes: bytes, Align: align} }
	noncontig := func(e partEntry) partEntry { e.Apart = true; return e }
	for _, test := range []struct {
		what   string
		all    []partEntry
		begins []int
		total  int
		class  ErrorClass
		says   string
	}{
		{what: "one", all: []partEntry{of(10, 1)}, begins: []int{0}, total: 10},
		{what: "nothing", all: []partEntry{of(0, 8), of(0, 8)}, begins: []int{0, 0}},
		{what: "one after the other", all: []partEntry{of(8, 8), of(0, 8), of(24, 8)}, begins: []int{0, 8, 8}, total: 32},
		{what: "types that fit", all: []partEntry{of(8, 8), of(3, 1), of(1, 1)}, begins: []int{0, 8, 11}, total: 12},
		{what: "apart", all: []partEntry{noncontig(of(1, 1)), noncontig(of(apart, 8)), noncontig(of(5, 4))}, begins: []int{0, apart, 2 * apart}, total: 2*apart + 5},
		{what: "one does not ask for it", all: []partEntry{noncontig(of(4, 4)), of(4, 4)}, begins: []int{0, 4}, total: 8},
		{what: "types that do not", all: []partEntry{of(3, 1), of(8, 8)}, class: ErrRMAShared, says: "rank 1 would begin at byte 3"},
		{what: "wrong", all: []partEntry{of(8, 8), {Wrong: true, Align: 1}}, class: ErrRMAShared, says: "rank 1 gave wrong arguments"},
		{what: "far", all: []partEntry{{Far: true, Align: 1}, of(8, 8)}, class: ErrRMAShared, says: "rank 0 does not reach all others"},
		{what: "too much", all: []partEntry{of(math.MaxInt64/2, 1), of(math.MaxInt64/2, 1)}, class: ErrNoMem, says: "up to that of rank 1"},
	} {
		p, err := partsOf("WinAllocateShared", test.all)
		if test.class != Success {
			if err == nil || err.Class != test.class || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: error %v", test.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
		} else if fmt.Sprint(p.begins) != fmt.Sprint(test.begins) || p.total != test.total {
			t.Errorf("%s: the parts begin at %v of %d, want %v of %d", test.what, p.begins, p.total, test.begins, test.total)
		}
	}
}

// TestSharedWithTheDead: a rank that has failed is an error of the others, which do not wait for
// it, and leave nothing behind.
func TestSharedWithTheDead(t *testing.T) {
	for _, victim := range []int{0, 2} {
		err := Threads{Ranks: 3, FaultTolerant: true}.Run(t.Context(), func(_ context.Context, world *Comm) error {
			world.SetErrhandler(ErrorsReturn)
			if world.Rank() == victim {
				world.Die()
			}
			_, _, err := WinAllocateShared[int](world, 10, nil)
			if !errors.Is(err, ErrProcFailed) {
				return fmt.Errorf("rank %d: error %v, want one of class %v", world.Rank(), err, ErrProcFailed)
			}
			living, err := world.Shrink()
			if err != nil {
				return err
			}
			if err := Barrier(living); err != nil {
				return err
			}
			l := world.job.local
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.common) != 0 {
				return fmt.Errorf("rank %d: memory is left of a window that nobody has", world.Rank())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSharedGivesUp: memory that the machine does not have is an error of class ErrNoMem, not the
// end of the program.
func TestSharedGivesUp(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, world *Comm) error {
		world.SetErrhandler(ErrorsReturn)
		for _, n := range []int{1 << 45, 1 << 58, math.MaxInt / 8, math.MaxInt/8 + 1, math.MaxInt} {
			if _, _, err := WinAllocateShared[int64](world, n, nil); !errors.Is(err, ErrNoMem) {
				return fmt.Errorf("%d elements: error %v", n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestUnshare: a mapping ends with its last user, unless one of them may have something under way
// there.
func TestUnshare(t *testing.T) {
	for _, idle := range []bool{true, false} {
		f, loan, err := shm.Lend("fitmpi-window-test", 100)
		if err != nil {
			t.Fatal(err)
		}
		l := &local{}
		open := func() ([]byte, bool, error) {
			mem, err := shm.MapFile(f)
			return mem, true, err
		}
		first, err := l.share(7, open)
		second, err2 := l.share(7, func() ([]byte, bool, error) { return nil, false, errors.New("asked for twice") })
		if err := errors.Join(err, err2, f.Close()); err != nil {
			t.Fatal(err)
		}
		if &first.mem[0] != &second.mem[0] {
			t.Error("two mappings in one process")
		}
		mapped := func() bool {
			maps, err := os.ReadFile("/proc/self/maps")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(maps), loan.Name)
		}
		if err := l.unshare(7, idle); err != nil || !mapped() {
			t.Errorf("with a user left: mapped %t, %v", mapped(), err)
		}
		if err := l.unshare(7, true); err != nil || mapped() == idle || len(l.common) != 0 {
			t.Errorf("nobody left, and nothing under way is %t: mapped %t, %d kept, %v", idle, mapped(), len(l.common), err)
		}
		if !idle {
			if err := shm.UnmapFile(first.mem); err != nil {
				t.Error(err)
			}
		}
	}
}
