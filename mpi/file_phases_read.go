package mpi

import (
	"errors"
	"io"

	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// expected is a piece of this rank's data that an aggregator is to send.
type expected struct {
	r      *Request
	b      []byte
	off    int
	isData bool // b is where they belong
}

// readRound tells the aggregators what this rank wants of their windows, reads its own window for
// all, and takes what they send.
func (p *phases) readRound(round int) error {
	var want []expected
	for i := range p.aggs {
		lo, hi := p.plan.Of(i, round)
		if i == p.mine || lo >= hi || !p.reaches(p.f.comm.rank, lo, hi) {
			continue
		}
		off, n := p.piece(lo, hi)
		if n > 0 {
			b, isData := p.memory(i, off, n)
			want = append(want, expected{p.recv(b, p.aggs[i]), b, off, isData})
		}
		p.tell(i, lo, off, n)
	}
	var err error
	if p.mine >= 0 {
		if lo, hi := p.plan.Of(p.mine, round); lo < hi {
			err = p.readWindow(lo, hi)
		}
	}
	if err != nil {
		for _, w := range want {
			p.open = append(p.open, w.r)
		}
		return err
	}
	for _, w := range want {
		st, werr := w.r.wait()
		if err == nil {
			err = werr
		}
		p.n += st.bytes
		if !w.isData && st.bytes <= len(w.b) {
			p.data.Unpack(w.off, w.b[:st.bytes])
		}
	}
	return errors.Join(err, p.waitAll())
}

// readWindow reads what ranks want of the window and sends it to them, as far as the file has it.
func (p *phases) readWindow(lo, hi int) error {
	p.prepare(hi - lo)
	lists := make([][]byte, len(p.parts))
	for r := range p.parts {
		if !p.reaches(r, lo, hi) {
			continue
		}
		if r == p.f.comm.rank {
			off, n := p.piece(lo, hi)
			p.view.Walk(p.x+off, n, func(offset, size int) bool {
				p.cover.Add(offset-lo, size)
				return true
			})
			continue
		}
		list, total, err := p.hear(r, lo, hi)
		if err != nil {
			return err
		}
		if total > 0 {
			lists[r] = list
			_, _ = fileio.WalkRuns(list, lo, hi, func(offset, size int) { p.cover.Add(offset-lo, size) }) // it has been walked before
		}
	}
	end := p.fill(lo)
	for r, list := range lists {
		if list != nil {
			if err := p.give(r, list, lo, hi, end); err != nil {
				return err
			}
		}
	}
	if p.reaches(p.f.comm.rank, lo, hi) {
		p.takeOwn(lo, hi, end)
	}
	return p.waitAll() // the window is used again
}

// fill reads from the first byte that is wanted to the last. The file has what lies before end.
func (p *phases) fill(lo int) (end int) {
	first, last := -1, 0
	p.cover.Walk(func(at, size int) bool {
		if first < 0 {
			first = at
		}
		last = at + size
		return true
	})
	if first < 0 || p.disk != nil {
		return lo
	}
	n := 0
	err := p.f.onDisk(func() (err error) {
		n, err = p.f.disk.ReadAt(p.window[first:last], int64(lo+first))
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		p.disk = err
	}
	return lo + first + n
}

// give sends another rank its data: from the window, if they are one run there.
func (p *phases) give(r int, list []byte, lo, hi, end int) error {
	runs, from, size := 0, 0, 0
	_, err := fileio.WalkRuns(list, lo, hi, func(offset, n int) {
		if runs++; runs == 1 {
			from, size = offset, max(min(n, end-offset), 0)
		}
	})
	if err != nil {
		return err
	}
	if runs == 1 {
		p.send(p.window[from-lo:from-lo+size], r, tagFileData)
		return nil
	}
	b := p.room[:0]
	_, err = fileio.WalkRuns(list, lo, hi, func(offset, n int) {
		if k := min(n, end-offset); k > 0 {
			b = append(b, p.window[offset-lo:offset-lo+k]...)
		}
	})
	p.room = b
	p.send(b, r, tagFileData)
	if err == nil {
		err = p.waitAll() // room is used again
	}
	return err
}

// takeOwn gives this rank its data of its own window.
func (p *phases) takeOwn(lo, hi, end int) {
	off, n := p.piece(lo, hi)
	if n == 0 {
		return
	}
	b, isData := p.memory(p.mine, off, n)
	k := 0
	p.view.Walk(p.x+off, n, func(offset, size int) bool {
		if have := min(size, end-offset); have > 0 {
			k += copy(b[k:k+have], p.window[offset-lo:])
		}
		return offset+size < end
	})
	if !isData {
		p.data.Unpack(off, b[:k])
	}
	p.n += k
}
