package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A collective operation on a file may need a rank which has died. It then ends with an error of
// class ErrProcFailed at all others, whatever they wait for in it, and so do those that follow.
// Close closes the file all the same.
func TestFileWithoutARank(t *testing.T) {
	byteType := TypeOf[byte]()
	for name, op := range map[string]func(f *File, n int) error{
		"write in two phases": func(f *File, n int) error {
			_, err := FileWriteAll(f, make([]byte, 300_000))
			return err
		},
		"read in two phases": func(f *File, n int) error {
			_, err := FileReadAll(f, make([]byte, 300_000))
			return err
		},
		"by request": func(f *File, n int) error {
			_, err := FileIwriteAll(f, make([]byte, 300_000)).Wait()
			return err
		},
		"ordered": func(f *File, n int) error {
			_, err := FileWriteOrdered(f, make([]byte, 10))
			return err
		},
		"view":  func(f *File, n int) error { return f.SetView(0, byteType, byteType, "native", nil) },
		"size":  func(f *File, n int) error { return f.SetSize(7) },
		"sync":  func(f *File, n int) error { return f.Sync() },
		"close": func(f *File, n int) error { return f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 5
			path := filepath.Join(t.TempDir(), "file")
			err := runMortals(n, func(c *Comm) error {
				info := InfoCreate()
				if err := errors.Join(info.Set("romio_cb_write", "enable"), info.Set("romio_cb_read", "enable"), info.Set("cb_buffer_size", "5000")); err != nil {
					return err
				}
				f, err := FileOpen(c, path, ModeCreate|ModeRdwr, info)
				if err != nil {
					return err
				}
				// Rank 1 may be through with both before others are.
				err = f.SetView(100*c.Rank(), byteType, Resized(Contiguous(100, byteType), 0, 100*n), "native", nil)
				if err = errors.Join(err, Barrier(c)); err != nil && !errors.Is(err, ErrProcFailed) {
					return err
				}
				if c.Rank() == 1 {
					c.Die()
				}
				if err := op(f, n); !errors.Is(err, ErrProcFailed) {
					return fmt.Errorf("the operation: %v", err)
				}
				if name == "close" {
					return nil
				}
				if _, err := FileWriteAt(f, c.Rank(), []byte{1}); err != nil {
					return fmt.Errorf("one that needs nobody: %w", err)
				}
				if err := f.SetAtomicity(true); !errors.Is(err, ErrProcFailed) {
					return fmt.Errorf("the next operation: %v", err)
				}
				if err := f.Close(); !errors.Is(err, ErrProcFailed) {
					return fmt.Errorf("Close: %v", err)
				}
				if err := f.disk.Close(); !errors.Is(err, os.ErrClosed) {
					return fmt.Errorf("the file is open still: %v", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Where one rank cannot open the file no rank can, and what was made for it is removed.
func TestFileOpenFailsAtOne(t *testing.T) {
	dir := t.TempDir()
	err := RunThreads(3, func(_ context.Context, c *Comm) error {
		name := filepath.Join(dir, "file")
		if c.Rank() == 2 {
			name = filepath.Join(dir, "nowhere", "file")
		}
		_, err := FileOpen(c, name, ModeCreate|ModeRdwr, nil)
		if !errors.Is(err, ErrNoSuchFile) {
			return fmt.Errorf("rank %d: %v", c.Rank(), err)
		}
		if err := Barrier(c); err != nil {
			return err
		}
		if left, err := os.ReadDir(dir); len(left) != 0 {
			return fmt.Errorf("left: %v, %v", left, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The predefined handlers fit files.
func TestFileErrorsAreFatal(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		c.SetFileErrhandler(ErrorsAreFatal)
		_, err := FileOpen(c, filepath.Join("no", "such", "directory"), ModeRdonly, nil)
		return fmt.Errorf("went on: %w", err)
	})
	if err == nil || !strings.Contains(err.Error(), "no such file") || strings.Contains(err.Error(), "went on: <nil>") {
		t.Errorf("the job ended with %v", err)
	}
}
