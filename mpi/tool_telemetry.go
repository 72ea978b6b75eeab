package mpi

import (
	"cmp"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// answer answers a question of the launcher's.
func (j *job) answer(q boot.Event) {
	data, err := encode(j.report(q.Message))
	if err == nil {
		err = j.session.Answer(q.Code, data)
	}
	if err != nil && j.ctx.Err() == nil && !j.finalized.Load() {
		j.logger.Warn("answering the launcher", "rank", j.engine.Rank(), "question", q.Message, "err", err)
	}
}

// finalReport gives the counts of the whole job, if the job is watched: a rank that has gone cannot
// be asked.
func (j *job) finalReport() {
	if j.session.Info().Watched {
		j.spoken.Store(true)
		j.countOut()
	}
}

// countOut gives the counts of now, if the job is watched: an idle rank is not asked.
func (j *job) countOut() {
	if j.session.Info().Watched {
		j.answer(boot.Event{Message: telemetry.AskCounters})
	}
}

// report is the answer to a question.
func (j *job) report(question string) *telemetry.Report {
	if question == telemetry.AskCollect {
		collectGarbage()
		s := j.engine.Stats()
		return &telemetry.Report{Pulse: j.pulse(&s), Functions: functionsOf()}
	}
	last := j.spoken.Load() // before the counts: those of an answer that was begun earlier, and is late, are not the last
	s := j.engine.Stats()
	r := &telemetry.Report{Pulse: j.pulse(&s)}
	if question == telemetry.AskPulse {
		return r
	}
	r.Counters = &telemetry.Counters{
		Stats: s, Elapsed: time.Duration(sys.Nanotime() - j.joined), Last: last,
		Peers: j.traffic(mostPeers), Sites: j.sites(), Calls: j.longestCalls(), Process: processUse(),
		Collectives: mostCalled(j.calls.read()), Ready: readyTimes(),
	}
	if question == telemetry.AskPending {
		r.Functions = functionsOf()
		r.Pending = j.pending()
	}
	return r
}

// longestCalls are the calls that have waited longest, a few of them, and nothing of what they wait
// for.
func (j *job) longestCalls() []telemetry.Call {
	const most = 4
	var cs []telemetry.Call
	for _, b := range j.engine.Callers(most) {
		s := callsite.Of(b.PCs)
		cs = append(cs, telemetry.Call{Op: s.Op, At: s.At, Func: s.Func, Since: b.Since, Bounded: b.Bounded})
	}
	return cs
}

func (j *job) pulse(s *engine.Stats) telemetry.Pulse {
	p := telemetry.Pulse{At: sys.Monotonic(), Unsent: s.Unsent}
	p.Blocked, p.Bounded = j.engine.Waiting()
	p.FramesIn, p.FramesOut = s.LiveFrames()
	for _, w := range s.Ways {
		for _, t := range w.Sent {
			p.Activity += t.Messages
		}
		for _, t := range w.Received {
			p.Activity += t.Messages
		}
	}
	for _, w := range s.Waits {
		p.Activity += w.Count
	}
	p.Activity += uint64(p.Blocked + p.Bounded) // a wait is counted above when it is over: so this sum only grows
	p.Activity += s.Moved() + s.Self.Messages + s.SelfReceived.Messages +
		s.StepsRun + s.Begun + s.Done + s.FetchedBytes + s.RequestMatches + s.EventMatches
	return p
}

// mostPeers is how many peers one report has room for.
const mostPeers = 400

// traffic is the traffic with peers, at most so many: where there are more, those behind the ones
// of the last report, so that in some reports all are told. It is called by one goroutine at a
// time, or finalizing.
func (j *job) traffic(most int) []telemetry.Peer {
	all := j.engine.Peers()
	first := int(j.reportedPeers.Load()) % len(all)
	var ps []telemetry.Peer
	for i := range all {
		p := &all[(first+i)%len(all)]
		number := j.numberOf(p.Peer)
		if number == beyond {
			continue // the launcher does not know it
		}
		t := trafficWith(p)
		if t.Rank = number; t.Sent.Messages+t.Received.Messages > 0 || t.Waited != (telemetry.Waited{}) {
			if len(ps) == most {
				j.reportedPeers.Store(int64(p.Peer))
				return ps
			}
			ps = append(ps, t)
		}
	}
	return ps
}

// trafficWith is the traffic with one peer, but for its number.
func trafficWith(p *engine.PeerStats) telemetry.Peer {
	t := telemetry.Peer{Way: uint8(p.Way), Waited: telemetry.Waited(p.Waited)}
	for _, s := range p.Sent {
		t.Sent.Messages += s.Messages
		t.Sent.Bytes += s.Bytes
	}
	for _, s := range p.Received {
		t.Received.Messages += s.Messages
		t.Received.Bytes += s.Bytes
	}
	return t
}

// mostCollectives is how many kinds of collectives one report has room for.
const mostCollectives = 100

// mostCalled keeps those of all that were called most, in their order.
func mostCalled(all []telemetry.Calls) []telemetry.Calls {
	if len(all) <= mostCollectives {
		return all
	}
	counts := make([]uint64, len(all))
	for i, c := range all {
		counts[i] = c.Count
	}
	slices.SortFunc(counts, func(a, b uint64) int { return cmp.Compare(b, a) })
	least := counts[mostCollectives-1]
	return slices.DeleteFunc(all, func(c telemetry.Calls) bool { return c.Count < least })[:mostCollectives]
}

// readyTimes is for how long goroutines of the process were ready before they ran, in the buckets
// in which Prometheus' client shows it, a factor of ten apart.
func readyTimes() *telemetry.Durations {
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil // not of this Go any more
	}
	return decades(s[0].Value.Float64Histogram())
}

