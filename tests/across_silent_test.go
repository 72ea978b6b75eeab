//go:build linux

package tests

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// The ranks of two hosts do not reach each other any more, while fitrun reaches both: a cable is
// pulled, and the hosts have another network for ssh. The packets are dropped without a word. The
// ranks find it out.
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

// acrossLost: while the ranks of two jobs exchange messages each job loses a host, and nothing can
// say so. One host is cut off; the other loses its power, and nothing of it runs. Both are lost at
// once, to save time.
func acrossLost(t *testing.T, l *fitrunLab) {
	if testing.Short() {
		t.Skip("a host is given up after 20 seconds")
	}
	lost := []*netlab.Host{l.Hosts()[1], l.Hosts()[3]}
	var jobs []*acrossRun
	for i, args := range [][]string{nil, {"--heartbeat-timeout", "3s"}} {
		jobs = append(jobs, l.start(t, acrossJob{program: "rounds", hosts: fmt.Sprintf("%s:2,%s:2", l.Hosts()[0].Addr(), lost[i].Addr()), args: args}))
	}
	for _, r := range jobs {
		r.stdout.await(t, "[0] going")
	}
	for _, h := range lost {
		h.Cut()
	}
	lost[1].Kill()
	cut := time.Now()
	for i, r := range jobs {
		run := r.end(t, acrossBound)
		t.Logf("ended %v after it, with code %d and:\n%s", time.Since(cut).Round(time.Millisecond), run.code, run.stderr)
		run.wantError(t, regexp.QuoteMeta(lost[i].Addr())+`: nothing was heard from it for 20s; with it ranks 2-3; the job was ended`)
	}
	l.AwaitEmpty(t, acrossBound) // while the network is down
	for _, h := range lost {
		h.Join()
	}
	lost[1].Serve()
}
