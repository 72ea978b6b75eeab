package ckpt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// put saves version of a job of two ranks as mpi does, with data that tells the version and the
// rank.
func put(d *Dir, version int64) error {
	s := Save{version, rand.Uint64(), 2}
	m := Mark{Save: s, Geometry: "2 ranks"}
	for r := range 2 {
		p, err := d.WritePart(s, r, func(w io.Writer) error {
			_, err := w.Write(dataOf(version, r))
			return err
		})
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, p)
	}
	return d.WriteMark(m)
}

func dataOf(version int64, rank int) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("version %d of rank %d;", version, rank), 5))
}

// get is the newest checkpoint that is whole, and fails the test if its data are not what was
// saved.
func get(t *testing.T, d *Dir) (version int64, errs []error) {
	t.Helper()
	marks, bad, err := d.Marks()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range bad {
		errs = append(errs, err)
	}
	for _, m := range marks {
		var bad error
		for r, p := range m.Parts {
			bad = errors.Join(bad, d.ReadPart(m.Save, r, p, func(in io.Reader) error {
				got, err := io.ReadAll(in)
				if err == nil && !bytes.Equal(got, dataOf(m.Version, r)) {
					bad = errors.New("wrong data") // which an error of ReadPart must go with
				}
				return err
			}))
		}
		if bad == nil {
			return m.Version, errs
		}
		if bad.Error() == "wrong data" {
			t.Fatal("wrong data were read without an error")
		}
		errs = append(errs, bad)
	}
	return -1, errs
}

func TestSaveAndRead(t *testing.T) {
	d := NewDir(filepath.Join(t.TempDir(), "deep", "dir"))
	if v, errs := get(t, d); v != -1 || errs != nil {
		t.Fatalf("an empty directory has version %d, %v", v, errs)
	}
	for _, v := range []int64{0, 7, 42} {
		if err := put(d, v); err != nil {
			t.Fatal(err)
		}
		if got, errs := get(t, d); got != v || errs != nil {
			t.Fatalf("version %d, %v, want %d", got, errs, v)
		}
	}
	for path, mode := range map[string]os.FileMode{"": 0o700, "v42.rank1": 0o600, "v42.mark": 0o600} {
		if st, err := os.Stat(filepath.Join(d.path, path)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%q has mode %v, %v, want %v", path, st.Mode(), err, mode)
		}
	}
	for r := range 2 {
		if err := d.Clean(r, 2, func(v int64) bool { return v == 42 }); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, d); !slices.Equal(got, []string{"v42.mark", "v42.rank0", "v42.rank1"}) {
		t.Errorf("after Clean there are %q", got)
	}
}

func list(t *testing.T, d *Dir) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Whatever byte of whatever file has changed, wherever a file was cut or has grown: it is found,
// and the checkpoint before is read.
func TestEveryByteCounts(t *testing.T) {
	effort.Need(t, effort.Usual, "it damages every byte")
	d := NewDir(t.TempDir())
	for _, v := range []int64{1, 2} {
		if err := put(d, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"v2.mark", "v2.rank0", "v2.rank1"} {
		path := filepath.Join(d.path, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, text []byte) {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if v, errs := get(t, d); v != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), name) {
				t.Fatalf("%s with %s: version %d was read, errors %v", name, what, v, errs)
			}
		}
		for i := range whole {
			for _, flip := range []byte{0x20, 0xff} {
				text := bytes.Clone(whole)
				text[i] ^= flip
				try(fmt.Sprintf("byte %d ^ %#x", i, flip), text)
			}
			try(fmt.Sprintf("%d bytes only", i), whole[:i])
		}
		try("a byte more", append(bytes.Clone(whole), 0))
		try("a newline more", append(bytes.Clone(whole), '\n'))
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, errs := get(t, d); v != 2 || errs != nil {
			t.Fatalf("mended: version %d, %v", v, errs)
		}
	}
	// A part of another rank, or of another save of the same version, is none of this one.
	one, _ := os.ReadFile(filepath.Join(d.path, "v2.rank1"))
	os.WriteFile(filepath.Join(d.path, "v2.rank0"), one, 0o600)
	if v, errs := get(t, d); v != 1 || len(errs) != 1 {
		t.Errorf("another rank's part: version %d, %v", v, errs)
	}
	if _, err := d.WritePart(Save{2, 1, 2}, 0, func(w io.Writer) error { _, err := w.Write(dataOf(2, 0)); return err }); err != nil {
		t.Fatal(err)
	}
	if v, errs := get(t, d); v != 1 || len(errs) != 1 {
		t.Errorf("another save's part: version %d, %v", v, errs)
	}
}

