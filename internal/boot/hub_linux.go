//go:build !fitmpi_portable

package boot

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/strangers"
)

const (
	// farewell bounds how long rank 0, when it is done, waits for the others to say that they are.
	farewell = 30 * time.Second
	// goodbye bounds how long rank 0, when the job was ended, waits for the others to have heard of
	// it.
	goodbye = 2 * time.Second
	// abortPause bounds how long a rank that has aborted the job may take to hang up before the
	// others are told.
	abortPause = 200 * time.Millisecond
	// progressEvery is how often a rank that waits says so.
	progressEvery = 5 * time.Second
)

// hub is the launcher's part where there is none: one rank, the leader, serves all that meet at its
// address, itself included, over a [Link] each, as fitrun serves the ranks that it has started. It
// owns a goroutine, its loop, and one per link; close stops them and waits.
//
//	Gathering --all are here--> Running --a rank is gone, or aborts--> Ending
//	    |                          |                                      |
//	    +------ the leader is done, and all are gone, or time is up ------+--> Over
type hub struct {
	// immutable after startHub
	cfg       hubConfig
	listener  net.Listener
	segment   *os.File   // memory for the ranks, nil if there is none
	bells     []*os.File // by local rank; empty if there is no memory
	inbox     chan func()
	donec     chan struct{}  // closed when the loop is over: nothing receives from inbox any more
	stopc     chan struct{}  // closed by close: the leader is done
	strangers *strangers.Set // connections that have proved nothing yet
	work      sync.WaitGroup

	// owned by the loop
	state   hubState // changed by setState only
	members map[int]*member
	cards   *Cards
	until   time.Time // when patience ends; zero if never
	began   time.Time
	asked   *Event // an abort that waits for its rank to hang up; nil if there is none
	refused string // why a peer was sent away last
}

// hubConfig is what a hub is for.
type hubConfig struct {
	ranks    []int // of the job, that meet here, ascending; the first is the leader
	size     int   // of the job
	job      [16]byte
	secret   []byte                           // of the job
	trust    func(net.Conn) (net.Conn, error) // makes sure of the peer that has dialled; takes the connection over
	patience time.Duration                    // how long to wait for all to come
	shared   bool                             // all are on one host: make memory for them
	where    string                           // for people
	say      io.Writer
	every    time.Duration // how often to say what it waits for
	isAside  bool          // the ranks have another session beside this one, which has their cards and says why one aborts
}

// hubState says how far the ranks are.
type hubState uint8

const (
	hubGathering hubState = iota // not all are here
	hubRunning                   // all were welcomed
	hubEnding                    // all were told that the job has ended
	hubOver                      // the loop is to return
)

// member is the hub's view of one rank.
type member struct {
	link       *Link
	place      place
	finalizing bool // its end is clean from here on
	gone       bool
}

// loop deals with everything that happens, one thing at a time.
func (h *hub) loop() {
	defer close(h.donec)
	defer h.listener.Close()
	stopc := h.stopc
	for h.state != hubOver {
		timer := time.NewTimer(h.patience())
		select {
		case happened := <-h.inbox:
			happened()
		case <-stopc:
			stopc = nil
			h.stopping()
		case now := <-timer.C:
			h.tick(now)
		}
		timer.Stop()
		if stopc == nil && !slices.ContainsFunc(h.cfg.ranks, h.isAwaited) {
			h.setState(hubOver)
		}
	}
}

// patience is how long the loop may wait for something to happen.
func (h *hub) patience() time.Duration {
	switch {
	case h.until.IsZero():
		return time.Hour
	case h.state == hubGathering:
		return min(h.cfg.every, time.Until(h.until))
	}
	return time.Until(h.until)
}

// setState holds every side effect of a change of state.
func (h *hub) setState(state hubState) {
	h.state = state
	switch state {
	case hubRunning:
		h.until = time.Time{}
		h.listener.Close()
	case hubEnding:
		h.until = time.Now().Add(goodbye)
		h.listener.Close()
	case hubOver:
	default:
		panic(fmt.Sprintf("boot: bug: the hub enters state %d", state))
	}
}

// isAwaited reports whether the leader must not leave yet because of a rank.
func (h *hub) isAwaited(rank int) bool {
	m := h.members[rank]
	switch {
	case m == nil || m.gone:
		return false
	case h.state == hubRunning:
		return !m.finalizing
	}
	return true
}

// tick is called when time has passed.
func (h *hub) tick(now time.Time) {
	expired := !h.until.IsZero() && !now.Before(h.until)
	switch {
	case h.state == hubGathering && expired:
		h.end(fmt.Sprintf("%s after %v at %s: the job was ended", h.missing(), h.cfg.patience, h.cfg.where))
	case h.state == hubGathering && now.Sub(h.began) >= h.cfg.every:
		h.say("rank %d waits for the others at %s, %v: %s%s", h.cfg.ranks[0], h.cfg.where, now.Sub(h.began).Round(time.Second), h.missing(), h.refused)
	case expired && h.asked != nil && h.state == hubRunning:
		h.endBy(*h.asked)
	case expired:
		h.setState(hubOver)
	}
}

// givenUp is called when there is no use in waiting for the ranks that have not come.
func (h *hub) givenUp(why error) {
	if h.state == hubGathering {
		h.endBy(Event{Kind: JobAborted, Rank: unknown, Message: why.Error(), Code: 1})
	}
}

// missing names the ranks that have not come.
func (h *hub) missing() string {
	var out []int
	for _, r := range h.cfg.ranks {
		if h.members[r] == nil {
			out = append(out, r)
		}
	}
	return fmt.Sprintf("%d of %d ranks have not come (%s)", len(out), len(h.cfg.ranks), formatRanks(out))
}

// sentAway notes that a peer dialled that is no rank of this job. That does the job no harm.
func (h *hub) sentAway(addr net.Addr, err error) {
	if h.state == hubGathering {
		h.refused = fmt.Sprintf("; a peer that dialled from %v was sent away: %v", addr, err)
	}
}

// end says that the job has ended, and tells all.
func (h *hub) end(text string) {
	if h.state < hubEnding {
		h.say("%s", text)
		h.endBy(Event{Kind: JobAborted, Rank: unknown, Message: text, Code: 1})
	}
}

// endBy tells all ranks that the job has ended. Nothing kills them: their calls of MPI return
// errors.
func (h *hub) endBy(ev Event) {
	if h.state == hubGathering {
		for _, m := range h.members {
			m.link.refuse(ev.Message)
		}
	}
	h.tell(ev)
	h.setState(hubEnding)
}

// tell sends an event to all ranks that can hear it, but for the one that it is about.
func (h *hub) tell(ev Event) {
	for r, m := range h.members {
		if h.state == hubRunning && !m.gone && r != ev.Rank {
			m.link.SendEvent(ev)
		}
	}
}

// stopping is called when the leader is done: all that it had to say was heard.
func (h *hub) stopping() {
	switch h.state {
	case hubGathering:
		h.end(fmt.Sprintf("rank %d gave up before all ranks had come to %s", h.cfg.ranks[0], h.cfg.where))
	case hubRunning:
		if h.asked == nil {
			h.until = time.Now().Add(farewell)
		}
	}
}
