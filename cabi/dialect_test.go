package cabi_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// foreignCompilers are the compilers of other libraries, by what their programs are called here.
var foreignCompilers = map[string]string{"mpich": "mpicc.mpich", "openmpi": "mpicc.openmpi"}

// foreign compiles a file in testdata with the compiler of another library, in which it is skipped
// if that is not there.
func foreign(t *testing.T, compiler, file string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("%s is not there: apt-get install mpich libmpich-dev openmpi-bin libopenmpi-dev gfortran", compiler)
	}
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(file, filepath.Ext(file)))
	var flags []string
	if filepath.Ext(file) == ".f90" {
		flags = []string{"-J", filepath.Dir(path)} // for modules
	}
	if out, err := exec.Command(compiler, append(flags, "-w", "-g", filepath.Join("testdata", file), "-o", path)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// Programs that were built for another library run on this one: fitrun sees which they want.
func TestForeign(t *testing.T) {
	t.Setenv("FITMPI_CABI", lib)
	programs := map[string]string{
		"mpich":   "foreign p2p comm datatype coll topology errors environment session signals profile window partitioned file tools",
		"openmpi": "foreign p2p topology errors environment signals profile window file tools",
	}
	for dialect, compiler := range foreignCompilers {
		for name := range strings.FieldsSeq(programs[dialect]) {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				check(t, foreign(t, compiler, name+".c"))
			})
		}
	}
}

// check runs a program on some ranks, over each transport.
func check(t *testing.T, program string) {
	t.Helper()
	for _, ranks := range []string{"1", "2", "4"} {
		for _, transport := range []string{"tcp", "shm"} {
			out, err := job(t, "-n", ranks, "--transport", transport, program)
			if err != nil || !strings.Contains(out, "all right") {
				t.Errorf("%s ranks over %s: %v\n%s", ranks, transport, err, out)
			}
		}
	}
}

// Programs in Fortran use MPICH's library for Fortran, on this one for C.
func TestFortran(t *testing.T) {
	t.Setenv("FITMPI_CABI", lib)
	for _, file := range []string{"fortran.f90", "old.f"} {
		t.Run(file, func(t *testing.T) {
			if _, err := exec.LookPath("gfortran"); err != nil {
				t.Skip("gfortran is not there: apt-get install gfortran libmpich-dev")
			}
			check(t, foreign(t, "mpifort.mpich", file))
		})
	}
}

// Where the library is not built, fitrun says so, and what the user says comes first.
func TestForeignNotBuilt(t *testing.T) {
	program := foreign(t, "mpicc.mpich", "deadlock.c")
	t.Setenv("FITMPI_CABI", "")
	t.Chdir(t.TempDir())
	out, err := job(t, "-n", "1", "--dry-run", program)
	if err == nil || !strings.Contains(out, "libmpich.so.12") || !strings.Contains(out, "./build -o") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(lib, "lib"))
	if out, err := job(t, "-n", "1", "--dry-run", program); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// python is Debian's, of which mpi4py is a package.
const python = "/usr/bin/python3"

// mpi4py of Debian, which Open MPI was built for, has all that its classes have.
func TestPython(t *testing.T) {
	if err := exec.Command(python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('mpi4py'))").Run(); err != nil {
		t.Skip("mpi4py is not there: apt-get install python3-mpi4py python3-numpy")
	}
	t.Setenv("FITMPI_CABI", lib)
	script, err := filepath.Abs("testdata/smoke.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []string{"1", "3"} {
		out, err := job(t, "-n", ranks, python, script)
		if err != nil || !strings.Contains(out, "all right") {
			t.Errorf("%s ranks: %v\n%s", ranks, err, out)
		}
	}
}
