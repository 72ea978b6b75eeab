//go:build !linux || fitmpi_portable

package sys

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestLockRange: ranges that meet exclude each other if one is to be written, in one file, whatever
// it was opened as.
func TestLockRange(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, again, b := open("a"), open("a"), open("b")
	for _, test := range []struct {
		name   string
		f      *os.File
		off, n int
		write  bool
		waits  bool
	}{
		{"the same", again, 10, 10, true, true}, {"a part, to read", again, 15, 1, false, true}, {"the end", again, 19, 5, true, true},
		{"behind it", again, 20, 5, true, false}, {"before it", again, 0, 10, true, false}, {"another file", b, 10, 10, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held = newLocks() // whose condition is of this bubble
				unlock, err := LockRange(a, 10, 10, true)
				if err != nil {
					t.Fatal(err)
				}
				got := make(chan struct{})
				go func() {
					defer close(got)
					free, err := LockRange(test.f, test.off, test.n, test.write)
					if err != nil {
						t.Error(err)
						return
					}
					free()
				}()
				synctest.Wait()
				select {
				case <-got:
					if test.waits {
						t.Error("it did not wait")
					}
				default:
					if !test.waits {
						t.Error("it waits")
					}
				}
				unlock()
				<-got
			})
		})
	}
	held = newLocks()
	first, err := LockRange(a, 0, 5, false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := LockRange(again, 0, 5, false) // readers do not exclude each other
	if err != nil {
		t.Fatal(err)
	}
	first()
	second()
}

// TestAllocate: a file grows by zeros, and never shrinks.
func TestAllocate(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("abc")
	for _, n := range []int{2, 3<<20 + 7, 5} {
		if err := Allocate(f, n); err != nil {
			t.Fatal(err)
		}
	}
	f.Seek(0, io.SeekStart)
	got, err := io.ReadAll(f)
	if want := append([]byte("abc"), make([]byte, 3<<20+4)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, or other bytes: %d of them, want %d", err, len(got), len(want))
	}
}

// TestPauser: a pause ends after its time, or when it is ended.
func TestPauser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := NewPauser()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		began := time.Now()
		if p.Pause(time.Second) || time.Since(began) != time.Second {
			t.Errorf("it was ended, or took %v", time.Since(began))
		}
		go p.End()
		if !p.Pause(time.Hour) || !p.Pause(time.Hour) || time.Since(began) != time.Second {
			t.Errorf("it was not ended, or took %v", time.Since(began))
		}
	})
}

// TestMapMemory: memory is zeroed, and what no machine has is an error.
func TestMapMemory(t *testing.T) {
	mem, mapping, err := MapMemory(1000)
	if err != nil || len(mem) != 1000 || !bytes.Equal(mem, make([]byte, 1000)) {
		t.Errorf("%d bytes, %v", len(mem), err)
	}
	if err := UnmapMemory(mapping); err != nil {
		t.Error(err)
	}
	if _, _, err := MapMemory(1 << 62); err == nil {
		t.Error("2^62 bytes are there")
	}
}
