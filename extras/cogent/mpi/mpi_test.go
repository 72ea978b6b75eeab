package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The ranks are processes, as the package's world is: this test's program, started by fitrun.

const envRank = "COGENT_TEST_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(envRank) == "" {
		os.Exit(m.Run())
	}
	LogErrors = false
	if WorldRank() != 0 || WorldSize() != 1 || IsOn() {
		fmt.Println("before Init it is on")
		os.Exit(1)
	}
	if _, err := NewComm(nil); !errors.Is(err, errNoInit) {
		fmt.Println("NewComm before Init:", err)
		os.Exit(1)
	}
	Init()
	if err := check(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	AllPrintf("%s\n", "well")
	Println("all", "well")
	Finalize()
	if !IsOn() {
		os.Exit(1)
	}
	os.Exit(0)
}

// equal is an error unless got is want.
func equal[T comparable](what string, got, want []T) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("rank %d: %s: %v, want %v", WorldRank(), what, got, want)
	}
	return nil
}

// check is what each of 3 ranks does.
func check() error {
	c, err := NewComm(nil)
	if err != nil {
		return err
	}
	return errors.Join(c.Barrier(), messages(c), reductions(c), collections(c), part(c))
}

func messages(c *Comm) error {
	r := c.Rank()
	if r == 0 {
		return errors.Join(c.SendF64(1, 5, []float64{1, 2}), c.SendInt(2, 6, nil), c.SendU8(2, 7, []byte("abc")))
	}
	if r == 1 {
		got := make([]float64, 2)
		return errors.Join(c.RecvF64(0, 5, got), equal("RecvF64", got, []float64{1, 2}))
	}
	got := make([]byte, 3)
	return errors.Join(c.RecvInt(0, 6, nil), c.RecvU8(0, 7, got), equal("RecvU8", got, []byte("abc")))
}

func reductions(c *Comm) error {
	r := c.Rank()
	var errs []error
	for op := OpSum; op <= OpBOR; op++ {
		want := []int32{9, 4, 2, 24, 1, 1, 0, 7}[op]
		got := []int32{0}
		errs = append(errs, c.AllReduceI32(op, got, []int32{int32(r + 2)}), equal(op.String(), got, []int32{want}))
	}
	for op := OpSum; op <= OpProd; op++ {
		got := []float32{float32(r + 2)}
		errs = append(errs, c.AllReduceF32(op, got, nil), equal("in place "+op.String(), got, []float32{[]float32{9, 4, 2, 24}[op]}))
	}
	z := []complex128{complex(0, float64(r))}
	sum := []complex128{0}
	errs = append(errs, c.AllReduceC128(OpSum, sum, z), equal("C128", sum, []complex128{3i}))
	if c.AllReduceC128(OpMax, sum, z) == nil || c.AllReduceF64(OpBOR, []float64{1}, []float64{1}) == nil || c.AllReduceInt(99, []int{1}, []int{1}) == nil {
		errs = append(errs, errors.New("operations are taken that the type does not have"))
	}
	var dest []uint64
	if r == 2 {
		dest = []uint64{0, 0}
	}
	errs = append(errs, c.ReduceU64(2, OpSum, dest, []uint64{1, uint64(r)}))
	if r == 2 {
		errs = append(errs, equal("Reduce", dest, []uint64{3, 3}))
	}
	return errors.Join(errs...)
}

func collections(c *Comm) error {
	r := int16(c.Rank())
	b := []int16{r, r}
	err := errors.Join(c.BcastI16(1, b), equal("Bcast", b, []int16{1, 1}))
	all := make([]int16, 6)
	err = errors.Join(err, c.AllGatherI16(all, []int16{r, -r}), equal("AllGather", all, []int16{0, 0, 1, -1, 2, -2}))
	var whole []int16
	if r == 1 {
		whole = make([]int16, 3)
	}
	err = errors.Join(err, c.GatherI16(1, whole, []int16{10 * r}))
	if r == 1 {
		err = errors.Join(err, equal("Gather", whole, []int16{0, 10, 20}))
	}
	got := make([]int16, 1)
	return errors.Join(err, c.ScatterI16(1, got, whole), equal("Scatter", got, []int16{10 * r}))
}

// part is a communicator of ranks 2 and 0.
func part(c *Comm) error {
	p, err := NewComm([]int{2, 0})
	if err != nil {
		return err
	}
	if c.Rank() == 1 {
		if p.Rank() != -1 || p.Size() != 0 || !errors.Is(p.Barrier(), ErrNotMember) {
			return errors.New("a rank that is not in a communicator may use it")
		}
		return nil
	}
	if p.Size() != 2 || p.Rank() != map[int]int{2: 0, 0: 1}[c.Rank()] {
		return fmt.Errorf("rank %d is %d of %d", c.Rank(), p.Rank(), p.Size())
	}
	all := make([]int, 2)
	return errors.Join(p.AllGatherInt(all, []int{c.Rank()}), equal("part", all, []int{2, 0}))
}

// build builds programs and fitrun, which is in the module above.
func build(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range [][]string{
		{"build", "-C", "../../..", "-o", filepath.Join(dir, "fitrun"), "./cmd/fitrun"},
		{"build", "-o", filepath.Join(dir, "example"), "../example"},
	} {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func TestJobs(t *testing.T) {
	dir := build(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "fitrun"), "-n", "3", "--timeout", "60s", self)
	cmd.Env = append(os.Environ(), envRank+"=1")
	out, err := cmd.CombinedOutput()
	lines := slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(string(out)), "\n")))
	if err != nil || !slices.Equal(lines, []string{"P0: well", "P1: well", "P2: well", "all well"}) {
		t.Errorf("%v\n%s", err, out)
	}
	const want = "24 trials in 400 epochs: the largest error is below 1e-4: true\n"
	for _, n := range []string{"1", "2", "4"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "fitrun"), "-n", n, "--timeout", "60s", filepath.Join(dir, "example")).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("the example on %s ranks: %v\n%s", n, err, out)
		}
	}
}
