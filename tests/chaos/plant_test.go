//go:build linux

package chaos

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// What finds nothing must be able to find something: each planted bug is found, and by its name.

// quiet is a plan without faults.
func quiet(seed uint64) plan {
	return plan{seed: seed, ranks: 3, perProcess: 1, policy: "assist", transport: "tcp", scale: 15, start: startBound, bound: endBound, left: time.Second}
}

// wantBad runs a plan with a bug, and wants the verdict to say all of some things.
func wantBad(t *testing.T, p plan, bug string, want ...string) {
	t.Helper()
	r := runPlan(t, p, bug, 3)
	v := r.classify()
	all := strings.Join(v.bad, "\n")
	if all == "" {
		t.Errorf("the verdict finds nothing; the job wrote:\n%s", tail(r.out))
	}
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("the verdict does not say %q, but:\n%s\nthe job wrote:\n%s", w, all, tail(r.out))
		}
	}
}

func TestVerdictFindsWrongPayloads(t *testing.T) {
	t.Parallel()
	wantBad(t, quiet(1), "flip", "WRONG: message", "the first wrong one is byte")
}

// TestVerdictFindsLostMessages: another message comes in place of the one that is lost, or in the
// end none.
func TestVerdictFindsLostMessages(t *testing.T) {
	t.Parallel()
	p := quiet(2)
	p.start, p.bound = 3*time.Second, 2*time.Second
	wantBad(t, p, "drop", "")
}

// TestVerdictFindsMessagesThatComeTwice: the copy comes in place of another message, or is left, or
// no receive takes the original.
func TestVerdictFindsMessagesThatComeTwice(t *testing.T) {
	t.Parallel()
	p := quiet(3)
	p.start, p.bound = 3*time.Second, 2*time.Second
	wantBad(t, p, "twice", "")
}

// TestVerdictFindsDamageOnTheWay: a bit that a proxy changes in the middle of the bytes of a
// connection without TLS, which mostly is one of a payload.
func TestVerdictFindsDamageOnTheWay(t *testing.T) {
	t.Parallel()
	p := quiet(4)
	flip := &kind{"damage", harmless, true, false, onLine(func(r *run, x *line, _ fault) {
		x.ways[0].set(func(w *way) { w.flip = 100000 })
		r.awaitDamage(x)
	})}
	for r := range p.ranks {
		p.faults = append(p.faults, fault{kind: flip, rank: r})
	}
	r := runPlan(t, p, "", 0)
	if v := r.classify(); len(v.bad) == 0 {
		t.Errorf("the verdict finds nothing; the job wrote:\n%s", tail(r.out))
	}
}

// awaitDamage waits until the byte that is to be damaged has passed, or none will.
func (r *run) awaitDamage(x *line) {
	for until := time.Now().Add(r.plan.bound); time.Now().Before(until) && r.pause(time.Millisecond); {
		passed := false
		x.ways[0].set(func(w *way) { passed = w.flip < 0 })
		select {
		case <-x.overc:
			return
		default:
		}
		if passed {
			return
		}
	}
}

// TestVerdictFindsWhatIsLeft: a process that a job leaves behind, and a file. The process is none
// of the job's, for of those fitrun lets none escape.
func TestVerdictFindsWhatIsLeft(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	p, c := quiet(5), exec.Command("sleep", "100")
	p.faults = []fault{{kind: &kind{"leave a process", harmless, false, false, func(r *run, _ fault) bool {
		c.Env = []string{envMark + "=" + r.mark}
		return c.Start() == nil
	}}}}
	wantBad(t, p, "leave", "left behind: process", "left behind: file")
	c.Process.Kill()
	c.Wait()
}

// TestVerdictFindsSilence: a job that ends well although a rank has not said that all is well, and
// one that ends with another code than its faults allow.
func TestVerdictFindsSilence(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	wantBad(t, quiet(6), "silent", "fitrun's exit code is 0, but rank 2 says")
	wantBad(t, quiet(7), "exit", "fitrun's exit code is 5, want one of [0]")
}

// TestVerdictFindsHangs: a rank that waits for a message that no rank sends.
func TestVerdictFindsHangs(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	p := quiet(8)
	p.bound = 2 * time.Second
	wantBad(t, p, "hang", "not over 2s after the last fault")
}

// unnoted is a fault of which the harness does not know.
func unnoted(do func(r *run) bool) fault {
	return fault{kind: &kind{"something", harmless, false, false, func(r *run, _ fault) bool { return do(r) }}}
}

// TestVerdictFindsLostCheckpoints: one that is removed, one with a bit changed, and one that was
// never there because the disk is full.
func TestVerdictFindsLostCheckpoints(t *testing.T) {
	effort.Need(t, effort.Full, "it starts many jobs")
	t.Parallel()
	for bug, want := range map[string]string{
		"forget": "goes on from version 0, but version", "spoil": "WRONG: the checkpoint of version", "pretend": "was saved",
	} {
		p := quiet(10)
		p.mode, p.again, p.fullStore, p.bound = restarts, 1, bug == "pretend", 5*time.Second
		p.faults = []fault{{kind: &kind{"kill when something is saved", deadly, false, false, func(r *run, _ fault) bool {
			least := int64(1)
			if bug == "pretend" {
				least = pretended
			}
			there := r.control.await(p.start, func() bool { return r.control.over || r.control.lives.saved >= least }) && r.kill(0)
			if bug == "forget" {
				os.Rename(r.store(), r.store()+" is lost")
			}
			return there
		}}}}
		r := runPlan(t, p, bug, 0)
		if v := r.classify(); !strings.Contains(strings.Join(v.bad, "\n"), want) {
			t.Errorf("%s: the verdict does not say %q, but:\n%s\nthe job wrote:\n%s", bug, want, join(v.bad), tail(r.out))
		}
	}
}

// TestVerdictFindsMissingRanks: a rank and a host of whose death the harness does not know, and a
// rank that is frozen where nothing finds it.
func TestVerdictFindsMissingRanks(t *testing.T) {
	effort.Need(t, effort.Full, "it starts many jobs")
	t.Parallel()
	p := quiet(11)
	p.mode = both
	p.faults = []fault{unnoted(func(r *run) bool { return syscall.Kill(r.control.pid(2), syscall.SIGKILL) == nil })}
	wantBadOf(t, p, "fitrun's exit code is 0, but rank 2 says")
	p = quiet(12)
	p.hosts = "ssh"
	p.faults = []fault{unnoted(func(r *run) bool { return syscall.Kill(r.agentOf(2), syscall.SIGKILL) == nil })}
	wantBadOf(t, p, "want one of [0]")
	p = quiet(13)
	p.bound = 2 * time.Second
	p.faults = []fault{{kind: kindNamed("freeze"), rank: 1}}
	wantBadOf(t, p, "not over 2s after the last fault")
}

// wantBadOf runs a plan until the harness ends it, and wants the verdict to say something.
func wantBadOf(t *testing.T, p plan, want string) {
	t.Helper()
	r := runPlan(t, p, "", 0)
	if v := r.classify(); !strings.Contains(strings.Join(v.bad, "\n"), want) {
		t.Errorf("the verdict does not say %q, but:\n%s\nthe job wrote:\n%s", want, join(v.bad), tail(r.out))
	}
}
