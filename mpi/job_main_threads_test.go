package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// programs are those that FITMPI_RANKS runs as ranks of one process, by name.
var programs = map[string]struct {
	main    func()
	environ []string
	code    int
	want    []string // in what is said on standard output and standard error, in this order
}{
	"every kind": {main: func() { mpi.Main(everyKind) }, environ: []string{"FITMPI_RANKS=4"}, want: []string{"rank 0 of 4 is done"}},
	"survivors":  {main: func() { mpi.Main(survive) }, environ: []string{"FITMPI_RANKS=4", "FITMPI_FT=1"}, want: []string{"3 are left"}},
	"state": {main: func() {
		mpi.Main(func(context.Context, *mpi.Comm) error {
			if !mpi.Initialized() || mpi.Finalized() {
				return errors.New("Initialized or Finalized is wrong in Main")
			}
			return nil
		})
		fmt.Println(mpi.Initialized(), mpi.Finalized())
		_, err := mpi.Init()
		fmt.Println(err)
		mpi.Main(nil)
	}, environ: []string{"FITMPI_RANKS=2"}, code: 1, want: []string{"true true\n", "Init: ", "called twice, or after Main", "Main: ", "called after Init, or twice"}},
	"error": {main: func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			if world.Rank() == 1 {
				return errors.New("no such input: grid.dat")
			}
			return mpi.Barrier(world)
		})
	}, environ: []string{"FITMPI_RANKS=3"}, code: 1, want: []string{"fitmpi: rank 1: no such input: grid.dat\n"}},
	"abort": {main: func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			if world.Rank() == 1 {
				world.Abort(7, "enough")
			}
			return mpi.Barrier(world)
		})
	}, environ: []string{"FITMPI_RANKS=3"}, code: 7, want: []string{"fitmpi: rank 1 aborted the job with exit code 7: enough\n"}},
	"no number": {main: func() { mpi.Main(everyKind) }, environ: []string{"FITMPI_RANKS=four"}, code: 1,
		want: []string{"FITMPI_RANKS=four: want the number of ranks of this process, 1 to 1024\n"}},
	"too many": {main: func() { mpi.Main(everyKind) }, environ: []string{"FITMPI_RANKS=1025"}, code: 1,
		want: []string{"FITMPI_RANKS=1025: want the number of ranks of this process, 1 to 1024\n"}},
	"without Main": {main: func() {
		_, err := mpi.Init()
		fmt.Println(err)
		_, err = mpi.SessionInit(context.Background(), nil, nil)
		fmt.Println(err)
	}, environ: []string{"FITMPI_RANKS=2"}, want: []string{"Init: ", "FITMPI_RANKS=2: only Main runs several ranks in a process", "SessionInit: ", "only Main runs several ranks"}},
	"one": {main: func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			fmt.Println(world.Size(), "rank")
			return nil
		})
	}, environ: []string{"FITMPI_RANKS=1"}, want: []string{"1 rank\n"}},
}

const programVariable = "MAIN_THREADS_PROGRAM"

// TestMainThreads starts this test as each of programs.
func TestMainThreads(t *testing.T) {
	if name := os.Getenv(programVariable); name != "" {
		programs[name].main()
		os.Exit(0)
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMainThreads$")
			cmd.Env = append(append(os.Environ(), programVariable+"="+name, "FITMPI_LAUNCHER=none"), p.environ...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			code := 0
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				code = e.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != p.code {
				t.Errorf("exit code %d, want %d", code, p.code)
			}
			rest := string(out)
			for _, want := range p.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("it has not said %q, or not in order:\n%s", want, out)
				}
				rest = after
			}
		})
	}
}

