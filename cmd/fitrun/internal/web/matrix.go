//go:build linux

package web

import (
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// sizes counts messages by size, of all ranks.
type sizes []uint64

func (s *sizes) add(r *view.Rank) {
	if r.Counters == nil {
		return
	}
	all := &r.Counters.Stats.Sizes
	if *s == nil {
		*s = make(sizes, len(all))
	}
	for class, n := range all {
		(*s)[class] += n
	}
}

// matrix is how much each rank has sent to each other rank; in large jobs, each group of ranks.
type matrix struct {
	n     int    // rows and columns
	group int    // ranks of each row; 1 but in large jobs
	cells []cell // by row of the sender, then column of the receiver
}

type cell struct{ bytes, messages uint64 }

// matrixSize is how many rows the matrix has at most: what a screen shows, and what is sent to it,
// is bounded by that.
const matrixSize = 256

// drawMatrix takes the larger of what the sender and the receiver say: whichever of them was asked
// last, or has not died, knows more.
func drawMatrix(ranks []view.Rank) matrix {
	m := matrix{group: max(1, (len(ranks)+matrixSize-1)/matrixSize)}
	m.n = (len(ranks) + m.group - 1) / m.group
	m.cells = make([]cell, m.n*m.n)
	for i := range ranks {
		for peer, t := range ranks[i].Traffic {
			if peer < 0 || peer >= len(ranks) {
				continue // no peer of this job: what a rank says is checked
			}
			back := ranks[peer].Traffic[i]
			m.add(i, peer, larger(t.Sent.Bytes, t.Sent.Messages, back))
			if _, both := ranks[peer].Traffic[i]; !both { // else counted when it is its turn
				m.add(peer, i, cell{t.Received.Bytes, t.Received.Messages})
			}
		}
	}
	return m
}

func larger(bytes, messages uint64, received telemetry.Peer) cell {
	return cell{max(bytes, received.Received.Bytes), max(messages, received.Received.Messages)}
}

func (m *matrix) add(from, to int, c cell) {
	at := &m.cells[from/m.group*m.n+to/m.group]
	at.bytes += c.bytes
	at.messages += c.messages
}
