//go:build !fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// arrive takes in a rank, and reports whether it did.
func (h *hub) arrive(l *Link, join message) bool {
	why := ""
	switch m := h.members[join.Rank]; {
	case h.state != hubGathering:
		why = "the job has begun, or has ended, without this process"
	case join.Size != h.cfg.size:
		why = fmt.Sprintf("rank %d says that the job has %d ranks, rank %d says %d", join.Rank, join.Size, h.cfg.ranks[0], h.cfg.size)
	case !slices.Contains(h.cfg.ranks, join.Rank):
		why = fmt.Sprintf("rank %d has no business here: ranks %s meet", join.Rank, formatRanks(h.cfg.ranks))
	case m != nil:
		why = fmt.Sprintf("rank %d is here already: process %d on %s; this one is process %d on %s",
			join.Rank, m.place.PID, m.place.Host, join.Place.PID, join.Place.Host)
	}
	if why != "" {
		h.say("%s; it was sent away", why)
		l.refuse(why)
		return false
	}
	h.members[join.Rank] = &member{link: l, place: *join.Place}
	if len(h.members) == len(h.cfg.ranks) {
		h.welcome()
	}
	return true
}

// welcome tells every rank which rank it is, when all are here.
func (h *hub) welcome() {
	places := make([]place, len(h.cfg.ranks))
	for i, r := range h.cfg.ranks {
		places[i] = h.members[r].place
	}
	for i, info := range arrange(places) {
		info.Rank, info.Size = h.cfg.ranks[i], h.cfg.size
		for j, k := range info.local { // of places
			info.local[j] = h.cfg.ranks[k]
		}
		info.Job, info.Secret = h.cfg.job, h.cfg.secret
		if !info.Net.Remote && h.segment != nil {
			info.Segment, info.Bell = h.segment, h.bells[info.LocalRank]
		}
		h.members[info.Rank].link.greet(info)
	}
	h.setState(hubRunning)
}

// noticed is called for every message of a rank.
func (h *hub) noticed(rank int, l *Link, n Notice) {
	m := h.members[rank]
	if m == nil || m.link != l {
		return // it was sent away
	}
	var err error
	switch n.Kind {
	case Joined, arrived:
	case CardGiven:
		err = h.takeCard(rank, n.Card)
	case Finalizing:
		m.finalizing = true
	case AbortAsked:
		h.abortAsked(rank, m, n)
	case Reported:
		switch n.Key {
		case MetricsKey:
			h.say("rank %d serves metrics at http://%s/metrics", rank, n.Text)
		case IdleKey:
			m.finalizing = IsIdle(n.Text)
		}
	case Suspected:
		err = errors.New("it suspects another rank, and there is no launcher here that could look at that")
	case Answered:
		err = errors.New("it answered a question that was not asked")
	case SpawnAsked:
		err = errors.New("it orders more ranks, and there is no launcher here that could start them")
	case BellAsked:
		if n.LocalRank < len(h.bells) {
			l.SendBell(n.LocalRank, h.bells[n.LocalRank])
		} else {
			err = fmt.Errorf("it asked for the bell of local rank %d, and there is none", n.LocalRank)
		}
	default:
		panic("boot: bug: notice " + n.Kind.String())
	}
	if err != nil {
		h.left(rank, l, err)
	}
}

// abortAsked is called when a rank wants the job to end. That rank hears once the reason was said,
// and read: then it may exit, upon which some launchers end all others at once. The others hear of
// it when that rank has hung up, or soon: some launchers take the exit code of the first process
// that exits for that of the job.
func (h *hub) abortAsked(rank int, m *member, n Notice) {
	if h.state != hubRunning {
		return
	}
	if h.asked == nil {
		text := abortText(rank, m.place.PID, m.place.Host, n.Code, n.Text)
		if !h.cfg.isAside { // else the other session says it
			h.say("%s", text)
			if f, ok := h.cfg.say.(*os.File); ok {
				sys.AwaitRead(f, finalReport)
			}
		}
		h.asked = &Event{Kind: JobAborted, Rank: rank, Message: text, Code: n.Code}
		h.until = time.Now().Add(abortPause)
	}
	m.link.SendEvent(*h.asked)
}

func (h *hub) takeCard(rank int, card []byte) error {
	if h.cfg.isAside {
		return errors.New("it gave a card that was not asked for")
	}
	if err := h.cards.Put(slices.Index(h.cfg.ranks, rank), card); err != nil || !h.cards.IsComplete() {
		return err
	}
	for _, m := range h.members {
		m.link.SendCards(h.cards)
	}
	return nil
}

// left is called when a rank has hung up, or is of no use any more.
func (h *hub) left(rank int, l *Link, err error) {
	m := h.members[rank]
	switch {
	case m == nil || m.link != l || m.gone:
		return
	case h.state == hubGathering: // it may come again
		delete(h.members, rank)
		return
	}
	m.gone = true
	switch {
	case h.state != hubRunning:
		return
	case h.asked != nil && h.asked.Rank == rank:
		h.endBy(*h.asked)
		return
	case m.finalizing:
		return
	}
	text := fmt.Sprintf("rank %d (pid %d on %s) is gone: it exited without Finalize, or was killed", rank, m.place.PID, m.place.Host)
	if !errors.Is(err, io.EOF) {
		text = fmt.Sprintf("rank %d (pid %d on %s) broke the boot protocol: %v", rank, m.place.PID, m.place.Host, err)
	}
	h.tell(Event{Kind: PeerFailed, Rank: rank, Message: text, Code: 1})
	switch {
	case !hasFT() || !h.cfg.isAside && !h.cards.IsComplete(): // without its card no rank gets further
		h.end(text)
	case rank == h.cfg.ranks[0]: // this process is about to end
		h.setState(hubOver)
	default:
		if !h.cfg.isAside { // else the other session says it, or each rank by itself
			h.say("%s; the others go on", text)
		}
		m.link.Close() // it is of no use any more, if it is there
	}
}