// decades merges the buckets of h: those that are left end at bounds of its own that are a factor
// of ten apart, up to a second.
func decades(h *metrics.Float64Histogram) *telemetry.Durations {
	var d telemetry.Durations
	next, n := 0.0, uint64(0)
	for i, count := range h.Counts {
		n += count
		if end := h.Buckets[i+1]; end >= next && end > 0 && end <= 1 {
			d.Bounds, d.Counts = append(d.Bounds, end), append(d.Counts, n)
			next, n = 10*end, 0
		}
	}
	d.Counts = append(d.Counts, n)
	return &d
}

// mostSites is how many places one report names.
const mostSites = 20

// mostSiteNames is how many call stacks are remembered: there are new ones without end where a
// recursive function waits.
const mostSiteNames = 1024

// siteNames remembers what call stacks are: to find out takes microseconds for each, and reports
// are asked for again and again. The zero value knows none.
type siteNames struct {
	mu sync.Mutex
	of map[engine.Stack]callsite.Site // guarded by mu
}

func (n *siteNames) name(pcs *engine.Stack) callsite.Site {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.of[*pcs]
	if !ok {
		if n.of == nil || len(n.of) >= mostSiteNames {
			n.of = make(map[engine.Stack]callsite.Site)
		}
		s = callsite.Of(pcs[:])
		n.of[*pcs] = s
	}
	return s
}

// sites is where the rank has waited longest. Stacks that differ outside the user's call are one
// place.
func (j *job) sites() []telemetry.Site {
	type place struct {
		callsite.Site
		kind engine.WaitKind
	}
	var all []telemetry.Site
	at := make(map[place]int)
	for _, w := range j.engine.WaitSites() {
		p := place{j.siteNames.name(&w.PCs), w.Kind}
		i, ok := at[p]
		if !ok {
			i = len(all)
			at[p] = i
			all = append(all, telemetry.Site{Op: p.Op, At: p.At, Func: p.Func, Kind: w.Kind, Peer: j.numberOf(w.Peer)})
		}
		all[i].Count += w.Count
		all[i].Time += w.Time
	}
	slices.SortStableFunc(all, func(a, b telemetry.Site) int { return cmp.Compare(b.Time, a.Time) })
	return all[:min(len(all), mostSites)]
}
