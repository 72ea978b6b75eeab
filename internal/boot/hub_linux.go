package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

const (
	// farewell bounds how long rank 0, when it is done, waits for the others to say that they are.
	farewell = 30 * time.Second
	// goodbye bounds how long rank 0, when the job was ended, waits for the others to have heard of it.
	goodbye = 2 * time.Second
	// abortPause bounds how long a rank that has aborted the job may take to hang up before the others are told.
	abortPause = 200 * time.Millisecond
	// progressEvery is how often somebody who waits says so.
	progressEvery = 5 * time.Second
)

// hub is the launcher's part where there is none: one rank, the leader, serves all that meet at its address, itself
// included, over a [Link] each, as fitrun serves the ranks that it has started. It owns a goroutine, its loop, and one per
// link; close stops them and waits.
//
//	Gathering --all are here--> Running --a rank is gone, or aborts--> Ending
//	    |                          |                                      |
//	    +------ the leader is done, and all are gone, or time is up ------+--> Over
type hub struct {
	// immutable after startHub
	cfg      hubConfig
	listener net.Listener
	segment  *os.File   // memory for the ranks, nil if there is none
	bells    []*os.File // by local rank; empty if there is no memory
	inbox    chan func()
	donec    chan struct{} // closed when the loop is over: nobody listens to inbox any more
	stopc    chan struct{} // closed by close: the leader is done
	work     sync.WaitGroup

	// owned by the loop
	state   hubState // changed by setState only
	members map[int]*member
	cards   *Cards
	until   time.Time // when patience ends; zero if never
	began   time.Time
	asked   *Event // an abort that waits for its rank to hang up; nil if there is none
	refused string // why somebody was sent away last
}

// hubConfig is what a hub is for.
type hubConfig struct {
	ranks    []int // of the job, that meet here, ascending; the first is the leader
	size     int   // of the job
	job      [16]byte
	secret   []byte                           // of the job
	trust    func(net.Conn) (net.Conn, error) // makes sure who has dialled; takes the connection over
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

// startHub serves those who dial listener, which it takes over, and returns the leader's own session, when all are there. It
// gives up when ctx ends.
func startHub(ctx context.Context, listener net.Listener, cfg hubConfig, me place) (*hubSession, error) {
	h := &hub{
		cfg: cfg, listener: listener, inbox: make(chan func()), donec: make(chan struct{}), stopc: make(chan struct{}),
		members: make(map[int]*member), cards: NewCards(len(cfg.ranks)), began: time.Now(),
	}
	h.until = h.began.Add(cfg.patience)
	if cfg.shared {
		h.share()
	}
	here, there, err := localPair()
	if err != nil {
		h.release()
		return nil, fmt.Errorf("boot: %w", err)
	}
	h.work.Go(h.accept)                         // stopped by closing listener
	h.work.Go(func() { h.serve(there, false) }) // stopped by the loop's end, as all that serve
	go h.loop()                                 // stopped by stopc
	stop := context.AfterFunc(ctx, func() { h.post(func() { h.givenUp(context.Cause(ctx)) }) })
	defer stop()
	s, err := open(here, opening{other: fmt.Sprint("rank ", cfg.ranks[0]), until: h.until.Add(goodbye), join: joinOf(cfg.ranks[0], cfg.size, me)})
	if err != nil {
		h.close()
		return nil, fmt.Errorf("boot: %w", err)
	}
	return &hubSession{session: s, hub: h}, nil
}

// joinOf is how a rank introduces itself.
func joinOf(rank, size int, at place) message {
	return message{Type: typeJoin, Version: Version, Rank: rank, Size: size, PID: at.PID, Place: &at}
}

// share makes memory for the ranks, as fitrun does for its. Without it they use TCP, and say so where that matters.
func (h *hub) share() {
	n := len(h.cfg.ranks)
	if n < 2 || n > shm.MaxRanks || os.Getenv(envTransport) == "tcp" {
		return
	}
	segment, err := shm.Create(n)
	if err != nil {
		h.say("making shared memory: %v; the ranks of this host will use TCP", err)
		return
	}
	var bells []*os.File
	for range n {
		bell, err := sys.NewEventFD()
		if err != nil {
			closeFiles(append(bells, segment)...)
			h.say("making shared memory: %v; the ranks of this host will use TCP", err)
			return
		}
		bells = append(bells, bell)
	}
	h.segment, h.bells = segment, bells
}

func (h *hub) say(format string, args ...any) {
	fmt.Fprintf(h.cfg.say, "fitmpi: "+format+"\n", args...)
}

// accept takes in those who dial, until the listener is closed.
func (h *hub) accept() {
	for {
		conn, err := h.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, or a peer that hung up at once
			select {
			case <-h.donec:
				return
			case <-time.After(inFlightWait):
				continue
			}
		}
		h.work.Go(func() { h.serve(conn, true) })
	}
}

