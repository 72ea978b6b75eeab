//go:build !fitmpi_portable

package sys

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalRole is the environment variable that makes TestTerminalRoles one of the processes of
// TestLeaveTerminal.
const terminalRole = "FITMPI_TEST_TERMINAL_ROLE"

// TestLeaveTerminal: a process that leaves its terminal has none, nor have its children, and reads
// it although it is of another process group than the one in the foreground. The session's leader
// keeps its terminal.
func TestLeaveTerminal(t *testing.T) {
	master, slave := openTerminal(t)
	cmd := roleCommand("leader")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestTerminalRoles is not a test of its own.
func TestTerminalRoles(t *testing.T) {
	var err error
	switch role := os.Getenv(terminalRole); role {
	case "":
		t.Skip("started by TestLeaveTerminal")
	case "leader":
		if LeaveTerminal() || !hasTerminal() {
			t.Error("the leader has left its terminal")
		}
		member := roleCommand("member")
		member.Stdin = os.Stdin
		member.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = run(member)
	case "member":
		if !hasTerminal() {
			t.Error("no terminal to leave")
		}
		if !LeaveTerminal() || hasTerminal() || !LeaveTerminal() {
			t.Error("the terminal is still there")
		}
		line, readErr := bufio.NewReader(os.Stdin).ReadString('\n')
		if line != "typed\n" {
			t.Errorf("read %q from the terminal, %v", line, readErr)
		}
		err = run(roleCommand("child"))
	case "child":
		if hasTerminal() {
			t.Error("the child has a terminal")
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func roleCommand(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestTerminalRoles$")
	cmd.Env = append(os.Environ(), terminalRole+"="+role)
	return cmd
}

// run runs cmd, which its terminal must not stop.
func run(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil {
		return err
	}
	if ws.Stopped() {
		return errors.Join(fmt.Errorf("stopped by %v", ws.StopSignal()), cmd.Process.Kill(), cmd.Wait())
	}
	if ws.ExitStatus() != 0 {
		return fmt.Errorf("exit code %d", ws.ExitStatus())
	}
	return nil
}

func hasTerminal() bool {
	f, err := os.Open("/dev/tty")
	if err == nil {
		f.Close()
	}
	return err == nil
}

// openTerminal makes a terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
