//go:build linux

// Package summary says what a job has done and what would make it faster: a row for each rank, and
// the improvements that are likeliest to help, each with its evidence and the line of the program
// where it shows. It reads the picture of the job (cmd/fitrun/internal/view) when the job is over;
// what it says is a function of that picture.
package summary

import (
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
)

// Summary is what there is to say of a job. Its JSON is what fitrun --summary-file writes.
type Summary struct {
	Job      string  `json:",omitempty"` // name of a spawned job; "" of the one that fitrun began with
	Seconds  float64 // from the start of the first process to the end of the last; of a spawned job, for how long its ranks took part at most
	Ranks    []Row
	Findings []Finding // the likeliest improvements, the best first; none if nothing stands out
	Note     string    `json:",omitempty"` // why there are no findings, or how little they rest on

	Spawned   []*Summary `json:",omitempty"` // the jobs that ranks have spawned, and that are known still, in the order of their names
	Forgotten int        `json:",omitempty"` // how many there were before those
}

// Row is one rank.
type Row struct {
	Rank    int
	Host    string `json:",omitempty"`
	Process int    // the lowest rank of its process: memory is that of all its ranks
	State   State
	Code    int `json:",omitempty"` // exit code of its own failure

	// All below is zero if State is Silent.
	Seconds    float64 // for which it has taken part
	Waiting    float64 // the seconds of them in which some caller waited
	Overlap    float64 // the part of the time of requests in which no caller waited; -1 if there were none to speak of
	Messages   uint64  // sent
	Sent       uint64  // bytes of payload
	Received   uint64  // likewise
	PeakBuffer int     // bytes of the library's send buffer
	PeakMemory uint64  // bytes
}

// State is how much is known of a rank.
type State string

// The states.
const (
	Whole  State = "whole"  // the figures are of its whole life
	Broken State = "broken" // it has not finished: the figures are the last it reported
	Silent State = "silent" // it has reported nothing
)

// WaitingShare is the part of its time in which a rank waited.
func (r *Row) WaitingShare() float64 { return share(r.Waiting, r.Seconds) }

// share is a part of a whole, 0 of nothing, and 1 at most.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(part/whole, 1)
}

// Make sums up a job that took a time, and those that its ranks have spawned: so many, of which the
// first may be known no more. The ranks are those of all these jobs, each in its place; those of a
// job are in order.
func Make(ranks []view.Rank, took time.Duration, spawned int) *Summary {
	s := of("", ranks)
	s.Seconds = took.Seconds()
	for _, name := range jobs(ranks) {
		s.Spawned = append(s.Spawned, of(name, ranks))
	}
	s.Forgotten = max(spawned-len(s.Spawned), 0)
	return s
}

// of sums up the job of a name.
func of(name string, all []view.Rank) *Summary {
	s := &Summary{Job: name}
	ranks := ranksOf(name, all)
	first := make(map[process]int)
	for i := range ranks {
		s.Ranks = append(s.Ranks, rowOf(&ranks[i], first))
		s.Seconds = max(s.Seconds, s.Ranks[i].Seconds)
	}
	s.Findings, s.Note = advise(ranks)
	return s
}

// process is one of a host.
type process struct {
	host string
	pid  int
}

// rowOf makes the row of a rank; first notes the first rank of each process.
func rowOf(r *view.Rank, first map[process]int) Row {
	row := Row{Rank: r.Rank, Host: r.Host, Process: r.Rank, State: Silent, Code: r.State.Code, Overlap: -1}
	if p := (process{r.Host, r.State.PID}); p.pid != 0 {
		if at, ok := first[p]; ok {
			row.Process = at
		} else {
			first[p] = r.Rank
		}
	}
	c := r.Counters
	if c == nil {
		return row
	}
	if row.State = Whole; !isWhole(r) {
		row.State = Broken
	}
	st := &c.Stats
	row.Seconds, row.Waiting = c.Elapsed.Seconds(), st.Waited.Seconds()
	if f := st.Flights; f.Flight > 0 {
		row.Overlap = share(f.Hidden.Seconds(), f.Flight.Seconds())
	}
	sent, received := traffic(st)
	row.Messages, row.Sent, row.Received = sent.Messages, sent.Bytes, received.Bytes
	row.PeakBuffer, row.PeakMemory = st.BufferHighWater, c.Process.PeakRSS
	return row
}

// isWhole reports whether the counters of a rank are its final report: it gives them when all
// ranks finalize.
func isWhole(r *view.Rank) bool {
	return r.State.Code == 0 && r.Counters.Last
}

// traffic is all that a rank has sent and received, to and from itself included.
func traffic(s *engine.Stats) (sent, received engine.Traffic) {
	sent, received = s.Self, s.SelfReceived
	for i := range s.Ways {
		for _, t := range s.Ways[i].Sent {
			sent = add(sent, t)
		}
		for _, t := range s.Ways[i].Received {
			received = add(received, t)
		}
	}
	return sent, received
}

func add(a, b engine.Traffic) engine.Traffic {
	return engine.Traffic{Messages: a.Messages + b.Messages, Bytes: a.Bytes + b.Bytes}
}
