//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// A program of C labels its rows with the transport that it is told, and a library may
// take another one all the same: MPICH over UCX did, and its figures of shared memory
// stood under TCP. So the kernel is asked how many TCP segments it sent meanwhile. Other
// programs may add to them, so this finds a library that sends none, not one that sends
// too few; the other way round it finds one that sends all.

// messageTests are those of which every repetition sends a message at least.
var messageTests = map[string]bool{
	"pingpong": true, "pingping": true, "bw": true, "bibw": true, "rate": true, "isend-wait": true, "send": true, "match": true,
	"solve": true, "duplex": true, "queued": true, "histogram": true, "bsend": true,
}

// checkWire is an error if rows over TCP were measured while the kernel sent fewer segments than
// they need. For rows of shared memory it is one if the kernel sent as many segments as there were
// messages, and these were more than a launcher and its ranks may have to say to each other. Over a
// link nothing is known: namespaces count for themselves.
func (r run) checkWire(rows []bench.Row, segments int64) error {
	if r.experiment.network != loopback {
		return nil
	}
	need := messages(rows)
	switch transport := r.contender.transport; {
	case transport == "tcp" && segments < need:
		return fmt.Errorf("measured over TCP, it says, but for %d messages the kernel sent %d TCP segments: another transport was used", need, segments)
	case transport == "shm" && need > muchTalk && segments >= need:
		return fmt.Errorf("measured in shared memory, it says, but for %d messages the kernel sent %d TCP segments: another transport was used", need, segments)
	}
	return nil
}

// muchTalk is more segments than a job sends that is over in seconds and has its messages
// in memory.
const muchTalk = 10_000

// messages is how many messages rows need at least: measures of one size may be of the
// same messages.
func messages(rows []bench.Row) (sum int64) {
	most := map[condition]int64{}
	for _, row := range rows {
		c := conditionOf(row)
		c.measure = ""
		if messageTests[row.Test] {
			most[c] = max(most[c], int64(row.N))
		}
	}
	for _, n := range most {
		sum += n
	}
	return sum
}

// tcpSegments is how many TCP segments this machine has sent.
func tcpSegments() int64 { return outSegments(readFile("/proc/net/snmp")) }

// outSegments finds OutSegs of TCP in /proc/net/snmp: a line of names, then one of values.
func outSegments(snmp string) int64 {
	var names []string
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "OutSegs" && i < len(fields) {
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				return n
			}
		}
	}
	return 0
}