// everyKind is a rank that uses each kind of communication once.
func everyKind(_ context.Context, world *mpi.Comm) error {
	for _, part := range []struct {
		name string
		run  func(*mpi.Comm) error
	}{{"messages", messages}, {"collectives", collectives}, {"datatypes", datatypes}, {"windows", windows}, {"shared memory", sharedMemory}, {"files", files}} {
		if err := part.run(world); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if world.Rank() == 0 {
		fmt.Printf("rank %d of %d is done\n", world.Rank(), world.Size())
	}
	return nil
}

func neighbours(c *mpi.Comm) (next, last int) {
	return (c.Rank() + 1) % c.Size(), (c.Rank() + c.Size() - 1) % c.Size()
}

func messages(c *mpi.Comm) error {
	next, last := neighbours(c)
	for _, n := range []int{0, 1, 1000, 1 << 20} {
		in, out := make([]int32, n), make([]int32, n)
		for i := range out {
			out[i] = int32(i + c.Rank())
		}
		r, s := mpi.Irecv(c, in, last, 0), mpi.Isend(c, out, next, 0)
		if _, err := mpi.WaitAll(r, s); err != nil {
			return err
		}
		if n > 0 && in[n-1] != int32(n-1+last) {
			return fmt.Errorf("%d elements: the last is %d", n, in[n-1])
		}
	}
	return nil
}

func collectives(c *mpi.Comm) error {
	sum, all := []int{0}, make([]int, c.Size())
	err := errors.Join(mpi.Allreduce(c, []int{c.Rank()}, sum, mpi.Sum), mpi.Allgather(c, []int{c.Rank() * c.Rank()}, all), mpi.Barrier(c))
	if want := c.Size() * (c.Size() - 1) / 2; err != nil || sum[0] != want || all[2] != 4 {
		return errors.Join(err, fmt.Errorf("the sum is %d, the squares are %v", sum[0], all))
	}
	return nil
}

// datatypes sends a column of a matrix.
func datatypes(c *mpi.Comm) error {
	const rows, columns = 5, 7
	column := mpi.Vector(rows, 1, columns, mpi.TypeOf[float64]())
	next, last := neighbours(c)
	const extent = (rows-1)*columns + 1
	out, in := make([]float64, extent), make([]float64, extent)
	for i := range out {
		out[i] = float64(100*c.Rank() + i)
	}
	w := c.WithType(column)
	r, s := mpi.Irecv(w, in, last, 1), mpi.Isend(w, out, next, 1)
	if _, err := mpi.WaitAll(r, s); err != nil {
		return err
	}
	if in[columns] != float64(100*last+columns) || in[1] != 0 {
		return fmt.Errorf("the column has come as %v", in)
	}
	return nil
}

func windows(c *mpi.Comm) error {
	mem := make([]int64, 2)
	win, err := mpi.WinCreate(c, mem, nil)
	if err != nil {
		return err
	}
	next, _ := neighbours(c)
	err = errors.Join(win.Fence(0), mpi.Put(win, []int64{int64(c.Rank())}, next, 0), mpi.Accumulate(win, []int64{1}, 0, 1, mpi.Sum), win.Fence(0))
	_, last := neighbours(c)
	if err == nil && (mem[0] != int64(last) || c.Rank() == 0 && mem[1] != int64(c.Size())) {
		err = fmt.Errorf("the window holds %v", mem)
	}
	return errors.Join(err, win.Free())
}

func sharedMemory(c *mpi.Comm) error {
	win, mem, err := mpi.WinAllocateShared[int64](c, 1, nil)
	if err != nil {
		return err
	}
	mem[0] = int64(c.Rank() + 1)
	err = win.Fence(0)
	all, allErr := mpi.WinSharedAll[int64](win)
	if err = errors.Join(err, allErr); err == nil && (len(all) != c.Size() || all[c.Size()-1] != int64(c.Size())) {
		err = fmt.Errorf("the memory holds %v", all)
	}
	return errors.Join(err, win.Fence(0), win.Free())
}

// files writes blocks of ranks by a view, appends lines by the shared pointer in atomic mode, and
// reads both.
func files(c *mpi.Comm) error {
	const name, n = "blocks", 3
	f, err := mpi.FileOpen(c, name, mpi.ModeCreate|mpi.ModeRdwr, nil)
	if err != nil {
		return err
	}
	mine := bytes.Repeat([]byte{'a' + byte(c.Rank())}, n)
	_, err = mpi.FileWriteAtAll(f, c.Rank()*n, mine)
	err = errors.Join(err, f.Sync()) // after which all have written
	got := make([]byte, n*c.Size())
	_, errRead := mpi.FileReadAtAll(f, 0, got)
	if err = errors.Join(err, errRead); err == nil && string(got) != "aaabbbcccddd" {
		err = fmt.Errorf("the file holds %q", got)
	}
	err = errors.Join(err, f.SetAtomicity(true), f.SeekShared(n*c.Size(), mpi.SeekSet))
	_, errShared := mpi.FileWriteShared(f, mine)
	err = errors.Join(err, errShared, f.Close())
	if err != nil {
		return err
	}
	if err := mpi.Barrier(c); err != nil {
		return err
	}
	whole, err := os.ReadFile(name)
	for r := range c.Size() {
		if err == nil && bytes.Count(whole, bytes.Repeat([]byte{'a' + byte(r)}, n)) != 2 {
			err = fmt.Errorf("the file holds %q", whole)
		}
	}
	hidden, _ := filepath.Glob(".*fitmpi*")
	if err == nil && len(hidden) > 0 {
		err = fmt.Errorf("files are left: %v", hidden)
	}
	return err
}

// survive loses a rank, and goes on with those that are left.
func survive(_ context.Context, world *mpi.Comm) error {
	if world.Rank() == 2 {
		world.Die()
	}
	if err := mpi.Barrier(world); !errors.Is(err, mpi.ErrProcFailed) && !errors.Is(err, mpi.ErrRevoked) {
		return fmt.Errorf("a barrier with a dead rank: %w", err)
	}
	if err := world.Revoke(); err != nil {
		return err
	}
	left, err := world.Shrink()
	if err != nil {
		return err
	}
	if left.Rank() == 0 {
		fmt.Println(left.Size(), "are left")
	}
	return mpi.Barrier(left)
}
