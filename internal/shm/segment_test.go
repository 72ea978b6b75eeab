//go:build linux && !fitmpi_portable

package shm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSizeBound(t *testing.T) {
	for ranks := 2; ranks <= MaxRanks; ranks++ {
		pairs := int64(ranks) * int64(ranks-1)
		rings := Size(ranks) - int64(ringsAt(ranks))
		if rings != pairs*int64(ringSize(ranks)) {
			t.Fatalf("%d ranks: rings take %d", ranks, rings)
		}
		if most := max(ringMemory, pairs*leastRing); rings > most {
			t.Fatalf("%d ranks: rings take %d, bound %d", ranks, rings, most)
		}
		if over := int64(ringsAt(ranks)) - int64(ranks)*blockSize; over < pageSize || over >= 2*pageSize {
			t.Fatalf("%d ranks: %d beside blocks and rings", ranks, over)
		}
		if ranks <= 128 && rings > ringMemory {
			t.Fatalf("%d ranks: rings take %d, documented is %d", ranks, rings, ringMemory)
		}
	}
	for ranks, want := range map[int]int{2: 512 << 10, 8: 512 << 10, 12: 256 << 10, 64: 16 << 10, 128: 4 << 10, 1024: 4 << 10} {
		if got := RingBytes(ranks); got != want {
			t.Errorf("%d ranks: rings of %d, want %d", ranks, got, want)
		}
	}
	if got := RingBytes(1); got != RingBytes(2) {
		t.Errorf("one rank: rings of %d", got)
	}
}

