package ckpt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Mark says that a checkpoint is complete, and what it consists of. Its file is one line of JSON,
// and one with the CRC-64 of that in 16 hexadecimal digits.
type Mark struct {
	Format int
	Save
	Geometry string // how the ranks were arranged, for comparison
	Parts    []Part // by rank
}

// maxMark is the length of the longest mark, of 2^20 ranks.
const maxMark = 128 << 20

// WriteMark makes the checkpoint m count. Preconditions:
//   - all its parts are on the disk.
func (d *Dir) WriteMark(m Mark) error {
	m.Format = format
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := d.fs.makeDir(d.path); err != nil {
		return err
	}
	return writeWhole(d.fs, filepath.Join(d.path, markName(m.Version)), func(w io.Writer) error {
		_, err := w.Write(appendMark(line))
		return err
	})
}

func appendMark(line []byte) []byte {
	return fmt.Appendf(nil, "%s\n%016x\n", line, crc64.Checksum(line, sums))
}

// Marks are those of all checkpoints that count, the newest first, and what is wrong with marks
// that cannot be read, by version. A directory that is not there has none.
func (d *Dir) Marks() (marks []Mark, bad map[int64]error, err error) {
	names, err := d.names()
	bad = make(map[int64]error)
	for _, n := range names {
		if n.rank >= 0 || n.isNew {
			continue
		}
		m, err := d.readMark(n.version)
		if err != nil {
			bad[n.version] = err
			continue
		}
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Compare(b.Version, a.Version) })
	return marks, bad, err
}

// Newest is the newest version that has a mark, readable or not; -1 if there is none.
func (d *Dir) Newest() (int64, error) {
	names, err := d.names()
	newest := int64(-1)
	for _, n := range names {
		if n.rank < 0 && !n.isNew {
			newest = max(newest, n.version)
		}
	}
	return newest, err
}

func (d *Dir) readMark(version int64) (Mark, error) {
	path := filepath.Join(d.path, markName(version))
	text, err := readLimited(path, maxMark)
	if err != nil {
		return Mark{}, err
	}
	m, err := parseMark(text)
	if err == nil && m.Version != version {
		err = damaged("it is of version %d", m.Version)
	}
	if err != nil {
		return Mark{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// parseMark takes the text of a mark, as WriteMark writes it and in no other form.
func parseMark(text []byte) (Mark, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if !bytes.Equal(text, appendMark(line)) {
		return Mark{}, damaged("its checksum does not fit")
	}
	var m Mark
	if err := json.Unmarshal(line, &m); err != nil {
		return Mark{}, damaged("%v", err)
	}
	switch {
	case m.Format != format:
		return Mark{}, fmt.Errorf("a checkpoint in format %d, which another FitMPI has written; this one knows %d", m.Format, format)
	case m.Ranks != len(m.Parts) || m.Version < 0:
		return Mark{}, damaged("version %d of %d ranks with %d parts", m.Version, m.Ranks, len(m.Parts))
	}
	return m, nil
}

// Clean removes, of the files of a rank, those of versions that keep does not want, and what was
// not finished. Rank 0 also removes marks, and the parts of ranks that a job of so many ranks has
// not. It goes on after an error.
func (d *Dir) Clean(rank, ranks int, keep func(version int64) bool) error {
	names, err := d.names()
	errs := []error{err}
	for _, n := range names {
		isOurs := n.rank == rank || rank == 0 && (n.rank < 0 || n.rank >= ranks)
		if !isOurs || !n.isNew && keep(n.version) {
			continue
		}
		file := partName(n.version, n.rank)
		if n.rank < 0 {
			file = markName(n.version)
		}
		if n.isNew {
			file += unfinished
		}
		errs = append(errs, d.fs.remove(filepath.Join(d.path, file)))
	}
	return errors.Join(errs...)
}

// Remove removes the directory, if nothing is in it any more.
func (d *Dir) Remove() { d.fs.remove(d.path) }

// names are the files of ours, marks first: what is removed in this order is never a mark without
// its parts.
func (d *Dir) names() ([]name, error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []name
	for _, e := range entries {
		if n, ok := parseName(e.Name()); ok {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Compare(a.rank, b.rank) })
	return names, err
}
