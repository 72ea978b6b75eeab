package hang

import (
	"fmt"
	"time"

	tm "github.com/fitmpi/fitmpi/internal/telemetry"
)

// Contexts of the communicators of the tests: the world, and two others.
const (
	world = 0
	row   = 20
	dup   = 30
)

// scene is a job in the making.
type scene struct{ Job }

// newScene is a settled job of n ranks, one per process, all in the same host, of which nothing is
// pending.
func newScene(n int) *scene {
	s := &scene{Job{Settled: true, Dir: "/home/u"}}
	for r := range n {
		s.Ranks = append(s.Ranks, Rank{Phase: Inside, Host: "a", Process: r, Report: &tm.Report{Pending: &tm.Pending{
			Comms: []tm.Comm{{Context: world, Name: "world", Rank: r}, {Context: dup, Name: "copy", Rank: r}},
		}}})
	}
	return s
}

// still makes the job one that is not quiescent, of which only these ranks have done nothing since
// they were asked.
func (s *scene) still(ranks ...int) {
	s.Settled = false
	for _, r := range ranks {
		s.Ranks[r].Still = true
	}
}

func (s *scene) pending(r int) *tm.Pending { return s.Ranks[r].Report.Pending }

// op adds an operation, and returns its index.
func (s *scene) op(r int, op tm.Operation) int {
	p := s.pending(r)
	p.Operations = append(p.Operations, op)
	return len(p.Operations) - 1
}

// call adds a call that waits for need of ops.
func (s *scene) call(r int, op, at string, need int, ops ...int) *tm.Call {
	p := s.pending(r)
	p.Calls = append(p.Calls, tm.Call{Op: op, At: at, Func: "main.main", Since: 4*time.Second + time.Duration(r)*100*time.Millisecond, Need: need, Waits: ops})
	return &p.Calls[len(p.Calls)-1]
}

// alone adds a call of one operation.
func (s *scene) alone(r int, op tm.Operation) *tm.Call {
	return s.call(r, op.Op, op.At, 1, s.op(r, op))
}

func line(n int) string { return fmt.Sprintf("/home/u/main.go:%d", n) }

func recv(at, from, tag int) tm.Operation {
	return tm.Operation{Op: "Recv", Kind: tm.Receive, At: line(at), Comm: world, Peer: from, Tag: tag, Bytes: 8}
}

func send(op string, at, to, tag, bytes int) tm.Operation {
	return tm.Operation{Op: op, Kind: tm.Send, At: line(at), Comm: world, Peer: to, Tag: tag, Bytes: bytes}
}

func coll(op string, at, number int, from ...int) tm.Operation {
	return tm.Operation{Op: op, Kind: tm.Collective, At: line(at), Comm: world, Peer: -1, Tag: number, From: from}
}

// named is an operation by another name.
func named(op tm.Operation, name string) tm.Operation {
	op.Op = name
	return op
}

// on is an operation on another communicator.
func on(op tm.Operation, comm uint64) tm.Operation {
	op.Comm = comm
	return op
}

// finalize makes a rank wait in Finalize.
func (s *scene) finalize(r int, from ...int) {
	op := coll("Finalize", 0, 0, from...)
	op.Comm, op.At = 3, ""
	s.alone(r, op)
}

// message lets a message lie at a rank.
func (s *scene) message(r int, m tm.Message) {
	p := s.pending(r)
	p.Messages = append(p.Messages, m)
}

func (s *scene) goroutine(r int, state string, at int, may bool) {
	p := s.pending(r)
	p.Goroutines = append(p.Goroutines, tm.Goroutine{State: state, At: line(at), Func: "main.work", May: may})
}

// inRow puts ranks into the communicator row.
func (s *scene) inRow(ranks ...int) {
	for i, r := range ranks {
		p := s.pending(r)
		p.Comms = append(p.Comms, tm.Comm{Context: row, Name: "row", Rank: i, Ranks: ranks})
	}
}