// failing is a file system of which the call with a number fails, or all from it on; a write that
// fails has written half.
type failing struct {
	disk
	at, n  int
	always bool
	err    error
}

func (f *failing) fails() bool {
	f.n++
	return f.n == f.at || f.always && f.n > f.at
}

func (f *failing) makeDir(path string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.makeDir(path)
}

func (f *failing) create(path string) (file, error) {
	if f.fails() {
		return nil, f.err
	}
	to, err := f.disk.create(path)
	return &failingFile{to, f}, err
}

func (f *failing) rename(from, to string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.rename(from, to)
}

func (f *failing) remove(path string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.remove(path)
}

func (f *failing) syncDir(path string) error {
	if f.fails() {
		return f.err
	}
	return f.disk.syncDir(path)
}

type failingFile struct {
	file
	f *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if f.f.fails() {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, f.f.err
	}
	return f.file.Write(p)
}

func (f *failingFile) Sync() error {
	if f.f.fails() {
		return f.f.err
	}
	return f.file.Sync()
}

func (f *failingFile) Close() error {
	err := f.file.Close()
	if f.f.fails() {
		return f.f.err
	}
	return err
}

// Whichever call of the system fails, once or from then on: it is said, the checkpoint before
// stays, and the next save succeeds.
func TestDiskFails(t *testing.T) {
	for _, always := range []bool{false, true} {
		for at := 1; ; at++ {
			d := NewDir(t.TempDir())
			if err := put(d, 1); err != nil {
				t.Fatal(err)
			}
			f := &failing{at: at, always: always, err: syscall.ENOSPC}
			d.fs = f
			err := put(d, 2)
			d.fs = disk{}
			if f.n < at {
				if at < 15 {
					t.Fatalf("only %d calls were made", f.n)
				}
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("call %d failed, and the save says %v", at, err)
			}
			if v, errs := get(t, d); v != 1 && !(always && v == 2) || errs != nil {
				t.Fatalf("call %d failed, and version %d is read, %v", at, v, errs)
			}
			for r := range 2 {
				if err := d.Clean(r, 2, func(v int64) bool { return v == 1 }); err != nil {
					t.Fatal(err)
				}
			}
			if got := list(t, d); !slices.Equal(got, []string{"v1.mark", "v1.rank0", "v1.rank1"}) {
				t.Fatalf("call %d failed, and Clean leaves %q", at, got)
			}
			if err := put(d, 2); err != nil {
				t.Fatal(err)
			}
			if v, errs := get(t, d); v != 2 || errs != nil {
				t.Fatalf("then version %d is read, %v", v, errs)
			}
		}
	}
}

// What the caller's own function says, or panics with, leaves nothing.
func TestWriterFails(t *testing.T) {
	d := NewDir(t.TempDir())
	own := errors.New("own")
	if _, err := d.WritePart(Save{1, 1, 1}, 0, func(io.Writer) error { return own }); !errors.Is(err, own) {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		d.WritePart(Save{1, 1, 1}, 0, func(io.Writer) error { panic("boom") })
	}()
	if got := list(t, d); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
	if err := put(d, 1); err != nil {
		t.Fatal(err)
	}
	marks, _, _ := d.Marks()
	if err := d.ReadPart(marks[0].Save, 0, marks[0].Parts[0], func(io.Reader) error { return own }); !errors.Is(err, own) {
		t.Errorf("the error is %v", err)
	}
}

func TestParseName(t *testing.T) {
	for _, s := range []string{"v1.rank0", "v0.mark", "v12.rank34.new", "v9223372036854775807.mark.new"} {
		if n, ok := parseName(s); !ok {
			t.Errorf("%s: %+v", s, n)
		}
	}
	for _, s := range []string{"", ".new", "v1", "v1.rank", "v1.rank-1", "v+1.mark", "v01.mark", "v1.mark2", "v-1.mark", "v1.rank0.new.new", "v9223372036854775808.mark", "v1.rank0 ", "notes.txt"} {
		if n, ok := parseName(s); ok {
			t.Errorf("%q is taken for %+v", s, n)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add(appendMark([]byte(`{"Format":1,"Version":1,"Number":2,"Ranks":1,"Geometry":"","Parts":[{"Bytes":1,"Sum":2}]}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := parseMark(text); err == nil && len(m.Parts) != m.Ranks {
			t.Errorf("%+v", m)
		}
		parseMark(appendMark(text)) // a sum that fits
		parseName(string(text))
	})
}
