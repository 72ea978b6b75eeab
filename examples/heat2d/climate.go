package main

import (
	"math"

	"github.com/fitmpi/fitmpi/mpi"
)

// climate sums up temperatures. It has no pointers, so it travels as memory.
type climate struct {
	Coldest, Hottest float64
	Heat             float64 // sum of all temperatures
}

// join is the operation (mpi.Op) that combines the climates of parts of the plate.
func join(acc, in []climate) {
	for i := range acc {
		acc[i].Coldest = min(acc[i].Coldest, in[i].Coldest)
		acc[i].Hottest = max(acc[i].Hottest, in[i].Hottest)
		acc[i].Heat += in[i].Heat
	}
}

// local is the climate of the strip.
func (s *strip) local() climate {
	c := climate{Coldest: math.Inf(1), Hottest: math.Inf(-1)}
	for y := 1; y <= s.rows; y++ {
		for _, t := range s.row(s.now, y)[1 : s.width+1] {
			c.Coldest, c.Hottest = min(c.Coldest, t), max(c.Hottest, t)
			c.Heat += t
		}
	}
	return c
}

// climate is the climate of the whole plate, at rank 0.
func (s *strip) climate(team *mpi.Comm) (climate, error) {
	c := []climate{s.local()}
	err := mpi.Reduce(team, c, c, join, 0)
	return c[0], err
}

// survey finds the climate of the whole plate while the next step is computed.
type survey struct {
	team    *mpi.Comm
	step    int
	in, out []climate    // belong to req while it is active
	req     *mpi.Request // nil if none is under way
}

func (v *survey) start(step int, c climate) {
	v.step, v.in, v.out = step, []climate{c}, make([]climate, 1)
	v.req = mpi.Ireduce(v.team, v.in, v.out, join, 0)
}

// finish completes what start started, if anything, and shows it.
func (v *survey) finish(show *progress) error {
	if v.req == nil {
		return nil
	}
	_, err := v.req.Wait()
	v.req = nil
	if err == nil {
		show.step(v.step, v.out[0])
	}
	return err
}
