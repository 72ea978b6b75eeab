//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// Ranks find each other as the pods of a Kubernetes Job do: each in a network of its own, at a name that is not known yet when
// the first of them start.

func init() { programs["discover"] = discoverRank }

// discoverRank tells where it found itself, and what the others told of themselves.
func discoverRank() {
	if err := discover(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func discover() error {
	s, err := boot.Find(os.Environ())
	if err != nil {
		return err
	}
	info := s.Info()
	ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
	defer cancel()
	cards, err := s.Exchange(ctx, fmt.Appendf(nil, "card%d", info.Rank))
	if err != nil {
		return err
	}
	fmt.Printf("rank %d of %d, local %d of %d, by %s, remote %t, memory %t: %s\n", info.Rank, info.Size, info.LocalRank, info.LocalSize,
		info.Source, info.Net.Remote, info.Segment != nil, strings.Join(stringsOf(cards), " "))
	if err := s.Finalizing(ctx); err != nil {
		return err
	}
	return s.Close()
}

func stringsOf(cards [][]byte) []string {
	out := make([]string, len(cards))
	for i, c := range cards {
		out[i] = string(c)
	}
	return out
}

// pods are network namespaces on a bridge, which is in one more.
type pods struct {
	names []string // of namespaces
	hosts []string // their files of hosts, as the programs in them see them
}

// newPods makes n of them, with the addresses 10.77.0.1 and on.
func newPods(t *testing.T, n int) *pods {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip(err)
	}
	sweepPods(t)
	bridge := fmt.Sprintf("fitmpi%d-bridge", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", bridge).CombinedOutput(); err != nil {
		t.Skipf("making a network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() { mustIP(t, "netns", "del", bridge) })
	mustIP(t, "-n", bridge, "link", "add", "br0", "type", "bridge")
	mustIP(t, "-n", bridge, "link", "set", "br0", "up")
	p := new(pods)
	for i := range n {
		name := fmt.Sprintf("fitmpi%d-%d", os.Getpid(), i)
		mustIP(t, "netns", "add", name)
		t.Cleanup(func() { mustIP(t, "netns", "del", name) })
		mustIP(t, "-n", bridge, "link", "add", fmt.Sprint("p", i), "type", "veth", "peer", "name", "eth0", "netns", name)
		mustIP(t, "-n", bridge, "link", "set", fmt.Sprint("p", i), "master", "br0", "up")
		mustIP(t, "-n", name, "addr", "add", fmt.Sprintf("10.77.0.%d/24", i+1), "dev", "eth0")
		mustIP(t, "-n", name, "link", "set", "eth0", "up")
		mustIP(t, "-n", name, "link", "set", "lo", "up")
		// ip netns exec mounts these over those of /etc.
		dir := filepath.Join("/etc/netns", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			os.RemoveAll(dir)
			os.Remove("/etc/netns") // unless others have some there
		})
		hosts := filepath.Join(dir, "hosts")
		for file, text := range map[string]string{hosts: "127.0.0.1 localhost\n", filepath.Join(dir, "resolv.conf"): "nameserver 127.0.0.1\n"} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p.names, p.hosts = append(p.names, name), append(p.hosts, hosts)
	}
	return p
}

// podName is the name of such a namespace, with the process whose test has made it.
var podName = regexp.MustCompile(`(?m)^(fitmpi(\d+)-\w+)`)

// sweepPods removes what a test that was killed has left behind: namespaces live until somebody deletes them.
func sweepPods(t *testing.T) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		t.Skipf("listing network namespaces: %v", err)
	}
	for _, m := range podName.FindAllStringSubmatch(string(out), -1) {
		if _, err := os.Stat("/proc/" + m[2]); errors.Is(err, fs.ErrNotExist) {
			exec.Command("ip", "netns", "del", m[1]).Run() // another test may sweep too
			os.RemoveAll(filepath.Join("/etc/netns", m[1]))
		}
	}
}

func mustIP(t *testing.T, args ...string) {
	t.Helper()
	if err := ip(args...); err != nil {
		t.Error(err)
	}
}

// publish makes a name of a pod known to all, as the cluster's DNS does when the pod has an address.
func (p *pods) publish(t *testing.T, name string, pod int) {
	t.Helper()
	for _, file := range p.hosts {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0) // in place: it is mounted
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "10.77.0.%d %s\n", pod+1, name)
		f.Close()
	}
}

// podRank is a rank that runs in a pod.
type podRank struct {
	cmd            *exec.Cmd
	stdout, stderr watched
}

