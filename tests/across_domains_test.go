//go:build linux

package tests

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// Two domains as they are in life: east is behind a router that hides its hosts (NAT) and lets no
// connection in, so east's gateway dials west's. fitrun is in west's network and reaches east's
// hosts by ssh over the router.

const gatewayPort = ":7100"

// domains are the hosts of west and east, and what runs there.
type domains struct {
	*fitrunLab
	west, router, east *netlab.Host
	west2, east2       *netlab.Host
	network            *netlab.Network // of west
	secret             string          // file
	hosts              string          // file: 0, 1 and 2 in west, 3 and 4 in east
}

func newDomains(t *testing.T) *domains {
	t.Helper()
	d := &domains{fitrunLab: newFitrunLab(t)}
	d.network = d.Network()
	d.west, d.west2, d.router = d.network.Host(), d.network.Host(), d.network.Host()
	behind := d.Behind(d.router)
	d.east, d.east2 = behind.Host(), behind.Host()
	d.secret = d.newSecret(t)
	d.hosts = d.hostFile(t,
		d.west.Addr()+" slots=2 domain=west", d.west2.Addr()+" slots=1 domain=west",
		d.east.Addr()+" slots=1 domain=east", d.east2.Addr()+" slots=1 domain=east")
	return d
}

func (d *domains) newSecret(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(rand.Text()+rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runningGateway is a fitrun gateway on a host.
type runningGateway struct {
	host *netlab.Host
	said watched
	end  func()
}

// gateway starts a gateway on a host, for the length of the test.
func (d *domains) gateway(t *testing.T, h *netlab.Host, domain, secret string, more ...string) *runningGateway {
	t.Helper()
	g := &runningGateway{host: h}
	g.said.changed = make(chan struct{}, 1)
	cmd := h.Command(append([]string{d.fitrun, "gateway", "-v", "--domain", domain, "--listen", h.Addr() + gatewayPort, "--secret-file", secret}, more...)...)
	cmd.Stderr = &g.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	g.end = func() {
		if !ended {
			ended = true
			cmd.Process.Kill() // ip has become the gateway
			cmd.Wait()
		}
	}
	t.Cleanup(func() {
		g.end()
		if t.Failed() {
			t.Logf("gateway of %s:\n%s", domain, g.said.String())
		}
	})
	g.said.await(t, "listens at")
	return g
}

// gateways starts one in each domain.
func (d *domains) gateways(t *testing.T) (west, east *runningGateway) {
	t.Helper()
	west = d.gateway(t, d.west, "west", d.secret)
	east = d.gateway(t, d.east, "east", d.secret, "--peer", d.west.Addr()+gatewayPort)
	east.said.await(t, "msg=linked")
	west.said.await(t, "msg=linked")
	return west, east
}

// options are those of a job over both domains.
func (d *domains) options(more ...string) []string {
	return append([]string{"--hostfile", d.hosts, "--secret-file", d.secret,
		"--gateway", "west=" + d.west.Addr() + gatewayPort, "--gateway", "east=" + d.east.Addr() + gatewayPort}, more...)
}

// TestAcrossDomains: a job of two domains, with the gateways that users have.
func TestAcrossDomains(t *testing.T) {
	effort.Need(t, effort.Full, "it runs the suite, and waits for gateways that are gone")
	d, cases := newDomains(t), few(effort.Now(), someCases)
	suite := func(t *testing.T, d *domains) { domainsSuite(t, d, cases) }
	for _, tc := range []struct {
		name string
		test func(t *testing.T, d *domains)
	}{
		{"closed", domainsClosed}, {"suite", suite}, {"both ways", domainsBothWays}, {"none", domainsNone},
		{"killed", domainsKilled}, {"another secret", domainsAnotherSecret}, {"in clear", domainsInClear}, {"TLS", domainsTLS},
		{"delay", domainsDelay}, {"reset", domainsReset},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Cleanup(func() { d.AwaitEmpty(t, acrossBound) }) // after that of the gateways
			tc.test(t, d)
		})
	}
}

// The network is what these tests say of it: east can call west, not the other way.
func domainsClosed(t *testing.T, d *domains) {
	call := func(from, to *netlab.Host) error {
		return from.Command("timeout", "5", "sh", "-c", "exec ssh-keyscan -T 3 "+to.Addr()+" 2>/dev/null | grep -q ssh").Run()
	}
	if err := call(d.east, d.west); err != nil {
		t.Errorf("east cannot call west: %v", err)
	}
	if err := call(d.west, d.east); err == nil {
		t.Error("west can call east")
	}
}

func domainsSuite(t *testing.T, d *domains, cases string) {
	d.gateways(t)
	d.suite(t, 5, acrossJob{cases: cases, args: d.options()})
}

// domainsBothWays: every rank talks with every rank, and --verbose says which ranks are reached by
// a gateway.
func domainsBothWays(t *testing.T, d *domains) {
	d.gateways(t)
	run := d.run(t, acrossJob{program: "exchange", args: d.options("--verbose")})
	run.wantClean(t)
	for _, want := range []string{
		`rank 0 transports: .*tcp 3 \(by gateway to 3,4\)\n`, `rank 2 transports: .*tcp 4 \(by gateway to 3,4\)\n`,
		`rank 4 transports: .*tcp 4 \(by gateway to 0,1,2\)\n`,
	} {
		if !regexp.MustCompile(want).MatchString(run.stderr) {
			t.Errorf("it does not say %q:\n%s", want, run.stderr)
		}
	}
	t.Logf("\n%s", run.stdout)
}

