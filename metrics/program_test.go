//go:build linux

package metrics

import (
	"bytes"
	"net"
	"os/exec"
	"syscall"
	"testing"
)

// start runs a program that listens at the address of an option, until the test ends. It returns
// the address.
func start(t *testing.T, program, listen string, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, append(args, listen+"="+addr)...)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", program, output.String())
		}
	})
	return addr
}
