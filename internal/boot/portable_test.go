//go:build !linux || fitmpi_portable

package boot

import (
	"strings"
	"testing"
)

// TestLaunchersAreRefused: a process that a launcher has started is no job of its own by mistake,
// and it is said why it is none of the launcher's.
func TestLaunchersAreRefused(t *testing.T) {
	for _, test := range []struct {
		environ []string
		ranks   int
		want    string // in the error; none if empty
	}{
		{nil, 0, ""},
		{[]string{"FITMPI_LAUNCHER=none", "PMI_RANK=1", "PMI_SIZE=4"}, 0, ""},
		{[]string{"PMI_RANK=1", "PMI_SIZE=4"}, 1, "PMI_RANK=1 and PMI_SIZE=4 are set: FitMPI joins the jobs of launchers on Linux only"},
		{[]string{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"}, 1, "on Linux only; here FITMPI_RANKS runs ranks as threads of one process (FITMPI_LAUNCHER=none:"},
		{[]string{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"}, 1, ""},
		{[]string{"FITMPI_RANK=0", "FITMPI_SIZE=2"}, 1, "FITMPI_RANK=0"},
		{[]string{"FITMPI_SIZE=2"}, 1, "nothing says which rank this is"},
		{[]string{"PMI_PORT=127.0.0.1:1"}, 1, "PMI_PORT is set: FitMPI joins"},
		{[]string{"FITMPI_LAUNCHER=mine"}, 1, "choose auto, none"},
		{[]string{FDVariable + "=3"}, 1, "fitrun and its ranks run on Linux only"},
	} {
		if n := RanksHere(test.environ); n != test.ranks {
			t.Errorf("%v: %d ranks here, want %d", test.environ, n, test.ranks)
		}
		all, err := FindAll(test.environ)
		for _, s := range all {
			if s.Info().Size != 1 {
				t.Errorf("%v: a job of %d", test.environ, s.Info().Size)
			}
			s.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.environ, err, test.want)
		}
	}
}