// allocated is how much memory a memfd takes.
func allocated(t testing.TB, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestUntouchedPagesTakeNoMemory: a segment for a thousand ranks costs what is used of it.
func TestUntouchedPagesTakeNoMemory(t *testing.T) {
	for _, ranks := range []int{2, 64, MaxRanks} {
		s, f := newSegment(t, ranks)
		for from := range min(ranks, 100) {
			for to := range min(ranks, 100) {
				if from != to {
					newRing(t, s.Ring(from, to))
				}
			}
		}
		s.Block(ranks - 1)
		page := int64(os.Getpagesize())
		if got := allocated(t, f); got > page {
			t.Errorf("%d ranks, nothing used: %d bytes", ranks, got)
		}
		w, r := newRing(t, s.Ring(0, ranks-1))
		for range 5 {
			w.Put([]byte("hello"), nil)
			wantRecord(t, "one short record at a time", r, []byte("hello"))
		}
		if got := allocated(t, f); got > 3*page {
			t.Errorf("%d ranks, one ring used: %d bytes", ranks, got)
		}
	}
}

// TestSegmentParts: no two parts overlap, and both mappings show the same.
func TestSegmentParts(t *testing.T) {
	const ranks = 5
	one, f := newSegment(t, ranks)
	other := openSegment(t, f)
	if one.ID() != other.ID() || one.ID() == [16]byte{} || other.Ranks() != ranks {
		t.Errorf("ids %x and %x, %d ranks", one.ID(), other.ID(), other.Ranks())
	}
	if third, _ := newSegment(t, ranks); third.ID() == one.ID() {
		t.Error("two segments with one id")
	}
	mark := byte(0)
	each := func(f func(mem []byte)) {
		for from := range ranks {
			for to := range ranks {
				if from != to {
					f(one.Ring(from, to))
				}
			}
		}
	}
	each(func(mem []byte) {
		mark++
		if len(mem) != ringSize(ranks) || !aligned(mem) || mem[0] != 0 || mem[len(mem)-1] != 0 {
			t.Errorf("ring %d: %d bytes, or in use", mark, len(mem))
		}
		mem[0], mem[len(mem)-1] = mark, mark
	})
	for i := range ranks {
		b := one.Block(i)
		if b.Armed.Swap(1) != 0 || b.Offers[NumOffers-1].Len.Swap(uint64(i)) != 0 {
			t.Errorf("block %d overlaps", i)
		}
		if b := other.Block(i); b.Armed.Load() != 1 || b.Offers[NumOffers-1].Len.Load() != uint64(i) {
			t.Errorf("block %d is not shared", i)
		}
	}
	mark = 0
	each(func(mem []byte) {
		if mark++; mem[0] != mark || mem[len(mem)-1] != mark {
			t.Errorf("ring %d overlaps", mark)
		}
	})
}

func TestSegmentClose(t *testing.T) {
	s, f := newSegment(t, 2)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.Block(1).PID.Store(7) // the mapping outlives the file
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestPartsRefuseOurBugs(t *testing.T) {
	s, _ := newSegment(t, 3)
	for name, f := range map[string]func(){
		"block -1":    func() { s.Block(-1) },
		"block 3":     func() { s.Block(3) },
		"ring 1 to 1": func() { s.Ring(1, 1) },
		"ring 0 to 3": func() { s.Ring(0, 3) },
		"ring -1":     func() { s.Ring(-1, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestCreateRefuses(t *testing.T) {
	for _, ranks := range []int{-1, 0, 1, MaxRanks + 1} {
		if f, err := Create(ranks); err == nil {
			f.Close()
			t.Errorf("a segment for %d ranks", ranks)
		}
	}
}

func TestSeals(t *testing.T) {
	_, f := newSegment(t, 2)
	if err := f.Truncate(pageSize); !errors.Is(err, unix.EPERM) {
		t.Errorf("shrinking: %v", err)
	}
	if err := f.Truncate(1 << 30); !errors.Is(err, unix.EPERM) {
		t.Errorf("growing: %v", err)
	}
	if _, err := fcntl(f, unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("sealing more: %v", err)
	}
	if flags, err := fcntl(f, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("children inherit the segment: flags %#x, %v", flags, err)
	}
}

// forge is a memfd with a header of the test's making.
func forge(t *testing.T, size int64, seal int, header string) *os.File {
	t.Helper()
	f, err := createMemfd("forged")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(header), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := fcntl(f, unix.F_ADD_SEALS, seal); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOpenRefuses(t *testing.T) {
	_, good := newSegment(t, 2)
	raw := make([]byte, headerLen)
	if _, err := good.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	with := func(at int, b byte) string {
		h := append([]byte(nil), raw...)
		for i := range 4 { // either byte order
			h[at+i] = b
		}
		return string(h)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, c := range []struct {
		name string
		file *os.File
		want string
	}{
		{"a device", null, "not a memfd"},
		{"no seals", forge(t, Size(2), 0, string(raw)), "seals"},
		{"may shrink", forge(t, Size(2), unix.F_SEAL_GROW|unix.F_SEAL_SEAL, string(raw)), "seals"},
		{"empty", forge(t, 0, seals&^unix.F_SEAL_GROW, ""), "seals"},
		{"too short for a header", forge(t, 1, seals, "F"), "header"},
		{"zeroes", forge(t, Size(2), seals, ""), "begins with"},
		{"another version", forge(t, Size(2), seals, with(versionAt, 9)), "version"},
		{"no ranks", forge(t, Size(2), seals, with(ranksAt, 0)), "ranks"},
		{"many ranks", forge(t, Size(2), seals, with(ranksAt, 255)), "ranks"},
		{"too small", forge(t, Size(2)-1, seals, string(raw)), "bytes for 2 ranks"},
		{"too large", forge(t, Size(2)+1, seals, string(raw)), "bytes for 2 ranks"},
	} {
		s, err := Open(c.file)
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want one about %q", c.name, err, c.want)
		}
	}
	openSegment(t, forge(t, Size(2), seals, string(raw))) // the forgery that is none
}

// FuzzOpen: whatever a memfd begins with, Open maps no more than there is.
func FuzzOpen(f *testing.F) {
	good, err := Create(3)
	if err != nil {
		f.Fatal(err)
	}
	defer good.Close()
	raw := make([]byte, headerLen)
	if _, err := good.ReadAt(raw, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(Size(3), string(raw))
	f.Add(Size(2), string(raw))
	f.Add(int64(headerLen), magic)
	f.Fuzz(func(t *testing.T, size int64, header string) {
		size = min(max(size, 0), Size(MaxRanks))
		s, err := Open(forge(t, size, seals&^unix.F_SEAL_GROW, header[:min(int64(len(header)), size)]))
		if err == nil {
			s.Close()
			t.Fatal("opened a file that may grow")
		}
		if s, err = Open(forge(t, size, seals, header[:min(int64(len(header)), size)])); err != nil {
			return
		}
		defer s.Close()
		if size != Size(s.Ranks()) || s.Ranks() < 2 || s.Ranks() > MaxRanks {
			t.Errorf("%d bytes opened as a segment for %d ranks", size, s.Ranks())
		}
		for i := range s.Ranks() {
			s.Block(i)
			s.Ring(i, (i+1)%s.Ranks())
		}
	})
}
