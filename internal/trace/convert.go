package trace

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"
)

// Job is what the launcher knows of the job of a trace, and of those that it has spawned.
type Job struct {
	Clocks map[string]Clock // by host: those that are not the launcher's; of a host that is not here the clock is taken to be that
	Notes  []string         // what else is to be said in the trace: which clocks are not known, whose recording was lost
	Last   time.Duration    // how much of the end is wanted; 0 is all
}

// clock is that of a rank.
func (j *Job) clock(r *Recording) Clock { return j.Clocks[r.Host] }

// Summary is what Convert found.
type Summary struct {
	Ranks       int
	Events      int
	Flows       int
	Overwritten uint64 // events that the ranks did not keep
	Torn        uint64
	Missed      uint64
}

// Convert writes the recordings of a job to w in the Trace Event format, as JSON. all is gone
// through twice, and only one recording is looked at at a time. When ctx ends it stops early, but
// what it has written is whole.
func Convert(ctx context.Context, w io.Writer, job Job, all iter.Seq[*Recording]) (Summary, error) {
	c := &converter{w: bufio.NewWriterSize(w, 1<<16), job: job, pairs: make(map[pair]*flows), names: make(map[int]string), zero: math.MaxInt64}
	if job.Last > 0 {
		for r := range all {
			c.cut = max(c.cut, c.endOf(r))
		}
		c.cut -= int64(job.Last)
	}
	for r := range all {
		c.trim(r)
		c.survey(r)
	}
	c.put(`{"displayTimeUnit":"ns","traceEvents":[`)
	for r := range all {
		if ctx.Err() != nil || c.err != nil {
			break
		}
		c.trim(r)
		c.rank(r)
	}
	c.put("\n],\"otherData\":")
	c.otherData(ctx.Err() != nil)
	c.put("}\n")
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.sum, c.err
}

// converter is a conversion under way.
type converter struct {
	w     *bufio.Writer
	err   error // of w
	job   Job
	pairs map[pair]*flows
	names map[int]string // of the ranks of spawned jobs, by number
	cut   int64          // what is before that is left out; 0 is nothing
	zero  int64          // of the trace, on the launcher's clock: when the first rank began
	some  bool           // an event was written
	sum   Summary
	ranks []rankNote

	rec   *Recording // that is being written
	clock Clock      // of its host
}

// pair is a sender and a receiver.
type pair struct{ from, to int }

// flows is which messages of a pair both ends have noted.
type flows struct {
	posted, arrived numbers
	id              uint64 // of the pair
}

// rankNote is what is said of a rank at the end of the trace.
type rankNote struct {
	Rank                            int
	Job                             string `json:",omitempty"` // "" is the first
	Host                            string
	Events                          int
	Overwritten, Torn, MissedCalls  uint64
	FirstMicroseconds, Microseconds float64 // from when to when there are events
}

// endOf is when the last event of a rank was over, on the launcher's clock.
func (c *converter) endOf(r *Recording) int64 {
	end := r.Start
	for i := range r.Events {
		end = max(end, r.Events[i].Time+r.Events[i].Span)
	}
	clock := c.job.clock(r)
	return clock.Local(end)
}

// trim leaves out what was over before the part that is wanted.
func (c *converter) trim(r *Recording) {
	if c.cut == 0 {
		return
	}
	clock := c.job.clock(r)
	r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return clock.Local(e.Time+e.Span) < c.cut })
}

// survey takes note of what must be known of a recording before any is written.
func (c *converter) survey(r *Recording) {
	clock := c.job.clock(r)
	if r.Job != "" {
		c.names[r.Number()] = itoa(r.Rank) + " of spawned " + r.Job
	}
	c.zero = min(c.zero, clock.Local(r.Start))
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case Posted:
			c.flowsOf(pair{r.Number(), e.Peer}).posted.add(e.Seq)
		case Arrived:
			c.flowsOf(pair{e.Peer, r.Number()}).arrived.add(e.Seq)
		}
	}
}

func (c *converter) flowsOf(p pair) *flows {
	f := c.pairs[p]
	if f == nil {
		f = &flows{id: uint64(len(c.pairs))}
		c.pairs[p] = f
	}
	return f
}

// isFlow reports whether message seq of a pair has both its ends in the trace.
func (c *converter) isFlow(p pair, seq uint32) bool {
	f := c.pairs[p]
	return f != nil && f.posted.has(seq) && f.arrived.has(seq)
}

// rank writes what one rank has noted.
func (c *converter) rank(r *Recording) {
	c.rec, c.clock = r, c.job.clock(r)
	note := rankNote{Rank: r.Rank, Job: r.Job, Host: r.Host, Events: len(r.Events), Overwritten: r.Overwritten, Torn: r.Torn, MissedCalls: r.Missed}
	c.sum.Ranks++
	c.sum.Events += len(r.Events)
	c.sum.Overwritten += r.Overwritten
	c.sum.Torn += r.Torn
	c.sum.Missed += r.Missed
	first, last := r.Start, r.Start
	for i := range r.Events {
		e := &r.Events[i]
		if i == 0 {
			first = e.Time
		}
		first, last = min(first, e.Time), max(last, e.Time+e.Span)
	}
	for i := range r.Open {
		last = max(last, r.Open[i].Time)
	}
	note.FirstMicroseconds, note.Microseconds = c.micros(first), c.micros(last)
	c.ranks = append(c.ranks, note)
	c.describe()
	c.calls(last)
	c.messages(last)
	c.spans(last)
}

