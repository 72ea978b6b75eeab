//go:build linux

package tests

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// Ranks find each other as the pods of a Kubernetes Job do: each in a network of its own, at a name
// of the cluster's DNS that is not known yet when the first of them start.

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

// pods are hosts in a network with a server of names of their own, as the pods of a cluster are. A
// pod has a name when that is published, as the name of a headless service is when the pod has an
// address. Until then there is no such name.
type pods struct {
	*netlab.Lab
	dns  *netlab.DNS
	pods []*netlab.Host
}

// podDomain is where the names of pods are: those of the namespace default.
const podDomain = "default.svc.cluster.local"

// newPods makes n of them, none of which has a name.
func newPods(t *testing.T, n int) *pods {
	t.Helper()
	p := &pods{Lab: netlab.New(t)}
	network := p.Network()
	p.dns = network.DNS(podDomain, "svc.cluster.local", "cluster.local")
	for range n {
		p.pods = append(p.pods, network.Bare())
	}
	return p
}

// publish makes a pod be known by a name in the domain of the pods.
func (p *pods) publish(t *testing.T, name string, pod int) {
	t.Helper()
	p.dns.Publish(t, name+"."+podDomain, p.pods[pod].Addr())
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
	for late := time.After(2 * failsafe); !strings.Contains(w.String(), what); {
		select {
		case <-w.changed:
		case <-late:
			t.Fatalf("want %q in:\n%s", what, w.String())
		}
	}
}

// start starts a program of this binary in a pod.
func (p *pods) start(t *testing.T, pod int, program string, env ...string) *podRank {
	t.Helper()
	r := &podRank{cmd: p.pods[pod].Command(selfPath(t))}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(append(os.Environ(), envProgram+"="+program), env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cmd.Process.Kill() }) // which has ended, unless the test has failed
	return r
}

// podSecret is a file with a secret.
func podSecret(t *testing.T) string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("not so secret ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	return secret
}

