//go:build linux

package tests

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Ranks on several hosts. The hosts are network namespaces with a veth pair for each link between
// them, so that a test can break what breaks between hosts. The test is the launcher: a boot.Link
// for each rank over a socket pair, whose other end `ip netns exec` passes on. It needs root.

func init() {
	programs["hosts"] = hostsRank
}

// hostsRank exchanges messages with the other rank and writes down its sockets: "listen ADDR" and
// "peer ADDR".
func hostsRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		other := 1 - c.Rank()
		for _, n := range []int{1, 100_000} {
			in := make([]int64, n)
			if _, err := mpi.Sendrecv(c, slices.Repeat([]int64{int64(c.Rank())}, n), other, 1, in, other, 1); err != nil {
				fmt.Println(err)
				return nil
			}
			if in[n-1] != int64(other) {
				return fmt.Errorf("received %d", in[n-1])
			}
		}
		var lines []string
		for _, s := range sockets() {
			if s.remote.Port() == 0 {
				lines = append(lines, "listen "+s.local.String())
			} else {
				lines = append(lines, "peer "+s.remote.Addr().String())
			}
		}
		slices.Sort(lines)
		text := strings.Join(slices.Compact(lines), "\n") + "\n" + fmt.Sprint("way ", c.Transport(other)) + "\n"
		if err := os.WriteFile(filepath.Join(os.Getenv(envDir), fmt.Sprint("sockets", c.Rank())), []byte(text), 0o600); err != nil {
			return err
		}
		return mpi.Barrier(c) // no rank closes before the other has looked
	})
}

type tcpSocket struct{ local, remote netip.AddrPort }

// sockets are the TCP sockets of this network namespace that listen or are connected.
func sockets() (all []tcpSocket) {
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 3 && (f[3] == "01" || f[3] == "0A") {
				all = append(all, tcpSocket{hexAddr(f[1]), hexAddr(f[2])})
			}
		}
	}
	return all
}

// hexAddr reads an address as the kernel prints it: words of the host's byte order.
func hexAddr(s string) netip.AddrPort {
	words, port, _ := strings.Cut(s, ":")
	var b []byte
	for ; len(words) >= 8; words = words[8:] {
		w, _ := strconv.ParseUint(words[:8], 16, 32)
		b = binary.NativeEndian.AppendUint32(b, uint32(w))
	}
	a, _ := netip.AddrFromSlice(b)
	p, _ := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(a.Unmap(), uint16(p))
}

// hosts are two network namespaces, a and b, with two links: 10.77.1.0/24 by the interfaces la1 and
// lb1, and 10.77.2.0/24 and fd77:2::/64 by la2 and lb2. The numbers of their addresses are 1 and 2.
type hosts struct {
	t     *testing.T
	names [2]string
}

func newHosts(t *testing.T) *hosts {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	h := &hosts{t: t, names: [2]string{fmt.Sprintf("fitmpi-%d-a", os.Getpid()), fmt.Sprintf("fitmpi-%d-b", os.Getpid())}}
	for _, name := range h.names {
		if err := ip("netns", "add", name); err != nil {
			t.Skip("no network namespaces here: ", err)
		}
		t.Cleanup(func() {
			if err := ip("netns", "del", name); err != nil {
				t.Error(err)
			}
		})
		if err := ip("-n", name, "link", "set", "lo", "up"); err != nil {
			t.Skip("no network in namespaces here: ", err)
		}
	}
	for link := 1; link <= 2; link++ {
		la, lb := fmt.Sprint("la", link), fmt.Sprint("lb", link)
		if err := ip("-n", h.names[0], "link", "add", la, "type", "veth", "peer", "name", lb, "netns", h.names[1]); err != nil {
			t.Skip("no veth interfaces here: ", err)
		}
		for i, dev := range []string{la, lb} {
			h.ip(i, "addr", "add", fmt.Sprintf("10.77.%d.%d/24", link, i+1), "dev", dev)
			if link == 2 {
				if err := ip("-n", h.names[i], "addr", "add", fmt.Sprintf("fd77:2::%d/64", i+1), "dev", dev, "nodad"); err != nil {
					t.Log("without IPv6: ", err)
				}
			}
			h.ip(i, "link", "set", dev, "up")
		}
	}
	return h
}

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ip configures one of the hosts.
func (h *hosts) ip(host int, args ...string) {
	h.t.Helper()
	if err := ip(append([]string{"-n", h.names[host]}, args...)...); err != nil {
		h.t.Fatal(err)
	}
}

// dropFirst has both hosts drop what comes over the first link, as a firewall does that does not
// answer.
func (h *hosts) dropFirst() {
	h.t.Helper()
	for i, dev := range []string{"la1", "lb1"} {
		cmd := exec.Command("ip", "netns", "exec", h.names[i], "nft", "-f", "-")
		cmd.Stdin = strings.NewReader("table inet t {\n chain c {\n type filter hook input priority 0\n iifname " + dev + " meta l4proto tcp drop\n }\n}\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			h.t.Skipf("no firewall here: %v: %s", err, out)
		}
	}
}

