//go:build linux

package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestHangAcross: what ranks on other hosts wait for is known as well; and what a slow network
// carries is no deadlock.
func TestHangAcross(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it starts jobs across hosts by ssh")
	l := newFitrunLab(t)
	n := l.Network()
	a, b := n.Host().Addr(), n.Host().Addr()
	hosts := fmt.Sprintf("%s:2,%s:3", a, b)
	env := []string{"FITRUN_DEADLOCK_PAUSE=100ms"}
	abort := []string{"--on-deadlock", "abort"}
	t.Run("ring", func(t *testing.T) {
		l.run(t, acrossJob{program: "hang", cases: "ring", hosts: hosts, args: abort, env: env}).wantDeadlock(t,
			`circle of 5 ranks: 0 -> 4 -> 3 -> 2 -> 1 -> 0\n`, `rank 3 waits for rank 2: Recv from rank 2, tag 1, room for 8 B, world, at L`,
			`(?m)^ +ranks:\n +rank 0 on `+a+`: Recv from rank 4`, `rank 4 on `+b+`: Recv from rank 3`)
	})
	t.Run("wrong tag", func(t *testing.T) {
		l.run(t, acrossJob{program: "hang", cases: "wrong tag", hosts: a + ":1," + b + ":1", args: abort, env: env}).wantDeadlock(t,
			`rank 0: Recv from rank 1, tag 8, room for 8 B, world, at L; but there is a message from rank 1, tag 7, 8 B, world: the tags differ`)
	})
	t.Run("slow", func(t *testing.T) {
		defer l.Hosts()[1].Slow("2mbit")()
		run := l.run(t, acrossJob{program: "exchange", hosts: a + ":1," + b + ":1", args: abort, env: env})
		run.wantClean(t)
		if strings.Contains(run.stderr, "deadlock") {
			t.Errorf("a deadlock is seen:\n%s", run.stderr)
		}
		t.Logf("%v\n%s%s", run.took, run.stdout, run.stderr)
	})
}

// TestHangBeats: connections on which heartbeats go on, many between two looks, are quiescent all
// the same.
func TestHangBeats(t *testing.T) {
	t.Parallel()
	j := hangJob{fitrun: fitrunPath(t), name: "wrong tag", ranks: 2, pause: "100ms",
		args: []string{"--transport", "tcp", "--heartbeat", "5ms", "--on-deadlock", "abort"}}
	r, _ := j.start(t)
	r.end(t, jobTimeout).wantDeadlock(t, `circle of 2 ranks: 0 -> 1 -> 0\n`)
}
