//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// mode is what a job is expected to do about faults.
type mode int

const (
	plain    mode = iota // a rank that fails, or seems to, ends the job
	resumes              // connections that break are made again, and no rank notices
	recovers             // ranks that die are left behind, by Revoke and Shrink, under fitrun --with-ft
	both                 // the one and the other
	restarts             // the job is started again by fitrun --restart, and goes on from its checkpoint
)

func (m mode) String() string { return [...]string{"plain", "resume", "recover", "both", "restart"}[m] }

// resumed and recovered report whether connections are made again, and whether ranks go on without
// those that die.
func (m mode) resumed() bool   { return m == resumes || m == both }
func (m mode) recovered() bool { return m == recovers || m == both }

// plan is a job and its faults. All of it follows from a seed.
type plan struct {
	seed              uint64
	mode              mode
	ranks, perProcess int
	policy, transport string
	tls, def          bool          // connections are encrypted; errors go to the default error handler
	hosts             string        // how hosts are reached, of which the job has two on this machine: by "ssh" or "agent"; "" if it has none
	heartbeat         time.Duration // after how long silence is death; 0: not while the run lasts
	again             int           // how often the job is started again
	fullStore         bool          // checkpoints are on a disk that has no room for some of them
	outputs           []string      // options of fitrun whose files are on a full disk
	files             uint64        // descriptors that a rank may have; 0: as many as it likes
	fitrunFiles       int           // the same for fitrun
	faults            []fault
	scale             int
	soak              time.Duration // how long the load lasts, if ranks are to say what they hold; 0: they are not
	start             time.Duration // until all ranks have exchanged their first messages, or faults begin without that
	bound             time.Duration // from the last fault, or from the one that ends the job, to the end of fitrun
	left              time.Duration // until nothing is left after that
}

// modeOf is the mode of a seed's job.
func modeOf(seed uint64) mode {
	return []mode{plain, resumes, recovers, plain, both, restarts, recovers, resumes}[seed%8]
}

// proxied reports whether ranks reach each other through proxies.
func (p *plan) proxied() bool { return p.transport == "tcp" }

// dice are those of a seed.
func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0xc4a05)) }

// newPlan draws the plan of a seed.
func newPlan(seed uint64, m mode, count int) plan {
	d := newDice(seed)
	p := plan{seed: seed, mode: m, ranks: 2 + d.IntN(4), perProcess: 1, scale: 12 + d.IntN(20), start: startBound, bound: endBound, left: leftBound}
	p.policy = []string{"assist", "assist", "worker", "caller"}[d.IntN(4)]
	p.transport = []string{"tcp", "tcp", "auto", "tcp"}[d.IntN(4)]
	p.tls, p.def = d.IntN(4) == 0, d.IntN(4) == 0
	if d.IntN(6) == 0 {
		p.perProcess = 2
	}
	if m.resumed() {
		p.transport = "tcp"
	}
	if m.recovered() {
		p.perProcess, p.def = 1, false
	}
	p.tls = p.tls && p.transport == "tcp"
	p.drawHosts(d)
	if p.policy != "caller" && d.IntN(2) == 0 { // a rank that calls nothing shows nothing then
		p.heartbeat = silence
	}
	p.drawFaults(d, count)
	if m == plain && d.IntN(4) == 0 {
		p.starve(d)
	}
	return p
}

// drawFaults draws the schedule: many faults that the job survives, and in jobs that are to fail
// one at the end that it does not.
func (p *plan) drawFaults(d *rand.Rand, count int) {
	const gap = 25 * time.Millisecond
	survives := p.kinds(func(e effect) bool { return e == harmless || e == breaks && p.mode.resumed() })
	for range count {
		p.faults = append(p.faults, drawFault(d, p.ranks, survives, gap))
	}
	switch {
	case p.mode.recovered():
		// One after the other, and some at once; one rank lives. In the middle of the others, so
		// that there is work to recover in.
		victims, cuts := d.Perm(p.ranks)[:1+d.IntN(p.ranks-1)], p.kinds(func(e effect) bool { return e == breaks })
		if p.mode == recovers && d.IntN(2) == 0 && len(cuts) > 0 { // one of the ends of a connection that is cut is dead, too
			p.insert(drawFault(d, p.ranks, cuts, 4*gap), d.IntN(len(p.faults)))
			victims = victims[:min(len(victims), p.ranks-2)]
		}
		for k, victim := range victims {
			f := drawFault(d, p.ranks, p.deaths(), 4*gap)
			f.rank = victim
			p.insert(f, 5+k*d.IntN(8))
		}
	case p.mode == restarts:
		p.drawRestarts(d)
	case p.mode == resumes, p.mode == plain && d.IntN(5) == 0:
	default:
		p.faults = append(p.faults, drawFault(d, p.ranks, p.kinds(func(e effect) bool { return e != harmless }), gap))
	}
}

