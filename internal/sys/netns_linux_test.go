//go:build !fitmpi_portable

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestInNetwork: what f sees is the other network, and the caller of InNetwork stays where it was.
func TestInNetwork(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("entering a network needs root")
	}
	other := exec.Command("cat")
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Skip("no network can be made here: ", err)
	}
	defer other.Wait()
	defer in.Close() // which ends it
	flags := func() (net.Flags, error) {
		lo, err := net.InterfaceByName("lo")
		if err != nil {
			return 0, err
		}
		return lo.Flags & net.FlagUp, nil
	}
	own, err := os.Readlink("/proc/self/ns/net") // of the first thread, which never ends
	if err != nil {
		t.Fatal(err)
	}
	before, err := flags()
	if err != nil || before == 0 {
		t.Skipf("no loopback here: %v, %v", before, err)
	}
	want := errors.New("what f says")
	err = InNetwork(fmt.Sprintf("/proc/%d/ns/net", other.Process.Pid), func() error {
		if there, err := flags(); err != nil || there != 0 {
			t.Errorf("%v, %v: the loopback of a new network is down", there, err)
		}
		return want
	})
	if err != want {
		t.Errorf("%v, want %v", err, want)
	}
	if after, err := flags(); err != nil || after != before {
		t.Errorf("%v, %v: this is another network than before", after, err)
	}
	if at, err := os.Readlink("/proc/self/ns/net"); err != nil || at != own {
		t.Errorf("the process is in %s, %v, and was in %s", at, err, own)
	}
	for file, want := range map[string]error{t.TempDir() + "/none": fs.ErrNotExist, "/proc/self/ns/mnt": syscall.EINVAL} {
		if err := InNetwork(file, func() error { return nil }); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", file, err, want)
		}
	}
}
