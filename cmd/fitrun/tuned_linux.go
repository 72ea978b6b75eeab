package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/params"
)

// Values that fitrun tune has found lie in a file of the user's, a line each, as in an environment:
// FITMPI_EAGER_MAX=128K. fitrun gives them to ranks as if they stood in its own environment, where
// that says nothing of the variable. So options, -x and the environment count before them.

// tunedFile is the variable that names the file, or none.
const tunedFile = "FITMPI_TUNED"

// noneTuned is its value that leaves the file alone.
const noneTuned = "none"

// tunable are the variables that the file may have.
var tunable = []string{"FITMPI_EAGER_MAX", "FITMPI_SOCKET_BUFFER", "FITMPI_CONGESTION", "FITMPI_SHM_COPY"}

// tunedPath is where the file is; "" if it is to be left alone, or there is no place for it.
func tunedPath(environ []string) string {
	if path, ok := last(environ, tunedFile); ok {
		if path == noneTuned {
			return ""
		}
		return path
	}
	if dir, ok := last(environ, "XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "fitmpi", "tuned")
	}
	if home, ok := last(environ, "HOME"); ok {
		return filepath.Join(home, ".config", "fitmpi", "tuned")
	}
	return ""
}

// tuned are the values of the file that environ does not have. A file with a mistake is not used,
// and that is said on stderr.
func tuned(environ []string, stderr io.Writer) []string {
	path := tunedPath(environ)
	if path == "" {
		return nil
	}
	set, err := readTuned(path)
	_, wanted := last(environ, tunedFile)
	switch {
	case err != nil && (wanted || !errors.Is(err, fs.ErrNotExist)):
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %v; no values of fitrun tune are used\n", err)
		return nil
	case err != nil:
		return nil
	}
	return slices.DeleteFunc(set, func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	})
}

func readTuned(path string) (set []string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := checkTuned(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		set = append(set, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return set, nil
}

func checkTuned(line string) error {
	name, value, ok := strings.Cut(line, "=")
	if !ok || !slices.Contains(tunable, name) {
		return fmt.Errorf("%.60q: want NAME=VALUE of %s", line, joined(tunable))
	}
	v, _ := params.Find(name)
	return v.Check(value)
}

// writeTuned replaces the file.
func writeTuned(path, comment string, set []string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var b strings.Builder
	for line := range strings.SplitSeq(comment, "\n") {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	for _, s := range set {
		fmt.Fprintln(&b, s)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tuned-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it has its name by then
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
