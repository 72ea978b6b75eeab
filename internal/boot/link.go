package boot

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// NoticeKind says what a rank told its launcher.
type NoticeKind uint8

const (
	// Joined: the rank has found its launcher; PID is set.
	Joined NoticeKind = iota + 1
	// CardGiven: the rank is in Init and waits for the others; Card is set.
	CardGiven
	// Finalizing: the rank is done; an exit with code 0 is clean from now on.
	Finalizing
	// AbortAsked: the rank asks to end the job; Code and Text are set.
	AbortAsked
	// Reported: the rank reports Text under Key.
	Reported
	// BellAsked: the rank asks for the bell of local rank LocalRank; SendBell is the answer.
	BellAsked
	// Answered: the rank answers the question with this Number by Data.
	Answered
	// Suspected: the rank holds rank Suspect to be dead, as Text says, or, if that is empty, not
	// any more.
	Suspected
	// SpawnAsked: the rank asks for what Data orders (ReadOrder); Spawned with this Number is the
	// answer.
	SpawnAsked
	// arrived: the rank has dialled, and says which it is in join; Greet is the answer.
	arrived
)

func (k NoticeKind) String() string {
	switch k {
	case Joined:
		return "joined"
	case CardGiven:
		return "card given"
	case Finalizing:
		return "finalizing"
	case AbortAsked:
		return "abort asked"
	case Reported:
		return "reported"
	case BellAsked:
		return "bell asked"
	case Answered:
		return "answered"
	case Suspected:
		return "suspected"
	case SpawnAsked:
		return "spawn asked"
	case arrived:
		return "arrived"
	default:
		return fmt.Sprintf("NoticeKind(%d)", uint8(k))
	}
}

// Notice is one message of a rank to its launcher.
type Notice struct {
	Kind      NoticeKind
	PID       int
	Card      []byte
	Code      int
	Key       string
	Text      string
	LocalRank int // of BellAsked; not negative, but whether there is such a rank is for the launcher to check

	Suspect int // of Suspected; not negative, but whether there is such a rank is for the launcher to check

	Number int             // of Answered: that of the question; of SpawnAsked: that of the order
	Data   json.RawMessage // of Answered: the answer; of SpawnAsked: the order

	join message // of arrived
}

// Link is the launcher's end of the connection to one rank.
//
// Sending never blocks: lines wait in a queue for the link's writer goroutine. So a rank that does
// not read (stopped, or too early) holds up only itself. Receiving is Next, called by one goroutine
// of the owner.
type Link struct {
	conn net.Conn      // immutable
	r    *bufio.Reader // owned by the caller of Next
	join bool          // the rank must say first which it is; owned by the caller of Next

	// Owned by the caller of Next.
	joined  bool // a process has said hello
	pid     int  // that process
	refused int  // other processes that were told so

	kick chan struct{} // capacity 1: queue may hold something; immutable

	mu     sync.Mutex
	queue  []outgoing // not yet taken by the writer; guarded by mu
	closed bool       // guarded by mu

	donec chan struct{} // closed when the writer ends
}

// outgoing is a line with the descriptors that go with it.
type outgoing struct {
	line  []byte
	files []*os.File      // as many as the line names, in order; they stay the caller's
	done  chan<- struct{} // if not nil there is no line: closed when all before is written
}

// inFlightWait is how long a descriptor waits for others to arrive, when the kernel carries as many
// as it may.
const inFlightWait = 5 * time.Millisecond

// NewLink takes over conn, greets the rank at its other end, and starts the link's writer. Close
// stops it. Descriptors travel only if conn is a Unix socket. info's files stay the caller's, which
// may close them after Close.
func NewLink(conn net.Conn, info Info) *Link {
	l := newLink(conn)
	l.greet(info)
	return l
}

// newLink is NewLink without the greeting.
func newLink(conn net.Conn) *Link {
	l := &Link{
		conn: conn, r: bufio.NewReaderSize(conn, maxLine),
		kick: make(chan struct{}, 1), donec: make(chan struct{}),
	}
	go l.write() // stopped by Close
	return l
}

// greet sends the welcome.
func (l *Link) greet(info Info) { l.send(l.welcome(info)) }

