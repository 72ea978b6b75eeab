package cabi_test

import (
	"strings"
	"testing"
)

// A C program starts more of itself, and meets itself at a port (MPI 5.0, sections 11.8 to 11.10).
func TestSpawn(t *testing.T) {
	program := compile(t, "spawn")
	for _, ranks := range []string{"1", "2", "3"} {
		out, err := job(t, "-n", ranks, "-x", "TMPDIR="+t.TempDir(), program) // where names are published
		if err != nil || strings.Count(out, "all right") != 1 {
			t.Errorf("%s ranks: %v\n%s", ranks, err, out)
		}
	}
}
