//go:build linux

package main

import (
	"testing"

	"github.com/fitmpi/fitmpi/internal/bench"
)

func TestOutSegments(t *testing.T) {
	const snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoMin InSegs OutSegs InErrs\nTcp: 200 7 42 0\nUdp: OutSegs\nUdp: 5\n"
	if got := outSegments(snmp); got != 42 {
		t.Errorf("%d segments, want 42", got)
	}
	if got := outSegments(""); got != 0 {
		t.Errorf("%d segments of nothing", got)
	}
}

// A peer that says TCP and sends nothing over it has measured something else.
func TestCheckWire(t *testing.T) {
	all := byName(contenders())
	rows := []bench.Row{halfRTT("mpich", 8, 1), halfRTT("mpich", 64, 1)} // of 9 measurements each
	for _, tt := range []struct {
		contender string
		network   network
		segments  int64
		ok        bool
	}{
		{"mpich", loopback, 18, true}, {"mpich", loopback, 17, false}, {"limits", loopback, 0, true}, {"openmpi", link1G, 0, true},
	} {
		r := run{experiment: &experiment{network: tt.network}, contender: all[tt.contender]}
		if err := r.checkWire(rows, tt.segments); (err == nil) != tt.ok {
			t.Errorf("%s over %v with %d segments: %v", tt.contender, tt.network, tt.segments, err)
		}
	}
}
