package timing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// The line has the times of the slowest rank, and rank 0 alone writes it.
func TestReport(t *testing.T) {
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
		k, err := Start(world)
		if err != nil {
			return err
		}
		k.Stop(0)
		if k.took < 0 {
			return fmt.Errorf("took %v", k.took)
		}
		k.took, k.waited = time.Duration(1+world.Rank())*time.Second, time.Duration(3-world.Rank())*time.Microsecond
		if world.Rank() != 0 {
			return k.Report(failingWriter{}, Line{})
		}
		return k.Report(&out, Line{Program: "p", Size: 7, Way: Overlap, Answer: 0xab, Value: 0.1})
	})
	const want = "time p ranks=3 size=7 way=overlap seconds=3.000000000 waited=0.000003000 answer=00000000000000ab value=0.10000000000000001\n"
	if err != nil || out.String() != want {
		t.Errorf("wrote %q, %v; want %q", out.String(), err, want)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// These are the numbers of bench/peers/apps, whose test has the same.
func TestNumbers(t *testing.T) {
	var h Hash
	h.AddFloats([]float64{0, 1, -2.5})
	for _, tt := range []struct {
		what      string
		got, want uint64
	}{
		{"Mix(1)", Mix(1), 0x5692161d100b05e5},
		{"Scattered(1, 2)", Scattered(1, 2), 0xb95f66d327e8d78},
		{"Hash", uint64(h), 0xe4575416e1f886e4},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %#x, want %#x", tt.what, tt.got, tt.want)
		}
	}
	if w, want := Weight(3), -0.386549711227417; w != want {
		t.Errorf("Weight(3) = %v, want %v", w, want)
	}
}

// A hash tells the order and zeros at the start.
func TestHashTells(t *testing.T) {
	seen := map[Hash]string{}
	for _, words := range [][]uint64{{}, {0}, {0, 0}, {1}, {0, 1}, {1, 0}, {1, 2}, {2, 1}} {
		var h Hash
		for _, w := range words {
			h.Add(w)
		}
		if other, ok := seen[h]; ok {
			t.Errorf("%v and %v have the same hash", other, words)
		}
		seen[h] = fmt.Sprint(words)
	}
}
