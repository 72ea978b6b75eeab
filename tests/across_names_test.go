//go:build linux

package tests

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// Hosts by the names that a cluster's DNS has for them, from a host that knows them by these only:
// as the launcher pod of the MPI operator and its workers. ssh looks the names up, and the ranks
// have each other's addresses from fitrun.
func TestAcrossNames(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it starts jobs across hosts by ssh")
	l := newFitrunLab(t)
	n := l.Network()
	dns := n.DNS("default.svc.cluster.local", "svc.cluster.local", "cluster.local")
	launcher := n.Bare()
	var lines []string
	for i := range 2 {
		name := fmt.Sprintf("heat2d-worker-%d.heat2d.default.svc", i)
		dns.Publish(t, name+".cluster.local", n.Host().Addr())
		lines = append(lines, name+" slots=2") // as the operator writes them
	}
	byFile := acrossJob{from: launcher, args: []string{"--hostfile", l.hostFile(t, lines...)}}
	byFile.cases = "^collective/(blocks|vectors)"
	l.suite(t, 4, byFile)
	if dns.Asked("heat2d-worker-1.heat2d.default.svc.cluster.local") == 0 {
		t.Error("nobody has asked for the name: that shows nothing")
	}
	short := "heat2d-worker-0.heat2d:1,heat2d-worker-1.heat2d:1" // in the domains where a pod looks
	l.run(t, acrossJob{from: launcher, program: "exchange", hosts: short}).wantClean(t)
	run := l.run(t, acrossJob{from: launcher, program: "exchange", hosts: short + ",heat2d-worker-2.heat2d:1"})
	run.wantError(t, `(?m)^fitrun: host `+regexp.QuoteMeta("heat2d-worker-2.heat2d: ssh: Could not resolve hostname heat2d-worker-2.heat2d: ")+`.*; no rank was started$`)
	l.AwaitEmpty(t, acrossBound)
}
