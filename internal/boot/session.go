package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// openTimeout bounds the wait for the launcher's welcome. A launcher writes it before the rank
// starts.
const openTimeout = 30 * time.Second

// askAfter is how long a rank waits for fitrun's welcome before it says hello first. fitrun answers
// by a refusal if another process has been this rank, and has taken the welcome.
const askAfter = 300 * time.Millisecond

// MaxQuestions is how many questions wait to be read. More are dropped, and the caller that has
// asked one of these waits in vain. All callers ask by way of fitrun, which leaves alone a rank
// that has not answered sixteen questions (see view.View.Ask). So the limit is for ranks that were
// stopped.
const MaxQuestions = 64

// finalReport bounds how long an abort waits for the launcher to read the message, from this
// process or from the leader of a meeting: Hydra, once it is to end the job, does not.
const finalReport = 250 * time.Millisecond

// sendGrace is how long a message may wait for room in the socket once its context has ended.
const sendGrace = time.Second

// session is the rank's end of a connection to a launcher.
//
// Its reader goroutine owns the receiving side. Close is the reader's stopper: it closes conn,
// which ends the read.
type session struct {
	// immutable after Open
	info   Info
	other  string // what is at the other end: "fitrun", or the rank that leads a meeting, as "rank 0"
	gone   Event  // what the end of the connection means, without words
	conn   net.Conn
	events chan Event    // one slot for every event that can ever come, so the reader never blocks; closed by Close
	cardsc chan struct{} // closed when every card is in table
	failc  chan struct{} // closed when the exchange cannot complete any more; fail says why
	endc   chan struct{} // closed when the other end has said that the job is aborted
	donec  chan struct{} // closed when the reader ends

	// owned by the reader; others read them after the channel in brackets is closed
	table   [][]byte // cards by rank, nil until known [cardsc]
	missing int      // cards not yet known
	fail    error    // [failc]
	seen    map[Event]bool
	excused bool // the end of the connection is no news: the leader is idle
	in      receiver

	bellMu sync.Mutex
	bells  map[int][]func(*os.File) // by local rank: what waits for its bell, in the order of asking; guarded by bellMu
	stored map[int]*os.File         // bells that were fetched before any call asked; guarded by bellMu

	orders  orders // that wait for their outcome
	foreign foreign

	writeMu    sync.Mutex // serialises lines on conn
	exchanged  atomic.Bool
	finalizing atomic.Bool
	fetched    atomic.Bool // fetchBells was called
	closing    atomic.Bool // Close was called: end of file is no news
	closeOnce  sync.Once
	closeErr   error // result of Close, guarded by closeOnce
}

// Open starts a session over conn, an open connection to a launcher, and takes conn over, also when
// it fails.
func Open(conn net.Conn) (Session, error) {
	s, err := open(conn, opening{other: launcherName, until: time.Now().Add(openTimeout)})
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	return s, nil
}

// opening says how a session begins.
type opening struct {
	other string    // what is at the other end
	until time.Time // wait no longer for the welcome
	join  message   // what to say first; nothing if it has no type
	gone  Event     // what it means that the other end is gone; LauncherGone if it has no kind
}

// open is Open whatever the launcher is.
func open(conn net.Conn, how opening) (*session, error) {
	s, err := openConn(conn, how)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("talking to %s: %w", how.other, err)
	}
	return s, nil
}

