//go:build linux

package summary

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// direction is of messages: those that the late one sends, or receives.
type direction int

const (
	sending direction = iota
	receiving
)

// waitedFor is for how long a rank waited for messages that p sends, or receives.
func (d direction) waitedFor(p *telemetry.Peer) float64 {
	if d == sending {
		return p.Waited.Receiving.Seconds()
	}
	return p.Waited.Sending.Seconds()
}

// wait is the kind of wait of the ranks that wait for a late one.
func (d direction) wait() engine.WaitKind {
	if d == sending {
		return engine.WaitReceive
	}
	return engine.WaitSend
}

// late looks for ranks for which others wait, because they compute and do not send, or receive.
//
// A rank that itself waits for messages cannot send. So a rank that waits for it loses only as much
// of its time as it waits more than that one does. Of ranks that wait for each other in a row,
// therefore, the one at the end is named. No rank is named where two merely exchange messages as
// fast as they can.
func (j *job) late(d direction) *Finding {
	lost, victims := j.lateness(d)
	ranks, all := j.worst(lost)
	if len(ranks) == 0 {
		return nil
	}
	v := newVictims(j, ranks, victims)
	f := &Finding{Ranks: numbers(ranks), Victims: numbers(v.ranks), Seconds: all, Share: share(all, j.time)}
	f.Op, f.At = v.where(d.wait(), f.Ranks)
	if d == sending {
		f.Kind = LateSender
		f.Text = fmt.Sprintf("%s%s for %s, %s.", v, place(f), names(f.Ranks), meanwhile(ranks))
		f.Advice = fmt.Sprintf("Send earlier there (Isend), give %s less to do, or let the others do something else first (Irecv).", one(f.Ranks, "it", "them"))
		return f
	}
	f.Kind = LateReceiver
	f.Text = fmt.Sprintf("%s%s until %s received, %s (%s).", v, place(f), names(f.Ranks), meanwhile(ranks), v.messages(f.Ranks))
	f.Advice = "Post receives earlier there (Irecv), or let the senders go on meanwhile (Isend)."
	return f
}

// lateness is what is lost by waiting for each rank. victims says, for each rank for which
// something is lost, which others waited for it and for how long.
func (j *job) lateness(d direction) (lost map[int]float64, victims map[int]map[*rank]float64) {
	lost, victims = make(map[int]float64), make(map[int]map[*rank]float64)
	for _, r := range j.ranks {
		for _, p := range r.Traffic {
			to := j.by[p.Rank]
			if to == nil || to == r {
				continue
			}
			waited := min(d.waitedFor(&p), r.waiting)
			if l := waited - to.messageShare()*r.time; l > 0 {
				lost[p.Rank] += l
				if victims[p.Rank] == nil {
					victims[p.Rank] = make(map[*rank]float64)
				}
				victims[p.Rank][r] = waited
			}
		}
	}
	return lost, victims
}

// exchange is for how long ranks waited for single messages although no rank was late: what
// messages take.
func (j *job) exchange() float64 {
	waited := 0.0
	for _, r := range j.ranks {
		waited += max(r.waiting-r.collective(), 0)
	}
	for _, d := range []direction{sending, receiving} {
		lost, _ := j.lateness(d)
		for _, l := range lost {
			waited -= l
		}
	}
	return max(waited, 0)
}

// victims are ranks that wait for some others.
type victims struct {
	ranks  []*rank
	waited float64 // by all of them
	time   float64 // of all of them
}

// newVictims finds the ranks to which it matters that they wait for late ones. by is by late rank,
// and by the rank that waits for it.
func newVictims(j *job, late []*rank, by map[int]map[*rank]float64) *victims {
	v := new(victims)
	for _, r := range j.ranks {
		waited := 0.0
		for _, l := range late {
			waited += by[l.Rank.Rank][r]
		}
		if waited = min(waited, r.waiting); waited >= notable/2*r.time {
			v.ranks, v.waited, v.time = append(v.ranks, r), v.waited+waited, v.time+r.time
		}
	}
	return v
}

// String says which ranks they are and how long they wait.
func (v *victims) String() string {
	whose := "its"
	if len(v.ranks) > 1 {
		whose = "their"
	}
	return fmt.Sprintf("%s waited %s (%s of %s time)", names(numbers(v.ranks)), Duration(v.waited), Percent(share(v.waited, v.time)), whose)
}

// where is the place in the program where they wait longest, for the late ones if those are told.
func (v *victims) where(kind engine.WaitKind, late []int) (op, at string) {
	return longest(v.ranks, func(s *telemetry.Site) bool { return s.Kind == kind && contains(late, s.Peer) },
		func(s *telemetry.Site) bool { return s.Kind == kind })
}

// messages says what was sent to the late ones.
func (v *victims) messages(late []int) string {
	var t engine.Traffic
	for _, r := range v.ranks {
		for _, l := range late {
			t = add(t, r.Traffic[l].Sent)
		}
	}
	text := fmt.Sprintf("%s messages of %s on average", Count(float64(t.Messages)), Bytes(float64(t.Bytes)/float64(max(t.Messages, 1))))
	if t.Messages == 1 {
		text = "one message of " + Bytes(float64(t.Bytes))
	}
	if stalls := v.stalls(); stalls > 0 {
		text += fmt.Sprintf("; %s times the send buffer had no room", Count(float64(stalls)))
	}
	return text
}

func (v *victims) stalls() (n int) {
	for _, r := range v.ranks {
		n += r.Counters.Stats.BufferStalls
	}
	return n
}
