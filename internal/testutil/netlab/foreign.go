//go:build linux && !fitmpi_portable

package netlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// foreign is what makes a host a machine of another architecture. It has a user namespace of its
// own, in which it is root as outside, because the kernel has for each of them another list of what
// runs programs that are not its own (binfmt_misc, since Linux 6.7). So no other program of this
// machine gets to see the emulator.
type foreign struct {
	host  *Host
	uname string // a program of the architecture that says it
}

const (
	// emulation is how Debian's qemu-user-static has programs for s390x run.
	emulation = "/usr/lib/binfmt.d/qemu-s390x.conf"
	binfmt    = "/proc/sys/fs/binfmt_misc"
	uname     = "/usr/bin/uname"
)

// unameText is a program that says what machine it runs on, whatever it is asked, as uname -m does;
// but what system, if asked -s.
const unameText = `package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

func main() {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	field := u.Machine
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "-s":
			field = u.Sysname
		case "-n":
			field = u.Nodename
		}
	}
	var b []byte
	for _, c := range field {
		b = append(b, byte(c))
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	fmt.Println(string(b))
}
`

// Foreign adds a host that is an s390x, which has the other byte order: what ssh runs there may be
// programs for that, and uname says that it is one. Its other programs are still this machine's. It
// skips the test where that cannot be.
func (n *Network) Foreign() *Host {
	t := n.lab.t
	t.Helper()
	if _, err := os.Stat(emulation); err != nil {
		t.Skip("no emulator of s390x: install qemu-user-static: ", err)
	}
	h := n.Bare()
	h.foreign = &foreign{h, filepath.Join(n.lab.dir, "uname")}
	source := h.foreign.uname + ".go"
	if err := os.WriteFile(source, []byte(unameText), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", h.foreign.uname, source)
	build.Env = append(os.Environ(), "GOARCH=s390x", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for s390x: %v: %s", err, out)
	}
	// Root of the host's user namespace is not root of its network, whose low ports are root's.
	if out, err := h.Command("sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start").CombinedOutput(); err != nil {
		t.Skipf("no user namespace can have an sshd here: %v: %s", err, out)
	}
	ask := h.foreign.command([]string{"uname", "-m"})
	var said strings.Builder
	ask.Stdout, ask.Stderr = &said, &said
	err := h.startForeign(ask)
	if err == nil {
		err = ask.Wait()
	}
	if err != nil || said.String() != "s390x\n" {
		t.Skipf("no machine of another architecture can be made here, which needs Linux 6.7 with binfmt_misc: %v: %s", err, said.String())
	}
	h.Serve()
	return h
}

// command is a command that runs as on the foreign machine, if startForeign starts it.
func (f *foreign) command(argv []string) *exec.Cmd {
	script := fmt.Sprintf(`mount -t binfmt_misc none %s && cat %s >%s/register && mount --bind %q %s && exec "$@"`, binfmt, emulation, binfmt, f.uname, uname)
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, f.host.mounted(argv)...)...)
	everybody := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1<<32 - 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: everybody, GidMappings: everybody, GidMappingsEnableSetgroups: true,
	}
	return cmd
}

// startForeign starts a command in the host's network.
func (h *Host) startForeign(cmd *exec.Cmd) error {
	return sys.InNetwork("/run/netns/"+h.name, cmd.Start)
}
