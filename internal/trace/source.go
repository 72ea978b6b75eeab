package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// What is passed on of a ring is what is used of it, behind this:
//
//	0   magic of a piece, 8 bytes
//	8   capacity of the ring, in events, 8 bytes; little-endian, as all here
//	16  bytes of names, 8 bytes
//	24  events, 8 bytes
//	32  the ring's header, its names, its events
const (
	pieceMagic = "FitMPItp"
	pieceSize  = 32
)

// Source reads what is to be passed on of the rings of a process, one behind the other. It is a
// crew.Source.
type Source struct {
	files []*os.File
	now   io.Reader
}

// NewSource makes a source of files, which it takes over. The process that writes them must be
// dead.
func NewSource(files []*os.File) *Source { return &Source{files: files} }

// Read implements io.Reader. A ring that nothing was noted in, as its process was no rank, is left
// out.
func (s *Source) Read(p []byte) (int, error) {
	for {
		if s.now != nil {
			n, err := s.now.Read(p)
			if n > 0 || err == nil {
				return n, nil
			}
			s.now = nil
			s.files[0].Close()
			s.files = s.files[1:]
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
		}
		if len(s.files) == 0 {
			return 0, io.EOF
		}
		r, err := piece(s.files[0])
		if err != nil {
			return 0, err
		}
		s.now = r
	}
}

// SetReadDeadline does nothing: what is read is memory.
func (s *Source) SetReadDeadline(time.Time) error { return nil }

// Close closes the files.
func (s *Source) Close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	s.files = nil
	return err
}

// piece reads what is used of the ring in f.
func piece(f *os.File) (io.Reader, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	all := capacity(st.Size())
	var header [headerSize]byte
	if _, err := f.ReadAt(header[:], 0); err != nil || all == 0 {
		return nil, errors.Join(errors.New("trace: this is no recording"), err)
	}
	order, ok := orderOf(header[:])
	if !ok {
		return eof{}, nil
	}
	names := min(order.Uint64(header[usedAt:]), namesSize)
	events := min(order.Uint64(header[nextAt:]), all)
	head := []byte(pieceMagic)
	for _, v := range []uint64{all, names, events} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	return io.MultiReader(bytes.NewReader(head), io.NewSectionReader(f, 0, headerSize+int64(names)),
		io.NewSectionReader(f, eventsAt, int64(events)*eventSize)), nil
}

// orderOf is the byte order in which a header is written; false if it is none.
func orderOf(header []byte) (binary.ByteOrder, bool) {
	if string(header[:len(magic)]) != magic {
		return nil, false
	}
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if o.Uint32(header[endianAt:]) == endian {
			return o, o.Uint32(header[versionAt:]) == version
		}
	}
	return nil, false
}

// eof is at its end.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