func openConn(conn net.Conn, how opening) (*session, error) {
	if err := conn.SetDeadline(how.until); err != nil {
		return nil, err
	}
	if how.join.Type != "" {
		if _, err := conn.Write(appendMessage(nil, how.join)); err != nil {
			return nil, err
		}
	}
	in := newReceiver(conn)
	info, err := awaitWelcome(conn, in, how)
	if err != nil {
		if errors.Is(err, io.EOF) && how.other == launcherName {
			err = fmt.Errorf("%w: %s", err, hintSpent)
		}
		in.rights.close()
		return nil, err
	}
	if how.gone.Kind == 0 {
		how.gone = Event{Kind: LauncherGone, Rank: -1}
	}
	s := &session{
		info: info, other: how.other, gone: how.gone, conn: conn, in: in,
		events: make(chan Event, info.Size+3+MaxQuestions),
		cardsc: make(chan struct{}), failc: make(chan struct{}), endc: make(chan struct{}), donec: make(chan struct{}),
		table: make([][]byte, info.Size), missing: info.Size,
		seen: make(map[Event]bool), bells: make(map[int][]func(*os.File)),
	}
	err = s.send(hello())
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		in.rights.close()
		closeFiles(info.Segment, info.Bell, info.Trace)
		return nil, err
	}
	go s.read() // stopped by Close
	return s, nil
}

// hintSpent says what it means that nothing comes from a launcher: see Close.
const hintSpent = "either a process before this one was the same rank and has finalized, as a rank does once (sh -c \"prog; prog\"), or fitrun is gone"

// refusal is a launcher's word that a rank cannot join.
type refusal struct{ text string }

func (r *refusal) Error() string { return "it refuses: " + r.text }

func hello() message { return message{Type: typeHello, Version: Version, PID: os.Getpid()} }

// awaitWelcome is readWelcome that says hello if it has to wait.
func awaitWelcome(conn net.Conn, in receiver, how opening) (Info, error) {
	if how.other != launcherName {
		return readWelcome(in)
	}
	asked := make(chan struct{})
	ask := time.AfterFunc(askAfter, func() {
		defer close(asked)
		_, _ = conn.Write(appendMessage(nil, hello())) // if it fails so does what is read
	})
	info, err := readWelcome(in)
	if !ask.Stop() {
		<-asked
	}
	return info, err
}

func readWelcome(in receiver) (Info, error) {
	line, err := readLine(in.lines)
	if err != nil {
		return Info{}, fmt.Errorf("waiting for its welcome: %w", err)
	}
	m, err := consumeFromLauncher(line)
	if err != nil {
		return Info{}, err
	}
	if m.Type == typeRefused {
		return Info{}, &refusal{m.Text}
	}
	if m.Type != typeWelcome {
		return Info{}, fmt.Errorf("the first message is %q, want %q", m.Type, typeWelcome)
	}
	job, err := decodeJob(m.Job)
	if err != nil {
		return Info{}, err
	}
	bound, err := sys.ParseCPUs(m.Bound)
	if err != nil {
		return Info{}, err
	}
	roam, err := sys.ParseCPUs(m.Roam)
	if err != nil {
		return Info{}, err
	}
	local, err := parseRanks(m.Local)
	if err != nil {
		return Info{}, err
	}
	files, err := in.rights.claim(m.FDs, fdSegment, fdBell, fdTrace)
	if err != nil {
		return Info{}, err
	}
	return Info{
		Rank: m.Rank, Size: m.Size, LocalRank: m.LocalRank, LocalSize: m.LocalSize,
		Job: job, Secret: m.Secret, Source: "fitrun", Host: m.Host, Cores: m.Cores, Universe: m.Universe,
		MetricsAddr: m.MetricsAddr, MetricsRequested: m.Metrics,
		Process: m.Process, ProcessRanks: m.ProcRanks, AppNum: m.App, Watched: m.Watched, FT: m.FT, Attempt: m.Attempt, Given: m.Given, Bound: bound, Roam: roam, Net: m.Net.net(), Segment: files[0], Bell: files[1], Trace: files[2],
		Kin: Kin{m.Kin, m.KinFirst, m.Root}, local: local,
	}, nil
}

// read is the reader goroutine.
func (s *session) read() {
	defer close(s.donec)
	defer s.in.rights.close()
	for {
		line, err := readLine(s.in.lines)
		if err == nil {
			err = s.handle(line)
		}
		if err != nil {
			s.lost(err)
			return
		}
	}
}

