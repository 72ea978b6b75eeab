package shm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"sync"
)

// Segment is the memory that the ranks of one host share: a header, a block for each rank, a ring
// for each ordered pair.
//
//	header  a page: magic, version, ranks, identity, in native byte order
//	blocks  one after the other
//	rings   from the next page on; those to rank 0 first, then those to rank 1, and so on
//
// Unlike what owns a descriptor, a Segment is not closed by the garbage collector: rings and blocks
// lie in the mapping and do not keep the Segment alive, so a backstop could unmap memory in use.
// One that is lost costs address space.
type Segment struct {
	id    [16]byte // immutable after Open
	ranks int      // immutable after Open

	mu  sync.Mutex
	mem []byte // the mapping, immutable until Close; guarded by mu in Close
}

const (
	magic   = "FitMPIsm"
	version = 4

	pageSize = 4096 // of the layout; the kernel's may be larger

	// ringMemory bounds what the rings of a segment take together, as long as each has leastRing.
	ringMemory = 64 << 20
	leastRing  = 4 << 10
	mostRing   = 512 << 10
)

// Offsets of the header's fields.
const (
	magicAt   = 0
	versionAt = 8
	ranksAt   = 12
	idAt      = 16
	headerLen = 32
)

// ringSize is the memory of each ring of a segment.
func ringSize(ranks int) int {
	share := ringMemory / (ranks * (ranks - 1))
	return min(max(1<<(bits.Len(uint(share))-1), leastRing), mostRing)
}

// ringsAt is where the rings begin.
func ringsAt(ranks int) int {
	return (pageSize + ranks*blockSize + pageSize - 1) &^ (pageSize - 1)
}

// Size is the length of a segment for so many ranks, and bounds its memory: for the rings 64 MiB at
// most up to 128 ranks, beyond that 4 KiB for each ordered pair; and 16.5 KiB for each rank. Only
// what has been touched takes memory: of 1024 ranks in one ring, each with two neighbours, 8 MiB
// and the blocks. Preconditions: 2 <= ranks <= MaxRanks.
func Size(ranks int) int64 {
	return int64(ringsAt(ranks)) + int64(ranks)*int64(ranks-1)*int64(ringSize(ranks))
}

// Create makes an empty segment in a memfd, which has no name that another process could guess. It
// seals the segment's length: no process that has the descriptor can make the others touch memory
// that is not there. The caller closes the file.
func Create(ranks int) (*os.File, error) {
	if ranks < 2 || ranks > MaxRanks {
		return nil, fmt.Errorf("shared memory segment for %d ranks: it takes between 2 and %d", ranks, MaxRanks)
	}
	f, err := createMemfd("fitmpi")
	if err != nil {
		return nil, err
	}
	if err := layOut(f, ranks); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func layOut(f *os.File, ranks int) error {
	if err := f.Truncate(Size(ranks)); err != nil {
		return fmt.Errorf("shared memory segment of %d bytes for %d ranks (see ulimit -f): %w", Size(ranks), ranks, err)
	}
	var h [headerLen]byte
	copy(h[magicAt:], magic)
	binary.NativeEndian.PutUint32(h[versionAt:], version)
	binary.NativeEndian.PutUint32(h[ranksAt:], uint32(ranks))
	rand.Read(h[idAt:])
	if _, err := f.WriteAt(h[:], 0); err != nil {
		return fmt.Errorf("shared memory segment: %w", err)
	}
	return seal(f)
}

// Open checks that f is a segment and maps it. The mapping outlives f.
func Open(f *os.File) (*Segment, error) {
	s, err := check(f)
	if err != nil {
		return nil, fmt.Errorf("shared memory segment: %w", err)
	}
	size := Size(s.ranks)
	if s.mem, err = mapShared(f, int(size)); err != nil {
		return nil, fmt.Errorf("shared memory segment of %d bytes (see ulimit -v): %w", size, err)
	}
	return s, nil
}

// check reads the header, once.
func check(f *os.File) (*Segment, error) {
	if err := checkSeals(f); err != nil {
		return nil, err
	}
	var h [headerLen]byte
	if n, err := f.ReadAt(h[:], 0); n < len(h) {
		return nil, fmt.Errorf("%d bytes of a header of %d: %w", n, len(h), err)
	}
	if string(h[magicAt:magicAt+len(magic)]) != magic {
		return nil, fmt.Errorf("begins with %q, want %q", h[magicAt:magicAt+len(magic)], magic)
	}
	if v := binary.NativeEndian.Uint32(h[versionAt:]); v != version {
		return nil, fmt.Errorf("version %d, this program has %d: build fitrun and the program from the same FitMPI", v, version)
	}
	ranks := binary.NativeEndian.Uint32(h[ranksAt:])
	if ranks < 2 || ranks > MaxRanks {
		return nil, fmt.Errorf("%w: %d ranks, not between 2 and %d", ErrCorrupt, ranks, MaxRanks)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if want := Size(int(ranks)); st.Size() != want {
		return nil, fmt.Errorf("%w: %d bytes for %d ranks, want %d", ErrCorrupt, st.Size(), ranks, want)
	}
	return &Segment{id: [16]byte(h[idAt:]), ranks: int(ranks)}, nil
}

// ID is the segment's random identity: ranks with the same ID share memory.
func (s *Segment) ID() [16]byte { return s.id }

// Ranks is how many ranks share the segment.
func (s *Segment) Ranks() int { return s.ranks }

// Block is the block of rank i. Preconditions: 0 <= i < Ranks, and Close has not been called.
func (s *Segment) Block(i int) *Block {
	if i < 0 || i >= s.ranks {
		panic(fmt.Sprintf("shm: our bug: block %d of %d", i, s.ranks))
	}
	return blockAt(s.mem[pageSize+i*blockSize:])
}

// Ring is the memory of the ring from one rank to another. Preconditions: both are different ranks
// of the segment, and Close has not been called.
func (s *Segment) Ring(from, to int) []byte {
	if from == to || min(from, to) < 0 || max(from, to) >= s.ranks {
		panic(fmt.Sprintf("shm: our bug: ring from %d to %d of %d ranks", from, to, s.ranks))
	}
	i := to*(s.ranks-1) + from
	if from > to {
		i--
	}
	size := ringSize(s.ranks)
	at := ringsAt(s.ranks) + i*size
	return s.mem[at : at+size : at+size]
}

// Close unmaps the segment. It is idempotent. Preconditions: nothing that came from Block or Ring
// is used any more.
func (s *Segment) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		return nil
	}
	err := unmap(s.mem)
	s.mem = nil
	return err
}