// hostJob is a job of one rank on each host.
type hostJob struct {
	nets   [2]boot.Net // by rank
	env    []string
	before func() // runs when both ranks listen, before either knows where
}

// hostsRun is how it ended.
type hostsRun struct {
	output [2]string
	err    [2]error
	notes  [2][]string // lines that the ranks have written down
}

// run runs a job, one rank to a host.
func (h *hosts) run(j hostJob) (r hostsRun) {
	h.t.Helper()
	dir := h.t.TempDir()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*failsafe)
	defer cancel()
	job, secret := boot.NewJob()
	table := &exchange{cards: boot.NewCards(2), before: j.before}
	var wg sync.WaitGroup
	for rank := range 2 {
		link, theirs := h.link(boot.Info{
			Rank: rank, Size: 2, LocalSize: 1, Job: job, Secret: secret, Host: fmt.Sprint("host-", "ab"[rank:rank+1]), Cores: 1, ProcessRanks: 1, Net: j.nets[rank],
		})
		table.links = append(table.links, link)
		self, err := os.Executable()
		if err != nil {
			h.t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "ip", "netns", "exec", h.names[rank], self, "rank")
		cmd.ExtraFiles = []*os.File{theirs}
		cmd.Env = append(os.Environ(), boot.FDVariable+"=3", envProgram+"=hosts", envDir+"="+dir)
		cmd.Env = append(cmd.Env, j.env...)
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			r.output[rank], r.err[rank] = string(out), err
			theirs.Close()
			link.Drain()
		})
	}
	for rank, link := range table.links {
		wg.Go(func() { table.serve(rank, link) })
	}
	wg.Wait()
	for rank, link := range table.links {
		link.Close()
		r.notes[rank] = readLines(filepath.Join(dir, fmt.Sprint("sockets", rank)))
	}
	return r
}

// link is a launcher's end, and the descriptor of the rank's.
func (h *hosts) link(info boot.Info) (*boot.Link, *os.File) {
	h.t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "launcher"), os.NewFile(uintptr(fds[1]), "rank")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		h.t.Fatal(err)
	}
	return boot.NewLink(conn, info), theirs
}

// exchange hands out the cards.
type exchange struct {
	links  []*boot.Link
	before func()

	mu    sync.Mutex
	cards *boot.Cards // guarded by mu
}

// serve is the launcher's part for one rank.
func (x *exchange) serve(rank int, link *boot.Link) {
	for {
		n, err := link.Next()
		if err != nil {
			return
		}
		if n.Kind == boot.CardGiven {
			x.give(rank, n.Card)
		}
	}
}

func (x *exchange) give(rank int, card []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.cards.Put(rank, card); err != nil || !x.cards.IsComplete() {
		return
	}
	if x.before != nil {
		x.before()
	}
	for _, l := range x.links {
		l.SendCards(x.cards)
	}
}