// serve is the goroutine of one connection.
func (h *hub) serve(conn net.Conn, isStranger bool) {
	stop := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(stop)
	raw := conn
	watch.Go(func() { // a stranger that says nothing must not hold up the end
		select {
		case <-h.donec:
			raw.Close()
		case <-stop:
		}
	})
	if isStranger {
		var err error
		if conn, err = h.cfg.trust(conn); err != nil {
			h.post(func() { h.sentAway(raw.RemoteAddr(), err) })
			return
		}
	}
	l := newLink(conn)
	l.join = true
	defer l.Close()
	conn.SetReadDeadline(time.Now().Add(openTimeout))
	n, err := l.Next()
	if err != nil || n.Kind != arrived {
		if !errors.Is(err, io.EOF) {
			h.post(func() { h.sentAway(raw.RemoteAddr(), err) })
		}
		return
	}
	conn.SetReadDeadline(time.Time{})
	rank := n.join.Rank
	accepted := false
	h.post(func() { accepted = h.arrive(l, n.join) })
	for {
		n, err := l.Next()
		if err != nil {
			if accepted {
				h.post(func() { h.left(rank, l, err) })
			}
			return
		}
		h.post(func() { h.noticed(rank, l, n) })
	}
}

// post hands the loop something that happened, and returns when the loop has dealt with it, or is over.
func (h *hub) post(happened func()) {
	dealt := make(chan struct{})
	select {
	case h.inbox <- func() { happened(); close(dealt) }:
		<-dealt
	case <-h.donec:
	}
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

// sentAway notes that somebody dialled who is no rank of this job. It does the job no harm.
func (h *hub) sentAway(addr net.Addr, err error) {
	if h.state == hubGathering {
		h.refused = fmt.Sprintf("; one who dialled from %v was sent away: %v", addr, err)
	}
}

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

// welcome tells every rank who it is, when all are here.
func (h *hub) welcome() {
	places := make([]place, len(h.cfg.ranks))
	for i, r := range h.cfg.ranks {
		places[i] = h.members[r].place
	}
	for i, info := range arrange(places) {
		info.Rank, info.Size = h.cfg.ranks[i], h.cfg.size
		for j, k := range info.near { // of places
			info.near[j] = h.cfg.ranks[k]
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
		if n.Key == MetricsKey {
			h.say("rank %d serves metrics at http://%s/metrics", rank, n.Text)
		}
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

// abortAsked is called when a rank wants the job to end. The others hear of it when that rank has hung up, or soon: some
// launchers take the exit code of the first process that exits for that of the job.
func (h *hub) abortAsked(rank int, m *member, n Notice) {
	if h.asked != nil || h.state != hubRunning {
		return
	}
	text := abortText(rank, m.place.PID, m.place.Host, n.Code, n.Text)
	if !h.cfg.isAside { // else the other session says it
		h.say("%s", text)
	}
	h.asked = &Event{Kind: JobAborted, Rank: rank, Message: text, Code: n.Code}
	h.until = time.Now().Add(abortPause)
}

func (h *hub) takeCard(rank int, card []byte) error {
	if h.cfg.isAside {
		return errors.New("it gave a card that nobody asked for")
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
	h.end(text)
}

// end says that the job has ended, and tells all.
func (h *hub) end(text string) {
	if h.state < hubEnding {
		h.say("%s", text)
		h.endBy(Event{Kind: JobAborted, Rank: unknown, Message: text, Code: 1})
	}
}

// endBy tells all that the job has ended. Nobody kills them: their calls of MPI return errors.
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

// close ends the hub when the leader's session is closed: if that was clean, when all the others are done too. It is to be
// called once.
func (h *hub) close() {
	close(h.stopc)
	<-h.donec
	h.work.Wait()
	h.release()
}

func (h *hub) release() {
	h.listener.Close()
	closeFiles(append(slices.Clone(h.bells), h.segment)...)
}

// hubSession is the leader's session.
type hubSession struct {
	*session
	hub  *hub
	once sync.Once
	err  error // guarded by once
}

// Close ends the leader's session, and then the hub.
func (s *hubSession) Close() error {
	s.once.Do(func() {
		s.err = s.session.Close()
		s.hub.close()
	})
	return s.err
}
