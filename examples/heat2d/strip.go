package main

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// conductivity is the time step times the diffusivity over the cell size squared; the scheme is
// stable up to 0.25.
const conductivity = 0.2

const (
	tagUp   = 1 // a row for the rank above
	tagDown = 2 // a row for the rank below
)

// strip is the part of the plate that one rank has: its rows between one row of the neighbour above
// and one of the neighbour below, each with one cell more on the left and on the right. There are
// two copies, the present step and the next, which take turns.
type strip struct {
	width, rows int
	isTop       bool // no rank is above
	isBottom    bool // no rank is below
	field       [2][]float64
	now         int               // index of the present step's field
	halo        [2][]*mpi.Request // persistent; halo[i] exchanges the outer rows of field[i]
	flight      time.Duration     // sum over steps: messages were in flight
	wait        time.Duration     // sum over steps: of that, spent in WaitAll
}

// newStrip makes the strip of a rank of team. Preconditions: rows is at least 1 on every rank.
func newStrip(team *mpi.Comm, width, rows int) *strip {
	s := &strip{
		width: width, rows: rows,
		isTop: team.Rank() == 0, isBottom: team.Rank() == team.Size()-1,
	}
	above, below := team.Rank()-1, team.Rank()+1
	if s.isTop {
		above = mpi.ProcNull
	}
	if s.isBottom {
		below = mpi.ProcNull
	}
	for i := range s.field {
		s.field[i] = make([]float64, (rows+2)*(width+2))
		s.halo[i] = []*mpi.Request{
			mpi.RecvInit(team, s.row(i, 0), above, tagDown),
			mpi.RecvInit(team, s.row(i, rows+1), below, tagUp),
			mpi.SendInit(team, s.row(i, 1), above, tagUp),
			mpi.SendInit(team, s.row(i, rows), below, tagDown),
		}
	}
	return s
}

// row is a row of field[i] with its two additional cells; rows 1 to s.rows are the rank's own.
func (s *strip) row(i, y int) []float64 {
	n := s.width + 2
	return s.field[i][y*n : (y+1)*n]
}

// fill sets the present temperatures from rows without additional cells.
func (s *strip) fill(t []float64) {
	for y := 1; y <= s.rows; y++ {
		row := s.row(s.now, y)
		copy(row[1:], t[(y-1)*s.width:y*s.width])
		insulate(row)
	}
}

// cells returns the present temperatures without additional cells.
func (s *strip) cells() []float64 {
	t := make([]float64, 0, s.rows*s.width)
	for y := 1; y <= s.rows; y++ {
		t = append(t, s.row(s.now, y)[1:s.width+1]...)
	}
	return t
}

// step computes the next temperatures. The inner rows need nothing of the neighbours: they are
// computed while the outer rows are on their way.
func (s *strip) step() error {
	halo := s.halo[s.now]
	started := time.Now()
	if err := mpi.StartAll(halo...); err != nil {
		return err
	}
	arrived := false
	for y := 2; y < s.rows; y++ {
		s.spread(y)
		if arrived {
			continue
		}
		var err error
		if _, arrived, err = mpi.TestAll(halo...); err != nil {
			return err
		}
		if arrived {
			s.flight += time.Since(started)
		}
	}
	if !arrived {
		waiting := time.Now()
		if _, err := mpi.WaitAll(halo...); err != nil {
			return err
		}
		s.flight += time.Since(started)
		s.wait += time.Since(waiting)
	}
	s.spreadOuter()
	s.now = 1 - s.now
	return nil
}

// spreadOuter computes the first row of the next step and the last, for which the rows of the
// neighbours are here.
func (s *strip) spreadOuter() {
	s.mirror()
	s.spread(1)
	if s.rows > 1 {
		s.spread(s.rows)
	}
}

// mirror makes the rows beyond the plate's edges as warm as those within.
func (s *strip) mirror() {
	if s.isTop {
		copy(s.row(s.now, 0), s.row(s.now, 1))
	}
	if s.isBottom {
		copy(s.row(s.now, s.rows+1), s.row(s.now, s.rows))
	}
}

// spread computes a row of the next step.
func (s *strip) spread(y int) {
	diffuse(s.row(1-s.now, y), s.row(s.now, y-1), s.row(s.now, y), s.row(s.now, y+1))
}

func diffuse(next, above, old, below []float64) {
	above, old, below = above[:len(next)], old[:len(next)], below[:len(next)]
	for x := 1; x < len(next)-1; x++ {
		t := old[x]
		// The conversion forbids a fused multiply-add: all machines give the same bits.
		next[x] = t + float64(conductivity*(above[x]+below[x]+old[x-1]+old[x+1]-4*t))
	}
	insulate(next)
}

// insulate sets the additional cells of a row.
func insulate(row []float64) {
	n := len(row)
	row[0], row[n-1] = row[1], row[n-2]
}
