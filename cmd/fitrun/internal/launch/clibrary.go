//go:build linux

package launch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cLibraries are the libraries in C that FitMPI can be, and of what they have the interface.
var cLibraries = map[string]string{
	"libmpi_abi.so.0": "the standard ABI of MPI",
	"libmpich.so.12":  "MPICH",
	"libmpi.so.40":    "Open MPI",
}

// goHalf is a file that lies beside each of them.
const goHalf = "libfitmpi_go.so"

// cLibraryVariable names the directory that they were built into.
const cLibraryVariable = "FITMPI_CABI"

// libraryPath is the variable by which programs find libraries.
const libraryPath = "LD_LIBRARY_PATH"

// FindCLibrary returns the directory of FitMPI's C library for a program, which its ranks get at
// the end of LD_LIBRARY_PATH; "" if they need none, or there is none. Scripts and programs that
// load the library as they run, as Python does, are given it too. set is what the environment of
// the program has more than this process's, as NAME=VALUE. A program that is linked with a library
// of MPI which nothing provides is an error: it would not start, or take another's library and be
// alone.
func FindCLibrary(p Program, set []string) (string, error) {
	if p.Package != "" {
		return "", nil
	}
	l := linkageOf(p.Path)
	if l.isStatic || l.has {
		return "", nil
	}
	dir, err := cLibraryDirectory()
	if dir != "" || err != nil || l.library == "" {
		return dir, err
	}
	path := ""
	for _, e := range slices.Concat(os.Environ(), set) {
		if v, ok := strings.CutPrefix(e, libraryPath+"="); ok {
			path = v
		}
	}
	if hasFile(filepath.SplitList(path), l.library) {
		return "", nil
	}
	return "", fmt.Errorf("%s was built for %s: FitMPI's own %s is not built yet, or not found; go -C cabi run ./build -o DIRECTORY builds it, and %s=DIRECTORY names it",
		p.Name, cLibraries[l.library], l.library, cLibraryVariable)
}

// linkage is how a program is linked.
type linkage struct {
	isStatic bool
	library  string // of MPI, if it is linked with one
	has      bool   // and names a directory itself that has FitMPI's
}

// linkageOf reads the linkage of a file. What is no binary may start one.
func linkageOf(path string) (l linkage) {
	f, err := elf.Open(path)
	if err != nil {
		return l
	}
	defer f.Close()
	l.isStatic = !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	needed, _ := f.ImportedLibraries()
	for _, name := range needed {
		if cLibraries[name] != "" {
			l.library = name
		}
	}
	if l.library == "" {
		return l
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		dirs, _ := f.DynString(tag)
		for _, list := range dirs {
			list = strings.ReplaceAll(list, "$ORIGIN", filepath.Dir(path))
			for _, dir := range filepath.SplitList(list) {
				l.has = l.has || hasFile([]string{dir}, l.library) && hasFile([]string{dir}, goHalf)
			}
		}
	}
	return l
}

// cLibraryDirectory is where the library is: below the directory that the variable names, in lib
// beside the directory of fitrun, or in cabi/out/lib of the directory around the working directory
// that has one.
func cLibraryDirectory() (string, error) {
	if named := os.Getenv(cLibraryVariable); named != "" {
		dir, err := filepath.Abs(filepath.Join(named, "lib"))
		if err == nil && !hasFile([]string{dir}, goHalf) {
			err = fmt.Errorf("%s=%s: no C library there; go -C cabi run ./build -o %s builds it", cLibraryVariable, named, named)
		}
		return dir, err
	}
	var dirs []string
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Join(filepath.Dir(filepath.Dir(self)), "lib"))
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; here = filepath.Dir(here) {
		dirs = append(dirs, filepath.Join(here, "cabi/out/lib"))
		if here == filepath.Dir(here) {
			break
		}
	}
	for _, dir := range dirs {
		if hasFile([]string{dir}, goHalf) {
			return dir, nil
		}
	}
	return "", nil
}

// hasFile reports whether one of some directories has a file.
func hasFile(dirs []string, name string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return dir != "" && err == nil
	})
}

// withLibraries is an environment in which programs look for libraries in dir too, after all that
// it names itself.
func withLibraries(env []string, dir string) []string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, libraryPath+"="); ok {
			if v != "" {
				dir = v + ":" + dir
			}
			break
		}
	}
	return append(env, libraryPath+"="+dir)
}
