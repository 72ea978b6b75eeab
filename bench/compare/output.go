//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// parser makes rows of what a program wrote.
type parser func(out string) ([]bench.Row, error)

func parseCSV(out string) ([]bench.Row, error) { return bench.ReadCSV(strings.NewReader(out)) }

// single is the summary of a figure that was measured once.
func single(x float64) bench.Summary {
	return bench.Summary{N: 1, Min: x, Sextile1: x, Sextile2: x, Median: x, P99: x, Max: x}
}

// parseNetpipe reads NetPIPE's table: bytes, Mbit/s, seconds of half a round trip.
// NetPIPE has its own statistics: each line is the best of several trials.
func parseNetpipe(out string) ([]bench.Row, error) {
	var rows []bench.Row
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		size, err := strconv.ParseInt(f[0], 10, 64)
		seconds, err2 := strconv.ParseFloat(f[2], 64)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("NetPIPE wrote %q, want bytes, Mbit/s and seconds", strings.TrimSpace(line))
		}
		rows = append(rows, bench.Row{
			Test: "pingpong", Peer: "raw", Transport: "tcp", Policy: "netpipe", Ranks: 2, Size: size,
			Measure: "half-rtt", Unit: "us", Summary: single(seconds * 1e6),
		})
	}
	return rows, nil
}
