package main

import (
	"context"
	"time"

	"github.com/fitmpi/fitmpi/examples/internal/cores"
	"github.com/fitmpi/fitmpi/mpi"
)

// summary is what rank 0 knows at the end.
type summary struct {
	ranks   int
	cores   int           // that they have together
	elapsed time.Duration // of the steps
	before  climate
	after   climate
	flight  time.Duration // messages were in flight, summed over steps and ranks
	wait    time.Duration // of that, ranks spent in WaitAll
}

// simulate deals out the plate, takes the steps and collects the plate again. What it returns is
// complete on rank 0 only.
func simulate(ctx context.Context, team *mpi.Comm, o options, before plate, show *progress) (plate, summary, error) {
	sum := summary{ranks: team.Size()}
	var err error
	if sum.cores, err = cores.Of(team); err != nil {
		return before, sum, err
	}
	s, counts, err := deal(team, before)
	if err != nil {
		return before, sum, err
	}
	if sum.before, err = s.climate(team); err != nil {
		return before, sum, err
	}
	show.begin(before, team.Size(), sum.before)
	if err := mpi.Barrier(team); err != nil {
		return before, sum, err
	}
	began := time.Now()
	if err := s.steps(ctx, team, o, show); err != nil {
		return before, sum, err
	}
	sum.elapsed = time.Since(began)
	if sum.after, err = s.climate(team); err != nil {
		return before, sum, err
	}
	if err := s.sumTimes(team, &sum); err != nil {
		return before, sum, err
	}
	after, err := collect(team, s, before, counts)
	return after, sum, err
}

// steps takes all steps and reports now and then.
func (s *strip) steps(ctx context.Context, team *mpi.Comm, o options, show *progress) error {
	report := survey{team: team}
	for n := 1; n <= o.steps; n++ {
		if err := s.step(); err != nil {
			return err
		}
		if err := report.finish(show); err != nil {
			return err
		}
		if n%o.every == 0 {
			report.start(n, s.local())
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	defer show.end()
	return report.finish(show)
}

// firstRow is the first row of rank r of size; rows are dealt out evenly.
func firstRow(r, size, rows int) int { return r * rows / size }

// deal makes the strips and fills them with the plate of rank 0. counts are the cells of each rank.
func deal(team *mpi.Comm, p plate) (s *strip, counts []int, err error) {
	counts = make([]int, team.Size())
	for r := range counts {
		counts[r] = (firstRow(r+1, team.Size(), p.height) - firstRow(r, team.Size(), p.height)) * p.width
	}
	mine := make([]float64, counts[team.Rank()])
	if err := mpi.Scatterv(team, p.t, counts, nil, mine, 0); err != nil {
		return nil, nil, err
	}
	s = newStrip(team, p.width, len(mine)/p.width)
	s.fill(mine)
	return s, counts, nil
}

// collect returns the plate to rank 0.
func collect(team *mpi.Comm, s *strip, p plate, counts []int) (plate, error) {
	if team.Rank() == 0 {
		p.t = make([]float64, p.width*p.height)
	}
	return p, mpi.Gatherv(team, s.cells(), p.t, counts, nil, 0)
}

// sumTimes adds up what each rank measured.
func (s *strip) sumTimes(team *mpi.Comm, sum *summary) error {
	times := []int64{int64(s.flight), int64(s.wait)}
	err := mpi.Reduce(team, times, times, mpi.Sum, 0)
	sum.flight, sum.wait = time.Duration(times[0]), time.Duration(times[1])
	return err
}