// watched is a buffer that tells when something was written.
type watched struct {
	buffer
	changed chan struct{} // capacity 1
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	select {
	case w.changed <- struct{}{}:
	default:
	}
	return n, err
}

// await waits until what was written.
func (w *watched) await(t *testing.T, what string) {
	t.Helper()
	for failsafe := time.After(time.Minute); !strings.Contains(w.String(), what); {
		select {
		case <-w.changed:
		case <-failsafe:
			t.Fatalf("want %q in:\n%s", what, w.String())
		}
	}
}

// start starts a program of this binary in a pod.
func (p *pods) start(t *testing.T, pod int, program string, env ...string) *podRank {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &podRank{cmd: exec.Command("ip", "netns", "exec", p.names[pod], self)}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(append(os.Environ(), envProgram+"="+program), env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() }) // which has ended, unless the test has failed
	return r
}

func TestRendezvousOfPods(t *testing.T) {
	const size = 4
	const name = "job-0.svc.default.svc.cluster.local"
	p := newPods(t, size)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("not so secret ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"FITMPI_RENDEZVOUS=" + name + ":7077", "FITMPI_SECRET_FILE=" + secret, fmt.Sprintf("FITMPI_SIZE=%d", size)}
	ranks := make([]*podRank, size)
	start := func(r int) {
		ranks[r] = p.start(t, r, "discover", append(env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", r))...)
	}
	for r := 1; r < size; r++ {
		start(r)
	}
	for r := 1; r < size; r++ { // while rank 0 has no name
		ranks[r].stderr.await(t, fmt.Sprintf("fitmpi: rank %d waits for rank 0 at %s:7077, 5s: dial tcp: lookup %s", r, name, name))
	}
	p.publish(t, name, 0)
	for r := 1; r < size; r++ { // while it has a name and an address, and does not run
		ranks[r].stderr.await(t, "10.77.0.1:7077: connect: connection refused")
	}
	start(0)
	var wg sync.WaitGroup
	for r, rank := range ranks {
		wg.Go(func() {
			err := rank.cmd.Wait()
			want := fmt.Sprintf("rank %d of 4, local 0 of 1, by kubernetes, remote true, memory false: card0 card1 card2 card3\n", r)
			if err != nil || rank.stdout.String() != want {
				t.Errorf("rank %d: %v\n%s%s, want %s", r, err, rank.stdout.String(), rank.stderr.String(), want)
			}
		})
	}
	wg.Wait()
}

// Two ranks in each of two pods: those of one share memory.
func TestRendezvousOfPairs(t *testing.T) {
	const size = 4
	const name = "job-0.svc"
	p := newPods(t, 2)
	p.publish(t, name, 0)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("not so secret ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for r := range size {
		rank := p.start(t, r/2, "discover", "FITMPI_RENDEZVOUS="+name+":7077", "FITMPI_SECRET_FILE="+secret,
			"FITMPI_SIZE=4", fmt.Sprintf("FITMPI_RANK=%d", r))
		wg.Go(func() {
			err := rank.cmd.Wait()
			want := fmt.Sprintf("rank %d of 4, local %d of 2, by environment, remote true, memory true: card0 card1 card2 card3\n", r, r%2)
			if err != nil || rank.stdout.String() != want {
				t.Errorf("rank %d: %v\n%s%s, want %s", r, err, rank.stdout.String(), rank.stderr.String(), want)
			}
		})
	}
	wg.Wait()
}

// Messages go between the ranks of pods, which have each other's addresses by the rendezvous; with FITMPI_TLS encrypted.
func TestMessagesBetweenPods(t *testing.T) {
	const name = "job-0.svc"
	p := newPods(t, 2)
	p.publish(t, name, 0)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("not so secret ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tls := range []string{"0", "1"} {
		var wg sync.WaitGroup
		for r, want := range []string{"self shared tcp tcp", "shared self tcp tcp", "tcp tcp self shared", "tcp tcp shared self"} {
			rank := p.start(t, r/2, "mixed", "FITMPI_RENDEZVOUS="+name+":7077", "FITMPI_SECRET_FILE="+secret,
				"FITMPI_SIZE=4", fmt.Sprintf("FITMPI_RANK=%d", r), "FITMPI_TLS="+tls)
			wg.Go(func() {
				err := rank.cmd.Wait()
				if want := fmt.Sprintf("rank %d: %s\n", r, want); err != nil || rank.stdout.String() != want {
					t.Errorf("TLS %s, rank %d: %v\n%s%s, want %s", tls, r, err, rank.stdout.String(), rank.stderr.String(), want)
				}
			})
		}
		wg.Wait()
	}
}