// peer is a rank as an argument: its rank of the world, or its name if it is not of the first job.
func (c *converter) peer(number int) any {
	if name := c.nameOfRank(number); name != itoa(number) {
		return name
	}
	return number
}

// nameOfRank is what a rank is called behind the word: the rank of the world, and its job if that
// is not the first.
func (c *converter) nameOfRank(number int) string {
	if name, ok := c.names[number]; ok {
		return name
	}
	if number == Beyond {
		return "another fitrun"
	}
	return itoa(number)
}

// micros is a time of the rank in the trace: microseconds, with the nanoseconds behind the point.
func (c *converter) micros(t int64) float64 { return float64(c.clock.Local(t)-c.zero) / 1e3 }

// calls writes the calls of the rank, those that had not ended up to last.
func (c *converter) calls(last int64) {
	used := make(map[uint8]bool)
	write := func(e *Event, open bool) {
		if !used[e.Track] {
			used[e.Track] = true
			name := "calls"
			if e.Track > 0 {
				name = fmt.Sprintf("calls (%d at once)", e.Track+1)
			}
			c.track(callTrack+int(e.Track), name)
		}
		args := arguments{}
		if e.Peer != NoPeer {
			args.add("peer", c.peer(e.Peer))
		}
		if e.Bytes > 0 {
			args.add("bytes", e.Bytes)
		}
		span := e.Span
		if open {
			args.add("unfinished", true)
			span = last - e.Time
		}
		c.slice(callTrack+int(e.Track), "call", c.nameOf(e), e.Time, span, args)
	}
	for i := range c.rec.Events {
		if e := &c.rec.Events[i]; e.Kind == Call {
			write(e, false)
		}
	}
	for i := range c.rec.Open {
		write(&c.rec.Open[i], true)
	}
}

// nameOf is what an event is the name of.
func (c *converter) nameOf(e *Event) string {
	if name := c.rec.Name(e.Name); name != "" {
		return name
	}
	return e.Kind.String()
}

// spans writes what the worker did, the collectives and the regions.
func (c *converter) spans(last int64) {
	var collectives, regions []span
	begun := make(map[uint32]*Event)
	isWorker := false
	for i := range c.rec.Events {
		switch e := &c.rec.Events[i]; e.Kind {
		case Turn, Slept:
			if !isWorker {
				isWorker = true
				c.track(workerTrack, "worker")
			}
			name := "busy"
			if e.Kind == Slept {
				name = "asleep"
			}
			c.slice(workerTrack, "worker", name, e.Time, e.Span, arguments{})
		case Collective:
			collectives = append(collectives, span{begin: e.Time, end: e.Time + e.Span, name: c.nameOf(e)})
		case RegionBegun:
			begun[e.Seq] = e
		case Region:
			delete(begun, uint32(e.Bytes))
			regions = append(regions, span{begin: e.Time, end: e.Time + e.Span, name: c.nameOf(e)})
		}
	}
	for _, e := range begun {
		s := span{begin: e.Time, end: max(last, e.Time), name: c.nameOf(e)}
		s.args.add("unfinished", true)
		regions = append(regions, s)
	}
	c.lanes(regions, regionTrack, "regions", "region", true)
	c.lanes(collectives, collectiveTrack, "collectives", "collective", false)
}

// span is a slice that has no track yet.
type span struct {
	begin, end int64
	name       string
	args       arguments
	flow       byte   // 's' if a flow begins with it, 'f' if one ends, else 0
	id         uint64 // of the flow
}

// lanes writes spans to as many tracks as are needed for none to overlap another, but for one that
// lies within another if nests is set. There are at most trackRoom of them; what would need more is
// written without its length to a last one.
func (c *converter) lanes(spans []span, first int, title, category string, nests bool) {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end), cmp.Compare(a.name, b.name))
	})
	var open [trackRoom][]int64 // by lane: ends of the spans that are open, the outermost first
	named := 0
	for i := range spans {
		s := &spans[i]
		s.end = max(s.end, s.begin+1) // so that a flow has something to bind to
		at := laneOf(&open, s, nests)
		if at < 0 {
			at, s.end = trackRoom, s.begin+1
			s.args.add("length", "not shown: too many at once")
		} else {
			open[at] = append(open[at], s.end)
		}
		for ; named <= at; named++ {
			name := title
			if named > 0 {
				name = fmt.Sprintf("%s (%d)", title, named+1)
			}
			if named == trackRoom {
				name = title + " (more)"
			}
			c.track(first+named, name)
		}
		c.slice(first+at, category, s.name, s.begin, s.end-s.begin, s.args)
		if s.flow != 0 {
			c.flow(first+at, s.flow, s.id, s.begin)
		}
	}
}

// laneOf finds the first lane with room for s, -1 if there is none.
func laneOf(open *[trackRoom][]int64, s *span, nests bool) int {
	for at := range open {
		ends := open[at]
		for len(ends) > 0 && ends[len(ends)-1] <= s.begin {
			ends = ends[:len(ends)-1]
		}
		open[at] = ends
		if len(ends) == 0 || nests && ends[len(ends)-1] >= s.end {
			return at
		}
	}
	return -1
}
