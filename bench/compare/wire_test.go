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
	many := []bench.Row{halfRTT("mpich-shm", 8, 1)}
	many[0].N = 20_000
	for _, tt := range []struct {
		contender string
		rows      []bench.Row
		network   network
		segments  int64
		ok        bool
	}{
		{"mpich", rows, loopback, 18, true}, {"mpich", rows, loopback, 17, false},
		{"limits", rows, loopback, 0, true}, {"openmpi", rows, link1G, 0, true},
		{"mpich-shm", rows, loopback, 18, true}, {"mpich-shm", many, loopback, 19_999, true}, {"mpich-shm", many, loopback, 20_000, false},
	} {
		r := run{experiment: &experiment{network: tt.network}, contender: all[tt.contender]}
		if err := r.checkWire(tt.rows, tt.segments); (err == nil) != tt.ok {
			t.Errorf("%s over %v with %d segments: %v", tt.contender, tt.network, tt.segments, err)
		}
	}
}
