//go:build linux && !fitmpi_portable

// Package netlab makes hosts out of this machine, for tests: network namespaces with a network
// between them and an sshd in each, names for them by a server of names, and ways to slow, cut off,
// watch and kill them. The hosts share the machine's kernel and files; one may be a machine of
// another architecture, by an emulator. Only tests import it. It needs root and iproute2, for ssh
// OpenSSH, and for routers nftables; where one is missing, tests are skipped.
//
// Networks have addresses in 198.18.0.0/15, which is for tests of networks (RFC 2544). Each test
// binary takes ranges that no other one has, and puts its process id into names, so that several
// may run at the same time.
package netlab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lab is hosts and the networks between them. It is gone at the end of the test that made it.
type Lab struct {
	t     testing.TB
	dir   string
	hosts []*Host
	keys  sync.Once // makes what ssh needs
}

// New returns a lab without hosts. It skips the test where a lab cannot be.
func New(t testing.TB) *Lab {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("networks of their own for each host need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip: install iproute2")
	}
	sweep()
	return &Lab{t: t, dir: t.TempDir()}
}

// Dir is a directory that all hosts see, and that is gone with the lab.
func (l *Lab) Dir() string { return l.dir }

// Hidden is a directory that is another, empty one on each host.
func (l *Lab) Hidden() string { return filepath.Join(l.dir, "hidden") }

// Caches is a pattern of the directories in which the hosts keep copies: XDG_CACHE_HOME is another
// on each.
func (l *Lab) Caches() string { return filepath.Join(l.dir, "cache*") }

// SSHArgs are the arguments by which ssh reaches the hosts.
func (l *Lab) SSHArgs() []string { return []string{"-F", filepath.Join(l.dir, "config")} }

// Hosts are all hosts, in the order in which they were made.
func (l *Lab) Hosts() []*Host { return l.hosts }

// configure makes keys, and a configuration of ssh, unless it has already.
func (l *Lab) configure() {
	l.t.Helper()
	for _, tool := range []string{"ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			l.t.Skipf("no %s: install openssh-client and openssh-server", tool)
		}
	}
	l.keys.Do(func() {
		file := func(name string) string { return filepath.Join(l.dir, name) }
		for _, key := range []string{"host", "user"} {
			must(l.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key))
		}
		must(l.t, "cp", file("user.pub"), file("authorized"))
		// What costs least: a test of many hosts spends most of its time on keys and ciphers.
		config := fmt.Sprintf("Host *\n User root\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n KexAlgorithms curve25519-sha256\n Ciphers aes128-gcm@openssh.com\n",
			file("user"), file("known"))
		for _, err := range []error{
			os.WriteFile(file("config"), []byte(config), 0o600), os.MkdirAll("/run/sshd", 0o755), os.Mkdir(l.Hidden(), 0o700),
		} {
			if err != nil {
				l.t.Fatal(err)
			}
		}
	})
}

// jump adds to ssh's configuration that a network is reached by way of a host.
func (l *Lab) jump(n *Network, by *Host) {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "Host %s.*\n ProxyJump %s\n", n.prefix, by.Addr()); err != nil {
		l.t.Fatal(err)
	}
}

// AwaitEmpty waits until nothing but sshd runs on any host, and fails the test with what does if
// that takes too long.
func (l *Lab) AwaitEmpty(t testing.TB, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, h := range l.hosts {
			left += len(h.Work())
		}
		if left == 0 {
			return
		}
		if time.Now().Before(end) {
			continue
		}
		for _, h := range l.hosts {
			for _, pid := range h.Work() {
				t.Errorf("left on host %s: %d %q", h.Addr(), pid, strings.ReplaceAll(commandLine(pid), "\x00", " "))
			}
		}
		return
	}
}

// must runs a command that cannot fail.
func must(t testing.TB, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// awaitPort waits until something listens at addr.
func awaitPort(t testing.TB, addr string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// patience is for what must happen soon on a busy machine; nothing waits for it to pass.
const patience = 30 * time.Second
