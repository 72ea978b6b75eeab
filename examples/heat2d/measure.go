package main

import (
	"io"
	"time"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure takes all steps as often as -time says, with and without overlap, and prints a line for
// each time. It is collective over team.
func measure(team *mpi.Comm, o options, before plate, stdout io.Writer) error {
	for range o.times {
		for _, way := range timing.Both {
			if err := measureOnce(team, o, before, way, stdout); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureOnce(team *mpi.Comm, o options, before plate, way string, stdout io.Writer) error {
	s, counts, err := deal(team, before)
	if err != nil {
		return err
	}
	clock, err := timing.Start(team)
	if err != nil {
		return err
	}
	for range o.steps {
		if err := s.stepUnwatched(way == timing.Overlap); err != nil {
			return err
		}
	}
	clock.Stop(s.wait)
	after, err := collect(team, s, before, counts)
	if err != nil {
		return err
	}
	l := timing.Line{Program: "heat2d", Size: o.size, Way: way}
	if team.Rank() == 0 {
		l.Answer.AddFloats(after.t)
	}
	return clock.Report(stdout, l)
}

// stepUnwatched is step, but does not look whether the messages have arrived. With overlap it
// computes the inner rows before it waits for them, without after.
func (s *strip) stepUnwatched(overlap bool) error {
	halo := s.halo[s.now]
	if err := mpi.StartAll(halo...); err != nil {
		return err
	}
	if overlap {
		s.spreadInner()
	}
	waiting := time.Now()
	if _, err := mpi.WaitAll(halo...); err != nil {
		return err
	}
	s.wait += time.Since(waiting)
	if !overlap {
		s.spreadInner()
	}
	s.spreadOuter()
	s.now = 1 - s.now
	return nil
}

func (s *strip) spreadInner() {
	for y := 2; y < s.rows; y++ {
		s.spread(y)
	}
}