// manifestValue is what the manifest of a job without a launcher says in a variable.
func manifestValue(t *testing.T, variable string) string {
	t.Helper()
	b, err := os.ReadFile("../deploy/k8s/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`- name: ` + variable + `\n\s+value: "?([^"\n]+)"?\n`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("the manifest does not say %s", variable)
	}
	return string(m[1])
}

// wantCards waits for the end of a rank of four, and checks what it has found out.
func (r *podRank) wantCards(t *testing.T, want string) {
	t.Helper()
	err := r.cmd.Wait()
	if want += ": card0 card1 card2 card3\n"; err != nil || r.stdout.String() != want {
		t.Errorf("%v\n%s%s, want %s", err, r.stdout.String(), r.stderr.String(), want)
	}
}

// The pods of the manifest's job, with what it says to them: the name of rank 0's is one of the
// service, not yet there when the others start, then there while nothing listens.
func TestRendezvousOfPods(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for names")
	address, count := manifestValue(t, "FITMPI_RENDEZVOUS"), manifestValue(t, "FITMPI_SIZE")
	name, port, err := net.SplitHostPort(address)
	if err != nil || count != "4" {
		t.Fatalf("%s ranks meet at %q: %v", count, address, err)
	}
	const size = 4
	p := newPods(t, size)
	env := []string{"FITMPI_RENDEZVOUS=" + address, "FITMPI_SECRET_FILE=" + podSecret(t), "FITMPI_SIZE=" + count}
	ranks := make([]*podRank, size)
	start := func(r int) {
		ranks[r] = p.start(t, r, "discover", append(env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", r))...)
	}
	for r := 1; r < size; r++ {
		start(r)
	}
	for r := 1; r < size; r++ { // while rank 0 has no name
		ranks[r].stderr.await(t, fmt.Sprintf("fitmpi: rank %d waits for rank 0 at %s, 5s: dial tcp: lookup %s on %s:53: no such host", r, address, name, p.dns.Addr()))
	}
	for _, asked := range []string{name + "." + podDomain, name + ".svc.cluster.local", name} {
		if p.dns.Asked(asked) == 0 {
			t.Errorf("nobody has looked for %s", asked)
		}
	}
	p.publish(t, name, 0)
	for r := 1; r < size; r++ { // while it has a name and an address, and does not run
		ranks[r].stderr.await(t, net.JoinHostPort(p.pods[0].Addr(), port)+": connect: connection refused")
	}
	start(0)
	for r, rank := range ranks {
		rank.wantCards(t, fmt.Sprintf("rank %d of 4, local 0 of 1, by kubernetes, remote true, memory false", r))
	}
}

// TestRendezvousWithoutName: the name of rank 0's pod never comes, or the server of names does not
// answer. Then a rank gives up when its time is over, and says which name that is.
func TestRendezvousWithoutName(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for names")
	p := newPods(t, 1)
	p.dns.Mute("job-0.mute." + podDomain)
	env := []string{"FITMPI_SECRET_FILE=" + podSecret(t), "FITMPI_SIZE=4", "JOB_COMPLETION_INDEX=3", "FITMPI_RENDEZVOUS_TIMEOUT=2s"}
	for name, why := range map[string]string{
		"job-0.ring": "lookup job-0.ring on " + p.dns.Addr() + ":53: no such host",
		"job-0.mute": "lookup job-0.mute",
	} {
		began := time.Now()
		r := p.start(t, 0, "discover", append(env, "FITMPI_RENDEZVOUS="+name+":7077")...)
		err := r.cmd.Wait()
		want := fmt.Sprintf("boot: rank 3 waited 2s for rank 0 at %s:7077: dial tcp: %s", name, why)
		if said := r.stderr.String(); err == nil || !strings.Contains(said, want) || strings.Count(said, "\n") > 2 {
			t.Errorf("%v, it said %q, want %q", err, said, want)
		}
		if took := time.Since(began); took < 2*time.Second || took > deadline {
			t.Errorf("%s: it gave up after %v", name, took)
		}
	}
}

// TestRendezvousByManyAddresses: a name may have addresses at which nothing is any more, as that of
// a pod that was moved has for a while. It may have so many that they come by TCP, as those of a
// large service do.
func TestRendezvousByManyAddresses(t *testing.T) {
	t.Parallel()
	const name = "job.ring"
	p := newPods(t, 4)
	addrs := []string{"fd00::1"} // no way to it
	for range 100 {
		addrs = append(addrs, p.pods[1].Addr()) // nothing listens there
	}
	p.dns.Publish(t, name+"."+podDomain, append(addrs, p.pods[0].Addr())...)
	env := []string{"FITMPI_RENDEZVOUS=" + name + ":7077", "FITMPI_SECRET_FILE=" + podSecret(t), "FITMPI_SIZE=4"}
	var ranks []*podRank
	for r := range p.pods {
		ranks = append(ranks, p.start(t, r, "discover", append(env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", r))...))
	}
	for r, rank := range ranks {
		rank.wantCards(t, fmt.Sprintf("rank %d of 4, local 0 of 1, by kubernetes, remote true, memory false", r))
	}
}

// Two ranks in each of two pods: those of one share memory.
func TestRendezvousOfPairs(t *testing.T) {
	t.Parallel()
	const name = "job-0.svc"
	p := newPods(t, 2)
	p.publish(t, name, 0)
	secret := podSecret(t)
	var ranks []*podRank
	for r := range 4 {
		ranks = append(ranks, p.start(t, r/2, "discover", "FITMPI_RENDEZVOUS="+name+":7077", "FITMPI_SECRET_FILE="+secret,
			"FITMPI_SIZE=4", fmt.Sprintf("FITMPI_RANK=%d", r)))
	}
	for r, rank := range ranks {
		rank.wantCards(t, fmt.Sprintf("rank %d of 4, local %d of 2, by environment, remote true, memory true", r, r%2))
	}
}

// Messages go between the ranks of pods, which have each other's addresses by the rendezvous; with
// FITMPI_TLS encrypted.
func TestMessagesBetweenPods(t *testing.T) {
	t.Parallel()
	const name = "job-0.svc"
	p := newPods(t, 2)
	p.publish(t, name, 0)
	secret := podSecret(t)
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
