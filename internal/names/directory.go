//go:build linux && !fitmpi_portable

package names

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// directory is names as files.
type directory struct{ root string } // "" is the user's own

// entry is what a file holds.
type entry struct {
	Port  string `json:"port"`
	PID   int    `json:"pid"`
	Began string `json:"began"` // as sys.StartOf
	Boot  string `json:"boot"`  // as sys.BootID: a process of an earlier one is gone
}

func (e *entry) isAlive() bool {
	began := sys.StartOf(e.PID)
	return e.Boot == sys.BootID() && began != "" && began == e.Began
}

// open is the directory, which it makes if it is not there. It is refused unless it is this user's
// alone.
func (d *directory) open() (string, error) {
	dir := d.root
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "fitmpi-names-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || st.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s: want a directory of this user's with mode 0700: remove it, or say %s", dir, Variable)
	}
	return dir, nil
}

// file is that of a service.
func (d *directory) file(service string) (string, error) {
	if err := check(service); err != nil {
		return "", err
	}
	dir, err := d.open()
	return filepath.Join(dir, "="+url.PathEscape(service)), err
}

func (d *directory) Publish(_ context.Context, service, port string) error {
	name, err := d.file(service)
	if err == nil {
		err = checkPort(port)
	}
	if err != nil {
		return err
	}
	pid := os.Getpid()
	data, err := json.Marshal(entry{port, pid, sys.StartOf(pid), sys.BootID()})
	if err != nil {
		return err
	}
	for {
		err := place(name, data)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		switch old, err := read(name); {
		case errors.Is(err, fs.ErrNotExist):
			continue // it was taken back meanwhile
		case err == nil && old.isAlive():
			return ErrTaken
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that is gone, or damaged
			return err
		}
	}
}

// place makes a file of a name that is not there, with all of data at once.
func place(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), name)
}

func read(name string) (e entry, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	return e, err
}

func (d *directory) Lookup(_ context.Context, service string) (string, error) {
	name, err := d.file(service)
	if err != nil {
		return "", err
	}
	switch e, err := read(name); {
	case errors.Is(err, fs.ErrNotExist), err == nil && !e.isAlive():
		return "", ErrUnknown
	case err != nil:
		return "", err
	default:
		return e.Port, nil
	}
}

func (d *directory) Unpublish(_ context.Context, service string) error {
	name, err := d.file(service)
	if err != nil {
		return err
	}
	if e, err := read(name); err != nil || e.PID != os.Getpid() || !e.isAlive() {
		return ErrUnknown
	}
	return os.Remove(name)
}
