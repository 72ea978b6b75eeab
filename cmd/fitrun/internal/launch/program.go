//go:build linux

package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is what a name on the command line stands for: a binary, or a Go package yet to be built.
type Program struct {
	Name    string // as the user wrote it
	Path    string // absolute path of the binary; "" for a package
	Package string // what go build is to be given; "" for a binary
	Dir     string // where go build runs; "" is the current directory
}

// FindProgram finds out what name stands for. Its errors are one line that says what to do.
func FindProgram(name string) (Program, error) {
	if name == "" {
		return Program{}, errors.New("the program's name is empty; give a binary or a Go package")
	}
	st, err := os.Stat(name)
	isPath := strings.ContainsRune(name, '/') || name == "." || name == ".."
	switch {
	case !isPath:
		return findBare(name, st)
	case err == nil && st.IsDir():
		return findDir(name)
	case err == nil:
		return findFile(name, st)
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name) && !strings.HasPrefix(name, "."):
		return Program{Name: name, Package: name}, nil // an import path; go build has the last word
	case errors.Is(err, fs.ErrNotExist):
		return Program{}, fmt.Errorf("%s: no such file or directory; check the path", name)
	default:
		return Program{}, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
}

// FindProgramIn is FindProgram that looks for a bare name first in the directories of path, which
// has colons between them.
func FindProgramIn(name, path string) (Program, error) {
	if path != "" && name != "" && !strings.ContainsRune(name, '/') {
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				abs, err := filepath.Abs(file)
				return Program{Name: name, Path: abs}, err
			}
		}
	}
	return FindProgram(name)
}

// findBare finds a name without a slash: a command in PATH, else a directory here; st is nil if
// there is nothing here.
func findBare(name string, st fs.FileInfo) (Program, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
		return Program{Name: name, Path: path}, err
	}
	switch {
	case st == nil:
		return Program{}, fmt.Errorf("%s: not found in PATH, and no file or directory here; give a path such as ./%s, or a Go package", name, name)
	case st.IsDir() || strings.HasSuffix(name, ".go"):
		p, err := FindProgram("./" + name)
		p.Name = name
		return p, err
	default:
		return Program{}, fmt.Errorf("%s: not found in PATH; if you mean the file here, write ./%s", name, name)
	}
}

func findFile(name string, st fs.FileInfo) (Program, error) {
	if strings.HasSuffix(name, ".go") {
		return Program{Name: name, Package: name}, nil
	}
	if !st.Mode().IsRegular() {
		return Program{}, fmt.Errorf("%s: neither a program nor a directory; give a binary or a Go package", name)
	}
	if st.Mode()&0o111 == 0 {
		return Program{}, fmt.Errorf("%s: not executable; chmod +x it, or name a Go package instead", name)
	}
	path, err := filepath.Abs(name)
	return Program{Name: name, Path: path}, err
}

// findDir is for the directory of a Go package.
func findDir(name string) (Program, error) {
	files, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil || len(files) == 0 {
		return Program{}, fmt.Errorf("%s: a directory without Go files; name a binary, or the directory of a main package", name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", name, err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", name, err)
	}
	rel, err := filepath.Rel(here, abs)
	if err != nil || moduleRoot(abs) != moduleRoot(here) {
		return Program{Name: name, Package: ".", Dir: abs}, nil // of another module: go must run there
	}
	return Program{Name: name, Package: "./" + filepath.ToSlash(rel)}, nil // from here, so that errors name files as seen from here
}

// moduleRoot is the nearest directory from dir upwards with a go.mod, or "".
func moduleRoot(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
