package boot

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// A process that holds all ranks of a job.
func TestFindAll(t *testing.T) {
	wantNoLeak(t)
	const size = 3
	var numbers []string
	for r := range size {
		conn, fd := socketPair(t)
		info := testInfo(r, size)
		info.Process, info.ProcessRanks = 0, size
		l := NewLink(conn, info)
		t.Cleanup(func() { l.Close() })
		numbers = append(numbers, itoa(fd))
	}
	t.Setenv(FDVariable, strings.Join(numbers, ","))
	if _, err := Find(os.Environ()); err == nil || !strings.Contains(err.Error(), "3 ranks") || !strings.Contains(err.Error(), "mpi.Main") {
		t.Errorf("Find: %v, want it to point to mpi.Main", err)
	}
	all, err := FindAll(os.Environ())
	if err != nil || len(all) != size {
		t.Fatalf("%d sessions, %v; want %d", len(all), err, size)
	}
	if _, ok := os.LookupEnv(FDVariable); ok {
		t.Error("the variable is still set")
	}
	for r, s := range all {
		if info := s.Info(); info.Rank != r || info.ProcessRanks != size {
			t.Errorf("session %d is of rank %d of a process with %d", r, info.Rank, info.ProcessRanks)
		}
		s.Close()
	}
	if all, err := FindAll(nil); err != nil || len(all) != 1 || all[0].Info().Source != "none" {
		t.Errorf("without a launcher: %v, %v", all, err)
	}
}

func TestFindAllMalformed(t *testing.T) {
	wantNoLeak(t)
	for _, rest := range []string{"", "x", "999999", "again"} {
		conn, fd := socketPair(t)
		l := NewLink(conn, testInfo(0, 2))
		if rest == "again" {
			rest = itoa(fd)
		}
		if _, err := FindAll([]string{FDVariable + "=" + itoa(fd) + "," + rest}); err == nil {
			t.Errorf("a second descriptor %q passed", rest)
		}
		wantNotice(t, l, Joined) // the first was good
		if n, err := l.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%+v, %v; want the first session closed", n, err)
		}
		l.Close()
	}
}
