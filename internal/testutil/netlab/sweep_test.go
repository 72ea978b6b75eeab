//go:build linux && !fitmpi_portable

package netlab

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestSweep: what a test has left that is gone is removed, and nothing of one that runs, though its
// process is not seen from here.
func TestSweep(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a bridge needs root")
	}
	const inside = "FITMPI_TEST_NETNS"
	if os.Getenv(inside) == "" {
		cmd := exec.Command("unshare", "-n", os.Args[0], "-test.run", "^TestSweep$", "-test.v") // other tests sweep too
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const bridge = "fb4194999-77" // no process has such a number: the highest is 4194304
	if out, err := exec.Command("ip", "link", "add", bridge, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("no bridge can be made here: %s", out)
	}
	isThere := func() bool {
		_, err := net.InterfaceByName(bridge)
		return err == nil
	}
	for _, prefix := range []string{"198.18.77", "198.19.77"} {
		lock, err := lockRange(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if sweep(); !isThere() {
			t.Fatal("the network of a test that runs is gone")
		}
		lock.Close()
	}
	if sweep(); isThere() {
		t.Error("the network of a test that is gone is left")
	}
}
