package launch

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOutputIsPrivate: no other user can read what ranks write, whatever the umask.
func TestOutputIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "out")
	x := &runner{cfg: Config{OutputDir: dir}, job: &Job{Processes: []Process{{Ranks: []int{0}}, {Ranks: []int{1}}}}}
	if err := x.makeOutputDirs(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if seen++; info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the mode of %s is %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen != 1+2*3 {
		t.Errorf("%d files and directories, %v", seen, err)
	}
}
