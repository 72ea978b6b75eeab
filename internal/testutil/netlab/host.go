//go:build linux && !fitmpi_portable

package netlab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Host is a network namespace, with an sshd unless it is bare. What ssh runs there has
// FAKE_HOST=host0, host1, ... in its environment.
type Host struct {
	lab     *Lab
	index   int // in the lab
	name    string
	addr    string
	in      *Host     // the router whose bridge has the other end of its link; nil is this machine
	over    []overlay // files that it has others of
	foreign *foreign  // what makes it another machine; nil if it is none
}

// overlay is a file that is seen in place of another.
type overlay struct{ file, over string }

// Host adds a host to the network and waits until ssh reaches it.
func (n *Network) Host() *Host {
	n.lab.t.Helper()
	h := n.Bare()
	h.Serve()
	return h
}

// Bare adds a host without an sshd to the network.
func (n *Network) Bare() *Host {
	t := n.lab.t
	t.Helper()
	h := &Host{lab: n.lab, index: len(n.lab.hosts), in: n.in, addr: fmt.Sprintf("%s.%d", n.prefix, 1+n.count), over: n.over}
	h.name = fmt.Sprintf("fn%d-%s", os.Getpid(), strings.Join(strings.Split(h.addr, ".")[2:], "-"))
	n.count++
	n.lab.hosts = append(n.lab.hosts, h)
	must(t, "ip", "netns", "add", h.name)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", h.name).Run() })
	must(t, h.outside("ip", "link", "add", h.Link(), "type", "veth", "peer", "name", "eth0", "netns", h.name)...)
	t.Cleanup(func() { // else it is gone some time after the namespace
		argv := h.outside("ip", "link", "del", h.Link())
		exec.Command(argv[0], argv[1:]...).Run()
	})
	must(t, h.outside("ip", "link", "set", h.Link(), "master", n.bridge, "up")...)
	must(t, "ip", "-n", h.name, "addr", "add", h.addr+"/24", "dev", "eth0")
	must(t, "ip", "-n", h.name, "link", "set", "eth0", "up")
	must(t, "ip", "-n", h.name, "link", "set", "lo", "up")
	if n.in != nil {
		must(t, "ip", "-n", h.name, "route", "add", "default", "via", n.Ours())
	}
	return h
}

// outside is a command that runs where the other end of h's link is.
func (h *Host) outside(argv ...string) []string {
	if h.in == nil {
		return argv
	}
	return append([]string{"ip", "netns", "exec", h.in.name}, argv...)
}

// Addr is its address in its network.
func (h *Host) Addr() string { return h.addr }

// Link is the name of the end of its link that is not its own: on this machine, or on its router.
func (h *Host) Link() string {
	var net, host int
	fmt.Sscanf(h.addr, "198.%d.%d.%d", new(int), &net, &host)
	return fmt.Sprintf("fv%d-%02x%02x", os.Getpid(), net, host) // an interface's name has at most 15 bytes
}

// Command is a command that runs on the host; on one of another machine it is this machine's all
// the same, see Foreign.
func (h *Host) Command(argv ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", h.name}, h.mounted(argv)...)...)
}

// mounted is a command behind one that puts the host's own files in place. ip netns exec gives what
// it runs its own view of mounts.
func (h *Host) mounted(argv []string) []string {
	if len(h.over) == 0 {
		return argv
	}
	full := []string{"sh", "-c", `while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"`, "sh"}
	for _, o := range h.over {
		full = append(full, o.file, o.over)
	}
	return append(append(full, "--"), argv...)
}

// Serve starts the sshd, once more after Kill, and waits until ssh reaches the host.
func (h *Host) Serve() {
	t, dir := h.lab.t, h.lab.dir
	t.Helper()
	h.lab.configure()
	conf := filepath.Join(dir, fmt.Sprint("sshd", h.index))
	text := fmt.Sprintf("HostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nMaxStartups 100\nSetEnv FAKE_HOST=host%d XDG_CACHE_HOME=%s/cache%d\n",
		dir, dir, h.index, dir, h.index)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := []string{"sh", "-c", "mount -t tmpfs none " + h.lab.Hidden() + " && exec /usr/sbin/sshd -D -e -f " + conf}
	cmd, start := h.Command(argv...), (*exec.Cmd).Start
	if h.foreign != nil {
		cmd, start = h.foreign.command(argv), h.startForeign
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second // a session that is left has its stderr
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd of host %s: %s", h.addr, said.String())
		}
	})
	h.await()
}

