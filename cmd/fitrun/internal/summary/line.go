//go:build linux

package summary

import (
	"fmt"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Meter says in one line what a job does now, by what has changed since it was asked last.
type Meter struct {
	last map[int]*telemetry.Counters // by place of the rank
}

// change is what has changed of a rank.
type change struct {
	rank              string // its name
	seconds           float64
	waiting           float64
	messages, bytes   float64
	flights, hiddenIn float64 // seconds of requests, and those of them in which no caller waited
}

// Line is the line, for a job that has run for a time. It begins with how many ranks compute, wait
// or have exited. The part of their time in which they wait follows, and that of their requests' in
// which they do not. Then comes the rank that waits least, if another waits much longer: it is the
// one that they wait for. The line ends with messages and bytes that they send in a second. What a
// narrow terminal cuts off comes last.
func (m *Meter) Line(ranks []view.Rank, ran time.Duration) string {
	line := fmt.Sprintf("fitrun: %s | %s", Duration(ran.Seconds()), states(ranks))
	cs := m.changes(ranks)
	if len(cs) == 0 {
		return line
	}
	var all change
	rates := [2]float64{}
	least, most := 0, 0
	for i, c := range cs {
		all.seconds, all.waiting = all.seconds+c.seconds, all.waiting+c.waiting
		all.flights, all.hiddenIn = all.flights+c.flights, all.hiddenIn+c.hiddenIn
		rates[0], rates[1] = rates[0]+c.messages/c.seconds, rates[1]+c.bytes/c.seconds
		if c.waitingShare() < cs[least].waitingShare() {
			least = i
		}
		if c.waitingShare() > cs[most].waitingShare() {
			most = i
		}
	}
	line += fmt.Sprintf(" | waiting %s", Percent(all.waitingShare()))
	if all.flights > 0 {
		line += fmt.Sprintf(", overlap %s", Percent(share(all.hiddenIn, all.flights)))
	}
	if l := cs[least].waitingShare(); cs[most].waitingShare()-l >= lagging {
		line += fmt.Sprintf(" | slowest: %s (%s)", cs[least].rank, Percent(l))
	}
	line += fmt.Sprintf(" | %s msg/s, %s/s", Count(rates[0]), Bytes(rates[1]))
	return line
}

// lagging is how much less a rank must wait than another to be called slowest.
const lagging = 0.2

func (c *change) waitingShare() float64 { return share(c.waiting, c.seconds) }

// states says how many ranks do what.
func states(ranks []view.Rank) string {
	var running, waiting, exited int
	for i := range ranks {
		switch r := &ranks[i]; {
		case r.Vacant:
		case r.State.Phase == launch.Over:
			exited++
		case r.Pulse != nil && r.Pulse.Blocked+r.Pulse.Bounded > 0:
			waiting++
		default:
			running++
		}
	}
	s := fmt.Sprintf("%d running, %d waiting", running, waiting)
	if exited > 0 {
		s += fmt.Sprintf(", %d exited", exited)
	}
	return s
}

// nameOf is what a rank is called.
func nameOf(r *view.Rank) string {
	if r.Job == "" {
		return fmt.Sprintf("rank %d", r.Rank)
	}
	return fmt.Sprintf("rank %d of spawned %s", r.Rank, r.Job)
}

// changes is what has changed of those ranks of which there is news.
func (m *Meter) changes(ranks []view.Rank) (cs []change) {
	now := make(map[int]*telemetry.Counters)
	for i := range ranks {
		c, was := ranks[i].Counters, m.last[i]
		if c == nil {
			continue
		}
		now[i] = c
		if was == nil || c.Elapsed < was.Elapsed { // of an attempt before: see fitrun --restart
			was = new(telemetry.Counters)
		}
		d := change{rank: nameOf(&ranks[i]), seconds: (c.Elapsed - was.Elapsed).Seconds()}
		if d.seconds <= 0 {
			continue
		}
		d.waiting = (c.Stats.Waited - was.Stats.Waited).Seconds()
		sent, _ := traffic(&c.Stats)
		before, _ := traffic(&was.Stats)
		d.messages, d.bytes = max(0, float64(sent.Messages)-float64(before.Messages)), max(0, float64(sent.Bytes)-float64(before.Bytes))
		f, g := c.Stats.Flights, was.Stats.Flights
		d.flights, d.hiddenIn = (f.Flight - g.Flight).Seconds(), (f.Hidden - g.Hidden).Seconds()
		cs = append(cs, d)
	}
	m.last = now
	return cs
}
