//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// test is what is measured, as bench/peers/rawtcp.c measures it.
type test struct {
	name, measure, unit string
	kind                kind
	sizes               []int
	share               int // repetitions are those of bench.Repetitions / share, at least 20
	figure              func(s series, us float64) float64
	bins                bool // a histogram follows
}

var tests = []test{
	{name: "pingpong", measure: "half-rtt", unit: "us", kind: bounces, share: 1, figure: half,
		sizes: []int{1, 8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20}},
	{name: "histogram", measure: "half-rtt", unit: "us", kind: bounces, share: 1, figure: half, bins: true, sizes: []int{8, 64 << 10}},
	{name: "bw", measure: "bandwidth", unit: "MB/s", kind: windows, share: 20, figure: bandwidth,
		sizes: []int{8, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20}},
}

func testNames() (names []string) {
	for _, t := range tests {
		names = append(names, t.name)
	}
	return names
}

func half(_ series, us float64) float64 { return us / 2 }

func bandwidth(s series, us float64) float64 { return float64(s.window) * float64(s.size) / us }

// kind is what is repeated.
type kind int64

const (
	noMore  kind = iota // the client is done
	bounces             // a message there and one back
	windows             // a window of messages there, a byte back
)

// series is what the client tells the server of each series, so that both do the same.
type series struct {
	kind                kind
	count, size, window int
}

const seriesBytes = 4 * 8

func (s series) append(b []byte) []byte {
	for _, x := range []int{int(s.kind), s.count, s.size, s.window} {
		b = binary.BigEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// readSeries is the inverse of append. What a client says is checked: another program may have
// connected.
func readSeries(b []byte) (series, error) {
	const most, mostOften = 1 << 30, 1 << 24
	at := func(i int) int { return int(binary.BigEndian.Uint64(b[8*i:])) }
	s := series{kind(at(0)), at(1), at(2), at(3)}
	isKnown := s.kind == noMore || s.kind == bounces || s.kind == windows
	if !isKnown || s.count < 0 || s.count > mostOften || s.size < 0 || s.size > most || s.window < 0 || s.window > most {
		return s, errors.New("the client asks for something unknown")
	}
	return s, nil
}

// end is one of the two processes in a series.
type end struct {
	wire
	isClient bool
	out, in  []byte // of one message
	ack      [1]byte
}

// once is one repetition.
func (e *end) once(s series) error {
	if s.kind == bounces {
		return e.swap(e.out, e.in)
	}
	move := e.wire.take
	b := e.in
	if e.isClient {
		move, b = e.put, e.out
	}
	for range s.window {
		if err := move(b); err != nil {
			return err
		}
	}
	if e.isClient {
		return e.take(e.ack[:])
	}
	return e.put(e.ack[:])
}

// swap writes out and then fills in at the client; at the server it is the other way round.
func (e *end) swap(out, in []byte) error {
	if !e.isClient {
		if err := e.take(in); err != nil {
			return err
		}
		return e.put(out)
	}
	if err := e.put(out); err != nil {
		return err
	}
	return e.take(in)
}

// perform does a series, and returns the microseconds that each repetition took.
func perform(w wire, isClient bool, s series) ([]float64, error) {
	e := &end{wire: w, isClient: isClient, out: written(s.size), in: written(s.size)}
	us := make([]float64, 0, s.count)
	for range s.count {
		start := time.Now()
		if err := e.once(s); err != nil {
			return nil, err
		}
		us = append(us, float64(time.Since(start))/1e3)
	}
	return us, nil
}

// written is n bytes, every one of them written.
func written(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// serveWire does what the client says.
func serveWire(w wire) error {
	b := make([]byte, seriesBytes)
	for {
		if err := w.take(b); err != nil {
			return fmt.Errorf("from the client: %w", err)
		}
		s, err := readSeries(b)
		if err != nil || s.kind == noMore {
			return err
		}
		if err := w.put([]byte{1}); err != nil {
			return err
		}
		if _, err := perform(w, false, s); err != nil {
			return err
		}
	}
}

// client measures over wire.
type client struct {
	wire
	opt  *options
	rows []bench.Row
}

// all measures each size.
func (c *client) all() ([]bench.Row, error) {
	for _, size := range c.opt.sizes {
		if err := c.one(size); err != nil {
			return nil, err
		}
	}
	return c.rows, c.put(series{}.append(nil))
}

// one measures messages of one size.
func (c *client) one(size int) error {
	t := c.opt.test
	n, warmup, window := c.opt.iterations, c.opt.warmup, c.opt.window
	if n == 0 {
		n = max(bench.Repetitions(size)/t.share, 20)
	}
	if warmup < 0 {
		warmup = max(n/10, 5)
	}
	if window == 0 {
		window = 64
		if size >= 1<<20 {
			window = 16
		}
	}
	s := series{t.kind, warmup + n, size, window}
	if err := c.put(s.append(nil)); err != nil {
		return err
	}
	var ready [1]byte
	if err := c.take(ready[:]); err != nil {
		return err
	}
	us, err := perform(c.wire, true, s)
	if err != nil {
		return err
	}
	xs := us[warmup:]
	for i := range xs {
		xs[i] = t.figure(s, xs[i])
	}
	c.report(size, xs)
	return nil
}

// report makes rows of the figures of one size, which it sorts.
func (c *client) report(size int, xs []float64) {
	t := c.opt.test
	row := bench.Row{Test: t.name, Peer: "raw", Transport: "tcp", Policy: "go-" + c.opt.style.name, Ranks: 2,
		Size: int64(size), Measure: t.measure, Unit: t.unit, Summary: bench.Summarise(xs, bench.HigherIsBetter(t.unit))}
	c.rows = append(c.rows, row)
	if !t.bins {
		return
	}
	row.Measure, row.Summary = "p999", bench.Summarise([]float64{bench.Quantile(xs, 999, 1000)}, false)
	c.rows = append(c.rows, row)
	for i := range xs {
		xs[i] *= 1e3
	}
	row.Case, row.Measure, row.Unit = strconv.Itoa(size), "share", "%"
	for _, b := range bench.Bins(xs) {
		row.Size, row.Summary = b.Low, bench.Summarise([]float64{b.Share}, true)
		c.rows = append(c.rows, row)
	}
}
