//go:build linux && !fitmpi_portable

package netlab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Network is a bridge. Host i of it has the address PREFIX.(1+i).
type Network struct {
	lab    *Lab
	prefix string // the first three bytes of its addresses
	bridge string
	in     *Host     // the router that has the bridge; nil is this machine
	count  int       // hosts on it
	over   []overlay // for the hosts that are added
}

// Network makes a network that this machine has an address in too: Ours.
func (l *Lab) Network() *Network {
	l.t.Helper()
	n := &Network{lab: l, prefix: takeRange(l.t)}
	n.bridge = fmt.Sprintf("fb%d-%s", os.Getpid(), n.prefix[strings.LastIndex(n.prefix, ".")+1:])
	if out, err := exec.Command("ip", "link", "add", n.bridge, "type", "bridge").CombinedOutput(); err != nil {
		l.t.Skipf("no bridge can be made here: %s", out)
	}
	l.t.Cleanup(func() { exec.Command("ip", "link", "del", n.bridge).Run() })
	must(l.t, "ip", "addr", "add", n.Ours()+"/24", "dev", n.bridge)
	must(l.t, "ip", "link", "set", n.bridge, "up")
	return n
}

// Behind makes a network whose hosts reach the router's network, which answers as if the router had
// asked. The hosts of the router's network do not reach them. Only ssh from this machine does: it
// jumps over the router. Behind skips the test without nftables.
func (l *Lab) Behind(router *Host) *Network {
	l.t.Helper()
	n := &Network{lab: l, prefix: takeRange(l.t), bridge: "br0", in: router}
	for _, argv := range [][]string{
		{"ip", "link", "add", n.bridge, "type", "bridge"}, {"ip", "addr", "add", n.Ours() + "/24", "dev", n.bridge},
		{"ip", "link", "set", n.bridge, "up"}, {"sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"},
	} {
		if out, err := router.Command(argv...).CombinedOutput(); err != nil {
			l.t.Skipf("no router can be made here: %q: %v: %s", argv, err, out)
		}
	}
	nft := router.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(`
table ip nat {
	chain post {
		type nat hook postrouting priority 100
		oifname "eth0" masquerade
	}
}
table ip filter {
	chain forward {
		type filter hook forward priority 0; policy drop
		iifname "br0" accept
		ct state established,related accept
	}
}
`)
	if out, err := nft.CombinedOutput(); err != nil {
		l.t.Skipf("no router can be made here, without nftables: %v: %s", err, out)
	}
	l.jump(n, router)
	return n
}

// Ours is the address of this machine, or of the router, in the network.
func (n *Network) Ours() string { return n.prefix + ".254" }

// Free is an address of the network that no host has.
func (n *Network) Free() string { return n.prefix + ".99" }

// takeRange returns the first three bytes of 256 addresses that no other lab uses until the test
// ends. Abstract Unix sockets are the locks: the kernel drops them with the process.
func takeRange(t testing.TB) string {
	t.Helper()
	const all = 256 * len(ranges)
	for i := range all {
		k := (os.Getpid() + i) % all
		prefix := fmt.Sprintf("198.%d.%d", ranges[k/256], k%256)
		if isOurs(prefix) {
			continue // of a program that takes no locks
		}
		lock, err := lockRange(prefix)
		if err == nil {
			t.Cleanup(func() { lock.Close() })
			return prefix
		}
	}
	t.Fatal("every range of addresses is taken")
	return ""
}

// ranges are the second bytes of the addresses of labs.
var ranges = [...]int{18, 19}

// lockRange takes the lock of a range.
func lockRange(prefix string) (net.Listener, error) {
	return net.Listen("unix", "@fitmpi-netlab-"+prefix)
}

// isOurs reports whether this machine has an address in a range.
func isOurs(prefix string) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if strings.HasPrefix(a.String(), prefix+".") {
			return true
		}
	}
	return false
}
