//go:build linux && !fitmpi_portable

package metrics

import (
	"bytes"
	"os/exec"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// start runs a program that listens at the address of an option, until the test ends. It returns
// the address.
func start(t *testing.T, program, listen string, args ...string) string {
	t.Helper()
	addr := faultproxy.FreeAddress(t)
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
