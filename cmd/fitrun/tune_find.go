//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/internal/params"
)

// How fitrun tune finds thresholds. It knows no ranks: what measures is given to it.

// tuning finds values.
type tuning struct {
	// measure returns half the time of a round trip in microseconds, for each of sizes in bytes,
	// with variables set.
	measure func(ctx context.Context, set []string, sizes []int) (map[int]float64, error)
	rounds  int                              // how often each setting is measured; the least time counts
	say     func(done, all int, what string) // after each
}

// found is what has come of it.
type found struct {
	set    []string     // NAME=VALUE
	tables [][][]string // what was measured, by rows
	words  []string
}

// setting is one way to run the jobs.
type setting struct {
	name string
	set  []string
	us   map[int]float64 // by size; the least of the rounds
}

var (
	// eagerSizes are the limits that are tried. Two messages of the largest fit in what payloads of
	// this kind may use of a window (decision 0011).
	eagerSizes = []int{8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10}
	// bufferSizes are those of messages by which buffers are compared.
	bufferSizes = []int{256 << 10, 1 << 20, 4 << 20}
)

const (
	eagerGain  = 0.97 // a limit is raised for messages that take no more than this part of the time
	bufferGain = 0.95 // buffers are set that bring it down to this
)

// find measures all.
func (t *tuning) find(ctx context.Context) (*found, error) {
	// Under a limit of 4 KiB all sizes ask first, under one of 1 MiB none does.
	eager := []*setting{{name: "at once", set: []string{"FITMPI_EAGER_MAX=1M", "FITMPI_WINDOW=8M"}}, {name: "asked", set: []string{"FITMPI_EAGER_MAX=4K", "FITMPI_WINDOW=8M"}}}
	buffers := []*setting{{name: "system's"}, {name: "1M", set: []string{"FITMPI_SOCKET_BUFFER=1M"}}, {name: "4M", set: []string{"FITMPI_SOCKET_BUFFER=4M"}}}
	all, done := t.rounds*(len(eager)+len(buffers)), 0
	rounds := func(what string, settings []*setting, sizes []int) error {
		for range t.rounds { // by turns: what disturbs for a while disturbs all
			for _, s := range settings {
				us, err := t.measure(ctx, s.set, sizes)
				if err != nil {
					return err
				}
				s.keep(us)
				done++
				t.say(done, all, what+", "+s.name)
			}
		}
		return nil
	}
	f := &found{}
	if err := rounds("eager limit", eager, eagerSizes); err != nil {
		return nil, err
	}
	f.takeEager(eager[0], eager[1])
	if err := rounds("buffers of sockets", buffers, bufferSizes); err != nil {
		return nil, err
	}
	f.takeBuffer(buffers)
	return f, nil
}

// keep notes times that are less than before.
func (s *setting) keep(us map[int]float64) {
	if s.us == nil {
		s.us = map[int]float64{}
	}
	for n, t := range us {
		if before, ok := s.us[n]; !ok || t < before {
			s.us[n] = t
		}
	}
}

// takeEager chooses the longest of the sizes that gain by not asking; the shortest if none does.
func (f *found) takeEager(atOnce, asked *setting) {
	limit := eagerSizes[0]
	for _, n := range eagerSizes {
		if atOnce.us[n] <= eagerGain*asked.us[n] {
			limit = n
		}
	}
	f.tabulate([]*setting{atOnce, asked}, eagerSizes)
	f.choose("FITMPI_EAGER_MAX", params.FormatSize(limit))
}

// takeBuffer chooses other buffers than the system's, which come first, if they gain over all
// sizes.
func (f *found) takeBuffer(settings []*setting) {
	best, least := settings[0], bufferGain
	for _, s := range settings[1:] {
		sum := 0.0
		for _, n := range bufferSizes {
			sum += s.us[n] / settings[0].us[n] / float64(len(bufferSizes))
		}
		if sum <= least {
			best, least = s, sum
		}
	}
	f.tabulate(settings, bufferSizes)
	if best == settings[0] {
		f.words = append(f.words, "FITMPI_SOCKET_BUFFER stays the system's")
		return
	}
	f.choose("FITMPI_SOCKET_BUFFER", best.name)
}

func (f *found) choose(name, value string) {
	f.set = append(f.set, name+"="+value)
	v, _ := params.Find(name)
	f.words = append(f.words, fmt.Sprintf("%s=%s (%s by default)", name, value, v.Default))
}

// tabulate makes a table of half round trips.
func (f *found) tabulate(settings []*setting, sizes []int) {
	head := []string{"bytes"}
	for _, s := range settings {
		head = append(head, s.name+", us")
	}
	table := [][]string{head}
	for _, n := range sizes {
		row := []string{params.FormatSize(n)}
		for _, s := range settings {
			row = append(row, fmt.Sprintf("%.1f", s.us[n]))
		}
		table = append(table, row)
	}
	f.tables = append(f.tables, table)
}
