package hang

import (
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const (
	mostKnots      = 4  // knots that are shown whole
	mostLinks      = 8  // of a circle
	mostMismatches = 12 // lines of mismatches, and of sends without receive
	mostGroups     = 24 // of ranks in the same situation
	groupsTillBy   = 8  // groups until ranks are also grouped by where their peers are from them
)

// text is a report in the making.
type text struct {
	e     *Explanation
	lines []string
	wording
}

// Text is the explanation for people: a title, and lines below it that are indented. It does not
// end in a newline.
func (e *Explanation) Text() string {
	t := &text{e: e, wording: wording{job: e.job, dir: e.job.Dir, self: -1}}
	t.add(0, "%s", e.Title())
	t.signals()
	for i := range e.Knots {
		if i == mostKnots {
			t.add(1, "and %d more such circles", len(e.Knots)-i)
			break
		}
		t.knot(&e.Knots[i])
	}
	t.mismatches()
	t.unreceived()
	t.collectives()
	t.ranks()
	return strings.Join(t.lines, "\n")
}

// signals says which ranks wait for a signal, if that matters.
func (t *text) signals() {
	who, one := t.job.Names(t.e.Signals), ""
	if len(t.e.Signals) > 1 {
		one = "one of "
	}
	switch {
	case len(t.e.Signals) == 0:
	case t.e.IsStuck():
		t.add(1, "only a signal to %s%s could let them go on: signal.NotifyContext waits for one there, and what that starts no report shows", one, who)
	default:
		t.add(1, "a signal to %s%s may start something: signal.NotifyContext waits for one there, and what that starts no report shows", one, who)
	}
}

// add adds a line. Names of communicators, functions and files come from ranks.
func (t *text) add(depth int, format string, args ...any) {
	t.lines = append(t.lines, strings.Repeat("  ", depth)+plain.Line(sprintf(format, args...)))
}

// Title is the explanation in one line.
func (e *Explanation) Title() string {
	inside := 0
	for i := range e.Ranks {
		if e.Ranks[i].Phase == Inside {
			inside++
		}
	}
	what, never := "deadlock", "can never go on"
	if len(e.Signals) > 0 {
		what, never = "deadlock unless a signal comes", "cannot go on"
	}
	switch {
	case e.IsStuck() && len(e.Stuck) == inside && inside > 1:
		return what + ": no rank can go on: each waits for others that wait, and nothing is in flight"
	case e.IsStuck():
		return sprintf("%s: %s %s: what is waited for can come from nowhere, and nothing is in flight", what, e.job.Names(e.Stuck), never)
	case len(e.Stuck) > 0:
		return sprintf("%s; %s, and did not go on between two looks: a deadlock, unless something is on its way there",
			e.census(), e.job.Names(e.Stuck)+waitOnly(e.Stuck))
	default:
		return e.census() + "; no deadlock is seen"
	}
}

func waitOnly(ranks []int) string {
	if len(ranks) == 1 {
		return " waits for what cannot come"
	}
	return " wait for each other only"
}

// census counts ranks by what they do.
func (e *Explanation) census() string {
	var t tally
	n := 0
	for i := range e.Ranks {
		if e.Ranks[i].Phase != Vacant {
			n++
			t.add(e.Ranks[i].brief())
		}
	}
	return count(n, "rank") + ": " + strings.Join(t.each(), ", ")
}

func (t *tally) each() []string {
	var ls []string
	for _, text := range t.texts {
		ls = append(ls, sprintf("%d %s", t.counts[text], text))
	}
	return ls
}

func (w *Situation) brief() string {
	switch {
	case w.Phase == Absent:
		return "not started"
	case w.Phase == Outside:
		return "outside of mpi.Init"
	case w.Phase == Idle:
		return "idle, without a session"
	case w.Phase == Gone:
		return "finished"
	case w.Phase == Dead:
		return "dead"
	case w.Silent:
		return "silent"
	case len(w.Pending.Calls) > 0:
		return "in MPI calls that wait"
	default:
		return "busy outside of MPI"
	}
}

// knot says why its ranks wait.
func (t *text) knot(k *Knot) {
	switch {
	case k.Gone:
		how := "has finished"
		if t.e.Ranks[k.Ranks[0]].Phase == Dead {
			how = "has died"
		}
		t.add(1, "%s %s, and others wait for it:", t.job.Names(k.Ranks), how)
		t.waits(2, k.For)
	case len(k.Circle) == 1:
		t.waits(1, k.Circle)
	case len(k.Circle) > 1:
		var way []string
		for i := range k.Circle {
			if len(k.Circle) > mostLinks && i == mostLinks-2 {
				way = append(way, "...")
				break
			}
			way = append(way, t.job.listed([]int{k.Circle[i].Rank}))
		}
		way = append(way, t.job.listed([]int{k.Circle[0].Rank}))
		t.add(1, "circle of %s: %s", count(len(k.Circle), "rank"), strings.Join(way, " -> "))
		t.waits(2, k.Circle)
		t.others("with them, waiting for each other:", without(k.Ranks, k.Circle))
	default:
		t.add(1, "%s: what it waits for can come from nowhere:", t.job.Names(k.Ranks))
		p := t.e.Ranks[k.Ranks[0]].Pending
		for _, l := range slices.Concat(t.calls(p), t.goroutines(p)) {
			t.add(2, "%s", l)
		}
	}
	t.others("behind, waiting for them:", without(k.Behind, k.For))
}

// without leaves out the ranks of waits, which are named already.
func without(ranks []int, named []Wait) []int {
	return slices.DeleteFunc(slices.Clone(ranks), func(r int) bool {
		return slices.ContainsFunc(named, func(w Wait) bool { return w.Rank == r })
	})
}

func (t *text) others(what string, ranks []int) {
	if len(ranks) > 0 {
		t.add(2, "%s %s", what, t.job.Names(ranks))
	}
}

func (t *text) waits(depth int, ws []Wait) {
	for i, w := range ws {
		if len(ws) > mostLinks && i >= mostLinks-2 && i < len(ws)-1 {
			if i == mostLinks-2 {
				t.add(depth, "... and %d more", len(ws)-mostLinks+1)
			}
			continue
		}
		if w.Call == nil {
			t.add(depth, "%s is in no call: it waits for a goroutine of its process, in which %s waits as well", t.job.name(w.Rank), t.job.name(w.On))
			continue
		}
		p := t.e.Ranks[w.Rank].Pending
		text := t.call(p, commsOf(p), w.Call)
		if len(w.Call.Waits) > 1 && w.Op != nil && !isOfGroup(w.Op.Kind) {
			text = t.callFor(p, w)
		}
		t.add(depth, "%s waits for %s: %s, %s", t.job.name(w.Rank), t.awaited(w), text, span(w.Call.Since, w.Call.Since))
	}
}

// isOfGroup reports whether an operation of a kind waits for certain ranks although it has no peer.
func isOfGroup(k telemetry.Kind) bool {
	return k == telemetry.Collective || k == telemetry.Agreement || k == telemetry.Flush
}

// awaited names the rank that the wait is for.
func (t *text) awaited(w Wait) string {
	switch {
	case w.On == w.Rank:
		return "itself"
	case w.Op.Peer < 0 && !isOfGroup(w.Op.Kind):
		return sprintf("any rank, such as %s", t.job.listed([]int{w.On}))
	case w.Call.Need < len(w.Call.Waits):
		return t.job.name(w.On) + " or others"
	default:
		return t.job.name(w.On)
	}
}

// callFor names of what a call waits for only what the wait is about.
func (t *text) callFor(p *telemetry.Pending, w Wait) string {
	return sprintf("%s%s for %s operations, one of them %s", w.Call.Op, t.at(w.Call.At), howMany(w.Call), t.ops(w.Call, commsOf(p), []*telemetry.Operation{w.Op}))
}

// mismatches are grouped if they differ in the rank only.
func (t *text) mismatches() {
	by := groups{job: t.job}
	for i := range t.e.Mismatches {
		m := &t.e.Mismatches[i]
		by.add(m.Rank, t.mismatch(m), m.relative(t))
	}
	t.grouped("messages that nearly match:", by.merged(mostMismatches/2), mostMismatches)
}

// mismatch is one in words, without the receiving rank.
func (t *text) mismatch(m *Mismatch) string {
	want := t.op(m.Receive.Op, &m.Receive, m.Comm, []int{m.Receive.Peer}) + comma(t.at(m.Receive.At))
	text := sprintf("%s; but ", want)
	message := sprintf("from %s, tag %d, %s, %s", t.peers([]int{m.Source}), m.Tag, bytesText(m.Bytes), m.MessageComm)
	switch {
	case m.Arrived && m.Count > 1:
		text += sprintf("there are %d messages %s", m.Count, message)
	case m.Arrived:
		text += "there is a message " + message
	default:
		text += "there is a send " + message
	}
	if m.Send != nil && m.Send.Op != "" {
		text += sprintf(" (%s%s)", m.Send.Op, t.at(m.Send.At))
	}
	text += sprintf(": the %ss differ", m.Differ)
	if m.Confused != "" {
		text += "; " + m.Confused
	}
	return text
}

func (m *Mismatch) relative(t *text) string {
	own := text{wording: wording{job: t.job, dir: t.dir, self: m.Rank}}
	return own.mismatch(m)
}

// unreceived are grouped likewise.
func (t *text) unreceived() {
	by := groups{job: t.job}
	for i := range t.e.Unreceived {
		u := &t.e.Unreceived[i]
		say := func(s *wording) string {
			return s.op(u.Send.Op, &u.Send, u.Comm, []int{u.Send.Peer}) + comma(s.at(u.Send.At))
		}
		by.add(u.Rank, say(&t.wording), say(&wording{job: t.job, dir: t.dir, self: u.Rank}))
	}
	t.grouped("sends for which no receive is posted:", by.merged(mostMismatches/2), mostMismatches)
}

// grouped shows groups under a heading.
func (t *text) grouped(heading string, gs []group, most int) {
	if len(gs) == 0 {
		return
	}
	t.add(1, "%s", heading)
	for i, g := range gs {
		if i == most {
			t.add(2, "and %d more", len(gs)-i)
			return
		}
		t.add(2, "%s: %s", g.name(), g.text)
	}
}

func (t *text) collectives() {
	if len(t.e.Collectives) == 0 {
		return
	}
	t.add(1, "collectives:")
	for i := range t.e.Collectives {
		if i == mostMismatches {
			t.add(2, "and %d more", len(t.e.Collectives)-i)
			return
		}
		t.collective(&t.e.Collectives[i])
	}
}

func (t *text) collective(c *Collective) {
	var parts []string
	for _, p := range c.In {
		parts = append(parts, sprintf("%s in %s%s", t.job.Names(p.Ranks), p.Op, t.at(p.At)))
	}
	if len(parts) > mostOps {
		parts = append(parts[:mostOps], sprintf("and %d more", len(c.In)-mostOps))
	}
	t.add(2, "%s, collective %d: %s", c.Comm, c.Number, strings.Join(parts, ", "))
	switch {
	case c.Mixed:
		t.add(3, "these are different collectives: all ranks of a communicator must call the same ones in the same order. fitrun --check stops at the first that differ")
	case len(c.Missing) > 0:
		missing := "missing"
		if !t.e.Settled {
			missing = "not in it when asked" // they may have been, and have left
		}
		t.add(3, "%s: %s", missing, t.whereabouts(c.Missing))
	case c.Complete && t.e.IsStuck():
		t.add(3, "all ranks are in it: do they give the same root, sizes and operation? fitrun --check compares them")
	}
}

// whereabouts says where ranks are instead.
func (t *text) whereabouts(ranks []int) string {
	by := groups{job: t.job}
	for _, r := range ranks {
		p := t.picture(&t.e.Ranks[r], t.late()[t.e.job.Ranks[r].Job])
		by.add(r, p.head, "")
	}
	var texts []string
	for i, g := range by.list {
		if i == mostOther {
			texts = append(texts, sprintf("and %d more", len(by.list)-i))
			break
		}
		texts = append(texts, sprintf("%s (%s)", t.job.Names(g.ranks), g.text))
	}
	return strings.Join(texts, ", ")
}

// late are the ranks that others in Init wait for, by job.
func (t *text) late() map[string][]int {
	ranks := make(map[string][]int)
	for i := range t.e.Ranks {
		if p := t.e.Ranks[i].Phase; p == Absent || p == Outside {
			job := t.job.Ranks[i].Job
			ranks[job] = append(ranks[job], i)
		}
	}
	return ranks
}

// ranks are all of them, those together that do the same.
func (t *text) ranks() {
	by := groups{job: t.job}
	all := t.late()
	for i := range t.e.Ranks {
		w, late := &t.e.Ranks[i], all[t.job.Ranks[i].Job]
		if w.Phase == Vacant {
			continue
		}
		own := wording{job: t.job, dir: t.dir, self: i}
		by.add(i, t.picture(w, late).key(), own.picture(w, late).key())
	}
	gs := by.merged(groupsTillBy)
	if t.isSaid(gs) {
		return
	}
	t.add(1, "ranks:")
	for i, g := range gs {
		if i == mostGroups {
			left := 0
			for _, h := range gs[i:] {
				left += len(h.ranks)
			}
			t.add(2, "and %s in other situations", count(left, "rank"))
			return
		}
		t.group(g)
	}
}

// isSaid reports whether the circles have shown all there is to say of the ranks.
func (t *text) isSaid(gs []group) bool {
	named := make(map[int]bool)
	for i := range t.e.Knots {
		if k := &t.e.Knots[i]; len(k.Circle) <= mostLinks && i < mostKnots {
			for _, w := range k.Circle {
				named[w.Rank] = true
			}
		}
	}
	shown := 0
	for i := range t.e.Ranks {
		if t.e.Ranks[i].Phase != Vacant {
			shown++
		}
	}
	return len(named) == shown && t.hosts(nil) == "" && !slices.ContainsFunc(gs, func(g group) bool {
		return strings.Contains(g.text, "\n") || len(t.e.Ranks[g.ranks[0]].Pending.Calls) != 1
	})
}

// group shows ranks that do the same.
func (t *text) group(g group) {
	head, more, _ := strings.Cut(g.text, "\n")
	t.add(2, "%s: %s%s", g.name()+t.hosts(g.ranks), head, t.times(g.ranks))
	if more != "" {
		for l := range strings.SplitSeq(more, "\n") {
			t.add(4, "%s", l)
		}
	}
}

// times is for how long the ranks have been in their calls.
func (t *text) times(ranks []int) string {
	least, most := time.Duration(-1), time.Duration(-1)
	for _, r := range ranks {
		if d, ok := t.e.Ranks[r].since(); ok {
			if least < 0 || d < least {
				least = d
			}
			most = max(most, d)
		}
	}
	if least < 0 {
		return ""
	}
	return ", " + span(least, most)
}

// hosts names the hosts of ranks, if the job has several.
func (t *text) hosts(ranks []int) string {
	all := t.hostsOf(nil)
	if len(all) < 2 {
		return ""
	}
	switch these := t.hostsOf(ranks); {
	case len(these) <= 2:
		return " on " + strings.Join(these, ", ")
	case len(these) == len(all):
		return " on all hosts"
	default:
		return sprintf(" on %d hosts", len(these))
	}
}

// hostsOf are the hosts of ranks, or of all if ranks is nil.
func (t *text) hostsOf(ranks []int) []string {
	var hs []string
	for i := range t.e.Ranks {
		if h := t.e.Ranks[i].Host; t.e.Ranks[i].Phase != Vacant && (ranks == nil || slices.Contains(ranks, i)) && !slices.Contains(hs, h) {
			hs = append(hs, h)
		}
	}
	return hs
}
