package vec

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestIsWide: what Linux says of the processor decides by which kernels vectors are combined.
func TestIsWide(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	_, flags, _ := strings.Cut(string(info), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	want := true
	for _, f := range []string{"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vbmi2"} {
		want = want && slices.Contains(strings.Fields(flags), f)
	}
	if isWide != want {
		t.Errorf("kernels of AVX-512: %v, want %v; the processor has %s", isWide, want, flags)
	}
}
