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
	// measure returns half the time of a round trip in microseconds over a transport, for each of
	// sizes in bytes, with variables set.
	measure func(ctx context.Context, transport string, set []string, sizes []int) (map[int]float64, error)
	between bool                             // the ranks are on two hosts: they share no memory
	rounds  int                              // how often each setting is measured; the least time counts
	say     func(done, all int, what string) // after each

	done, all int // measurements
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
	// longSizes are those of messages by which ways of moving long ones are compared.
	longSizes = []int{256 << 10, 1 << 20, 4 << 20}
	// copySizes are those by which copying between processes of a host is.
	copySizes = []int{16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}
)

const (
	eagerGain = 0.97 // a limit is raised for messages that take no more than this part of the time
	leastGain = 0.95 // anything else is set that brings it down to this
)

// unmeasured says what is left as it is, and why.
var unmeasured = []string{
	"not measured, as the best value depends on the program: FITMPI_SHORT_MAX, FITMPI_WINDOW, FITMPI_SEND_BUFFER, FITMPI_COPY_MAX, FITMPI_UNEXPECTED, FITMPI_SPIN, FITMPI_MODERATION",
	"not measured, as two ranks do not show it: FITMPI_COLL (algorithms and segments of collectives)",
}

// choice is some settings of a variable, of which one is found.
type choice struct {
	name      string // of the variable
	what      string // in words
	transport string
	settings  []*setting // the first is without the variable
	sizes     []int
}

// choices are those that are made where one is better over all sizes. What the first have found is
// not set for the next: each is by itself.
func (t *tuning) choices() []choice {
	of := func(name string, values ...string) (settings []*setting) {
		v, _ := params.Find(name)
		settings = append(settings, &setting{name: v.Default})
		for _, value := range values {
			settings = append(settings, &setting{name: value, set: []string{name + "=" + value}})
		}
		return settings
	}
	all := []choice{
		{"FITMPI_SOCKET_BUFFER", "buffers of sockets", "tcp", of("FITMPI_SOCKET_BUFFER", "1M", "4M"), longSizes},
		{"FITMPI_CONGESTION", "congestion control", "tcp", of("FITMPI_CONGESTION", "system"), longSizes},
	}
	if !t.between {
		all = append(all, choice{"FITMPI_SHM_COPY", "copying between processes", "shm", of("FITMPI_SHM_COPY", "ring", "read"), copySizes})
	}
	return all
}

// find measures all.
func (t *tuning) find(ctx context.Context) (*found, error) {
	// Under a limit of 4 KiB all sizes ask first, under one of 1 MiB none does.
	eager := choice{"FITMPI_EAGER_MAX", "eager limit", "tcp", []*setting{
		{name: "at once", set: []string{"FITMPI_EAGER_MAX=1M", "FITMPI_WINDOW=8M"}}, {name: "asked", set: []string{"FITMPI_EAGER_MAX=4K", "FITMPI_WINDOW=8M"}},
	}, eagerSizes}
	others := t.choices()
	t.all = t.rounds * len(eager.settings)
	for i := range others {
		t.all += t.rounds * len(others[i].settings)
	}
	f := &found{}
	if err := t.compare(ctx, &eager); err != nil {
		return nil, err
	}
	f.takeEager(eager.settings[0], eager.settings[1])
	for i := range others {
		if err := t.compare(ctx, &others[i]); err != nil {
			return nil, err
		}
		f.take(&others[i])
	}
	if t.between {
		f.words = append(f.words, "not measured, as ranks of two hosts share no memory: FITMPI_SHM_COPY")
	}
	f.words = append(f.words, unmeasured...)
	return f, nil
}

// compare measures the settings of a choice, by turns: what disturbs for a while disturbs all.
func (t *tuning) compare(ctx context.Context, c *choice) error {
	for range t.rounds {
		for _, s := range c.settings {
			us, err := t.measure(ctx, c.transport, s.set, c.sizes)
			if err != nil {
				return err
			}
			s.keep(us)
			t.done++
			t.say(t.done, t.all, c.what+", "+s.name)
		}
	}
	return nil
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

// take chooses another setting than the first if that gains over all sizes.
func (f *found) take(c *choice) {
	best, least := c.settings[0], leastGain
	for _, s := range c.settings[1:] {
		sum := 0.0
		for _, n := range c.sizes {
			sum += s.us[n] / c.settings[0].us[n] / float64(len(c.sizes))
		}
		if sum <= least {
			best, least = s, sum
		}
	}
	f.tabulate(c.settings, c.sizes)
	if best == c.settings[0] {
		f.words = append(f.words, fmt.Sprintf("%s stays as it is (%s)", c.name, best.name))
		return
	}
	f.choose(c.name, best.name)
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
