//go:build linux

package summary

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const (
	tinyClasses = 4 // of engine.SizeCounts: up to 64 bytes
	tinyShare   = 0.8

	// What it takes to send and to receive a message, in seconds, beside its bytes: an estimate for
	// a machine of today.
	perMessage    = 1e-6
	perSystemCall = 2e-6

	// perWait is how long at most the wait for a message counts as what it takes, if no rank is
	// late. It is more than the latency between any two ranks, with time to wake up.
	perWait = 20e-6
)

// tinyMessages looks for messages that are many, and so short that to handle them is all they cost.
func (j *job) tinyMessages() *Finding {
	var tiny, all, most uint64
	var calls, seconds float64
	of := func(r *rank) (tiny, all uint64) {
		for k, n := range r.Counters.Stats.Sizes {
			if all += n; k < tinyClasses || k == len(r.Counters.Stats.Sizes)-1 {
				tiny += n
			}
		}
		return tiny, all
	}
	for _, r := range j.ranks {
		t, a := of(r)
		tiny, all, most = tiny+t, all+a, max(most, t)
		calls += float64(r.Counters.Stats.Reads + r.Counters.Stats.Writes)
	}
	part := share(float64(tiny), float64(all))
	if part < tinyShare {
		return nil
	}
	seconds = float64(tiny)*perMessage + calls*part*perSystemCall + min(j.exchange(), float64(tiny)*perWait)
	var senders []*rank
	for _, r := range j.ranks {
		if t, _ := of(r); float64(t) >= accomplice*float64(most) && t > 0 {
			senders = append(senders, r)
		}
	}
	f := &Finding{Kind: TinyMessages, Ranks: numbers(senders), Seconds: seconds, Share: share(seconds, j.time)}
	f.Text = fmt.Sprintf("%s messages of at most 64 bytes were %s of all, most sent by %s: to handle them and to wait for them took about %s of the ranks' time.",
		Count(float64(tiny)), Percent(part), names(f.Ranks), Duration(min(seconds, j.time)))
	f.Advice = "Send them together: one message with many values costs little more than one with one."
	return f
}

// longGap is the first class of engine.TimeHistogram of which all are longer than a millisecond: no
// sleeper that finds a core takes so long to wake up.
const longGap = 21

// tooFewCores looks for messages that wait until a thread that would move them gets a core.
func (j *job) tooFewCores() *Finding {
	var lost float64
	var n uint64
	var late []*rank
	for _, r := range j.ranks {
		l := 0.0
		for k := longGap; k < engine.TimeClasses; k++ {
			c := r.Counters.Stats.Gaps.Counts[k]
			n += c
			l += float64(c) * 0.75 * float64(uint64(1)<<k) / (1 << 30) // of a class the middle
		}
		if l = min(l, r.time); l > notable/2*r.time {
			late = append(late, r)
		}
		lost += l
	}
	if len(late) == 0 {
		return nil
	}
	f := &Finding{Kind: Oversubscribe, Ranks: numbers(late), Seconds: lost, Share: share(lost, j.time)}
	f.Text = fmt.Sprintf("in %s messages lay for %s in all before the thread that moves them ran, %s times for longer than a millisecond: more threads compute than there are cores.",
		names(f.Ranks), Duration(lost), Count(float64(n)))
	f.Advice = "Run fewer ranks on each host, or let fewer threads of each compute, so that one core is left for each rank's worker."
	return f
}

// fullBuffer looks for senders that wait for room in the send buffer. Whether those are slow that
// receive is not known: if they are, that is a late receiver.
func (j *job) fullBuffer() *Finding {
	if f := j.late(receiving); f != nil && f.Share >= notable {
		return nil
	}
	var full []*rank
	stalls, lost := 0, 0.0
	for _, r := range j.ranks {
		if s := &r.Counters.Stats; s.BufferStalls > 0 {
			full, stalls = append(full, r), stalls+s.BufferStalls
			lost += min(s.Waits[engine.WaitSend].Time.Seconds(), r.time)
		}
	}
	if len(full) == 0 {
		return nil
	}
	f := &Finding{Kind: FullBuffer, Ranks: numbers(full), Seconds: lost, Share: share(lost, j.time)}
	f.Op, f.At = longest(full, func(s *telemetry.Site) bool { return s.Kind == engine.WaitSend })
	f.Text = fmt.Sprintf("%s waited %s%s to send, and %s times the send buffer of %s had no room.", names(f.Ranks), Duration(lost), place(f),
		Count(float64(stalls)), Bytes(float64(full[0].Counters.Stats.BufferBudget)))
	f.Advice = "Raise FITMPI_SEND_BUFFER, or let the messages be received sooner."
	return f
}

const (
	perUnexpected = 0.5e-6 // seconds that a message costs more if its receive comes later
	copyRate      = 4e9    // bytes a second that are copied once more
)

// unexpected looks for messages that come before their receives, and so are copied once more.
func (j *job) unexpected() *Finding {
	var seconds float64
	var early, all uint64
	var ranks []*rank
	for _, r := range j.ranks {
		var t engine.Traffic
		s := &r.Counters.Stats
		for i := range s.Ways {
			t = add(t, s.Ways[i].Received[0]) // those that were announced wait at their sender
		}
		n := min(s.Unexpected, t.Messages)
		early, all = early+n, all+t.Messages
		cost := float64(n)*perUnexpected + float64(t.Bytes)*share(float64(n), float64(t.Messages))/copyRate
		if seconds += cost; cost >= notable/2*r.time {
			ranks = append(ranks, r)
		}
	}
	part := share(float64(early), float64(all))
	if part < 0.5 || len(ranks) == 0 {
		return nil
	}
	f := &Finding{Kind: Unexpected, Ranks: numbers(ranks), Seconds: seconds, Share: share(seconds, j.time)}
	f.Text = fmt.Sprintf("%s messages (%s) came before their receives, most to %s, and were copied once more, which took about %s.",
		Count(float64(early)), Percent(part), names(f.Ranks), Duration(seconds))
	f.Advice = "Post receives before the messages come (Irecv)."
	return f
}

// muchWaiting is for jobs that wait much although no rank is later than others.
func (j *job) muchWaiting() *Finding {
	part := j.waitingShare()
	if part < muchWaiting || len(j.ranks) < 2 {
		return nil
	}
	f := &Finding{Kind: Waiting, Ranks: numbers(j.ranks), Seconds: part * j.time, Share: part}
	f.Op, f.At = longest(j.ranks, func(*telemetry.Site) bool { return true })
	f.Text = fmt.Sprintf("the ranks waited %s of the time, most of it%s, and none of them is late: they take turns, wait for the network, or share too few cores.", Percent(part), place(f))
	f.Advice = "Begin messages before computing and wait for them afterwards (Isend, Irecv)."
	return f
}