// refuse tells a rank why it cannot join. It is the last that it hears.
func (l *Link) refuse(text string) {
	l.send(outgoing{line: appendMessage(nil, message{Type: typeRefused, Text: clip(text, maxText)})})
}

// welcome is the first line, with the descriptors of the rank.
func (l *Link) welcome(info Info) outgoing {
	m := message{
		Type: typeWelcome, Version: Version, Rank: info.Rank, Size: info.Size,
		LocalRank: info.LocalRank, LocalSize: info.LocalSize,
		Job: hex.EncodeToString(info.Job[:]), Secret: info.Secret, Host: clip(info.Host, maxValue), Cores: info.Cores, Universe: info.Universe,
		Metrics: info.MetricsRequested, MetricsAddr: clip(info.MetricsAddr, maxValue),
		Process: info.Process, ProcRanks: max(info.ProcessRanks, 1), App: info.AppNum, Watched: info.Watched, FT: info.FT, Attempt: info.Attempt, Net: info.Net.message(),
		Given: clipGiven(info.Given), Kin: clip(info.Kin.Name, maxValue), KinFirst: info.Kin.First, Root: info.Kin.Root,
	}
	if bound := sys.FormatCPUs(info.Bound); len(bound) <= maxBound {
		m.Bound = bound
	}
	if roam := sys.FormatCPUs(info.Roam); len(roam) <= maxRoam {
		m.Roam = roam
	}
	if local := formatRanks(info.local); len(local) <= maxList && slices.Max(append(info.local, 0)) < maxLocal {
		m.Local = local
	}
	var files []*os.File
	if _, ok := l.conn.(*net.UnixConn); ok {
		if info.Segment != nil {
			m.FDs, files = append(m.FDs, fdSegment), append(files, info.Segment)
		}
		if info.Bell != nil {
			m.FDs, files = append(m.FDs, fdBell), append(files, info.Bell)
		}
		if info.Trace != nil {
			m.FDs, files = append(m.FDs, fdTrace), append(files, info.Trace)
		}
	}
	return outgoing{line: appendMessage(nil, m), files: files}
}

// SendCards sends the complete table c.
func (l *Link) SendCards(c *Cards) {
	var out []outgoing
	for _, line := range c.lines() {
		out = append(out, outgoing{line: line})
	}
	l.send(out...)
}

// SendBell answers a BellAsked. The bell stays the caller's, which may close it after Close.
func (l *Link) SendBell(localRank int, bell *os.File) {
	m := message{Type: typeBell, Rank: localRank, FDs: []string{fdBell}}
	l.send(outgoing{line: appendMessage(nil, m), files: []*os.File{bell}})
}

// SendEvent sends ev, which must not be LauncherGone.
func (l *Link) SendEvent(ev Event) {
	if _, ok := eventKindOf(ev.Kind.String()); !ok {
		panic("boot: bug: event " + ev.Kind.String() + " does not travel")
	}
	l.send(outgoing{line: appendMessage(nil, message{
		Type: typeEvent, Event: ev.Kind.String(), Rank: ev.Rank, Code: ev.Code, Text: clip(ev.Message, maxText), Job: jobOf(ev),
	})})
}