func (s *session) handle(line []byte) error {
	m, err := consumeFromLauncher(line)
	if err != nil {
		return err
	}
	switch m.Type {
	case typeCards:
		return s.takeCards(m)
	case typeEvent:
		return s.takeEvent(m)
	case typeBell:
		return s.takeBell(m)
	case typeRefused:
		return nil // of another process that would be this rank, and may read it next time
	default:
		return fmt.Errorf("message of type %q from the launcher, which comes first or not at all", m.Type)
	}
}

func (s *session) takeCards(m message) error {
	for i, c := range m.Cards {
		r := m.First + i
		if r >= len(s.table) || s.table[r] != nil {
			return fmt.Errorf("card of rank %d came twice, or there is no such rank in a job of %d", r, len(s.table))
		}
		if c == nil {
			c = []byte{} // JSON null; nil means unknown here
		}
		s.table[r] = c
		s.missing--
	}
	if s.missing == 0 {
		close(s.cardsc)
	}
	return nil
}

func (s *session) takeEvent(m message) error {
	kind, _ := eventKindOf(m.Event)
	if m.Rank >= s.info.Size && kind != ForeignFailed {
		return fmt.Errorf("event about rank %d in a job of %d", m.Rank, s.info.Size)
	}
	ev := Event{Kind: kind, Rank: m.Rank, Message: m.Text, Code: m.Code}
	if kind == Asked {
		if len(s.events) < MaxQuestions { // what else can come has a slot each
			s.events <- ev
		}
		return nil
	}
	if kind == ForeignFailed {
		return s.takeForeign(m)
	}
	if kind == Spawned {
		s.orders.done(m.Code, m.Text)
		return nil
	}
	if kind == leaderIdles {
		s.excused = m.Code != 0
		return nil
	}
	s.failExchange(fmt.Errorf("boot: exchanging addresses: %s: %s", kind, m.Text))
	s.publish(ev)
	return nil
}

// publish queues ev unless its like was delivered before; that keeps the count within the channel's
// capacity.
func (s *session) publish(ev Event) {
	like := Event{Kind: ev.Kind}
	if ev.Kind == PeerFailed {
		like.Rank = ev.Rank
	}
	if s.seen[like] || ev.Kind == PeerFailed && ev.Rank < 0 {
		return
	}
	s.seen[like] = true
	s.events <- ev
	if ev.Kind == JobAborted {
		close(s.endc)
	}
}

// lost ends the session after the connection failed.
func (s *session) lost(cause error) {
	if s.closing.Load() {
		s.failExchange(fmt.Errorf("boot: %w", os.ErrClosed))
		return
	}
	if errors.Is(cause, io.EOF) {
		cause = errors.New("it closed the connection or died")
	}
	s.failExchange(fmt.Errorf("boot: lost %s: %w", s.other, cause))
	if s.excused || s.gone.Kind == PeerFailed && s.finalizing.Load() {
		return // it has left, as it may; if it has died, that does not matter any more
	}
	s.publish(Event{Kind: s.gone.Kind, Rank: s.gone.Rank, Message: "lost " + s.other + ": " + cause.Error(), Code: 1})
}

// failExchange records why the exchange cannot complete; the first reason stays.
func (s *session) failExchange(err error) {
	if s.fail == nil {
		s.fail = err
		close(s.failc)
	}
}

func (s *session) Info() Info           { return s.info }
func (s *session) Events() <-chan Event { return s.events }

