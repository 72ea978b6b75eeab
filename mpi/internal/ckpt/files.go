package ckpt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is what is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// files is the file system, as far as it is changed. Tests have one that fails.
type files interface {
	makeDir(path string) error
	create(path string) (file, error) // which is not there
	rename(from, to string) error
	remove(path string) error
	syncDir(path string) error
}

// disk is the real one.
type disk struct{}

func (disk) makeDir(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return disk{}.syncDir(filepath.Dir(path))
}

func (disk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (disk) rename(from, to string) error { return os.Rename(from, to) }

// remove takes what is not there for removed.
func (disk) remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (disk) syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, fs.ErrPermission) {
		err = nil // Windows has this for files only
	}
	return errors.Join(err, d.Close())
}

// unfinished ends the name of a file that is being written.
const unfinished = ".new"

// writeWhole makes path hold what write writes, or leaves it as it was: see the package comment.
func writeWhole(fsys files, path string, write func(io.Writer) error) (err error) {
	tmp := path + unfinished
	if err := fsys.remove(tmp); err != nil { // of a process that was killed
		return err
	}
	f, err := fsys.create(tmp)
	if err != nil {
		return err
	}
	isOpen := true
	defer func() {
		if r := recover(); r != nil || err != nil {
			if isOpen {
				f.Close()
			}
			fsys.remove(tmp)
			if r != nil {
				panic(r)
			}
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	isOpen = false
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.rename(tmp, path); err != nil {
		return err
	}
	if err := fsys.syncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, fsys.remove(path)) // it may vanish with the power: better now
	}
	return nil
}

// partName is the file of a rank's part.
func partName(version int64, rank int) string { return fmt.Sprintf("v%d.rank%d", version, rank) }

// markName is the file of a mark.
func markName(version int64) string { return fmt.Sprintf("v%d.mark", version) }

// name is what the name of a file of ours says.
type name struct {
	version int64
	rank    int // -1 for a mark
	isNew   bool
}

// parseName is the inverse of partName and markName, perhaps with unfinished behind. It takes those
// names only.
func parseName(s string) (n name, ok bool) {
	full := s
	if cut := len(s) - len(unfinished); cut > 0 && s[cut:] == unfinished {
		n.isNew, s = true, s[:cut]
	}
	if _, err := fmt.Sscanf(s, "v%d.rank%d", &n.version, &n.rank); err != nil {
		n.rank = -1
		if _, err := fmt.Sscanf(s, "v%d.mark", &n.version); err != nil {
			return n, false
		}
	}
	again := markName(n.version)
	if n.rank >= 0 {
		again = partName(n.version, n.rank)
	}
	if n.isNew {
		again += unfinished
	}
	return n, again == full && n.version >= 0
}
