package ckpt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
)

// A part is a header, the data, and a trailer; numbers are little-endian.
//
//	header   8 magic  4 format  4 rank  4 ranks  4 zero  8 version  8 save
//	trailer  8 length of the data  8 CRC-64 of all that is before it
const (
	magic      = "FitMPIck"
	format     = 1
	headerLen  = 40
	trailerLen = 16
	bufferLen  = 256 << 10
)

var sums = crc64.MakeTable(crc64.ECMA)

// Save names one saving of one version; its number is random, so that files of two attempts to save
// a version are told apart.
type Save struct {
	Version int64 // not negative
	Number  uint64
	Ranks   int
}

// Part says what a part must be.
type Part struct {
	Bytes int64  // of data
	Sum   uint64 // of the whole file but for its last 8 bytes, which hold it
}

func appendHeader(b []byte, s Save, rank int) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, format)
	b = binary.LittleEndian.AppendUint32(b, uint32(rank))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Ranks))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Version))
	return binary.LittleEndian.AppendUint64(b, s.Number)
}

// summing passes on what is written, and sums it up.
type summing struct {
	to  io.Writer
	sum hash.Hash64
	n   int64
}

func (s *summing) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.sum.Write(p[:n])
	s.n += int64(n)
	return n, err
}

// Dir is a directory of checkpoints. Its methods may be called by several processes, each for a
// rank of its own.
type Dir struct {
	path string
	fs   files
}

// NewDir is the checkpoints in path, which is made when something is saved.
func NewDir(path string) *Dir { return &Dir{path, disk{}} }

// String is the directory's path.
func (d *Dir) String() string { return d.path }

// WritePart saves what write writes as the part of a rank. An error leaves nothing of it. It
// returns when the part is on the disk.
func (d *Dir) WritePart(s Save, rank int, write func(io.Writer) error) (Part, error) {
	if err := d.fs.makeDir(d.path); err != nil {
		return Part{}, err
	}
	var p Part
	err := writeWhole(d.fs, filepath.Join(d.path, partName(s.Version, rank)), func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, bufferLen)
		out := &summing{to: buffered, sum: crc64.New(sums)}
		if _, err := out.Write(appendHeader(nil, s, rank)); err != nil {
			return err
		}
		if err := write(out); err != nil {
			return err
		}
		p.Bytes = out.n - headerLen
		out.Write(binary.LittleEndian.AppendUint64(nil, uint64(p.Bytes)))
		p.Sum = out.sum.Sum64()
		out.Write(binary.LittleEndian.AppendUint64(nil, p.Sum))
		return buffered.Flush() // which knows of every error before
	})
	return p, err
}

// DropPart removes the part of a rank, if there is one.
func (d *Dir) DropPart(version int64, rank int) error {
	return d.fs.remove(filepath.Join(d.path, partName(version, rank)))
}

// CheckPart reads the part of a rank, and fails if it is not, to the last byte, what was saved.
func (d *Dir) CheckPart(s Save, rank int, want Part) error {
	return d.ReadPart(s, rank, want, func(io.Reader) error { return nil })
}

// ReadPart gives the data of a part to the function read, which need not read all. It fails,
// perhaps after read was called, if the part is not what was saved. So a caller that must not see
// wrong data calls CheckPart before.
func (d *Dir) ReadPart(s Save, rank int, want Part, read func(io.Reader) error) error {
	path := filepath.Join(d.path, partName(s.Version, rank))
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := readPart(f, s, rank, want, read); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// DamageError says that a file is not what was saved.
type DamageError struct{ what string }

func (e *DamageError) Error() string { return "damaged: " + e.what }

func damaged(what string, args ...any) error { return &DamageError{fmt.Sprintf(what, args...)} }

func readPart(f *os.File, s Save, rank int, want Part, read func(io.Reader) error) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if size := want.Bytes + headerLen + trailerLen; st.Size() != size {
		return damaged("%d bytes, of %d that were saved", st.Size(), size)
	}
	sum := crc64.New(sums)
	in := io.TeeReader(bufio.NewReaderSize(f, int(min(st.Size(), bufferLen))), sum)
	header := make([]byte, headerLen)
	if _, err := io.ReadFull(in, header); err != nil {
		return err
	}
	if string(header) != string(appendHeader(nil, s, rank)) {
		return damaged("its header is not that of version %d, rank %d of %d, as it was saved", s.Version, rank, s.Ranks)
	}
	data := &io.LimitedReader{R: in, N: want.Bytes}
	failed := read(data)
	if _, err := io.Copy(io.Discard, data); err != nil {
		return errors.Join(failed, err)
	}
	trailer := make([]byte, trailerLen)
	if _, err := io.ReadFull(in, trailer[:8]); err != nil {
		return errors.Join(failed, err)
	}
	got := sum.Sum64()
	if _, err := io.ReadFull(in, trailer[8:]); err != nil {
		return errors.Join(failed, err)
	}
	if got != want.Sum || binary.LittleEndian.Uint64(trailer[8:]) != want.Sum || binary.LittleEndian.Uint64(trailer) != uint64(want.Bytes) {
		return damaged("its checksum is %016x, %016x was saved", got, want.Sum)
	}
	return failed
}
