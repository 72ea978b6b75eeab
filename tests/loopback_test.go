//go:build linux

package tests

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestLoopback: what a host's loopback interface is like does not matter to ranks that share
// memory; over TCP it need not have an address of IPv4, and where it is down that is said, at once.
func TestLoopback(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it makes network namespaces")
	if os.Getuid() != 0 {
		t.Skip("networks of their own need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip: install iproute2")
	}
	if out, err := exec.Command("unshare", "-n", "true").CombinedOutput(); err != nil {
		t.Skipf("no network of one's own: %v: %s", err, out)
	}
	const (
		ipv6 = "ip link set lo up && ip -4 addr flush dev lo" // an address that is added is not there at once
		down = "ip link set lo up && ip link set lo down"
	)
	for _, tc := range []struct{ name, network, transport, says string }{
		{"IPv6 alone", ipv6, "tcp", ""},
		{"IPv6 alone, memory", ipv6, "auto", ""},
		{"down, memory", down, "auto", ""},
		{"down", down, "tcp", "the loopback interface is down, by which processes of a host reach each other: ip link set lo up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("unshare", "-n", "sh", "-c", tc.network+` && exec "$0" "$@"`,
				fitrunPath(t), "-n", "2", "--timeout", jobTimeout.String(), selfPath(t), "rank")
			cmd.Env = append(os.Environ(), envProgram+"=init and finalize", "FITMPI_TRANSPORT="+tc.transport, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if said := string(out); (err == nil) != (tc.says == "") || !strings.Contains(strings.Join(strings.Fields(said), " "), tc.says) {
				t.Errorf("%v, want it to say %q:\n%s", err, tc.says, said)
			}
		})
	}
}
