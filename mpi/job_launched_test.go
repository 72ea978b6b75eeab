package mpi

import "testing"

// TestRanksHere: whichever launcher has started the process, it is asked, and not only fitrun.
func TestRanksHere(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	if n := RanksHere(); n != 0 {
		t.Errorf("without a launcher: %d", n)
	}
	t.Setenv("FITMPI_LAUNCHER", "environment")
	t.Setenv("FITMPI_RANK", "1")
	t.Setenv("FITMPI_SIZE", "4")
	if n := RanksHere(); n != 1 {
		t.Errorf("as one rank of four: %d", n)
	}
	t.Setenv("FITMPI_BOOT_FD", "3,4,5")
	if n := RanksHere(); n != 3 {
		t.Errorf("as three ranks of fitrun: %d", n)
	}
}
