package main

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// ahead is how many blocks a worker has: one to compute, the others on their way.
const ahead = 2

// show computes the product with the ranks of team, of which rank 0 is the master, checks it and
// shows the time.
func show(team *mpi.Comm, o options, p problem, tab *table) error {
	if team.Rank() == 0 {
		clear(p.c) // of the last product
	}
	if err := mpi.Barrier(team); err != nil {
		return err
	}
	began := time.Now()
	if err := work(team, o, p); err != nil {
		return err
	}
	elapsed := time.Since(began)
	if team.Rank() != 0 {
		return nil
	}
	if err := p.verify(2); err != nil {
		return err
	}
	tab.add(p.rows, team.Size()-1, elapsed)
	return nil
}

// work is the product with one team.
func work(team *mpi.Comm, o options, p problem) error {
	b := p.b
	if team.Rank() != 0 {
		b = make([]float64, inner*o.width)
	}
	if err := mpi.Bcast(team, b, 0); err != nil {
		return err
	}
	switch {
	case team.Size() == 1:
		multiply(p.c, p.a, b)
		return nil
	case team.Rank() == 0:
		m := &master{team: team, problem: p, block: o.block}
		return m.run()
	default:
		return worker(team, o.block, b)
	}
}

// master hands out blocks of rows; the tag is the number of the block.
type master struct {
	team *mpi.Comm
	problem
	block int // rows of a block, but for the last one
	next  int // the block to hand out next
	sends []*mpi.Request
}

func (m *master) blocks() int { return (m.rows + m.block - 1) / m.block }

// rowsOf returns where block n begins and ends.
func (m *master) rowsOf(n int) (from, to int) { return n * m.block, min((n+1)*m.block, m.rows) }

func (m *master) run() error {
	for range ahead {
		for w := 1; w < m.team.Size(); w++ {
			m.handOut(w)
		}
	}
	for range m.blocks() {
		w, err := m.collect()
		if err != nil {
			return err
		}
		m.handOut(w)
	}
	_, err := mpi.WaitAll(m.sends...)
	return err
}

// handOut starts sending the next block to worker w: an empty one if there are no more, which a
// worker gets once for each block that it might have had on its way.
func (m *master) handOut(w int) {
	if m.next >= m.blocks() {
		m.sends = append(m.sends, mpi.Isend(m.team, []float64(nil), w, 0))
		return
	}
	from, to := m.rowsOf(m.next)
	m.sends = append(m.sends, mpi.Isend(m.team, m.a[from*inner:to*inner], w, m.next))
	m.next++
}

// collect receives one result, whichever comes first, and tells whose it was.
func (m *master) collect() (w int, err error) {
	st, err := mpi.Probe(m.team, mpi.AnySource, mpi.AnyTag)
	if err != nil {
		return 0, err
	}
	from, to := m.rowsOf(st.Tag)
	_, err = mpi.Recv(m.team, m.c[from*m.width:to*m.width], st.Source, st.Tag)
	return st.Source, err
}

// slot is a block that a worker has, or will have, and its product.
type slot struct {
	a, c []float64
	recv *mpi.Request // of a
	send *mpi.Request // of c; nil before the first
}

// worker computes what the master sends, until each of its slots has got an empty block. Messages
// of one sender come in the order in which they were sent (MPI 4.1, section 3.5), so empty blocks
// come last and slots take turns to the end.
func worker(team *mpi.Comm, block int, b []float64) error {
	var slots [ahead]slot
	for i := range slots {
		s := &slots[i]
		s.a, s.c = make([]float64, block*inner), make([]float64, block*(len(b)/inner))
		s.recv = mpi.Irecv(team, s.a, 0, mpi.AnyTag)
	}
	for open, i := ahead, 0; open > 0; i = (i + 1) % ahead {
		isLast, err := slots[i].turn(team, b)
		if err != nil {
			return err
		}
		if isLast {
			open--
		}
	}
	return nil
}

// turn waits for the slot's block, computes it, starts to return the product, and starts to receive
// the next block.
func (s *slot) turn(team *mpi.Comm, b []float64) (isLast bool, err error) {
	st, err := s.recv.Wait()
	if err != nil {
		return false, err
	}
	if _, err := s.send.Wait(); err != nil { // s.c is ours again; the first time there is nothing to wait for
		return false, err
	}
	if st.Count == 0 {
		return true, nil
	}
	c := s.c[:st.Count/inner*(len(b)/inner)]
	multiply(c, s.a[:st.Count], b)
	s.send = mpi.Isend(team, c, 0, st.Tag)
	s.recv = mpi.Irecv(team, s.a, 0, mpi.AnyTag)
	return false, nil
}
