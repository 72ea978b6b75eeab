//go:build linux

package tests

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

// The ranks of two hosts do not reach each other any more, while fitrun reaches both: a cable is pulled, and the hosts have another
// network for ssh. The packets are dropped without a word. The ranks find it out.
func acrossRanksCutOff(t *testing.T, l *fitrunLab) {
	h := l.Hosts()[1]
	for _, program := range []string{"rounds", "ordeal"} { // bytes are on their way; or all is silent, but for heartbeats
		r := l.start(t, acrossJob{program: program, hosts: fmt.Sprintf("%s:2,%s:2", l.Hosts()[0].Addr(), h.Addr()),
			args: []string{"--heartbeat", "200ms", "--heartbeat-timeout", "2s", "-x", envOrdeal + "=forever"}})
		r.stdout.await(t, "[0] going")
		restore := h.CutOffTCP()
		cut := time.Now()
		run := r.end(t, acrossBound)
		took := time.Since(cut)
		restore()
		t.Logf("ended %v after it, with code %d and:\n%s", took.Round(time.Millisecond), run.code, run.stderr)
		run.wantError(t, `rank \d \(pid \d+ on .*\) taken for dead: (its host is unreachable: for [\d.]+s it has acknowledged nothing|nothing was heard of it for [\d.]+s), says rank \d; the job was ended`)
		if took < 2*time.Second || took > acrossBound/2 {
			t.Errorf("it took %v", took)
		}
		l.AwaitEmpty(t, acrossBound)
	}
}

// A host loses its power: nothing of it runs, and nobody can say so.
func acrossDead(t *testing.T, l *fitrunLab) {
	if testing.Short() {
		t.Skip("a host is given up after 20 seconds")
	}
	h := l.Hosts()[3]
	r := l.start(t, acrossJob{program: "rounds", hosts: fmt.Sprintf("%s:2,%s:2", l.Hosts()[0].Addr(), h.Addr()), args: []string{"--heartbeat-timeout", "3s"}})
	r.stdout.await(t, "[0] going")
	h.Cut()
	h.Kill()
	cut := time.Now()
	run := r.end(t, acrossBound)
	t.Logf("ended %v after it, with code %d and:\n%s", time.Since(cut).Round(time.Millisecond), run.code, run.stderr)
	run.wantError(t, regexp.QuoteMeta(h.Addr())+`: nothing was heard from it for 20s; with it ranks 2-3; the job was ended`)
	h.Join()
	h.Serve()
}