func (l *Link) send(out ...outgoing) {
	l.mu.Lock()
	if !l.closed {
		l.queue = append(l.queue, out...)
	}
	l.mu.Unlock()
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// write is the writer goroutine. A write error is not reported: Next sees the end of the connection
// too.
func (l *Link) write() {
	defer close(l.donec)
	for range l.kick {
		queue, closed := l.take()
		for _, out := range queue {
			if out.done != nil {
				close(out.done)
				continue
			}
			if err := l.writeOne(out); err != nil {
				return
			}
		}
		if closed {
			return
		}
	}
}

// writeOne writes one line. Of descriptors that are sent and not yet received, the kernel carries
// no more than a process may open. So in a job of very many ranks the last ones wait until the
// first ranks have received theirs. Close ends that wait.
func (l *Link) writeOne(out outgoing) error {
	if len(out.files) == 0 {
		_, err := l.conn.Write(out.line)
		return err
	}
	for {
		err := sendRights(l.conn.(*net.UnixConn), out.line, out.files)
		if !errors.Is(err, syscall.ETOOMANYREFS) {
			return err
		}
		time.Sleep(inFlightWait)
	}
}

// flush waits until all that was sent is written, or the writer has ended, or ctx has.
func (l *Link) flush(ctx context.Context) {
	done := make(chan struct{})
	l.send(outgoing{done: done})
	select {
	case <-done:
	case <-l.donec:
	case <-ctx.Done():
	}
}

func (l *Link) take() (queue []outgoing, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, l.queue = l.queue, nil
	return queue, l.closed
}

// Next waits for the rank's next notice. io.EOF means that the rank closed its end or died, or that
// Drain was called and nothing is left; any other error means that the rank broke the protocol.
func (l *Link) Next() (Notice, error) {
	for {
		m, err := l.next()
		if err != nil {
			return Notice{}, err
		}
		if m.Type != typeHello || !l.joined {
			return l.notice(m), nil
		}
		l.refuseAnother(m.PID)
	}
}

// next reads one message.
func (l *Link) next() (message, error) {
	line, err := readLine(l.r)
	switch {
	case errors.Is(err, errLineTooLong):
		return message{}, err
	case err != nil: // also a reset, and the half of a line that a killed rank left
		return message{}, io.EOF
	}
	m, err := consumeFromRank(line)
	if err != nil {
		return message{}, err
	}
	if (m.Type == typeJoin) != l.join {
		return message{}, fmt.Errorf("message of type %q out of turn from a rank", m.Type)
	}
	l.join = false
	return m, nil
}

// mostRefused bounds how many processes are told that they cannot be the rank, in case the rank
// does not read.
const mostRefused = 64

// refuseAnother refuses a process that says hello where another has done so: it has inherited the
// socket of the rank after that had joined. The process that has joined may say hello twice.
func (l *Link) refuseAnother(pid int) {
	if pid == l.pid || l.refused == mostRefused {
		return
	}
	l.refused++
	l.refuse(fmt.Sprintf("process %d was this rank before, and has joined the job: a rank is one process (sh -c \"prog; prog\" starts two)", l.pid))
}

// notice is what a message means to the launcher.
func (l *Link) notice(m message) Notice {
	switch m.Type {
	case typeJoin:
		return Notice{Kind: arrived, PID: m.PID, join: m}
	case typeHello:
		l.joined, l.pid = true, m.PID
		return Notice{Kind: Joined, PID: m.PID}
	case typeCard:
		return Notice{Kind: CardGiven, Card: m.Card}
	case typeFinalizing:
		return Notice{Kind: Finalizing}
	case typeAbort:
		return Notice{Kind: AbortAsked, Code: m.Code, Text: m.Text}
	case typeReport:
		return Notice{Kind: Reported, Key: m.Key, Text: m.Text}
	case typeAnswer:
		return Notice{Kind: Answered, Number: m.Number, Data: m.Data}
	case typeSpawn:
		return Notice{Kind: SpawnAsked, Number: m.Number, Data: m.Data}
	case typeSuspect:
		return Notice{Kind: Suspected, Suspect: m.Rank, Text: m.Text}
	case typeBell:
		return Notice{Kind: BellAsked, LocalRank: m.Rank}
	default:
		panic("boot: bug: consumeFromRank let " + string(m.Type) + " pass")
	}
}

// Drain makes Next deliver what the rank has written so far, and then io.EOF, even if a stray child
// of the rank still holds the rank's end open. To be called when the rank's process is dead.
func (l *Link) Drain() error {
	if c, ok := l.conn.(interface{ CloseRead() error }); ok {
		return c.CloseRead()
	}
	return l.conn.Close()
}

// Close ends the link and waits for its writer; what the rank has not read of the queue may be
// lost. It is idempotent.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.conn.Close()
	l.send() // wake the writer
	<-l.donec
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// clipGiven leaves out a list that is too long for a message.
func clipGiven(given map[string]string) map[string]string {
	if b, err := json.Marshal(given); err != nil || len(b) > maxValue {
		return nil
	}
	return given
}