// Without gateways ranks do not find each other, and say how they have tried.
func domainsNone(t *testing.T, d *domains) {
	run := d.run(t, acrossJob{program: "exchange", args: []string{"--hostfile", d.hosts}})
	run.wantError(t, `hosts of domains west and east, and no gateway of either; name one with --gateway west=HOST:PORT`)
	began := time.Now()
	run = d.run(t, acrossJob{program: "exchange", args: d.options("-x", "FITMPI_CONNECT_TIMEOUT=3s")}) // none runs there
	run.wantError(t, `rank \d+ .*aborted the job.*\(gateway (`+regexp.QuoteMeta(d.west.Addr()+gatewayPort)+`|`+regexp.QuoteMeta(d.east.Addr()+gatewayPort)+`)\): connect: connection refused`)
	t.Logf("after %v:\n%s", time.Since(began).Round(time.Millisecond), run.stderr)
}

// The gateway that dies in the middle ends the job.
func domainsKilled(t *testing.T, d *domains) {
	west, _ := d.gateways(t)
	r := d.start(t, acrossJob{program: "rounds", args: d.options()})
	r.stdout.await(t, "[0] going")
	west.end()
	killed := time.Now()
	run := r.end(t, acrossBound)
	t.Logf("ended %v after it, with code %d and:\n%s", time.Since(killed).Round(time.Millisecond), run.code, run.stderr)
	run.wantError(t, `rank \d+ .*aborted the job.*rank \d+.*\(gateway `)
}

// A gateway that does not know the secret gets no link, and is told of; nor does a job get
// anywhere.
func domainsAnotherSecret(t *testing.T, d *domains) {
	west := d.gateway(t, d.west, "west", d.secret)
	other := d.newSecret(t)
	east := d.gateway(t, d.east, "east", other, "--peer", d.west.Addr()+gatewayPort)
	west.said.await(t, "msg=refused")
	east.said.await(t, `msg="no link"`)
	for _, g := range []*runningGateway{west, east} {
		if said := g.said.String(); !strings.Contains(said, "secret") || strings.Contains(said, "msg=linked") {
			t.Errorf("it says:\n%s", said)
		}
	}
	run := d.run(t, acrossJob{program: "exchange", args: d.options("-x", "FITMPI_CONNECT_TIMEOUT=3s")})
	run.wantError(t, `rank \d+ .*aborted the job.*rank \d+.*\(gateway .*(the gateway refuses: no gateway of domain east has a link to this one, of west|without the key of this job, refuses: "relay: the request is not proved)`)
	t.Logf("the job says:\n%s", run.stderr)
	if said := west.said.String(); !strings.Contains(said, "no gateway of domain east has a link to this one, of west") {
		t.Errorf("west does not say why:\n%s", said)
	}
}

// What crosses the router is encrypted; what a rank says to its own gateway is so with --tls only.
func domainsInClear(t *testing.T, d *domains) { domainsWatched(t, d, true) }
func domainsTLS(t *testing.T, d *domains)     { domainsWatched(t, d, false, "--tls") }

// domainsWatched runs a job whose ranks send the marker between domains only, and looks at the
// links.
func domainsWatched(t *testing.T, d *domains, inClear bool, more ...string) {
	d.gateways(t)
	atRouter, atRank := d.router.Watch(marker), d.west2.Watch(marker)
	hosts := d.hostFile(t,
		d.west.Addr()+" slots=1 domain=west", d.west2.Addr()+" slots=1 domain=west",
		d.east.Addr()+" slots=1 domain=east", d.east2.Addr()+" slots=1 domain=east")
	run := d.run(t, acrossJob{program: "marker", args: append(d.options(more...), "--hostfile", hosts)})
	run.wantClean(t)
	atRouter.Stop(t, "at the router", false)
	atRank.Stop(t, "between a rank and its gateway", inClear)
}

// viaProxy starts gateways of which east's dials west's by a proxy.
func (d *domains) viaProxy(t *testing.T, delay time.Duration) *netlab.Proxy {
	t.Helper()
	p := d.network.Proxy(t, d.west.Addr()+gatewayPort, delay)
	d.gateway(t, d.west, "west", d.secret)
	east := d.gateway(t, d.east, "east", d.secret, "--peer", p.Addr())
	east.said.await(t, "msg=linked")
	return p
}

// With 50 ms on the way each way, everything takes longer and is right.
func domainsDelay(t *testing.T, d *domains) {
	p := d.viaProxy(t, 50*time.Millisecond)
	run := d.run(t, acrossJob{program: "exchange", args: d.options()})
	run.wantClean(t)
	if p.Bytes() < 12<<20 {
		t.Errorf("%d bytes have crossed the proxy: the ranks have another way", p.Bytes())
	}
	t.Logf("\n%s", run.stdout)
}

// domainsReset: connections that are reset in the middle of a message are the end of the job, and
// the error says between which ranks.
func domainsReset(t *testing.T, d *domains) {
	p := d.viaProxy(t, 0)
	r := d.start(t, acrossJob{program: "rounds", args: d.options()})
	r.stdout.await(t, "[0] going")
	p.AwaitBytes(t, p.Bytes()+1<<20)
	p.Reset()
	run := r.end(t, acrossBound)
	run.wantError(t, `rank \d+ .*aborted the job.*rank \d+.*\(gateway `)
	t.Logf("%s", run.stderr)
}
