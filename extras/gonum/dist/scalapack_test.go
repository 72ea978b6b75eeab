package dist

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/fitmpi/fitmpi/mpi"
	"github.com/fitmpi/fitmpi/mpi/mpitest"
)

// What ranks compute is what ScaLAPACK computes with the same matrices, in the same blocks over a
// grid of the same shape (testdata/scalapack.c).
func TestScaLAPACK(t *testing.T) {
	program := scalapack(t)
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%d ranks, %d in %d", s.ranks, s.n, s.block), func(t *testing.T) {
			fa, fg := positive(s.n), func(i, j int) float64 { return element(5, i, j) }
			a, g, b := dense(s.n, s.n, fa), dense(s.n, s.n, fg), dense(s.n, 2, func(i, j int) float64 { return element(6, i, j) })
			dims, err := mpi.DimsCreate(s.ranks, make([]int, 2)) // as NewGrid has it
			if err != nil {
				t.Fatal(err)
			}
			theirs := solvedBy(t, program, dims[0], dims[1], s.block, a, g, b)
			mpitest.Run(t, s.ranks, func(ctx context.Context, world *mpi.Comm) error {
				grid, err := NewGrid(world)
				if err != nil {
					return err
				}
				defer grid.Free()
				return comparedWith(theirs, grid, s.n, s.block, fa, fg, b)
			})
		})
	}
}

// comparedWith computes the same, and compares.
func comparedWith(theirs [3]*mat.Dense, grid *Grid, n, block int, fa, fg func(i, j int) float64, b *mat.Dense) error {
	a, err := filled(grid, n, n, block, fa)
	if err != nil {
		return err
	}
	g, err := filled(grid, n, n, block, fg)
	if err != nil {
		return err
	}
	product, err := New(grid, n, n, block)
	if err != nil {
		return err
	}
	if err := Mul(product, a, g); err != nil {
		return err
	}
	f, err := Cholesky(a)
	if err != nil {
		return err
	}
	x, err := f.Solve(b)
	if err != nil {
		return err
	}
	if !mat.EqualApprox(x, theirs[2], 1e-12) {
		return fmt.Errorf("x is\n%v\nby ScaLAPACK\n%v", mat.Formatted(x), mat.Formatted(theirs[2]))
	}
	factor := theirs[1]
	a.each(func(i, j int, x *float64) {
		if i < j { // what was there has stayed in both
			*x = factor.At(i, j)
		}
	})
	return errors.Join(same(product, theirs[0], 1e-12*float64(n)), same(a, factor, 1e-12*float64(n)))
}

// solvedBy is what the program makes of the matrices: a product, a factor and a solution.
func solvedBy(t *testing.T, program string, rows, cols, block int, a, g, b *mat.Dense) (results [3]*mat.Dense) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	var all bytes.Buffer
	for _, m := range []*mat.Dense{a, g, b} {
		binary.Write(&all, binary.NativeEndian, m.RawMatrix().Data)
	}
	if err := os.WriteFile(in, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	n := a.RawMatrix().Rows
	cmd := exec.Command("mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", fmt.Sprint(rows*cols), program,
		fmt.Sprint(n), fmt.Sprint(rows), fmt.Sprint(cols), fmt.Sprint(block), in, out)
	session, err := os.MkdirTemp("", "mpirun") // another mpirun would remove what this one needs; a short name, for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(session)
	cmd.Env = append(os.Environ(), "OMPI_MCA_orte_tmpdir_base="+session)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, said)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, width := range []int{n, n, 2} {
		results[i] = mat.NewDense(n, width, nil)
		if err := binary.Read(f, binary.NativeEndian, results[i].RawMatrix().Data); err != nil {
			t.Fatal(err)
		}
	}
	return results
}

// scalapack builds the program. Without a compiler and the library the test is skipped.
func scalapack(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("mpicc.openmpi"); err != nil {
		t.Skip("no ScaLAPACK: it needs Debian's libopenmpi-dev and libscalapack-openmpi-dev")
	}
	program := filepath.Join(t.TempDir(), "scalapack")
	said, err := exec.Command("mpicc.openmpi", "-O2", "-o", program, "testdata/scalapack.c", "-lscalapack-openmpi").CombinedOutput()
	if err != nil && bytes.Contains(said, []byte("cannot find -lscalapack-openmpi")) {
		t.Skip("no ScaLAPACK: it needs Debian's libscalapack-openmpi-dev")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return program
}