// insert has a fault strike after so many others.
func (p *plan) insert(f fault, at int) { p.faults = slices.Insert(p.faults, min(len(p.faults), at), f) }

// drawHosts puts the ranks of some jobs on two hosts.
func (p *plan) drawHosts(d *rand.Rand) {
	if d.IntN(4) == 0 {
		p.hosts, p.perProcess = []string{"ssh", "agent"}[d.IntN(2)], 1
	}
}

// drawRestarts draws what ends the job, each time that it runs again.
func (p *plan) drawRestarts(d *rand.Rand) {
	p.fullStore = d.IntN(2) == 0
	ends := append(p.kinds(func(e effect) bool { return e == breaks }), p.deaths()...)
	for k := range 1 + d.IntN(3) {
		f := drawFault(d, p.ranks, [][]*kind{ends, p.deaths()}[d.IntN(2)], 400*time.Millisecond)
		p.insert(f, 6+k*(5+d.IntN(6)))
	}
	p.again = 20
}

// deaths are the kinds of which ranks die.
func (p *plan) deaths() []*kind {
	return slices.DeleteFunc(p.kinds(func(e effect) bool { return e == deadly }), func(k *kind) bool {
		// Where ranks must go on, the rank beside the one that is named is none's to kill, nor is
		// its host. An agent that listened is not there when the job is started again.
		return k.name == "freeze, then kill another" || p.mode.recovered() && k.ofHost || k.name == "cut off a host" && p.mode == restarts && p.hosts == "agent"
	})
}

// kinds are those of some effects that can strike this job.
func (p *plan) kinds(want func(e effect) bool) []*kind {
	var of []*kind
	for _, k := range kinds {
		if want(k.effect) && (!k.proxied || p.proxied()) && (!k.ofHost || p.hosts != "") &&
			(k.name != "damage under TLS" || p.tls) && (k.name != "reset again and again" || p.mode.resumed()) && // which costs more than one connection
			(k.name != "freeze" || p.heartbeat > 0) {
			of = append(of, k)
		}
	}
	return of
}

// outputs are options of fitrun that write files.
var outputs = []string{"--output-filename", "--trace", "--summary-file"}

// starve takes from the job what it needs: room on the disk, or descriptors.
func (p *plan) starve(d *rand.Rand) {
	switch d.IntN(3) {
	case 0:
		p.files = uint64(12 + d.IntN(24))
	case 1:
		p.fitrunFiles = 10 + d.IntN(30)
	default:
		p.outputs = outputs[d.IntN(len(outputs)):]
	}
}

// silence is plan.heartbeat where there is one: longer than any rank is stopped for a time, or
// waits for a core of a busy machine.
const silence = 6 * time.Second

// starves reports whether something is refused to the job.
func (p *plan) starves() bool { return p.files > 0 || p.fitrunFiles > 0 || len(p.outputs) > 0 }

func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, mode %v: %d ranks, %d in a process, %s, %s", p.seed, p.mode, p.ranks, p.perProcess, p.policy, p.transport)
	for _, s := range []struct {
		is   bool
		what string
	}{
		{p.tls, "TLS"},
		{p.def, "default error handler"},
		{p.hosts != "", "two hosts by " + p.hosts},
		{p.heartbeat > 0, "heartbeats"},
		{p.fullStore, "a disk that some checkpoints do not fit on"},
		{p.files > 0, fmt.Sprint(p.files, " descriptors for a rank")},
		{p.fitrunFiles > 0, fmt.Sprint(p.fitrunFiles, " descriptors for fitrun")},
		{len(p.outputs) > 0, "full disk for " + strings.Join(p.outputs, " ")},
	} {
		if s.is {
			b.WriteString(", " + s.what)
		}
	}
	for _, f := range p.faults[max(0, len(p.faults)-4):] {
		fmt.Fprintf(&b, "\n  %v", f)
	}
	return b.String()
}
