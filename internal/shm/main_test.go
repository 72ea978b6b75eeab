//go:build linux && !fitmpi_portable

package shm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names what this binary does when a test has started it as another process.
const childEnv = "FITMPI_SHM_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		if err := child(mode); err != nil {
			fmt.Fprintf(os.Stderr, "child %s: %v\n", mode, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	before := descriptors()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if after := descriptors(); after > before {
			fmt.Fprintf(os.Stderr, "shm: %d descriptors before the tests, %d after\n", before, after)
			code = 1
		}
		os.Exit(code)
	}))
}

// descriptors counts this process's open descriptors. The first use of package os's poller opens
// some that stay, so it counts after such a use.
func descriptors() int {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	r.Close()
	w.Close()
	ents, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(ents)
}

// newRing is both sides of a ring in mem.
func newRing(t testing.TB, mem []byte) (*Writer, *Reader) {
	t.Helper()
	w, err := NewWriter(mem)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(mem)
	if err != nil {
		t.Fatal(err)
	}
	return w, r
}

// newSegment is a segment that the test unmaps at its end, and its file.
func newSegment(t testing.TB, ranks int) (*Segment, *os.File) {
	t.Helper()
	f, err := Create(ranks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return openSegment(t, f), f
}

func openSegment(t testing.TB, f *os.File) *Segment {
	t.Helper()
	s, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// script is a sequence of records that two sides derive from the same seed.
type script struct {
	rng *rand.Rand
	max int
	buf []byte
}

func newScript(seed uint64, max int) *script {
	return &script{rng: rand.New(rand.NewPCG(seed, 1)), max: max, buf: make([]byte, max)}
}

// record is the next record, valid until the next call: mostly short, sometimes as long as can be.
func (s *script) record() []byte {
	n := 1 + s.rng.IntN(Inline+8)
	switch s.rng.IntN(8) {
	case 0:
		n = 1 + s.rng.IntN(s.max)
	case 1:
		n = s.max - s.rng.IntN(2)
	}
	b := s.buf[:min(n, s.max)]
	first, step := byte(s.rng.Uint32()), byte(s.rng.Uint32())|1
	for i := range b {
		b[i] = first + byte(i)*step
	}
	return b
}

// split cuts b into the two parts that Put takes.
func (s *script) split(b []byte) (x, y []byte) {
	at := min(len(b), []int{0, 8, 32, 40, 56, len(b) / 2, len(b)}[s.rng.IntN(7)])
	return b[:at], b[at:]
}
