//go:build linux && !fitmpi_portable

package sys

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMark: a process sees its own mark, and that of another of its network as long as that lives;
// none of another network.
func TestMark(t *testing.T) {
	if os.Getenv("FITMPI_TEST_MARK") != "" {
		os.Stdout.WriteString(Mark() + "\n" + strings.Join(Marks(), " ") + "\n")
		os.Stdin.Read(make([]byte, 1)) // until its end
		os.Exit(0)
	}
	own := Mark()
	if own == "" || own != Mark() || !slices.Contains(Marks(), own) {
		t.Fatalf("%q is not among %q", own, Marks())
	}
	for _, elsewhere := range []bool{false, true} {
		if elsewhere && os.Getuid() != 0 {
			continue
		}
		cmd := exec.Command(os.Args[0], "-test.run", "^TestMark$")
		cmd.Env = append(os.Environ(), "FITMPI_TEST_MARK=1")
		if elsewhere {
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			if elsewhere {
				t.Skip("no network can be made here: ", err)
			}
			t.Fatal(err)
		}
		var said []byte
		for b := make([]byte, 1); strings.Count(string(said), "\n") < 2; {
			if _, err := out.Read(b); err != nil {
				t.Fatal(err)
			}
			said = append(said, b[0])
		}
		lines := strings.Split(string(said), "\n")
		if lines[0] == "" || slices.Contains(Marks(), lines[0]) == elsewhere || strings.Contains(lines[1], own) == elsewhere || !strings.Contains(lines[1], lines[0]) {
			t.Errorf("in another network: %v; ours is %s, its %s, and it sees %s", elsewhere, own, lines[0], lines[1])
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if slices.Contains(Marks(), lines[0]) {
			t.Error("the mark of one who is gone is there")
		}
	}
}
