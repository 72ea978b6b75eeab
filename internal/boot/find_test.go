//go:build linux && !fitmpi_portable

package boot

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
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

// TestFindRefuses: what is wrong with the descriptor that a launcher names, as the user is told.
func TestFindRefuses(t *testing.T) {
	plain, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	called, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer called.Close()
	socket, err := called.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	taken := func() string { // a descriptor of the socket, which is taken over
		fd, err := syscall.Dup(int(socket.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		return itoa(fd)
	}
	const closed = "no such descriptor (bad file descriptor): the program was not started by %s itself, or something between closed it"
	for _, c := range []struct {
		value func() string
		want  string
	}{
		{func() string { return "" }, "want the number of an inherited descriptor, 3 or more"},
		{func() string { return "2" }, "want the number of an inherited descriptor, 3 or more"},
		{func() string { return "three" }, "want the number of an inherited descriptor, 3 or more"},
		{func() string { return "999999" }, closed},
		{func() string { return itoa(int(plain.Fd())) }, "this descriptor is not a socket from %s"},
		{taken, "this descriptor is a tcp socket, not the Unix socket of %s"},
	} {
		value := c.value()
		if _, err := Find([]string{FDVariable + "=" + value}); err == nil ||
			err.Error() != "boot: FITMPI_BOOT_FD="+value+": "+strings.ReplaceAll(c.want, "%s", "fitrun")+"; unset it to run as a job of one rank" {
			t.Errorf("fitrun's %q: %v", value, err)
		}
		value = c.value()
		if _, err := Find([]string{"PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=" + value}); err == nil ||
			err.Error() != "boot: PMI_FD="+value+": "+strings.ReplaceAll(c.want, "%s", "the launcher")+"; set FITMPI_LAUNCHER=none to run as a job of one rank" {
			t.Errorf("PMI's %q: %v", value, err)
		}
	}
	const several = "boot: this process has 3 ranks (--ranks-per-process): start them with mpi.Main, which runs each as a thread of its own"
	if _, err := Find([]string{FDVariable + "=3,4,5"}); err == nil || err.Error() != several {
		t.Errorf("%v, want %s", err, several)
	}
}