func readLines(path string) (lines []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// wantTalk checks that the ranks have talked over the network net, and listened at such addresses
// and ports only as ok allows.
func (r *hostsRun) wantTalk(t *testing.T, net string, ok func(netip.AddrPort) bool) {
	t.Helper()
	for rank := range 2 {
		if r.err[rank] != nil || r.output[rank] != "" {
			t.Errorf("rank %d: %v\n%s", rank, r.err[rank], r.output[rank])
			continue
		}
		peers, listens := 0, 0
		for _, line := range r.notes[rank] {
			what, text, _ := strings.Cut(line, " ")
			switch what {
			case "peer":
				peers++
				if a := netip.MustParseAddr(text); !netip.MustParsePrefix(net).Contains(a) {
					t.Errorf("rank %d is connected to %v, want an address of %s", rank, a, net)
				}
			case "listen":
				listens++
				if a := netip.MustParseAddrPort(text); !ok(a) {
					t.Errorf("rank %d listens at %v", rank, a)
				}
			case "way":
				if text != "tcp" {
					t.Errorf("rank %d reaches the other by %s", rank, text)
				}
			}
		}
		if peers == 0 || listens == 0 {
			t.Errorf("rank %d has the sockets %q", rank, r.notes[rank])
		}
	}
}

func anywhere(netip.AddrPort) bool { return true }

// TestHosts: ranks on two hosts find a way to each other.
func TestHosts(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	remote := boot.Net{Remote: true}
	within := func(s string) func(netip.AddrPort) bool {
		return func(a netip.AddrPort) bool { return netip.MustParsePrefix(s).Contains(a.Addr()) }
	}
	for _, test := range []struct {
		name    string
		net     boot.Net
		env     []string
		prepare func(h *hosts)
		before  func(h *hosts)
		over    string
		listens func(netip.AddrPort) bool
	}{
		{name: "the first address", net: remote, over: "10.77.1.0/24", listens: anywhere},
		{name: "the first is firewalled", net: remote, over: "10.77.2.0/24", listens: anywhere,
			prepare: func(h *hosts) { h.ip(1, "route", "add", "blackhole", "10.77.1.1/32") }},
		{name: "packets to the first are dropped", net: remote, over: "10.77.2.0/24", listens: anywhere, prepare: (*hosts).dropFirst},
		{name: "the first dies after the start", net: remote, over: "10.77.2.0/24", listens: anywhere,
			before: func(h *hosts) { h.ip(1, "link", "set", "lb1", "down") }},
		{name: "neither can answer over the first", net: remote, over: "10.77.2.0/24", listens: anywhere,
			prepare: func(h *hosts) {
				h.ip(1, "route", "add", "blackhole", "10.77.1.1/32")
				h.ip(0, "route", "add", "blackhole", "10.77.1.2/32")
			}},
		{name: "a network is chosen", net: boot.Net{Remote: true, Interface: "10.77.2.0/24"}, over: "10.77.2.0/24", listens: within("10.77.2.0/24")},
		{name: "interfaces are chosen by the environment", net: remote, env: []string{"FITMPI_IFACE=la2,lb2"}, over: "10.77.2.0/24",
			listens: func(a netip.AddrPort) bool { return within("10.77.2.0/24")(a) || within("fd77:2::/64")(a) }},
		{name: "IPv6", net: boot.Net{Remote: true, Interface: "fd77:2::/64"}, over: "fd77:2::/64", listens: within("fd77:2::/64")},
		{name: "ports", net: boot.Net{Remote: true, Ports: "41000-41003"}, over: "10.77.1.0/24",
			listens: func(a netip.AddrPort) bool { return a.Port() >= 41000 && a.Port() <= 41003 }},
		{name: "TLS", net: boot.Net{Remote: true, TLS: true}, over: "10.77.1.0/24", listens: anywhere},
		{name: "TLS, the first is firewalled", net: boot.Net{Remote: true, TLS: true}, over: "10.77.2.0/24", listens: anywhere,
			prepare: func(h *hosts) { h.ip(1, "route", "add", "blackhole", "10.77.1.1/32") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHosts(t)
			if test.name == "IPv6" {
				if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
					t.Skip("this kernel has no IPv6")
				}
			}
			if test.prepare != nil {
				test.prepare(h)
			}
			j := hostJob{nets: [2]boot.Net{test.net, test.net}, env: test.env}
			if test.before != nil {
				j.before = func() { test.before(h) }
			}
			run := h.run(j)
			run.wantTalk(t, test.over, test.listens)
		})
	}
}

// TestHostsErrors: what cannot be is an error that says what was tried.
func TestHostsErrors(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	same := func(n boot.Net) [2]boot.Net { return [2]boot.Net{n, n} }
	for _, test := range []struct {
		name    string
		nets    [2]boot.Net
		env     []string
		prepare func(h *hosts)
		says    []string
	}{
		{name: "no way", nets: same(boot.Net{Remote: true, Interface: "10.77.0.0/16", Ports: "42000"}), env: []string{"FITMPI_CONNECT_TIMEOUT=2s"},
			prepare: func(h *hosts) {
				for _, a := range []string{"10.77.1.1/32", "10.77.2.1/32"} {
					h.ip(1, "route", "add", "blackhole", a)
				}
			},
			says: []string{"rank 1", "connect to host-b: ", "10.77.1.2:42000: no answer; 10.77.2.2:42000: no answer"}},
		{name: "no such interface", nets: same(boot.Net{Remote: true, Interface: "eth9"}),
			says: []string{"FITMPI_IFACE", `no address by "eth9"`, "la1 10.77.1.1/24"}},
		{name: "one without TLS", nets: [2]boot.Net{{Remote: true}, {Remote: true, TLS: true}},
			says: []string{"rank 0 does not use TLS, rank 1 does: every rank needs the same FITMPI_TLS"}},
		{name: "another domain", nets: [2]boot.Net{{Remote: true, Domain: "a"}, {Remote: true, Domain: "b"}},
			says: []string{`rank 1: it is in domain "b", this rank in "a", and there is no gateway between them`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHosts(t)
			if test.prepare != nil {
				test.prepare(h)
			}
			run := h.run(hostJob{nets: test.nets, env: test.env})
			for _, s := range test.says {
				if !strings.Contains(run.output[0], s) {
					t.Errorf("rank 0 says %q (%v), want %q", run.output[0], run.err[0], s)
				}
			}
		})
	}
}