func (s *session) Exchange(ctx context.Context, card []byte) ([][]byte, error) {
	card = changed(s.info.Rank, card)
	if err := checkCard(card); err != nil {
		return nil, err
	}
	if s.exchanged.Swap(true) {
		return nil, errExchanged
	}
	if err := s.sendWithin(ctx, message{Type: typeCard, Card: card}); err != nil {
		return nil, fmt.Errorf("boot: handing the card to %s: %w", s.other, err)
	}
	select {
	case <-s.cardsc:
		return s.table, nil
	case <-s.failc:
	case <-ctx.Done():
	}
	select { // a complete table is returned even when something else happened too
	case <-s.cardsc:
		return s.table, nil
	case <-s.failc:
		return nil, s.fail
	default:
		return nil, fmt.Errorf("boot: waiting for the cards of all %d ranks: %w", s.info.Size, context.Cause(ctx))
	}
}

func checkCard(card []byte) error {
	if len(card) > MaxCard {
		return fmt.Errorf("boot: card of %d bytes; at most %d are allowed", len(card), MaxCard)
	}
	return nil
}

func (s *session) Finalizing(ctx context.Context) error {
	s.finalizing.Store(true)
	if err := s.sendWithin(ctx, message{Type: typeFinalizing}); err != nil && s.gone.Kind == LauncherGone { // else no process is left that keeps a record
		return fmt.Errorf("boot: telling %s of the end: %w", s.other, err)
	}
	return nil
}

// Abort returns, in a meeting, when the leader has said why. A launcher that knows nothing of the
// meeting ends the leader, too, as soon as it sees this process exit.
func (s *session) Abort(code int, text string) error {
	if err := s.send(message{Type: typeAbort, Code: code, Text: clip(text, maxText)}); err != nil {
		return fmt.Errorf("boot: asking %s to abort the job: %w", s.other, err)
	}
	if s.other == launcherName {
		return nil // which outlives this process
	}
	select {
	case <-s.endc:
		return nil
	case <-s.donec:
	case <-time.After(2 * finalReport): // for the leader, which waits for its reader
	}
	select { // the leader may have said it and gone
	case <-s.endc:
		return nil
	default:
		return fmt.Errorf("boot: %s does not say that the job is aborted", s.other)
	}
}

func (s *session) Report(key, value string) error {
	m := message{Type: typeReport, Key: clip(key, maxKey), Text: clip(value, maxValue)}
	if err := s.send(m); err != nil {
		return fmt.Errorf("boot: reporting %s to %s: %w", key, s.other, err)
	}
	return nil
}

func (s *session) Answer(number int, data []byte) error {
	err := checkAnswer(data)
	if err == nil {
		err = s.send(message{Type: typeAnswer, Number: number, Data: data})
	}
	if err != nil {
		return fmt.Errorf("boot: answering %s: %w", s.other, err)
	}
	return nil
}

func (s *session) send(m message) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	_, err := s.conn.Write(appendMessage(nil, m))
	return err
}

// sendWithin is send that gives up soon after ctx has ended, if the launcher has no room for the
// message. It does try when ctx has ended before: the message is often the one that says so.
func (s *session) sendWithin(ctx context.Context, m message) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.conn.SetWriteDeadline(time.Now().Add(sendGrace))
		close(cut)
	})
	_, err := s.conn.Write(appendMessage(nil, m))
	if stop() {
		return err
	}
	<-cut
	if err != nil {
		// The line may be cut in half; with the deadline left in the past no later message can
		// follow the half.
		return errors.Join(context.Cause(ctx), err)
	}
	return s.conn.SetWriteDeadline(time.Time{})
}

func (s *session) Close() error {
	s.closeOnce.Do(func() {
		s.closing.Store(true)
		if c, ok := s.conn.(interface{ CloseRead() error }); ok && s.other == launcherName && s.finalizing.Load() {
			_ = c.CloseRead() // so that another process with the same socket, as of one shell, does not wait for a welcome
		}
		if err := s.conn.Close(); s.gone.Kind == LauncherGone { // else the other end may be gone, and TLS cannot say goodbye to it
			s.closeErr = err
		}
		<-s.donec
		closeFiles(s.info.Segment, s.info.Bell, s.info.Trace) // already closed is fine
		s.dropBells()
		close(s.events)
	})
	return s.closeErr
}