// await waits for the sshd.
func (h *Host) await() {
	h.lab.t.Helper()
	if h.in == nil {
		awaitPort(h.lab.t, h.addr+":22")
		return
	}
	ctx, cancel := context.WithTimeout(h.lab.t.Context(), patience)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, "ssh", append(h.lab.SSHArgs(), "-o", "BatchMode=yes", h.addr, "true")...).CombinedOutput()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			h.lab.t.Fatalf("ssh to %s: %v: %s", h.addr, err, out)
		}
	}
}

// PIDs are the processes of the host: those in its network namespace. It is asked often, and ip
// netns pids takes ten times as long.
func (h *Host) PIDs() (pids []int) {
	var own, of syscall.Stat_t
	if syscall.Stat("/run/netns/"+h.name, &own) != nil {
		return nil
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && syscall.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &of) == nil && of.Dev == own.Dev && of.Ino == own.Ino {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Work is the processes of the host but for its sshd and what that has made of itself.
func (h *Host) Work() (pids []int) {
	for _, pid := range h.PIDs() {
		line := commandLine(pid)
		if line != "" && !strings.HasPrefix(line, "sshd") && !strings.HasPrefix(line, "/usr/sbin/sshd") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// commandLine is how a process was started, with zero bytes between words; "" if it is gone or
// dead.
func commandLine(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(b)
}

// Kill kills every process of the host, its sshd too, at once and without a word.
func (h *Host) Kill() {
	for pids := h.PIDs(); len(pids) > 0; pids = h.PIDs() {
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Cut takes the host's link down.
func (h *Host) Cut() {
	h.lab.t.Helper()
	must(h.lab.t, h.outside("ip", "link", "set", h.Link(), "down")...)
}

// Join undoes Cut.
func (h *Host) Join() {
	h.lab.t.Helper()
	must(h.lab.t, h.outside("ip", "link", "set", h.Link(), "up")...)
}

// CutOffTCP drops what comes to the host and what it sends by TCP, but for ssh, until the function
// that it returns is called: so a launcher reaches what ranks do not. No end of a connection is
// told: there are no resets.
func (h *Host) CutOffTCP() (restore func()) {
	t := h.lab.t
	t.Helper()
	cmd := h.Command("nft", "-f", "-")
	chain := func(hook, device string) string {
		// Not one rule with two !=, which nft may merge into one comparison of both ports.
		return fmt.Sprintf("chain %s { type filter hook %s priority 0; tcp sport 22 accept; tcp dport 22 accept; %s != lo meta l4proto tcp drop; };", hook, hook, device)
	}
	cmd.Stdin = strings.NewReader("table inet cutoff { " + chain("input", "iifname") + chain("output", "oifname") + " }")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cutting a host off: %v: %s", err, out)
	}
	return func() {
		t.Helper()
		must(t, "ip", "netns", "exec", h.name, "nft", "delete", "table", "inet", "cutoff")
	}
}

// Slow limits what comes to the host and what it sends to a rate as tc writes it, such as 20mbit,
// until the function that it returns is called. It skips the test where the kernel cannot.
func (h *Host) Slow(rate string) (restore func()) {
	t := h.lab.t
	t.Helper()
	limit := []string{"root", "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms"}
	far, near := h.outside("tc", "qdisc", "add", "dev", h.Link()), []string{"tc", "-n", h.name, "qdisc", "add", "dev", "eth0"}
	for _, argv := range [][]string{far, near} {
		argv = append(argv, limit...)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("rates cannot be limited here: %v: %s", err, out)
		}
	}
	return func() {
		must(t, h.outside("tc", "qdisc", "del", "dev", h.Link(), "root")...)
		must(t, "tc", "-n", h.name, "qdisc", "del", "dev", "eth0", "root")
	}
}

// Lossy drops so many percent of the packets that come to the host, at random, until the function
// that it returns is called; that says how many were dropped.
func (h *Host) Lossy(percent int) (restore func() (dropped int)) {
	t := h.lab.t
	t.Helper()
	nft := func(input string) string {
		t.Helper()
		cmd := h.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("losing packets: %v: %s", err, out)
		}
		return string(out)
	}
	nft(fmt.Sprintf("table inet lossy { chain in { type filter hook input priority 0; iif eth0 numgen random mod 100 < %d counter drop; }; }", percent))
	return func() (dropped int) {
		t.Helper()
		_, rest, _ := strings.Cut(nft("list table inet lossy"), "counter packets ")
		if _, err := fmt.Sscan(rest, &dropped); err != nil {
			t.Errorf("how many packets were dropped: %v", err)
		}
		nft("delete table inet lossy")
		return dropped
	}
}
